package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
)

// KindPerson is the kind of every event of a person who is asked to sign; kindClosing
// says that everybody has.
const (
	KindPerson  = "signer"
	kindClosing = "closing"
)

const personPurpose = "signer"

// ByPeople says that records of a type are signed by people.
func ByPeople(certificateType string) bool {
	return certificateType == request.SES || certificateType == request.AES
}

// ByPeople says that people sign the record.
func (r *Record) ByPeople() bool { return r.Options.People != nil }

// allFiles are those of the record, with what it has beside its documents.
func (r *Record) allFiles() []*File { return slices.Concat(r.files(), r.Work, r.Evidence) }

// Link is the address of a person's page.
func (s *Ledger) Link(r *Record, p *Person) string {
	return s.PublicURL + "/sign/" + r.ID + "/" + p.Secret
}

// Pending says that the last click was made, and what it asks for is not.
func (p *Person) Pending() bool { return p.Act != nil && !p.State.Final() }

// FullName of a person.
func (p *Person) FullName() string { return strings.TrimSpace(p.Name + " " + p.Surname) }

// Acts says that the person has to do something for the record to come to its end.
func (p *Person) Acts() bool { return p.Role != RoleViewer }

// AnySigned says that someone has signed.
func (r *Record) AnySigned() bool {
	return slices.ContainsFunc(r.Persons, func(p *Person) bool { return p.State == PersonSigned && p.Role == RoleSigner })
}

// personOwner is what a row is sealed for: this version of it and no other.
func personOwner(r *Record, id string, position int, version int64) string {
	return fmt.Sprintf("%s %d %s %d", r.Owner(), position, id, version)
}

func personDigest(record, id string, position int, version int64, sealed []byte) string {
	sum := sha256.Sum256(sealed)
	return digestOf(record, id, position, version, hexOf(sum[:]))
}

func (s *Ledger) sealPerson(r *Record, p *Person) (sealed []byte, digest string, err error) {
	if sealed, err = s.seal(personPurpose, personOwner(r, p.ID, p.Position, p.Version), p); err != nil {
		return nil, "", err
	}
	return sealed, personDigest(r.ID, p.ID, p.Position, p.Version, sealed), nil
}

func (s *Ledger) openPerson(r *Record, id string, position int, version int64, sealed []byte) (*Person, error) {
	p := &Person{}
	err := s.unseal(personPurpose, personOwner(r, id, position, version), sealed, p)
	if err == nil && (p.ID != id || p.Position != position || p.Version != version) {
		err = errors.New("it is another's")
	}
	if err != nil {
		return nil, fmt.Errorf("signing: signer %d of %s: %w", position, r.ID, err)
	}
	return p, nil
}

const selectPersons = `select signature_id, position, id, version, sealed from signers where signature_id`

func (s *Ledger) persons(ctx context.Context, q store.Querier, r *Record) (all []*Person, err error) {
	return all, each(ctx, q, func(row store.Row) error {
		var record, id string
		var position int
		var version int64
		var sealed []byte
		if err := row.Scan(&record, &position, &id, &version, &sealed); err != nil {
			return err
		}
		p, err := s.openPerson(r, id, position, version, sealed)
		all = append(all, p)
		return err
	}, selectPersons+` = $1 order by position`, r.ID)
}

// insertPersons stores those of a new record; the event of each says what the row is.
func (s *Ledger) insertPersons(ctx context.Context, tx *store.Tx, r *Record) error {
	for _, p := range r.Persons {
		p.Version = 1
		sealed, _, err := s.sealPerson(r, p)
		if err != nil {
			return err
		}
		p.sealed = sealed
		if err := tx.Later(ctx, `insert into signers (signature_id, position, id, version, sealed) values ($1, $2, $3, $4, $5)`, r.ID, p.Position, p.ID, p.Version, sealed); err != nil {
			return fmt.Errorf("signing: store signer: %w", err)
		}
	}
	return nil
}

// PersonsAsked are the events about the people who are asked, once the record is stored.
func (s *Ledger) PersonsAsked(r *Record) (all []audit.Event) {
	for _, p := range r.Persons {
		all = append(all, personEvent(r, p, personDigest(r.ID, p.ID, p.Position, p.Version, p.sealed), "asked", fmt.Sprintf("signer %d of %d is asked to sign", p.Position+1, len(r.Persons)), nil))
	}
	return all
}

func personEvent(r *Record, p *Person, row, what, text string, more map[string]any) audit.Event {
	detail := map[string]any{"signer": p.ID, "position": p.Position, "state": p.State, "what": what, "row": row}
	maps.Copy(detail, more)
	return audit.Event{Account: r.AccountID, Record: r.ID, Kind: KindPerson, Log: text, Detail: detail}
}

// LockPerson locks a person's row in a transaction that will change it, and reads it again if
// it changed since the record was read.
func (s *Ledger) LockPerson(ctx context.Context, tx *store.Tx, r *Record, p *Person) error {
	query := `select id, version, sealed from signers where signature_id = $1 and position = $2`
	if s.DB.Dialect() == store.PostgreSQL {
		query += ` for update`
	}
	var id string
	var version int64
	var sealed []byte
	if err := tx.QueryRow(ctx, query, r.ID, p.Position).Scan(&id, &version, &sealed); err != nil {
		return fmt.Errorf("signing: read signer: %w", err)
	}
	if version == p.Version {
		return nil
	}
	fresh, err := s.openPerson(r, id, p.Position, version, sealed)
	if err == nil {
		*p = *fresh
	}
	return err
}

// ErrStale says that a person was changed since it was read.
var ErrStale = errors.New("signing: the signer was changed meanwhile")

// SavePerson stores a changed person, unless it was changed since it was read, and logs the
// change.
func (s *Ledger) SavePerson(ctx context.Context, tx *store.Tx, r *Record, p *Person, what, text string, more map[string]any) error {
	before := p.Version
	p.Version++
	p.UpdatedAt = s.Now()
	sealed, digest, err := s.sealPerson(r, p)
	if err != nil {
		return err
	}
	if err := tx.Expect(ctx, 1, ErrStale, `update signers set version = $1, sealed = $2, id = $3 where signature_id = $4 and position = $5 and version = $6`,
		p.Version, sealed, p.ID, r.ID, p.Position, before); err != nil {
		return err
	}
	return s.Audit.Append(ctx, tx, personEvent(r, p, digest, what, text, more))
}

// ChangePerson reads a record and changes one of its people, and starts over if another change
// came first. What change returns is logged; an empty text means that nothing changes.
func (s *Ledger) ChangePerson(ctx context.Context, record, person string, change func(tx *store.Tx, r *Record, p *Person) (what, text string, more map[string]any, err error)) (*Record, *Person, error) {
	for range 10 {
		r, err := s.ByID(ctx, record)
		if err != nil {
			return nil, nil, err
		}
		i := slices.IndexFunc(r.Persons, func(p *Person) bool { return p.ID == person })
		if i < 0 {
			return nil, nil, fault.New(fault.NotFound, "no such signer")
		}
		p := r.Persons[i]
		err = s.DB.Write(ctx, func(tx *store.Tx) error {
			what, text, more, err := change(tx, r, p)
			if err != nil || text == "" {
				return err
			}
			return s.SavePerson(ctx, tx, r, p, what, text, more)
		})
		if !errors.Is(err, ErrStale) {
			return r, p, err
		}
	}
	return nil, nil, fault.New(fault.Unavailable, "too many want to change the same signer: try again")
}

// AskAct queues a record for a person's act. It must still wait for signers.
func AskAct(ctx context.Context, tx *store.Tx, r *Record, otherwise error) error {
	return tx.Expect(ctx, 1, otherwise, `update signatures set acts = acts + 1, turn = `+job.Turn(Table, Ready, "$2", "$3")+` where id = $1 and `+
		only(``+isWaitSigners), r.ID, r.AccountID, 1)
}

// StoreSentOut is the step after validation of a record that people sign. Nothing is queued
// until one of them acts.
func StoreSentOut(ctx context.Context, tx *store.Tx, r *Record, lease string) error {
	return transition(ctx, tx, r, lease, WaitSigners, `signature_type = $5, secret = $6, lease_by = '', lease_until = 0, starts = 0, failures = 0`, string(r.Type), r.Secret)
}

// StoreActed ends an act and releases the lease that it was made under; what else waits is
// claimed again. The last act lets the record be closed.
func (s *Ledger) StoreActed(ctx context.Context, tx *store.Tx, r *Record, lease string, last bool) error {
	const done = `acts = acts - 1, lease_by = '', lease_until = 0, starts = 0, failures = 0`
	if !last {
		return tx.Expect(ctx, 1, ErrLost, `update signatures set `+done+` where id = $1 and `+only(`lease_by = $2 and acts > 0 and `+isWaitSigners), r.ID, lease)
	}
	if err := transition(ctx, tx, r, lease, WaitSign, done); err != nil {
		return err
	}
	return s.Audit.Append(ctx, tx, audit.Event{
		Account: r.AccountID, Record: r.ID, Kind: kindClosing, Log: "everybody has signed", Detail: map[string]any{"updatedAt": store.Millis(r.UpdatedAt)},
	})
}

// StoreIdle releases a record that has nothing to do.
func StoreIdle(ctx context.Context, tx *store.Tx, r *Record, lease string) error {
	return tx.Expect(ctx, 1, ErrLost, `update signatures set acts = 0, lease_by = '', lease_until = 0, starts = 0 where id = $1 and `+only(`lease_by = $2 and `+isWaitSigners), r.ID, lease)
}

// TakeOver takes the lease of a waiting record from any worker, so that it can be ended.
func TakeOver(ctx context.Context, tx *store.Tx, r *Record, lease string, until time.Time, otherwise error) error {
	return tx.Expect(ctx, 1, otherwise, `update signatures set lease_by = $2, lease_until = $3 where id = $1 and `+only(``+isWaiting), r.ID, lease, store.Millis(until))
}

// PutWork replaces a document by what an act made of it.
func (s *Ledger) PutWork(ctx context.Context, tx *store.Tx, r *Record, f *File) error {
	if err := tx.Later(ctx, `delete from signature_files where signature_id = $1 and role = $2 and position = $3`, r.ID, f.Role, f.Position); err != nil {
		return err
	}
	return s.InsertFiles(ctx, tx, r.ID, f)
}

// DropWork deletes the intermediate documents; their blobs go after the commit.
func (s *Ledger) DropWork(ctx context.Context, tx *store.Tx, r *Record) error {
	if len(r.Work) == 0 {
		return nil
	}
	gone := r.Work
	r.Work = nil
	tx.OnCommit(func() { s.DropBlobs(context.WithoutCancel(ctx), gone) })
	return tx.Later(ctx, `delete from signature_files where signature_id = $1 and role = $2`, r.ID, RoleWork)
}

// Traits is a digest of all that is known of a file, but for where it is kept.
func (f *File) Traits() string { return digestOf(f.traits()...) }

// Current is a document of the record as it is now: signed by the acts so far, rewritten, or as
// it came.
func (r *Record) Current(index int) *File {
	for _, f := range r.Work {
		if f.Position == index {
			return f
		}
	}
	if index == 0 && r.Validated != nil && r.Documents() == 1 {
		return r.Validated
	}
	if index < len(r.Inputs) {
		return r.Inputs[index]
	}
	return nil
}

// Documents is how many people see and sign.
func (r *Record) Documents() int {
	if p := r.Options.People; p != nil && p.Merge {
		return 1
	}
	return len(r.Inputs)
}

// Genuine reports whether the intermediate documents are those that the last act on each made,
// or that were rewritten before.
func (r *Record) Genuine(anew []MadeFile) bool {
	last := map[int]MadeFile{}
	for _, m := range anew {
		last[m.Index] = m
	}
	acts := map[int]int{}
	for _, p := range r.Persons {
		for _, m := range p.Made {
			if p.Seq >= acts[m.Index] {
				acts[m.Index], last[m.Index] = p.Seq, m
			}
		}
	}
	if r.State.Final() {
		return len(r.Work) == 0
	}
	if len(last) != len(r.Work) {
		return false
	}
	for _, f := range r.Work {
		if last[f.Position].Traits != f.Traits() {
			return false
		}
	}
	return true
}

// people reads those of the records of a page.
func (b Book) people(ctx context.Context, q store.Querier, rows map[string]*bookRow, ids []any) error {
	for _, r := range rows {
		r.ledger = b.Ledger
	}
	return each(ctx, q, func(row store.Row) error {
		var record, id string
		var position int
		var version int64
		var sealed []byte
		if err := row.Scan(&record, &position, &id, &version, &sealed); err != nil {
			return err
		}
		r := rows[record]
		p, err := b.Ledger.openPerson(r.Record, id, position, version, sealed)
		if err != nil {
			r.unreadable = errors.Join(r.unreadable, err)
			return nil
		}
		p.sealed = sealed
		r.Persons = append(r.Persons, p)
		return nil
	}, selectPersons+store.In(len(ids))+` order by signature_id, position`, ids...)
}

// person adds what the event of a person says.
func (t *history) person(detail []byte) {
	var e struct {
		Position int
		Row      string
		Intents  []string
		At       int64
	}
	if json.Unmarshal(detail, &e) != nil {
		return // erased
	}
	t.persons[e.Position] = e.Row
	for _, i := range e.Intents {
		t.acts[i] = e.At
	}
}

// peopleFit holds those who are asked against their events.
func (b *bookRow) peopleFit(t *history) string {
	if !b.ByPeople() {
		if len(b.Persons) > 0 || b.Acts != 0 || len(b.Work)+len(b.Evidence) > 0 {
			return "it is signed by a certificate, and people are asked"
		}
		return ""
	}
	pending, evidence := 0, map[string]bool{}
	for _, p := range b.Persons {
		if t.persons[p.Position] != personDigest(b.ID, p.ID, p.Position, p.Version, p.sealed) {
			return "somebody who is asked to sign is not what the events say"
		}
		if p.Pending() {
			pending++
		}
		if p.Proof != nil {
			for _, traits := range p.Proof.Files {
				evidence[traits] = true
			}
		}
	}
	for _, f := range b.Evidence {
		if !evidence[f.Traits()] || f.deleted || len(f.Source) > 0 {
			return "evidence of who signed is not what it was"
		}
	}
	switch {
	case len(b.Persons) != b.Options.People.Signers:
		return fmt.Sprintf("%d are asked to sign, and its events say %d", len(b.Persons), b.Options.People.Signers)
	case b.State == WaitSigners && b.Acts != pending, b.State != WaitSigners && b.Acts != 0:
		return "it waits for other acts than its signers made"
	case len(b.Evidence) != len(evidence):
		return "evidence of who signed is missing"
	}
	var secrets Secrets
	if b.State == WaitSigners || b.State == WaitSign {
		opened, err := b.ledger.OpenSecrets(b.Record)
		if err != nil {
			return "its documents or options are not those that were sent out"
		}
		secrets = *opened
	}
	if b.State != WaitValidation && !b.Genuine(secrets.Anew) {
		return "a document on its way is not what the last act left"
	}
	for _, f := range b.Work {
		if f.deleted || len(f.Source) > 0 || f.validated {
			return "a document on its way is not what the last act left"
		}
	}
	return ""
}

// actsFit holds the uses of keys against the acts of people.
func (b *bookRow) actsFit(t *history) string {
	slices.SortFunc(t.uses, func(a, b keyUse) int { return strings.Compare(a.Intent, b.Intent) })
	for i, use := range b.intents {
		if use.keyUse != t.uses[i] || use.account != b.AccountID {
			return "a key was used for another digest, certificate or account than its events say"
		}
		at, made := t.acts[use.Intent]
		closed := use.outcome == intent.Failed || use.outcome == intent.Unknown
		switch {
		case made != (use.outcome == intent.Signed), b.State.Final() && !made && !closed:
			return fmt.Sprintf("it is %s, and a use of a key %s", b.State, use.outcome)
		case made && use.finished != at:
			return "a use of a key ended at a time when it cannot have"
		case closed && (use.finished < use.At-skew || b.State.Final() && use.finished > store.Millis(b.UpdatedAt)+skew), !made && !closed && use.finished != 0:
			return "a use of a key ended at a time when it cannot have"
		}
	}
	return ""
}
