package people

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/authority"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
)

// Proceed takes a record as far as it can go: it is validated and sent out, one act is
// made, or it is closed. Each step is durable before the next begins.
func (s *Service) Proceed(ctx context.Context, w *signing.Work) error {
	r := w.Record()
	switch r.State {
	case ledger.WaitValidation:
		return s.sendOut(ctx, w)
	case ledger.WaitSigners:
		var first *ledger.Person
		for _, p := range r.Persons {
			if p.Pending() && (first == nil || p.Act.At.Before(first.Act.At)) {
				first = p
			}
		}
		if first == nil {
			return w.Idle(ctx)
		}
		return s.act(ctx, w, first)
	}
	docs, err := w.Current(ctx)
	if err != nil {
		return err
	}
	return w.Close(ctx, docs)
}

// sendOut validates the documents, finds every place, and asks those who come first.
func (s *Service) sendOut(ctx context.Context, w *signing.Work) error {
	docs, err := w.Documents(ctx)
	if err != nil {
		return err
	}
	r := w.Record()
	places, err := placesIn(ctx, s.Drawer, docs, r.Persons)
	if err != nil {
		return err
	}
	return w.SentOut(ctx, func(tx *store.Tx) error {
		for i, p := range r.Persons {
			if err := s.Signing.LockPerson(ctx, tx, r, p); err != nil {
				return err
			}
			p.Places = places[i]
			if err := s.Signing.SavePerson(ctx, tx, r, p, "placed", "the document has the places of the signer's fields", nil); err != nil {
				return err
			}
		}
		if every := r.Options.People.Reminders; every != nil {
			now := s.config.Now()
			if err := job.Put(ctx, tx, job.Item{Kind: reminderJob, ID: r.ID, Account: r.AccountID, After: s.nextReminder(r, now).Sub(now)}); err != nil {
				return err
			}
		}
		return s.invite(ctx, tx, r)
	})
}

// invite asks those whose turn it is, and who were not asked before.
func (s *Service) invite(ctx context.Context, tx *store.Tx, r *ledger.Record) error {
	for _, p := range due(r) {
		if p.State == ledger.PersonNew && p.Invited.IsZero() {
			if err := s.put(ctx, tx, r, p, Invite); err != nil {
				return err
			}
		}
	}
	return nil
}

// act makes what a person asked for. What cannot be made is undone: the person may try
// again, and the record goes on.
func (s *Service) act(ctx context.Context, w *signing.Work, p *ledger.Person) error {
	err := s.perform(ctx, w, p)
	var no *ledger.Refusal
	if !errors.As(err, &no) {
		return err
	}
	s.config.Log.WarnContext(ctx, "a person's signature could not be made", "record", w.Record().ID, "signer", p.ID, "number", no.Number, "error", no.Err)
	return w.Acted(ctx, nil, false, nil, func(tx *store.Tx, _ []string, _ time.Time) error {
		if err := s.Signing.LockPerson(ctx, tx, w.Record(), p); err != nil {
			return err
		}
		p.Act, p.Problem, p.Trouble = nil, no.Text, int(no.Number)
		return s.Signing.SavePerson(ctx, tx, w.Record(), p, "failed", "the signature could not be made: "+no.Text, map[string]any{"errorNumber": no.Number})
	})
}

func (s *Service) perform(ctx context.Context, w *signing.Work, p *ledger.Person) error {
	r := w.Record()
	docs, err := w.Current(ctx)
	if err != nil {
		return err
	}
	if err := asShown(docs, p.Act.Shown); err != nil {
		return err
	}
	var files []*ledger.File
	var events []audit.Event
	if p.Role == ledger.RoleSigner {
		for i, src := range docs {
			for k, place := range p.Places[i] {
				key, err := s.keyOf(ctx, r, p)
				if err != nil {
					return err
				}
				if err := w.Use(ctx, key.Key); err != nil {
					return err
				}
				made, told, err := w.Sign(ctx, i, src, s.appearance(r, p, place, k), key.level)
				if err != nil {
					return err
				}
				src, events = made, append(events, told...)
			}
			f, err := w.Keep(ctx, i, src)
			if err != nil {
				return err
			}
			files = append(files, f)
		}
	}
	last := !slices.ContainsFunc(r.Persons, func(other *ledger.Person) bool {
		return other.Acts() && other != p && other.State != ledger.PersonSigned
	})
	return w.Acted(ctx, files, last, events, func(tx *store.Tx, intents []string, at time.Time) error {
		if err := s.Signing.LockPerson(ctx, tx, r, p); err != nil {
			return err
		}
		if !p.Pending() { // it was replaced, or undone
			return ledger.ErrLost
		}
		p.State, p.SignedAt, p.Seq = ledger.PersonSigned, at, 1
		for _, other := range r.Persons {
			p.Seq = max(p.Seq, other.Seq+1)
		}
		p.Act.Password, p.Act.OTP, p.Made = "", "", nil
		var digests []string
		for _, f := range files {
			p.Made = append(p.Made, ledger.MadeFile{Index: f.Position, SHA256: f.SHA256, Traits: f.Traits()})
			digests = append(digests, f.SHA256)
		}
		text := "signed"
		if p.Role == ledger.RoleApprover {
			text = "approved"
		}
		if err := s.Signing.SavePerson(ctx, tx, r, p, "signed", text, map[string]any{"intents": intents, "at": store.Millis(at), "documents": digests}); err != nil {
			return err
		}
		return s.invite(ctx, tx, r)
	})
}

// asShown makes sure that what is signed begins with what was shown, byte for byte: only
// the signatures of others may have come behind it.
func asShown(docs []ades.Source, shown []ledger.Shown) error {
	other := &ledger.Refusal{Number: fault.SigningFailed, Text: "the documents are not those that were shown"}
	if len(docs) != len(shown) {
		return other
	}
	for i, d := range shown {
		h := sha256.New()
		if d.Size > docs[i].Size() {
			return other
		}
		if _, err := io.Copy(h, io.NewSectionReader(docs[i], 0, d.Size)); err != nil {
			return err
		}
		if hex.EncodeToString(h.Sum(nil)) != d.SHA256 {
			return other
		}
	}
	return nil
}

// actKey is a key with the level that it is used at.
type actKey struct {
	*signing.Key
	level ades.Level
}

// keyOf is what a person's act is signed with: their own certificate, one made for this
// signature, or the operator's seal.
func (s *Service) keyOf(ctx context.Context, r *ledger.Record, p *ledger.Person) (*actKey, error) {
	level := min(r.Options.TargetLevel(), ades.LevelLT) // the closing time-stamp is over all of them
	if p.Act.Certificate != "" {
		cred, cert, err := s.Signing.OwnCertificate(ctx, p.Act.Certificate)
		if err != nil {
			return nil, err
		}
		return &actKey{&signing.Key{Certificate: cert, Credential: cred, Password: p.Act.Password, OTP: p.Act.OTP, Version: p.Act.Version}, level}, nil
	}
	if r.CertificateType == request.AES {
		key, err := s.oneAct(ctx, r, p)
		return &actKey{key, max(level, ades.LevelT)}, err // it ends within the hour
	}
	if s.config.Seal == "" {
		cert, key := s.Authority.Seal()
		return &actKey{&signing.Key{Certificate: signing.CertificateFor("seal", cert, s.Authority.Chain()), Signer: key}, level}, nil
	}
	found, err := s.Keys.ByUsername(ctx, s.config.Seal)
	if err == nil && len(found) != 1 {
		err = &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the operator's seal (ses.certificate) is not there"}
	}
	if err != nil {
		return nil, err
	}
	cred, cert, err := s.Signing.OwnCertificate(ctx, found[0].ID)
	if err != nil {
		return nil, err
	}
	return &actKey{&signing.Key{Certificate: cert, Credential: cred, Password: s.config.SealPassword, Version: cred.Version()}, level}, nil
}

// kindActIssued is the event of a certificate for one act. It names no person, so it is kept.
const kindActIssued = "act-certificate-issued"

// oneAct makes a key, and a certificate for it of what was proven and nothing else. The key
// is in memory only: it is used for one signature and dropped.
func (s *Service) oneAct(ctx context.Context, r *ledger.Record, p *ledger.Person) (*signing.Key, error) {
	if p.Proof == nil {
		return nil, &ledger.Refusal{Number: fault.SigningFailed, Text: "nobody was identified"}
	}
	var proven identify.Certified
	if err := json.Unmarshal(p.Proof.Subject, &proven); err != nil {
		return nil, fmt.Errorf("people: what was proven: %w", err)
	}
	key, err := ca.NewKey("P-256")
	if err != nil {
		return nil, err
	}
	out := &signing.Key{Signer: key}
	return out, s.DB.Write(ctx, func(tx *store.Tx) error {
		cert, err := s.Authority.IssueAct(ctx, tx, authority.Subject{
			GivenName: proven.GivenName, Surname: proven.Surname, FiscalCode: proven.FiscalCode, Country: proven.Country, CommonName: proven.CommonName,
		}, key.Public())
		if err != nil {
			return err
		}
		id := "act " + cert.SerialNumber.String()
		out.Certificate = signing.CertificateFor(id, cert, s.Authority.Chain())
		return s.Audit.Append(ctx, tx, audit.Event{
			Account: r.AccountID, Record: id, Kind: kindActIssued, Log: "a certificate was issued for one act", Detail: map[string]any{"serialNumber": out.Certificate.Serial, "signature": r.ID},
		})
	})
}

// appearance is how the signature of a person looks, and what its dictionary says.
func (s *Service) appearance(r *ledger.Record, p *ledger.Person, place ledger.Place, n int) pades.Options {
	zone, err := time.LoadLocation(r.Options.Timezone)
	if err != nil {
		zone = time.UTC // the request was checked
	}
	lang, at := language(p), s.config.Now().In(zone).Format("2006-01-02 15:04:05 MST")
	words := map[string][4]string{
		"en": {"Signed by", "proven by a code to", "identified by", "on"}, "it": {"Firmato da", "provato da un codice a", "identificato con", "il"},
	}[lang]
	name, proofs := p.FullName(), []string(nil)
	if p.Proof != nil {
		var proven identify.Certified
		if json.Unmarshal(p.Proof.Subject, &proven) == nil && proven.CommonName != "" {
			name = proven.CommonName
		}
		proofs = append(proofs, words[2]+" "+p.Proof.Method)
	}
	contact := ""
	for _, channel := range []string{ledger.ByEmail, ledger.BySMS} {
		if c := p.Codes[channel]; c != nil && c.Proven != "" {
			proofs = append(proofs, words[1]+" "+c.Proven)
			if contact == "" {
				contact = c.Proven
			}
		}
	}
	lines := []string{words[0] + " " + name}
	if typed := p.Act.Typed; typed != "" && typed != name {
		lines = append([]string{typed}, lines...)
	}
	lines = append(append(lines, proofs...), at)
	reason := words[0] + " " + name
	for _, proof := range proofs {
		reason += ", " + proof
	}
	o := pades.Options{
		Name: name, Reason: reason + ", " + words[3] + " " + at, ContactInfo: contact, NewField: fmt.Sprintf("Signer%d-%d", p.Position+1, n+1),
		Appearance: &pades.Appearance{Page: place.Page, X: place.X, Y: place.Y, Width: place.Width, Height: place.Height, Lines: lines, Language: lang, Zone: zone},
	}
	if place.Name != "" {
		o.Field, o.NewField = place.Name, ""
	}
	if len(p.Act.Drawn) > 0 {
		o.Appearance.Image = p.Act.Drawn
	}
	return o
}

// Ending settles what becomes of everybody when a record ends: those who were too late, and
// the messages.
func (s *Service) Ending(ctx context.Context, tx *store.Tx, r *ledger.Record) error {
	for _, waits := range []string{expiryJob, reminderJob} {
		if err := job.Drop(ctx, tx, waits, r.ID); err != nil {
			return err
		}
	}
	kind := map[fault.Code]string{0: Done, fault.SignerDeclined: Declined, fault.SignersLate: Expired}[r.ErrorNumber]
	for _, p := range r.Persons {
		asked := !p.Invited.IsZero() || p.State != ledger.PersonNew
		late := r.ErrorNumber == fault.SignersLate && p.Acts() && !p.State.Final()
		if late || p.Pending() {
			if err := s.Signing.LockPerson(ctx, tx, r, p); err != nil {
				return err
			}
			if late {
				p.State = ledger.PersonExpired
			}
			p.Act = nil
			what, text := "over", "the record ended before the signature was made"
			if late {
				what, text = "expired", "the signer was too late"
			}
			if err := s.Signing.SavePerson(ctx, tx, r, p, what, text, nil); err != nil {
				return err
			}
		}
		if kind == "" || kind != Done && (!asked || !p.Acts() || p.State == ledger.PersonDeclined) {
			continue
		}
		if err := s.put(ctx, tx, r, p, kind); err != nil {
			return err
		}
	}
	return nil
}
