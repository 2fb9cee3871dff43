package server

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/job"
)

// forgetKeys is the job that forgets idempotency keys past their day.
type forgetKeys struct{}

// Kind names the job in the queue.
func (forgetKeys) Kind() string { return "forget_idempotency_keys" }

type forgetKeysWorker struct {
	river.WorkerDefaults[forgetKeys]
	keys *idempotency.Keys
}

func (w *forgetKeysWorker) Work(ctx context.Context, _ *river.Job[forgetKeys]) error {
	return w.keys.Sweep(ctx)
}

// registerPeriodicJobs registers what has to be done again and again.
func (s *Server) registerPeriodicJobs() {
	job.Register(s.jobs, &forgetKeysWorker{keys: s.idempotency})
	s.jobs.Every(time.Hour, forgetKeys{})
}
