package signing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/signing/documents"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/span"
)

// Source has records worked on.
func (s *Service) Source(workers int) job.Source {
	return job.Source{
		Table: ledger.Table, Ready: ledger.Ready, Order: "t.turn, t.id", Longest: longestPause, Workers: workers, Reserved: max(2, workers/4), Timeout: runLimit, Work: s.Work,
	}
}

// Work takes a record as far as it can go.
func (s *Service) Work(ctx context.Context, c job.Claim) error {
	span.SetRecord(ctx, c.ID)
	x := s.newRun(&ledger.Record{ID: c.ID, AccountID: c.Account}, nil)
	x.lease, x.starts, x.failures = c.Lease, c.Starts, c.Failures
	defer x.close()
	if err := x.workOn(ctx); err != nil {
		return x.retryOrFail(ctx, c, err)
	}
	return nil
}

// maxStarts bounds how often work on a record is begun: one that ends the
// process each time must not do so for ever.
const maxStarts = 20

// workOn works on a record whose lease we hold. It reports outcomes to the client itself; an
// error is trouble of our own.
func (x *run) workOn(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	r, err := x.ByID(ctx, x.record.ID) // as it is under our lease
	if err != nil {
		return err
	}
	x.record = r
	if x.starts > maxStarts {
		return x.end(ctx, nil, x.internal(fmt.Errorf("%w: %d times", errNeverEnds, x.starts-1)))
	}
	if err = x.askedStill(ctx); err == nil {
		err = x.proceed(ctx)
	}
	var no *ledger.Refusal
	if errors.As(err, &no) {
		return x.end(ctx, nil, no)
	}
	return err
}

// proceed takes a stored record from where it is to its end.
func (x *run) proceed(ctx context.Context) (err error) {
	r := x.record
	if r.ByPeople() {
		return x.People.Proceed(ctx, &Work{x})
	}
	if x.secrets, err = x.OpenSecrets(r); err != nil {
		return err
	}
	if kept := x.remembered.pop(r.ID); kept != nil {
		x.secrets.Kept = kept
	}
	x.docs = documents.New(x.documents, r, x.secrets)
	if x.cred, err = x.keys.ByID(ctx, r.CertificateID); err != nil {
		return err
	}
	if x.cred == nil {
		return &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the certificate's key is gone"}
	}
	if x.cert, err = x.enroll.Issued(ctx, x.cred); err != nil {
		return err
	}
	if x.secrets.Passed {
		err = x.recallPassed(ctx)
	} else {
		err = x.checkUnsent(ctx)
	}
	if err != nil {
		return err
	}
	if err := x.docs.Load(ctx); err != nil {
		return err
	}
	if err := x.docs.Validate(ctx); err != nil {
		return err
	}
	if r.State == ledger.WaitValidation {
		if err := x.validated(ctx); err != nil || r.Approval == ledger.ApprovalWaiting {
			return err
		}
	}
	x.config.Hook("before-sign", r.ID)
	return x.signAndEnd(ctx)
}

// believed is how long a token counts after it was checked against the log, as for calls.
const believed = 5 * time.Second

// askedStill refuses a record whose token, or whose approver's, was deleted since the request,
// even if its row was restored. A call that signs at once has checked a moment ago.
func (x *run) askedStill(ctx context.Context) error {
	if x.record.ApprovedBy == "" && x.config.Now().Sub(x.record.CreatedAt) < believed {
		return nil
	}
	for _, token := range []string{x.record.TokenID, x.record.ApprovedBy} {
		if token == "" {
			continue
		}
		stands, err := x.tokens.Stands(ctx, x.record.AccountID, token)
		if err != nil {
			return err
		}
		if !stands {
			return errTokenGone
		}
	}
	return nil
}

// pause before work that failed for the nth time is begun again: 1 and 15
// seconds with the usual lease.
func (x *run) pause(n int) time.Duration {
	if n == 1 {
		return x.config.Lease / 15
	}
	return x.config.Lease
}

// longestPause is that between two uses of a key that come to nothing.
const longestPause = 15 * time.Minute

// waitLonger is a pause that doubles each time that work is begun: 15 seconds at
// first with the usual lease, and some four hours until it is not begun any more.
func (x *run) waitLonger() time.Duration {
	return min(x.config.Lease<<min(x.starts-1, 20), longestPause)
}

// retryOrFail decides about a record whose work failed for a reason of our own: it is tried
// again after a pause, and the third failure ends it. Work cut short by our own shutdown is
// taken up at once, by the first worker.
func (x *run) retryOrFail(ctx context.Context, c job.Claim, cause error) error {
	if errors.Is(cause, ledger.ErrLost) || errors.Is(cause, fault.NotFound) {
		return nil
	}
	stopped := errors.Is(ctx.Err(), context.Canceled)
	ctx = disk.Reclaiming(context.WithoutCancel(ctx))
	out := job.Outcome{Pause: x.config.Lease}
	switch {
	case stopped:
		out = job.Outcome{Undone: len(x.made) == len(x.values)}
	case !errors.Is(cause, fault.Unavailable):
		out.Failed = true
		x.failures++
		out.Pause = x.pause(x.failures)
	case len(x.made) > len(x.values): // a key was used for nothing
		out.Pause = x.waitLonger()
	default: // however long it takes: the process lives, and nothing was used up that is not kept
		out.Undone = true
	}
	if !stopped {
		x.config.Log.WarnContext(ctx, "work on a signature failed", "record", x.record.ID, "failures", x.failures, "error", cause)
	}
	if x.failures >= maxFailures {
		_, err := x.refuse(ctx, cause)
		if errors.Is(err, fault.NotFound) {
			return nil
		}
		return err
	}
	if out.Failed {
		x.values = nil // they may be what it failed at
	}
	return x.later(ctx, c, out)
}
