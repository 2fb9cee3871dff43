// Package job is the queue: River, on SQLite and on PostgreSQL alike, one
// queue for as many processes as share the database.
//
// A job is enqueued in the transaction of the record it is about
// (store.Tx.Enqueue), so that neither exists without the other. A job is a
// reminder, not the truth: River has no fencing, and a process that was taken
// for dead may finish a job beside the one that took it over. So every worker
// reads the record first and changes its state by compare-and-set, before and
// after each effect outside the database; where no row was changed, somebody
// else has done the work, and it is dropped.
package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"

	"rogito.dev/rogito/server/internal/store"
)

// Config is how a process works on the queue.
type Config struct {
	// Workers is how many jobs are worked on at once. Zero means 4 for each
	// processor, at least 16.
	Workers int
	// Timeout is the longest that a job may take whose worker does not say.
	// Zero means 2 minutes.
	Timeout time.Duration
	// Longest is the longest timeout of any worker; a job that has run for a
	// minute more is taken for stuck. Zero means 15 minutes.
	Longest time.Duration
	// DeadAfter is how long a process may give no sign of life before its jobs are
	// taken up by others. Zero means 15 seconds.
	DeadAfter time.Duration
	// Log takes what goes wrong; nil is silent.
	Log *slog.Logger
}

func (c Config) filled() Config {
	if c.Workers <= 0 {
		c.Workers = max(16, 4*runtime.GOMAXPROCS(0))
	}
	if c.Timeout <= 0 {
		c.Timeout = 2 * time.Minute
	}
	if c.Longest <= 0 {
		c.Longest = 15 * time.Minute
	}
	if c.DeadAfter <= 0 {
		c.DeadAfter = 15 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Queue works on the jobs that were registered with it.
type Queue struct {
	db       *store.DB
	cfg      Config
	node     string
	workers  *river.Workers
	periodic []*river.PeriodicJob
	client   client
	busy     busyWorkers
	pace     pace
	quit     chan struct{}
	beating  chan struct{}
}

// client is what River's client is on either engine.
type client interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	StopAndCancel(ctx context.Context) error
}

// New returns a queue that works on nothing yet.
func New(db *store.DB, cfg Config) *Queue {
	cfg = cfg.filled()
	return &Queue{db: db, cfg: cfg, node: "rogito-" + store.NewID(), workers: river.NewWorkers(), pace: pace{most: cfg.Workers}}
}

// Register has w work on the jobs of its kind; to be called before Start.
func Register[T river.JobArgs](q *Queue, w river.Worker[T]) { river.AddWorker(q.workers, w) }

// Every enqueues a job again and again, once for all processes; to be called
// before Start. The job must stand being run twice.
func (q *Queue) Every(interval time.Duration, args river.JobArgs) {
	q.periodic = append(q.periodic, river.NewPeriodicJob(
		river.PeriodicInterval(interval),
		func() (river.JobArgs, *river.InsertOpts) {
			return args, &river.InsertOpts{
				MaxAttempts: 3,
				UniqueOpts:  river.UniqueOpts{ByArgs: true, ByPeriod: max(interval/2, time.Second)},
			}
		},
		&river.PeriodicJobOpts{RunOnStart: true},
	))
}

// Start begins to work. The context bounds the start only; Stop ends the work.
func (q *Queue) Start(ctx context.Context) error {
	if err := q.makeClient(); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	if err := q.beat(ctx); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	if err := q.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("job: start: %w", err)
	}
	q.quit, q.beating = make(chan struct{}), make(chan struct{})
	go q.keepAlive()
	return nil
}

func (q *Queue) makeClient() (err error) {
	cfg := q.riverConfig()
	if pool := q.db.Pool(); pool != nil {
		q.client, err = river.NewClient(riverpgxv5.New(pool), cfg)
		return err
	}
	q.client, err = river.NewClient(riversqlite.New(q.db.Writer()), cfg)
	return err
}

func (q *Queue) riverConfig() *river.Config {
	return &river.Config{
		ID:                   q.node,
		Workers:              q.workers,
		Queues:               q.queues(),
		PeriodicJobs:         q.periodic,
		JobTimeout:           q.cfg.Timeout,
		RescueStuckJobsAfter: q.cfg.Longest + time.Minute,
		MaxAttempts:          store.MaxAttempts,
		FetchCooldown:        20 * time.Millisecond,
		FetchPollInterval:    time.Second,
		ErrorHandler:         reporter{q.cfg.Log},
		Logger:               slog.New(warnings{q.cfg.Log.Handler()}),
		// A finished job has nothing to tell that its record does not.
		CompletedJobRetentionPeriod: time.Hour,
		SkipUnknownJobCheck:         true, // a newer node may enqueue what this one does not know
	}
}

// Stop lets jobs under way finish until the context ends, and cancels them
// then. A cancelled job is taken up again, here or by another process.
func (q *Queue) Stop(ctx context.Context) error {
	if q.quit == nil {
		return nil
	}
	close(q.quit)
	<-q.beating
	err := q.client.Stop(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = q.client.StopAndCancel(last)
	}
	q.leave(context.WithoutCancel(ctx))
	q.quit = nil
	return err
}

// reporter logs what jobs fail with. The arguments stay out of the log.
type reporter struct{ log *slog.Logger }

func (r reporter) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	if ctx.Err() == nil {
		r.log.WarnContext(ctx, "job failed", "kind", job.Kind, "job", job.ID, "attempt", job.Attempt, "of", job.MaxAttempts, "error", err)
	}
	return nil
}

func (r reporter) HandlePanic(ctx context.Context, job *rivertype.JobRow, v any, trace string) *river.ErrorHandlerResult {
	r.log.ErrorContext(ctx, "job panicked", "kind", job.Kind, "job", job.ID, "attempt", job.Attempt, "panic", v, "trace", trace)
	return nil
}

// warnings drops River's news, and its complaints about work that our own stop
// has cut short.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil
	}
	return w.Handler.Handle(ctx, r)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
