package signing

import (
	"context"
	"crypto"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/upload"
)

// run is the work on one record, by one worker.
type run struct {
	*Service
	record  *Record
	cert    *enroll.Certificate
	judged  *keys.Credential // by the call that this run is part of
	secrets *Secrets
	lease   string // ours; empty while the record is not stored

	docs    []*document
	items   []*item
	image   ades.Source
	fetched []*File   // inputs whose rows must be filled in
	stored  []putBlob // to be taken back if nothing comes of it
	intents int
	key     crypto.Signer // handed out after the first intent

	starts, failures int // of the work on the record, this one counted as started

	temp    *upload.Spool
	closers []io.Closer
}

func (x *run) spool() *upload.Spool {
	if x.temp == nil {
		x.temp = upload.New(x.config.SpoolDir, upload.Limits{})
	}
	return x.temp
}

func (x *run) close() {
	for _, c := range x.closers {
		_ = c.Close() // only read from
	}
	if x.temp != nil {
		_ = x.temp.Close() // files without a name: nothing is left behind
	}
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }

// leases are the records that this process works on; they are renewed
// together.
type leases struct {
	mu   sync.Mutex
	held map[string]string
}

func newLease() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func (l *leases) hold(id, lease string) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[id] = lease
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.held[id] == lease {
			delete(l.held, id)
		}
	}
}

// KeepLeases renews the leases of this process until the context ends, and
// looks for those that others no longer renew: a process that dies stops
// renewing, and its records are taken over.
func (s *Service) KeepLeases(ctx context.Context) {
	tick := time.NewTicker(s.config.Lease / 3)
	defer tick.Stop()
	for {
		if err := s.rescueLeased(ctx); err != nil && ctx.Err() == nil {
			s.config.Log.WarnContext(ctx, "look for records of dead workers", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.renew(ctx)
		}
	}
}

func (s *Service) renew(ctx context.Context) {
	s.leases.mu.Lock()
	held := make(map[string]string, len(s.leases.held))
	for id, lease := range s.leases.held {
		held[id] = lease
	}
	s.leases.mu.Unlock()
	if len(held) == 0 {
		return
	}
	until := store.Millis(s.config.Now().Add(s.config.Lease))
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		for id, lease := range held {
			if _, err := tx.Exec(ctx, `update signatures set lease_until = $1 where id = $2 and lease_by = $3`, until, id, lease); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		s.config.Log.ErrorContext(ctx, "renew leases", "error", err)
	}
}

// RunArgs name a record to be worked on, without regard to turns: what the
// release before enqueued.
type RunArgs struct {
	ID string `json:"id"`
}

// Kind is the name of the job.
func (RunArgs) Kind() string { return "sign" }

// Worker is the job that works on the record it names.
type Worker struct {
	river.WorkerDefaults[RunArgs]
	Service *Service
}

const (
	runLimit    = 10 * time.Minute
	maxAttempts = 3
)

// Timeout of one run.
func (w *Worker) Timeout(*river.Job[RunArgs]) time.Duration { return runLimit }

// Work takes a record as far as it can go. A run that fails for a reason of
// our own is repeated; the third failure is the record's end.
func (w *Worker) Work(ctx context.Context, job *river.Job[RunArgs]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil && job.Attempt >= maxAttempts && ctx.Err() == nil {
			err = w.Service.giveUp(ctx, job.Args.ID, err)
		}
	}()
	return w.Service.Continue(ctx, job.Args.ID)
}

// Continue works on a record that waits, unless somebody else does.
func (s *Service) Continue(ctx context.Context, id string) error {
	r, err := s.byID(ctx, id)
	if isGone(err) || err == nil && r.State.Final() {
		return nil
	}
	if err != nil {
		return err
	}
	if r.Approval == approvalWaiting && r.State == WaitSign {
		return nil
	}
	x := &run{Service: s, record: r, secrets: &Secrets{}}
	defer x.close()
	taken, err := x.take(ctx)
	if err != nil || !taken {
		return err
	}
	defer s.leases.hold(r.ID, x.lease)()
	if r, err = s.byID(ctx, id); err != nil { // as it is under our lease
		return err
	}
	x.record = r
	err = x.proceed(ctx)
	var no *refusal
	if errors.As(err, &no) {
		return x.fail(ctx, no)
	}
	if err != nil {
		x.giveBack(ctx)
	}
	return err
}

func isGone(err error) bool {
	return errors.Is(err, fault.NotFound)
}

// take gets the lease, if nobody else has it.
func (x *run) take(ctx context.Context) (bool, error) {
	now := x.config.Now()
	lease, taken := newLease(), false
	err := x.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update signatures set lease_by = $1, lease_until = $2 where id = $3 and state in ('WAIT_VALIDATION', 'WAIT_SIGN') and lease_until <= $4`,
			lease, store.Millis(now.Add(x.config.Lease)), x.record.ID, store.Millis(now))
		taken = n == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("signing: take lease: %w", err)
	}
	x.lease = lease
	return taken, nil
}

// giveBack lets another attempt start at once.
func (x *run) giveBack(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	err := x.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `update signatures set lease_by = '', lease_until = 0 where id = $1 and lease_by = $2`, x.record.ID, x.lease)
		return err
	})
	if err != nil {
		x.config.Log.WarnContext(ctx, "give a lease back", "record", x.record.ID, "error", err)
	}
}

// proceed takes a stored record from where it is to its end.
func (x *run) proceed(ctx context.Context) error {
	r := x.record
	if err := x.unseal(secretPurpose, r.secret, x.secrets); err != nil {
		return err
	}
	cert, err := x.enroll.ByID(ctx, r.CertificateID)
	if err != nil {
		return err
	}
	x.cert = cert
	if err := x.checkBound(); err != nil {
		return err
	}
	if err := x.load(ctx); err != nil {
		return err
	}
	if err := x.validate(ctx); err != nil {
		return err
	}
	if r.State == WaitValidation {
		if err := x.toWaitSign(ctx); err != nil {
			return err
		}
		if r.Approval == approvalWaiting {
			x.giveBack(ctx)
			return nil
		}
	}
	return x.signAndFinish(ctx)
}

// toWaitSign is the step after validation, told to whoever waits.
func (x *run) toWaitSign(ctx context.Context) error {
	r := x.record
	return x.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update signatures set state = 'WAIT_SIGN', signature_type = $1, updated_at = $2 where id = $3 and state = 'WAIT_VALIDATION' and lease_by = $4`,
			r.Type, store.Millis(x.config.Now()), r.ID, x.lease)
		if err != nil {
			return err
		}
		if n == 0 {
			return errLost
		}
		for _, f := range x.fetched {
			if err := x.updateFile(ctx, tx, f); err != nil {
				return err
			}
		}
		if v := r.Validated; v != nil {
			if err := x.insertFile(ctx, tx, r.ID, v); err != nil {
				return err
			}
		}
		r.State, r.UpdatedAt = WaitSign, x.config.Now()
		if err := x.audit.Append(ctx, tx, x.validationEvents()...); err != nil {
			return err
		}
		return x.tell(ctx, tx, r)
	})
}

// errLost says that another worker has taken the record over: whatever we have
// is dropped.
var errLost = errors.New("signing: the record was taken over")

// giveUp ends a record whose work failed again and again.
func (s *Service) giveUp(ctx context.Context, id string, cause error) error {
	r, err := s.byID(ctx, id)
	if isGone(err) || err == nil && r.State.Final() {
		return nil
	}
	if err != nil {
		return errors.Join(cause, err)
	}
	x := &run{Service: s, record: r}
	taken, err := x.take(ctx)
	if err != nil || !taken {
		return errors.Join(cause, err)
	}
	return x.fail(ctx, x.internal(cause))
}

// internal is the refusal for trouble of our own: the text carries the request
// id and nothing else.
func (x *run) internal(err error) *refusal {
	return &refusal{number: fault.SigningFailed, text: "internal failure; request " + x.record.RequestID, err: err}
}
