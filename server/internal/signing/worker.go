package signing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/store"
)

// WorkArgs are a permit to work on the record at the head of the line; the one
// named is only who it was issued for.
type WorkArgs struct {
	ID      string `json:"id"`
	Account string `json:"account"`
}

// Kind is the name of the job.
func (WorkArgs) Kind() string { return "sign" }

// enter puts a record into the line, to be worked on when its account's turn
// comes.
func (s *Service) enter(ctx context.Context, tx *store.Tx, r *Record) error {
	weight := 1
	if r.Options.Batch {
		weight = len(r.Inputs)
	}
	return s.jobs.Enqueue(ctx, tx, job.Item{ID: r.ID, Account: r.AccountID, Weight: weight}, WorkArgs{r.ID, r.AccountID})
}

// Worker works on records in the order of the line.
type Worker struct {
	river.WorkerDefaults[WorkArgs]
	Service *Service
}

// Timeout of one run.
func (w *Worker) Timeout(*river.Job[WorkArgs]) time.Duration { return runLimit }

// storagePause is how long a worker stands still when the storage takes nothing
// in: permits must not be used up against a full disk.
const storagePause = 5 * time.Second

// Work takes the next record of the line as far as it can go.
func (w *Worker) Work(ctx context.Context, j *river.Job[WorkArgs]) error {
	leave, ok := w.Service.jobs.Occupy(ctx, j.Queue, j.Args.Account)
	defer leave()
	x, err := w.Service.claim(ctx, j, ok)
	if unavailable(err) {
		select {
		case <-ctx.Done():
		case <-time.After(storagePause):
		}
		return river.JobSnooze(storagePause)
	}
	if err != nil || x == nil {
		return err
	}
	defer x.close()
	defer x.leases.hold(x.record.ID, x.lease)()
	if err := x.once(ctx); err != nil {
		return x.settle(ctx, err)
	}
	return nil
}

// maxStarts bounds how often work on a record is begun: one that ends the
// process each time must not do so for ever.
const maxStarts = 20

// claim takes a record out of the line and gets its lease, in one transaction;
// nil when there is none to be had. The few workers that are kept for those who
// come first take the very record that they were asked for, or pass on.
func (s *Service) claim(ctx context.Context, j *river.Job[WorkArgs], ok bool) (*run, error) {
	var x *run
	err := job.Claim(ctx, s.db, func(tx *store.Tx) (err error) {
		x = nil
		if j.Queue != job.Reserved {
			x, err = s.claimHead(ctx, tx)
			return err
		}
		mine, err := job.Take(ctx, tx, j.Args.ID, ok, j.Args)
		if err != nil || !mine {
			return err
		}
		x, err = s.lease(ctx, tx, j.Args.ID)
		return err
	})
	return x, err
}

// claimHead skips what needs no work any more.
func (s *Service) claimHead(ctx context.Context, tx *store.Tx) (*run, error) {
	for {
		id, err := job.Pop(ctx, tx)
		if err != nil || id == "" {
			return nil, err
		}
		x, err := s.lease(ctx, tx, id)
		if err != nil || x != nil {
			return x, err
		}
	}
}

var takeLease = `update signatures set lease_by = $1, lease_until = $2, starts = starts + 1
	where id = $3 and lease_until <= $4 and ` + only(workable) + ` returning account_id, starts, failures`

// lease gets the lease of a record that waits, unless somebody has it.
func (s *Service) lease(ctx context.Context, tx *store.Tx, id string) (*run, error) {
	now := s.config.Now()
	x := &run{Service: s, record: &Record{ID: id}, lease: newLease()}
	err := tx.QueryRow(ctx, takeLease,
		x.lease, store.Millis(now.Add(s.config.Lease)), id, store.Millis(now)).Scan(&x.record.AccountID, &x.starts, &x.failures)
	if errors.Is(err, store.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("signing: take lease: %w", err)
	}
	return x, nil
}

// once works on a record that is ours. What its caller is to be told about is
// told here; an error is trouble of our own.
func (x *run) once(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	r, err := x.byID(ctx, x.record.ID) // as it is under our lease
	if err != nil {
		return err
	}
	x.record = r
	if x.starts > maxStarts {
		return x.end(ctx, nil, x.internal(fmt.Errorf("begun %d times and never ended", x.starts-1)))
	}
	err = x.proceed(ctx)
	var no *refusal
	if errors.As(err, &no) {
		return x.end(ctx, nil, no)
	}
	return err
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

// settle decides what becomes of a record whose work failed for a reason of our
// own: another try after a pause, and the third failure is its end. Work that
// was cut short by our own stop goes back into the line.
func (x *run) settle(ctx context.Context, cause error) error {
	if errors.Is(cause, errLost) || isGone(cause) {
		return nil
	}
	stopped := errors.Is(ctx.Err(), context.Canceled)
	ctx = context.WithoutCancel(ctx)
	if stopped {
		return x.backInLine(ctx)
	}
	failed, undone, pause := 0, 0, x.config.Lease
	switch {
	case !unavailable(cause):
		failed = 1
		x.failures++
		pause = x.pause(x.failures)
	case len(x.made) > 0: // a key was used for nothing
		pause = x.waitLonger()
	default: // however long it takes: the process lives, and nothing was used up
		undone = 1
	}
	x.config.Log.WarnContext(ctx, "work on a signature failed", "record", x.record.ID, "failures", x.failures, "error", cause)
	if x.failures >= maxFailures {
		_, err := x.refuse(ctx, cause)
		if isGone(err) {
			return nil
		}
		return err
	}
	// A lease that nobody holds: the sweep finds it when it has run out.
	return x.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `update signatures set failures = failures + $1, starts = starts - $2, lease_by = '', lease_until = $3 where id = $4 and lease_by = $5`,
			failed, undone, store.Millis(x.config.Now().Add(pause)), x.record.ID, x.lease)
		return err
	})
}

// unavailable is trouble with what we depend on, the storage first of all.
func unavailable(err error) bool {
	return errors.Is(err, fault.Unavailable)
}

func (x *run) backInLine(ctx context.Context) error {
	return x.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update signatures set lease_by = '', lease_until = 0, starts = starts - 1 where id = $1 and lease_by = $2`, x.record.ID, x.lease)
		if err != nil || n == 0 {
			return err
		}
		return x.enter(ctx, tx, x.record)
	})
}
