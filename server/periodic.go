package server

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/publication"
)

// forgetKeys is the job that forgets idempotency keys past their day, old
// failures to sign in, and sessions of the console that are over.
type forgetKeys struct{}

// Kind names the job in the queue.
func (forgetKeys) Kind() string { return "forget_idempotency_keys" }

type forgetKeysWorker struct {
	river.WorkerDefaults[forgetKeys]
	keys     *idempotency.Keys
	locks    *keys.Store
	sessions *account.Service
}

func (w *forgetKeysWorker) Work(ctx context.Context, _ *river.Job[forgetKeys]) error {
	return errors.Join(w.keys.Sweep(ctx), w.locks.ForgetLocks(ctx), w.sessions.SweepSessions(ctx))
}

// sweepBlobs is the job that removes blobs nobody refers to.
type sweepBlobs struct{}

// Kind names the job in the queue.
func (sweepBlobs) Kind() string { return "sweep_blobs" }

type blobSweeper struct {
	river.WorkerDefaults[sweepBlobs]
	s *Server
}

// Timeout leaves it the time to look at some ten million.
func (w *blobSweeper) Timeout(*river.Job[sweepBlobs]) time.Duration { return 6 * time.Hour }

func (w *blobSweeper) Work(ctx context.Context, _ *river.Job[sweepBlobs]) error {
	found, err := blob.Sweep(disk.Reclaiming(ctx), w.s.blobs, time.Now(), w.s.sig.signing.HoldsBlobs, w.s.sig.enroll.HoldsBlobs,
		func(ctx context.Context, ids []string) ([]string, error) {
			return publication.HoldsBlobs(ctx, w.s.db.Read(), ids)
		})
	if found.Removed > 0 {
		w.s.log.InfoContext(ctx, "removed blobs that nothing referred to", "blobs", found.Removed, "of", found.Seen)
	}
	if err != nil { // it comes again tomorrow, not at once
		w.s.log.ErrorContext(ctx, "sweep blobs", "error", err)
	}
	return nil
}

// registerPeriodicJobs registers what has to be done again and again.
func (s *Server) registerPeriodicJobs() {
	job.Register(s.jobs, &forgetKeysWorker{keys: s.idempotency, locks: s.sig.keys, sessions: s.accounts})
	s.jobs.Every(time.Hour, forgetKeys{})
	job.Register(s.jobs, &blobSweeper{s: s})
	s.jobs.Every(24*time.Hour, sweepBlobs{})
	s.startExports()
}
