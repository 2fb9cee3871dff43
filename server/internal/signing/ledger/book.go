package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// Book is the table of signature records, as audit verification compares it with the log.
type Book struct{ Ledger *Ledger }

// Kinds are those of the events of a signature.
var Kinds = []string{
	"request", "input", "validation", "approval", "key-use", "signature", "timestamp", "signed", "error", "retention", "download", KindRetry, KindPerson, kindClosing, audit.KindErased,
}

// Owns says that an event of a kind is about a signature.
func (Book) Owns(kind string) bool { return slices.Contains(Kinds, kind) }

// Has returns those of the ids that are records, or were until they were erased.
func (Book) Has(ctx context.Context, q store.Querier, ids []any) ([]string, error) {
	found, err := audit.HasIn(ctx, q, "signatures", ids)
	if err != nil {
		return nil, err
	}
	gone := slices.DeleteFunc(slices.Clone(ids), func(id any) bool { return slices.Contains(found, id.(string)) })
	erased, err := audit.Erased(ctx, q, gone)
	return append(found, erased...), err
}

// bookRow is what a record states about itself, with what the log records of the key that it was
// signed with.
type bookRow struct {
	*Record
	ledger     *Ledger
	unreadable error
	intents    []usedIntent
	keys       map[string][]*audit.Entry // by certificate
}

// usedIntent is a row of the intents, in the order of their ids.
type usedIntent struct {
	keyUse
	account, outcome string
	finished         int64
}

// Page returns the records that follow an id.
func (b Book) Page(ctx context.Context, q store.Querier, after string, limit int) ([]audit.Record, error) {
	rows := map[string]*bookRow{}
	var ids, certificates []any
	err := each(ctx, q, func(row store.Row) error {
		r := &bookRow{}
		if r.Record, r.unreadable = b.Ledger.scan(row); r.Record == nil {
			return r.unreadable
		}
		rows[r.ID], ids, certificates = r, append(ids, r.ID), append(certificates, r.CertificateID)
		return nil
	}, `select `+columns+` from signatures where id > $1 order by id limit $2`, after, limit)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	in := store.In(len(ids))
	err = each(ctx, q, func(row store.Row) error {
		i, id, err := scanIntent(row)
		if err != nil {
			return err
		}
		rows[id].intents, certificates = append(rows[id].intents, i), append(certificates, i.Certificate)
		return nil
	}, selectIntents+in+` order by id`, ids...)
	if err != nil {
		return nil, err
	}
	err = each(ctx, q, func(row store.Row) error {
		f := &fileRow{}
		err := row.Scan(f.fields()...)
		if err == nil {
			rows[f.record].place(f.file())
		}
		return err
	}, selectFile+`where signature_id`+in+` order by role, position`, ids...)
	if err != nil {
		return nil, err
	}
	if err := b.people(ctx, q, rows, ids); err != nil {
		return nil, err
	}
	known, err := audit.OfKind(ctx, q, keys.KindKey, certificates)
	if err != nil {
		return nil, err
	}
	all := make([]audit.Record, len(ids))
	for i, id := range ids {
		r := rows[id.(string)]
		r.keys = known
		all[i] = audit.Record{ID: r.ID, Account: r.AccountID, Fits: r.fits}
	}
	return all, nil
}

// each runs scan on every row of a query.
func each(ctx context.Context, q store.Querier, scan func(store.Row) error, query string, args ...any) error {
	rows, err := q.Query(ctx, query, args...)
	return store.Each("signing: read records", rows, err, scan)
}

// history is what the events of a record say.
type history struct {
	kinds    map[string]int
	uses     []keyUse // of the key; without those whose text is gone
	request  struct{ Terms string }
	approval struct {
		Token     string
		UpdatedAt int64
	}
	valid   validated
	closing struct{ UpdatedAt int64 }
	persons map[int]string // the last digest of each row
	acts    map[string]int64
	retained
	ending
	error string // line of the last error
	wrong string // what cannot be
}

func (b *bookRow) replay(events []*audit.Entry) *history {
	t := &history{kinds: map[string]int{}, persons: map[int]string{}, acts: map[string]int64{}}
	for i, e := range events {
		if t.kinds[e.Kind]++; (e.Kind == "request") != (i == 0) || t.kinds["signed"] > 0 && slices.Contains([]string{"input", "validation", "key-use", "signature"}, e.Kind) ||
			e.Kind == "key-use" && t.kinds["validation"] == 0 {
			t.wrong = fmt.Sprintf("its events are not in the order in which they can happen (%s)", e.Kind)
		}
		log, detail := e.Text()
		switch e.Kind { // of our own making, or erased
		case "request":
			_ = json.Unmarshal(detail, &t.request)
		case "validation":
			_ = json.Unmarshal(detail, &t.valid)
		case "approval":
			_ = json.Unmarshal(detail, &t.approval)
		case "key-use":
			var use keyUse
			_ = json.Unmarshal(detail, &use)
			of := b.CertificateID
			if ByPeople(b.CertificateType) {
				of = use.Certificate
			}
			// The seal and a certificate for one act have no password.
			if wrong := keys.Used(e, use.Credential, b.keys[of]); wrong != "" && (use.Credential != "" || !ByPeople(b.CertificateType)) {
				t.wrong = wrong
			}
			use.Serial, use.Credential, use.Provider = "", "", ""
			t.uses = append(t.uses, use)
		case KindPerson:
			t.person(detail)
		case kindClosing:
			_ = json.Unmarshal(detail, &t.closing)
		case "retention":
			_ = json.Unmarshal(detail, &t.retained)
		case "signed", "error":
			_ = json.Unmarshal(detail, &t.ending)
			t.error = log
		}
	}
	return t
}

// fits says what is wrong between a record and its events.
func (b *bookRow) fits(_ store.Querier, events []*audit.Entry) string { //nolint:gocyclo // a list of what has to fit
	t := b.replay(events)
	has := func(kind string) bool { return t.kinds[kind] > 0 }
	validated := b.State == WaitSigners || b.State == WaitSign || b.State == Done
	switch {
	case b.unreadable != nil:
		return "something sealed in it was changed, or is another's"
	case t.kinds["request"] != 1:
		return fmt.Sprintf("%d requests for it are in the log", t.kinds["request"])
	case t.wrong != "":
		return t.wrong
	case has("signed") != (b.State == Done), has("error") != (b.State == Error):
		return fmt.Sprintf("it is %s, and its events say otherwise", b.State)
	case validated && !has("validation"), b.State == WaitValidation && has("validation"):
		return fmt.Sprintf("it is %s, and its events say otherwise", b.State)
	case has(audit.KindErased):
		return "it was erased, and is there again"
	case len(b.intents) != t.kinds["key-use"]:
		return fmt.Sprintf("the key was used %d times for it, and the log says %d", len(b.intents), t.kinds["key-use"])
	case b.odd:
		return "it has documents that no record has"
	case !b.approvalFits(has("approval"), t.error) || b.ApprovedBy != t.approval.Token:
		return "it was approved, or not, or by another, and its events say otherwise"
	case t.request.Terms != b.terms():
		return "it names another certificate, request, caller, title, time, retention or other options than its events"
	case b.State.Final() && t.Ended != b.ended():
		return "its documents, its format, its level, its error or its time are other than in its events"
	case !b.State.Final() && !b.waits(t.valid.Type, max(t.valid.UpdatedAt, t.approval.UpdatedAt, t.closing.UpdatedAt)):
		return "it waits, and says how it ended, or waits for something else than its events say"
	case b.State == Error && (b.Signer != nil || b.Achieved != ""):
		return "it ended in an error, and says who signed"
	}
	if has("retention") && t.Until != store.Millis(b.FilesUntil) {
		return "its documents were deleted at another time than the end of their retention"
	}
	if wrong := b.peopleFit(t); wrong != "" {
		return wrong
	}
	for _, f := range b.files() {
		if f.deleted != has("retention") || b.State == Done && !f.deleted && f.Blob == "" && f.Size > 0 {
			return "its documents were deleted, or not, and its events say otherwise"
		}
	}
	return b.usesFit(t)
}

// usesFit compares the intents with the uses of the key in the log. In a record that was signed, as
// many of them led to its document as its end says, and, if it was taken over, those that it names.
func (b *bookRow) usesFit(t *history) string {
	if b.ByPeople() {
		return b.actsFit(t)
	}
	signed := 0
	slices.SortFunc(t.uses, func(a, b keyUse) int { return strings.Compare(a.Intent, b.Intent) })
	for i, use := range b.intents {
		if use.keyUse != t.uses[i] || use.Certificate != b.CertificateID || use.account != b.AccountID {
			return "the key was used for another digest, certificate or account than its events say"
		}
		if use.outcome == intent.Signed {
			signed++
		}
		if named := slices.Contains(t.Intents, use.Intent); len(t.Intents) > 0 && b.State == Done && named != (use.outcome == intent.Signed) {
			return "another use of the key led to its document than its events say"
		}
		closed := use.outcome == intent.Failed || use.outcome == intent.Unknown
		if b.State == Done && use.outcome != intent.Signed && !closed || b.State == Error && !closed || !b.State.Final() && use.outcome == intent.Signed {
			return fmt.Sprintf("it is %s, and a use of its key %s", b.State, use.outcome)
		}
		if !use.ends(b.Record) {
			return "a use of its key ended at a time when it cannot have"
		}
	}
	if b.State == Done && signed < t.Uses {
		return fmt.Sprintf("its end tells of %d uses of the key, and %d signed", t.Uses, signed)
	}
	return ""
}

// skew is how far the clocks of two servers may be apart.
const skew = int64(10 * time.Minute / time.Millisecond)

// ends says that a use ended when it can have: one that led to the document with its
// record, another not before it was permitted nor after the record, by the clocks of
// whichever servers, an open one not yet.
func (u *usedIntent) ends(r *Record) bool {
	updated := store.Millis(r.UpdatedAt)
	switch u.outcome {
	case intent.Signed:
		return u.finished == updated
	case intent.Failed, intent.Unknown:
		return u.finished >= u.At-skew && (!r.State.Final() || u.finished <= updated+skew)
	}
	return u.finished == 0
}

// waits says that a record that has not ended says nothing of an end, and is what
// its validation left.
func (r *Record) waits(format string, updated int64) bool {
	if r.State == WaitValidation {
		format, updated = "", store.Millis(r.CreatedAt)
	}
	return r.Achieved == "" && r.Signer == nil && r.Tally.Of == 0 && r.ErrorNumber == 0 && r.ErrorMessage == "" && string(r.Type) == format && store.Millis(r.UpdatedAt) == updated
}

const selectIntents = `select id, signature_id, account_id, certificate_id, position, digest, outcome, created_at, finished_at from signing_intents where signature_id `

func scanIntent(row store.Row) (i usedIntent, record string, err error) {
	var digest []byte
	err = row.Scan(&i.Intent, &record, &i.account, &i.Certificate, &i.Number, &digest, &i.outcome, &i.At, &i.finished)
	i.Digest = hexOf(digest)
	return i, record, err
}

// approvalFits holds the approval against the event of one and the error that
// the record ended in. One that was withdrawn has its event, and between the
// refusal and the end of the record nothing can be said.
func (b *bookRow) approvalFits(given bool, ended string) bool {
	if !slices.Contains([]string{"", ApprovalWaiting, ApprovalGiven, ApprovalRefused}, b.Approval) || (b.Approval != "") != !b.ApprovalUntil.IsZero() && b.Approval != ApprovalRefused {
		return false
	}
	switch {
	case b.Approval != ApprovalRefused:
		return given == (b.Approval == ApprovalGiven)
	case b.State == Error:
		return given == strings.HasSuffix(ended, ApprovalWithdrawn)
	}
	return b.State != Done
}
