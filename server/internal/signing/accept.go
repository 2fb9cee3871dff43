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
	"rogito.dev/rogito/server/internal/span"
	"rogito.dev/rogito/server/internal/store"
)

// Submit takes a request in. The record that comes back is DONE or ERROR
// after a synchronous call, and waits after an asynchronous one. Faults (101,
// 111, 129, 402, 105) leave no record behind.
func (s *Service) Submit(ctx context.Context, req *Request, from Caller) (*Record, error) {
	cred, cert, err := s.authorize(ctx, req, from)
	return s.submit(ctx, req, from, cred, cert, err)
}

// submit takes in a request whose caller was judged.
func (s *Service) submit(ctx context.Context, req *Request, from Caller, cred *keys.Credential, cert *enroll.Certificate, err error) (*Record, error) {
	r := s.newRecord(req, from)
	span.SetRecord(ctx, r.ID)
	x := &run{Service: s, record: r, secrets: req.secrets()}
	defer x.close()
	var no *refusal
	switch {
	case errors.As(err, &no): // nothing is charged, fetched or kept: anybody can be refused
		if err := x.nameInputs(ctx, req); err != nil {
			return nil, err
		}
		return x.refuse(ctx, no)
	case err != nil:
		return nil, err
	}
	x.cred, x.cert, r.CertificateID = cred, cert, cert.ID
	r.Options.chooseLanguage(from, cert)
	if s.enroll.Levels().Needs(cert.Level, enroll.NeedApproval) {
		r.Approval, r.ApprovalUntil = approvalWaiting, r.CreatedAt.Add(s.config.ApprovalTime)
	}
	if err := x.takeInputs(ctx, req); err != nil {
		return nil, err
	}
	x.secrets.Level, x.secrets.Credential = cert.Level, cred.Version()
	if cred.Remote != "" {
		x.secrets.OTP = req.OTP
	}
	if len(from.ClientCertificate) > 0 {
		x.secrets.Client = enroll.Fingerprint(from.ClientCertificate)
	}
	if !req.Options.AsyncValidation {
		// Who waits for another host has its key known to all servers meanwhile.
		if slices.ContainsFunc(req.Inputs, func(in Input) bool { return in.From == fromRemote }) {
			if err := idempotency.ClaimFrom(ctx).Hold(ctx); err != nil {
				return nil, err
			}
		}
		if err := x.validate(ctx); err != nil {
			if errors.As(err, &no) {
				return x.refuse(ctx, no)
			}
			return nil, err
		}
		r.State = WaitSign
	}
	if err := x.bind(); err != nil {
		return nil, err
	}
	if req.Options.AsyncValidation || req.Options.AsyncSignature || r.Approval != "" {
		return r, x.queue(ctx)
	}
	return x.signInCall(ctx)
}

// Again returns the record of an earlier request to a caller who repeats it, and
// who must present what the first call had to.
func (s *Service) Again(ctx context.Context, from Caller, id string) (*Record, error) {
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

func (s *Service) newRecord(req *Request, from Caller) *Record {
	now := s.config.Now()
	return &Record{
		ID: store.NewID(), AccountID: from.AccountID, TokenID: from.TokenID, RequestID: from.RequestID, Address: from.Address,
		CertificateType: req.Kind.CertificateType(), State: WaitValidation, Options: req.Options, Title: req.Title, Description: req.Description,
		callback: req.Callback, CreatedAt: now, UpdatedAt: now, filesUntil: now.Add(s.config.KeepFiles),
	}
}

func (r *Request) secrets() *Secrets {
	return &Secrets{Password: r.Password, EncryptionPassword: r.Options.DocPassword, TimestampPassword: r.Options.TSAPassword}
}

// authorize decides whether the caller may have this key used: the credentials
// first, then kind, state, and what the security level asks for. What of it may
// change until the key is used is judged again in begin.
func (s *Service) authorize(ctx context.Context, req *Request, from Caller) (*keys.Credential, *enroll.Certificate, error) {
	return s.judge(ctx, s.keys, req, from.AccountID, func(c *enroll.Certificate) error { return s.checkSecurityLevel(ctx, c, from) })
}

// judge is authorize with another look at the security level, and where failures
// are counted.
func (s *Service) judge(ctx context.Context, at *keys.Store, req *Request, account string, level func(*enroll.Certificate) error) (*keys.Credential, *enroll.Certificate, error) {
	cred, err := at.Authenticate(ctx, account, req.Username, req.Password)
	if errors.Is(err, keys.ErrPassword) {
		return nil, nil, errCredentials
	}
	if err != nil {
		return nil, nil, err
	}
	if cred.Kind != req.Kind {
		return nil, nil, &refusal{number: fault.WrongCertificateKind, text: fmt.Sprintf("the certificate is of the kind %s and cannot be used for %s", cred.Kind, req.Kind.CertificateType())}
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
			return nil, nil, &refusal{number: fault.WrongOTP, text: "wrong or used one-time password"}
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
	cert, err := s.enroll.Issued(ctx, cred.ID)
	if err != nil {
		return nil, err
	}
	if cert.Kind != cred.Kind || cert.Level != cred.Level {
		return nil, &refusal{number: fault.CertificateNotUsable, text: "the certificate's kind or security level is not the one that its key was made for"}
	}
	return cert, s.usable(cert.Standing())
}

func (s *Service) usable(c enroll.Standing) error {
	now := s.config.Now()
	switch {
	case c.State != enroll.Done:
		return &refusal{number: fault.CertificateNotUsable, text: fmt.Sprintf("the certificate is %s", c.State)}
	case now.After(c.NotAfter):
		return &refusal{number: fault.CertificateNotUsable, text: "the certificate is EXPIRED"}
	case now.Before(c.NotBefore):
		return &refusal{number: fault.CertificateNotUsable, text: "the certificate is not valid yet"}
	}
	return nil
}

// checkSecurityLevel refuses with 129 what a level asks for and the call does not have.
func (s *Service) checkSecurityLevel(ctx context.Context, c *enroll.Certificate, from Caller) error {
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

// queue stores a record that waits: it is its own place in the queue.
func (x *run) queue(ctx context.Context) error {
	r := x.record
	unapproved := r.State == WaitSign && r.Approval == approvalWaiting
	return x.db.Write(ctx, func(tx *store.Tx) error {
		x.jobs.Wake(tx, table)
		var more []audit.Event
		if r.State == WaitSign {
			more = x.validationEvents()
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

// insert stores the record, takes its price, and says in the log who asked for
// what.
func (x *run) insert(ctx context.Context, tx *store.Tx, more ...audit.Event) (err error) {
	r := x.record
	if r.State != Error {
		if r.chargeID, err = x.biller.ChargeMany(ctx, tx, "POST/"+r.CertificateType, r.ID, max(1, x.count())); err != nil {
			return err
		}
	}
	if err := x.insertRecord(ctx, tx, r); err != nil {
		return err
	}
	return x.audit.Append(ctx, tx, append(x.requestEvents(), more...)...)
}

// cover has the record pay for one more signature before it is made, where the
// price taken at first was for fewer: a PDF is signed once for each field, and
// every signer of a file is counter-signed.
func (x *run) cover(ctx context.Context, tx *store.Tx, n int) (paid int, err error) {
	if x.intents+n <= max(x.paid, 1) { // a record that is stored has paid for one
		return x.paid, nil
	}
	return x.biller.Cover(ctx, tx, "POST/"+x.record.CertificateType, x.record.chargeID, x.intents+n)
}

// unpaid is the end of a stored record for which there is no more money.
func unpaid(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && (f.Code == fault.NoCredit || f.Code == fault.LimitReached) {
		return &refusal{number: f.Code, text: f.Text}
	}
	return err
}

// count is the number of signatures that are paid for when the record is stored:
// those of a batch that cannot be made are not.
func (x *run) count() int {
	if !x.record.Options.Batch && x.record.asked() != "pkcs1" {
		return 1
	}
	n := len(x.record.Inputs)
	for _, it := range x.items {
		if it.no != nil {
			n--
		}
	}
	return n
}

func (x *run) event(kind, text string, detail any) audit.Event {
	return audit.Event{Account: x.record.AccountID, Record: x.record.ID, Kind: kind, Log: text, Detail: detail, Recurring: x.recurring()}
}
