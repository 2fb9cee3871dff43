package signing

import (
	"context"
	"errors"
	"sync"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
)

// A provider whose credentials are not stored here is used with those of the call: a username
// that this server does not know is one of the provider's. The password is only in the memory
// of this process, so a record that waits is held under a lease that lasts as long as the
// process; another worker that takes it over later can only end it in error.

// passedKey is a key whose name and password came with a call.
type passedKey struct{ remote.Signer }

// passes is the provider that the call's username and password are for; nil if this server
// knows the username, or no provider works like that.
func (s *Service) passes(ctx context.Context, req *request.Request, account string) (remote.Accounts, error) {
	for _, p := range s.config.Providers {
		named, ok := p.(remote.Accounts)
		if !ok || !named.Passes() {
			continue
		}
		known, err := s.keys.Find(ctx, account, req.Username)
		if err != nil || known != nil {
			return nil, err
		}
		return named, nil
	}
	return nil, nil
}

// passThrough authorizes a call by asking the provider.
func (s *Service) passThrough(ctx context.Context, p remote.Accounts, req *request.Request, account string) (*keys.Credential, *enroll.Certificate, *passedKey, error) {
	if err := idempotency.ClaimFrom(ctx).Hold(ctx); err != nil {
		return nil, nil, nil, err
	}
	key, err := p.Open(ctx, remote.Login{ID: req.Username, Password: req.Password, Coded: req.Kind == keys.OTP, OTP: req.OTP, Device: req.OTPDevice})
	if err != nil {
		return nil, nil, nil, providerRefusal(err)
	}
	there, _ := key.Certificate()
	cred, cert, err := s.enroll.Passed(ctx, account, p.Name(), req.Kind, there)
	var f *fault.Error
	if errors.As(err, &f) && f.Code == fault.BadField {
		err = &ledger.Refusal{Number: fault.CertificateNotUsable, Text: f.Text}
	}
	if err == nil {
		err = s.usable(cert.Standing())
	}
	return cred, cert, &passedKey{key}, err
}

// errForgotten ends a record whose password was lost with the process that held it. It was checked
// before that nothing was sent.
var errForgotten = &ledger.Refusal{Number: fault.ProviderRefused, Text: "the process that had the provider's password in its memory has ended: nothing was sent to the provider"}

// recallPassed takes the place of what a credential would hold, in a record whose
// key was passed through.
func (x *run) recallPassed(ctx context.Context) error {
	x.cred.Remote = x.cert.Provider
	if err := x.checkUnsent(ctx); err != nil {
		return err
	}
	if x.passed == nil {
		return errForgotten
	}
	return nil
}

// passedWorkers bounds the records that are worked on beside the queue.
const passedWorkers = 16

// background is the work on records whose passwords are in memory.
type background struct {
	all   sync.WaitGroup
	slots chan struct{}
}

// workPassed stores a record that waits, and works on it while this process lives.
func (x *run) workPassed(ctx context.Context) error {
	r := x.record
	x.lease = job.NewLease()
	r.LeaseBy, r.LeaseUntil = x.lease, x.config.Now().Add(x.config.Lease)
	release := x.jobs.Hold(ledger.Table, r.ID, x.lease)
	if err := x.queue(ctx); err != nil {
		release()
		return err
	}
	work := x.newRun(&ledger.Record{ID: r.ID, AccountID: r.AccountID}, nil)
	work.lease, work.starts, work.passed = x.lease, 1, x.passed
	x.background.all.Go(func() {
		defer release()
		x.background.slots <- struct{}{}
		defer func() { <-x.background.slots }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), runLimit)
		defer cancel()
		defer work.close()
		err := work.workOn(ctx)
		if err == nil || errors.Is(err, ledger.ErrLost) || errors.Is(err, fault.NotFound) {
			return
		}
		work.config.Log.WarnContext(ctx, "work on a signature failed", "record", work.record.ID, "error", err)
		if _, err := work.refuse(ctx, err); err != nil { // the worker that takes it over ends it
			work.config.Log.ErrorContext(ctx, "end a signature", "record", work.record.ID, "error", err)
		}
	})
	return nil
}

// Drain waits for work that only this process can do.
func (s *Service) Drain(ctx context.Context) {
	done := make(chan struct{})
	go func() { s.background.all.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
