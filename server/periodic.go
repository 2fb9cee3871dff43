package server

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
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

// registerPeriodicJobs registers what has to be done again and again.
func (s *Server) registerPeriodicJobs() {
	job.Register(s.jobs, &forgetKeysWorker{keys: s.idempotency, locks: s.sig.keys, sessions: s.accounts})
	s.jobs.Every(time.Hour, forgetKeys{})
	s.startExports()
}
