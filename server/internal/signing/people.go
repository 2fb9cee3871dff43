package signing

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing/documents"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
)

// People works on records that people sign: package people does.
type People interface {
	// Proceed takes a record as far as it can go now. A *ledger.Refusal ends it.
	Proceed(ctx context.Context, w *Work) error
	// Ending changes what the people of a record that ends are from then on.
	Ending(ctx context.Context, tx *store.Tx, r *ledger.Record) error
}

// Work is the work on a record that people sign, under its lease.
type Work struct{ x *run }

// Record that is worked on.
func (w *Work) Record() *ledger.Record { return w.x.record }

// SubmitPeople accepts a request that people sign: a record that waits for its validation, paid
// for. more runs in its transaction.
func (s *Service) SubmitPeople(ctx context.Context, req *request.PeopleRequest, from request.Caller, persons []*ledger.Person, more func(*store.Tx, *ledger.Record) error) (*ledger.Record, error) {
	r := s.newRecord(&request.Request{Options: req.Options, Title: req.Title, Description: req.Description, Callback: req.Callback}, from)
	r.CertificateType, r.Persons = req.Type, persons
	r.FilesUntil = req.Options.People.ExpiresAt.Add(s.config.KeepFiles)
	x := s.newRun(r, &ledger.Secrets{})
	defer x.close()
	if err := x.docs.StoreInputs(ctx, &request.Request{Inputs: req.Inputs, Options: req.Options}); err != nil {
		return nil, err
	}
	if err := x.Bind(r, x.secrets); err != nil {
		return nil, err
	}
	stored := x.docs.Stored()
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		s.jobs.Wake(tx, ledger.Table)
		if err := x.insert(ctx, tx); err != nil {
			return err
		}
		if err := s.audit.Append(ctx, tx, s.PersonsAsked(r)...); err != nil {
			return err
		}
		if err := idempotency.ClaimFrom(ctx).Record(ctx, tx, r.ID, 0); err != nil {
			return err
		}
		return more(tx, r)
	})
	if err != nil {
		if !errors.Is(err, fault.Unavailable) {
			x.docs.Discard(ctx, x.docs.Stored()-stored)
		}
		return nil, err
	}
	r.Stored = true
	return r, nil
}

// Documents fetches and checks the documents of a new record, and returns them as they will be
// signed.
func (w *Work) Documents(ctx context.Context) ([]ades.Source, error) {
	x := w.x
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	if err := x.docs.ValidatePeople(ctx); err != nil {
		return nil, err
	}
	all := make([]ades.Source, len(x.docs.Items))
	for i, it := range x.docs.Items {
		all[i] = it.Source
	}
	return all, nil
}

// open unseals the secrets of the record and opens its inputs.
func (w *Work) open(ctx context.Context) (err error) {
	x := w.x
	if x.secrets, err = x.OpenSecrets(x.record); err != nil {
		return err
	}
	x.docs = documents.New(x.documents, x.record, x.secrets)
	return x.docs.Load(ctx)
}

// SentOut is the step after validation: from now on people may sign. more runs in its
// transaction.
func (w *Work) SentOut(ctx context.Context, more func(*store.Tx) error) error {
	x := w.x
	x.secrets.Anew = nil
	for _, f := range x.record.Work {
		x.secrets.Anew = append(x.secrets.Anew, ledger.MadeFile{Index: f.Position, SHA256: f.SHA256, Traits: f.Traits()})
	}
	return x.storeValidated(ctx, ledger.WaitSigners, ledger.StoreSentOut, func(tx *store.Tx) error {
		for _, f := range x.record.Work {
			if err := x.PutWork(ctx, tx, x.record, f); err != nil {
				return err
			}
		}
		return more(tx)
	})
}

// Current opens the documents as they are now, after checking that they are what the previous
// acts made.
func (w *Work) Current(ctx context.Context) ([]ades.Source, error) {
	x := w.x
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	if !x.record.Genuine(x.secrets.Anew) {
		return nil, &ledger.Refusal{Number: fault.SigningFailed, Text: "a document on its way is not what the last act left"}
	}
	all := make([]ades.Source, x.record.Documents())
	for i := range all {
		src, err := x.docs.Open(ctx, x.record.Current(i))
		if err != nil {
			return nil, err
		}
		all[i] = src
	}
	return all, nil
}

// Key is what an act is signed with: one that is at hand, or that of a credential.
type Key struct {
	Certificate *enroll.Certificate // with its id, serial number, bytes and chain
	Signer      crypto.Signer       // nil: the credential's
	Credential  *keys.Credential
	Password    string
	OTP         string // for a provider
	Version     string // of the credential, as the person was judged by
}

// own reports whether an act is signed with a key without a credential: that of the seal, or
// one made for the act.
func (x *run) own() bool { return x.record.ByPeople() && x.cred != nil && x.cred.ID == "" }

// Use sets the key that the acts of this work are signed with.
func (w *Work) Use(ctx context.Context, k *Key) error {
	x := w.x
	x.cert, x.cred, x.key = k.Certificate, k.Credential, k.Signer
	if x.cred == nil {
		x.cred = &keys.Credential{}
		return nil
	}
	x.secrets.Password, x.secrets.OTP, x.secrets.Credential, x.secrets.Level = k.Password, k.OTP, k.Version, k.Certificate.Level
	return x.openRemote(ctx)
}

// Sign signs a PDF once. index names the document where it cannot be.
func (w *Work) Sign(ctx context.Context, index int, src ades.Source, o pades.Options, level ades.Level) (ades.Source, []audit.Event, error) {
	x := w.x
	params, err := x.signParams()
	if err != nil {
		return nil, nil, err
	}
	x.config.Hook("before-sign", x.record.ID)
	options := rogito.Options{
		SignParams: params, Stamper: x.stamper(), Gatherer: x.config.Gatherer, Format: ades.PAdES, Level: level, Memory: x.config.Memory, PAdES: o,
		Spool: func() rogito.Spool { return x.docs.Spool().Write() },
	}
	out, err := rogito.SignWith(ctx, rogito.File("", src), nil, options, x.useKey)
	if err != nil {
		return nil, nil, documents.Unsignable(index, raisingRefusal(err))
	}
	made, err := x.docs.Signed(src, out.Source)
	return made, x.events().Signature(out, &level, level.String(), index), err
}

// Keep stores what an act made of a document; it has no row yet.
func (w *Work) Keep(ctx context.Context, index int, src ades.Source) (*ledger.File, error) {
	return w.x.docs.StoreWork(ctx, index, src)
}

// Acted ends an act: its documents replace the previous ones. last: everybody has acted. more
// changes the person in the same transaction; it gets the uses of keys that led to the act.
func (w *Work) Acted(ctx context.Context, made []*ledger.File, last bool, events []audit.Event, more func(tx *store.Tx, intents []string, at time.Time) error) error {
	x := w.x
	ctx = context.WithoutCancel(ctx)
	x.config.Hook("stored", x.record.ID)
	r, before, at := x.record, *x.record, x.config.Now()
	var gone []*ledger.File
	for _, f := range made {
		for _, old := range r.Work {
			if old.Position == f.Position {
				gone = append(gone, old)
			}
		}
	}
	if last {
		r.State, r.UpdatedAt = ledger.WaitSign, at
	}
	err := x.db.Write(ctx, func(tx *store.Tx) error {
		x.jobs.Wake(tx, ledger.Table)
		if err := x.StoreActed(ctx, tx, r, x.lease, last); err != nil {
			return err
		}
		for _, f := range made {
			if err := x.PutWork(ctx, tx, r, f); err != nil {
				return err
			}
		}
		if err := intent.Settle(ctx, tx, r.ID, intent.Signed, at); err != nil {
			return err
		}
		if err := x.audit.Append(ctx, tx, events...); err != nil {
			return err
		}
		if err := more(tx, x.made, at); err != nil {
			return err
		}
		return x.queueCallback(ctx, tx, r)
	})
	if err != nil {
		*r = before
		if !errors.Is(err, fault.Unavailable) { // a commit that was cut off may have been made
			for _, f := range made {
				_ = x.blobs.Delete(ctx, f.Blob) // the sweep of blobs would find it later
			}
		}
		return err
	}
	x.uses, x.closing, x.made = nil, nil, nil
	x.DropBlobs(ctx, gone)
	return nil
}

// Idle releases the record: there is nothing to do.
func (w *Work) Idle(ctx context.Context) error {
	return w.x.db.Write(ctx, func(tx *store.Tx) error { return ledger.StoreIdle(ctx, tx, w.x.record, w.x.lease) })
}

// Close ends a record that everybody has signed. From LT on, a document time-stamp covers all
// of it.
func (w *Work) Close(ctx context.Context, all []ades.Source) error {
	x := w.x
	r := x.record
	for i, src := range all {
		if r.Options.TargetLevel() < ades.LevelLT {
			break
		}
		out := x.docs.Spool().Write()
		err := rogito.Augment(ctx, src, out, ades.AugmentOptions{
			Level: ades.LevelLTA, Stamper: x.stamper(), Gatherer: x.config.Gatherer, Hash: request.HashOf(r.Options.Hash), Time: x.config.Now().UTC(),
		})
		if err != nil {
			return documents.Unsignable(i, raisingRefusal(err))
		}
		all[i] = out.Source()
	}
	level := r.Options.TargetLevel()
	out := &signedDocument{src: all[0], media: documents.PDF, level: &level}
	if len(all) > 1 {
		zipped, err := x.docs.Zip(all)
		if err != nil {
			return err
		}
		out.src, out.media = zipped, documents.Zip
	}
	return x.end(ctx, out, nil)
}

// Stop ends a waiting record in ERROR. A worker that has it under way can no longer store its
// result. more runs in the same transaction.
func (s *Service) Stop(ctx context.Context, r *ledger.Record, no *ledger.Refusal, more func(*store.Tx) error) error {
	x := s.newRun(r, nil)
	x.lease = job.NewLease()
	before := *r
	r.UpdatedAt, r.Secret = s.config.Now(), nil
	r.State, r.ErrorNumber, r.ErrorMessage = ledger.Error, no.Number, no.Text
	if before.State == ledger.WaitValidation {
		r.Type = request.PAdES
	}
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := ledger.TakeOver(ctx, tx, r, x.lease, r.UpdatedAt.Add(s.config.Lease), errOver); err != nil {
			return err
		}
		if err := more(tx); err != nil {
			return err
		}
		return x.storeError(ctx, tx, no)
	})
	if err != nil {
		*r = before
		return err
	}
	s.config.Ended(r)
	return intent.Wait(ctx, s.db, intent.Record, r.ID)
}

var errOver = fault.New(fault.WrongState, "the record has come to its end")

// Tell queues a callback for a record, in a transaction that changes one of its people.
func (s *Service) Tell(ctx context.Context, tx *store.Tx, r *ledger.Record) error {
	return s.newRun(r, nil).queueCallback(ctx, tx, r)
}

// Wake wakes the workers of records once a transaction commits.
func (s *Service) Wake(tx *store.Tx) { s.jobs.Wake(tx, ledger.Table) }

// JudgeOwn authorizes a person who signs with a certificate of their own: the credentials
// first, then its state, then what its security level asks for, as far as a page can present
// it: a password and a code.
func (s *Service) JudgeOwn(ctx context.Context, account, username, password, otp string) (*keys.Credential, *enroll.Certificate, error) {
	wrong := func(code fault.Code, text string) error {
		f := fault.New(code, "%s", text)
		f.Status = 422
		return f
	}
	cred, err := s.keys.Authenticate(ctx, account, username, password)
	if errors.Is(err, keys.ErrPassword) {
		return nil, nil, wrong(fault.WrongCredentials, errCredentials.Text)
	}
	if err != nil {
		return nil, nil, err
	}
	cert, err := s.certificateOf(ctx, cred)
	var no *ledger.Refusal
	if errors.As(err, &no) {
		return nil, nil, wrong(no.Number, no.Text)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, need := range []string{enroll.NeedAddress, enroll.NeedClientCertificate, enroll.NeedApproval} {
		if s.enroll.Levels().Needs(cert.Level, need) {
			return nil, nil, fault.New(fault.SecurityLevel, "security level %d asks for more than a page can present", cert.Level)
		}
	}
	if cred.Remote == "" && s.NeedsOTP(cert) {
		err := s.keys.VerifyOTP(ctx, cred, otp)
		switch {
		case errors.Is(err, keys.ErrOTP):
			return nil, nil, wrong(fault.WrongOTP, "wrong or used one-time password")
		case err != nil:
			return nil, nil, err
		}
	}
	return cred, cert, nil
}

// OwnCertificate finds a certificate by the id that JudgeOwn gave.
func (s *Service) OwnCertificate(ctx context.Context, id string) (*keys.Credential, *enroll.Certificate, error) {
	cred, err := s.keys.ByID(ctx, id)
	if err == nil && cred == nil {
		err = &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the certificate's key is gone"}
	}
	if err != nil {
		return nil, nil, err
	}
	cert, err := s.enroll.Issued(ctx, cred)
	return cred, cert, err
}

// CertificateFor is a certificate that has no row: the seal, or one for an act.
func CertificateFor(id string, cert *x509.Certificate, chain []*x509.Certificate) *enroll.Certificate {
	c := &enroll.Certificate{ID: id, DER: cert.Raw}
	c.Serial = fmt.Sprintf("%x", cert.SerialNumber)
	for _, above := range chain {
		c.Chain = append(c.Chain, above.Raw)
	}
	return c
}
