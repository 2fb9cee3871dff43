package signing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing/documents"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/span"
	"rogito.dev/rogito/server/internal/store"
)

// Submit accepts a request. After a synchronous call the record is DONE or ERROR, after an
// asynchronous one it waits. Faults (101, 111, 129, 402, 105) leave no record behind.
func (s *Service) Submit(ctx context.Context, req *request.Request, from request.Caller) (*ledger.Record, error) {
	cred, cert, passed, err := s.authorize(ctx, req, from)
	return s.submit(ctx, req, from, cred, cert, passed, err)
}

// submit accepts a request whose caller was authorized.
func (s *Service) submit(ctx context.Context, req *request.Request, from request.Caller, cred *keys.Credential, cert *enroll.Certificate, passed *passedKey, err error) (*ledger.Record, error) {
	r := s.newRecord(req, from)
	span.SetRecord(ctx, r.ID)
	x := s.newRun(r, secretsOf(req))
	x.passed = passed
	defer x.close()
	var no *ledger.Refusal
	switch {
	case errors.As(err, &no): // nothing is charged, fetched or kept: anybody can be refused
		if err := x.docs.NameInputs(ctx, req); err != nil {
			return nil, err
		}
		return x.refuse(ctx, no)
	case err != nil:
		return nil, err
	}
	x.cred, x.cert, r.CertificateID = cred, cert, cert.ID
	r.Options.ChooseLanguage(from.Language, cert.SubjectDN)
	if s.enroll.Levels().Needs(cert.Level, enroll.NeedApproval) {
		r.Approval, r.ApprovalUntil = ledger.ApprovalWaiting, r.CreatedAt.Add(s.config.ApprovalTime)
	}
	if err := x.docs.StoreInputs(ctx, req); err != nil {
		return nil, err
	}
	x.secrets.Level, x.secrets.Credential = cert.Level, cred.Version()
	switch {
	case x.passed != nil:
		x.secrets.Passed, x.secrets.Password = true, ""
	case cred.Remote != "":
		x.secrets.OTP, x.secrets.OTPDevice = req.OTP, req.OTPDevice
	}
	if len(from.ClientCertificate) > 0 {
		x.secrets.Client = enroll.Fingerprint(from.ClientCertificate)
	}
	if !req.Options.AsyncValidation {
		// The client waits while a document is fetched from another host: meanwhile all servers
		// must know its idempotency key.
		if slices.ContainsFunc(req.Inputs, func(in request.Input) bool { return in.From == request.FromRemote }) {
			if err := idempotency.ClaimFrom(ctx).Hold(ctx); err != nil {
				return nil, err
			}
		}
		if err := x.docs.Validate(ctx); err != nil {
			if errors.As(err, &no) {
				return x.refuse(ctx, no)
			}
			return nil, err
		}
		r.State = ledger.WaitSign
	}
	if err := x.Bind(r, x.secrets); err != nil {
		return nil, err
	}
	if req.Options.AsyncValidation || req.Options.AsyncSignature || r.Approval != "" {
		if x.passed != nil {
			return r, x.workPassed(ctx)
		}
		return r, x.queue(ctx)
	}
	return x.signInCall(ctx)
}

// Again returns the record of an earlier request to a caller who repeats it, and
// who must present what the first call had to.
func (s *Service) Again(ctx context.Context, from request.Caller, id string) (*ledger.Record, error) {
	r, err := s.Find(ctx, from.AccountID, id)
	if err != nil || r.CertificateID == "" {
		return r, err
	}
	cert, err := s.enroll.ByID(ctx, r.CertificateID)
	if err != nil {
		return nil, err
	}
	return r, s.checkSecurityLevel(ctx, cert, from)
}

func (s *Service) newRecord(req *request.Request, from request.Caller) *ledger.Record {
	now := s.config.Now()
	return &ledger.Record{
		ID: store.NewID(), AccountID: from.AccountID, TokenID: from.TokenID, RequestID: from.RequestID, Person: from.Person, Address: from.Address,
		CertificateType: req.Kind.CertificateType(), State: ledger.WaitValidation, Options: req.Options, Title: req.Title, Description: req.Description,
		Callback: req.Callback, CreatedAt: now, UpdatedAt: now, FilesUntil: now.Add(s.config.KeepFiles),
	}
}

func secretsOf(r *request.Request) *ledger.Secrets {
	return &ledger.Secrets{Password: r.Password, EncryptionPassword: r.Options.DocPassword, TimestampPassword: r.Options.TSAPassword}
}

// authorize decides whether the caller may have this key used: the credentials
// first, then kind, state, and what the security level asks for. What of it may
// change until the key is used is judged again in begin. Of a key that is passed
// through, the provider decides.
func (s *Service) authorize(ctx context.Context, req *request.Request, from request.Caller) (*keys.Credential, *enroll.Certificate, *passedKey, error) {
	if p, err := s.passes(ctx, req, from.AccountID); p != nil || err != nil {
		if err != nil {
			return nil, nil, nil, err
		}
		return s.passThrough(ctx, p, req, from.AccountID)
	}
	cred, cert, err := s.judge(ctx, s.keys, req, from.AccountID, func(c *enroll.Certificate) error { return s.checkSecurityLevel(ctx, c, from) })
	return cred, cert, nil, err
}

// judge is authorize with the store that counts failures and the check of the security level
// given.
func (s *Service) judge(ctx context.Context, at *keys.Store, req *request.Request, account string, level func(*enroll.Certificate) error) (*keys.Credential, *enroll.Certificate, error) {
	cred, err := at.Authenticate(ctx, account, req.Username, req.Password)
	if errors.Is(err, keys.ErrPassword) {
		return nil, nil, errCredentials
	}
	if err != nil {
		return nil, nil, err
	}
	if cred.Kind != req.Kind {
		return nil, nil, &ledger.Refusal{Number: fault.WrongCertificateKind, Text: fmt.Sprintf("the certificate is of the kind %s and cannot be used for %s", cred.Kind, req.Kind.CertificateType())}
	}
	cert, err := s.certificateOf(ctx, cred)
	if err != nil {
		return nil, nil, err
	}
	if err := level(cert); err != nil {
		return nil, nil, err
	}
	if cred.Remote == "" && s.NeedsOTP(cert) { // one for a key at a provider is judged there
		if err := idempotency.ClaimFrom(ctx).Hold(ctx); err != nil {
			return nil, nil, err
		}
		err := at.VerifyOTP(ctx, cred, req.OTP)
		if errors.Is(err, keys.ErrOTP) {
			return nil, nil, &ledger.Refusal{Number: fault.WrongOTP, Text: "wrong or used one-time password"}
		}
		if errors.Is(err, keys.ErrStanding) {
			return nil, nil, otherStanding(err)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return cred, cert, nil
}

// certificateOf is the certificate of a credential, if it may be used now.
func (s *Service) certificateOf(ctx context.Context, cred *keys.Credential) (*enroll.Certificate, error) {
	cert, err := s.enroll.Issued(ctx, cred)
	if err != nil {
		return nil, err
	}
	if cert.Kind != cred.Kind || cert.Level != cred.Level {
		return nil, &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the certificate's kind or security level is not the one that its key was made for"}
	}
	return cert, s.usable(cert.Standing())
}

func (s *Service) usable(c enroll.Standing) error {
	now := s.config.Now()
	switch {
	case c.State != enroll.Done:
		return &ledger.Refusal{Number: fault.CertificateNotUsable, Text: fmt.Sprintf("the certificate is %s", c.State)}
	case now.After(c.NotAfter):
		return &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the certificate is EXPIRED"}
	case now.Before(c.NotBefore):
		return &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the certificate is not valid yet"}
	}
	return nil
}

// checkSecurityLevel refuses with 129 what a level asks for and the call does not have.
func (s *Service) checkSecurityLevel(ctx context.Context, c *enroll.Certificate, from request.Caller) error {
	levels := s.enroll.Levels()
	if levels.Needs(c.Level, enroll.NeedAddress) && !from.Bound {
		return fault.New(fault.SecurityLevel, "security level %d asks for a token that is bound to addresses", c.Level)
	}
	if levels.Needs(c.Level, enroll.NeedClientCertificate) {
		known, err := s.enroll.KnowsClient(ctx, from.AccountID, from.ClientCertificate)
		if err != nil {
			return err
		}
		if !known {
			return fault.New(fault.SecurityLevel, "security level %d asks for mutual TLS with a certificate registered for the account", c.Level)
		}
	}
	if levels.Needs(c.Level, enroll.NeedApproval) && from.TokenID == "" {
		return fault.New(fault.SecurityLevel, "security level %d asks for a token, so that another can approve", c.Level)
	}
	return nil
}

// queue stores a record that waits; its row is its place in the queue.
func (x *run) queue(ctx context.Context) error {
	r := x.record
	unapproved := r.State == ledger.WaitSign && r.Approval == ledger.ApprovalWaiting
	return x.db.Write(ctx, func(tx *store.Tx) error {
		x.jobs.Wake(tx, ledger.Table)
		var more []audit.Event
		if r.State == ledger.WaitSign {
			more = x.events().Validated(x.docs.Fetched)
		}
		if err := x.insert(ctx, tx, more...); err != nil {
			return err
		}
		if err := idempotency.ClaimFrom(ctx).Record(ctx, tx, r.ID, 0); err != nil {
			return err
		}
		if unapproved {
			return x.config.Waits(ctx, tx, r)
		}
		return nil
	})
}

// insert stores the record, charges for it and logs the request.
func (x *run) insert(ctx context.Context, tx *store.Tx, more ...audit.Event) (err error) {
	r := x.record
	if r.State != ledger.Error {
		if r.ChargeID, err = x.biller.ChargeMany(ctx, tx, "POST/"+r.CertificateType, r.ID, max(1, x.count())); err != nil {
			return err
		}
	}
	if err := x.Insert(ctx, tx, r); err != nil {
		return err
	}
	return x.audit.Append(ctx, tx, append(x.events().Requested(x.docs.Place), more...)...)
}

// cover charges for one more signature before it is made, where the first charge was for fewer:
// a PDF is signed once for each field, and every signer of a file is counter-signed.
func (x *run) cover(ctx context.Context, tx *store.Tx, n int) (paid int, err error) {
	if x.intents+n <= max(x.paid, 1) || x.record.ByPeople() { // a record that is stored has paid for one
		return x.paid, nil
	}
	return x.biller.Cover(ctx, tx, "POST/"+x.record.CertificateType, x.record.ChargeID, x.intents+n)
}

// unpaid ends a stored record when the money runs out.
func unpaid(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && (f.Code == fault.NoCredit || f.Code == fault.LimitReached) {
		return &ledger.Refusal{Number: f.Code, Text: f.Text}
	}
	return err
}

// count is how many signatures the first charge is for; those of a batch that cannot be made
// are left out.
func (x *run) count() int {
	if !x.record.Options.Batch && x.record.Asked().Several() != request.Each {
		return 1
	}
	n := len(x.record.Inputs)
	for _, it := range x.docs.Items {
		if it.Refused != nil {
			n--
		}
	}
	return n
}

// newRun is the work on a record. Without secrets only its end can follow.
func (s *Service) newRun(r *ledger.Record, secrets *ledger.Secrets) *run {
	return &run{Service: s, record: r, secrets: secrets, docs: documents.New(s.documents, r, secrets)}
}

// events builds the record's events for the log.
func (x *run) events() *ledger.Events {
	x.logged.Record, x.logged.Certificate = x.record, x.cert
	return &x.logged
}
