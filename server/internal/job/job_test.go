package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

type workArgs struct {
	ID string `json:"id"`
}

func (workArgs) Kind() string { return "test-work" }

type poisonArgs struct{}

func (poisonArgs) Kind() string { return "test-poison" }

type poison struct {
	river.WorkerDefaults[poisonArgs]
	tries *atomic.Int64
}

func (p *poison) Work(context.Context, *river.Job[poisonArgs]) error {
	p.tries.Add(1)
	panic("poison")
}

// NextRetry keeps the test short.
func (p *poison) NextRetry(*river.Job[poisonArgs]) time.Time { return time.Now() }

type worker struct {
	river.WorkerDefaults[workArgs]
	db   *store.DB
	done *atomic.Int64
	hold chan struct{}
}

func (w *worker) Work(ctx context.Context, j *river.Job[workArgs]) error {
	if w.hold != nil {
		select {
		case <-w.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return w.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update works set state = 'DONE', times = times + 1 where id = $1 and state = 'NEW'`, j.Args.ID)
		if err != nil {
			return err
		}
		if n == 1 {
			tx.OnCommit(func() { w.done.Add(1) })
		}
		return nil
	})
}

func write(t testing.TB, db *store.DB, fn func(tx *store.Tx) error) {
	t.Helper()
	if err := db.Write(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func table(t testing.TB, db *store.DB) {
	write(t, db, func(tx *store.Tx) error {
		_, err := tx.Exec(context.Background(), `create table works (id text primary key, state text not null, times bigint not null default 0)`)
		return err
	})
}

func enqueue(t testing.TB, db *store.DB, n int) {
	t.Helper()
	ctx := context.Background()
	for range n {
		write(t, db, func(tx *store.Tx) error {
			id := store.NewID()
			if _, err := tx.Exec(ctx, `insert into works (id, state) values ($1, 'NEW')`, id); err != nil {
				return err
			}
			return tx.Enqueue(ctx, workArgs{id}, nil)
		})
	}
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if cond() {
			return
		}
	}
	t.Fatalf("%s: not within 40 s", what)
}

func states(t *testing.T, q *job.Queue) map[string]int64 {
	t.Helper()
	list, err := q.Depths(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]int64{}
	for _, d := range list {
		m[d.State] += d.Jobs
	}
	return m
}

// Two processes share one queue; every job is done once, poison blocks nobody.
func TestTwoProcesses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		table(t, db)
		var done [2]atomic.Int64
		var tries atomic.Int64
		var queues []*job.Queue
		for i := range done {
			q := job.New(db, job.Config{Workers: 8})
			job.Register(q, &worker{db: db, done: &done[i]})
			job.Register(q, &poison{tries: &tries})
			queues = append(queues, q)
		}
		write(t, db, func(tx *store.Tx) error {
			return tx.Enqueue(context.Background(), poisonArgs{}, &river.InsertOpts{MaxAttempts: 3})
		})
		enqueue(t, db, 60)
		for _, q := range queues {
			if err := q.Start(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		enqueue(t, db, 60)
		eventually(t, "120 jobs", func() bool { return done[0].Load()+done[1].Load() == 120 })
		eventually(t, "the poison is discarded", func() bool { return states(t, queues[0])["discarded"] == 1 })
		if tries.Load() != 3 {
			t.Errorf("the poison was tried %d times, want 3", tries.Load())
		}
		for _, q := range queues {
			if err := q.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		}
		var n int64
		if err := db.Read().QueryRow(context.Background(), `select count(*) from works where state = 'DONE' and times = 1`).Scan(&n); err != nil || n != 120 {
			t.Errorf("%d done exactly once, %v", n, err)
		}
	})
}

// Jobs of a process that died are taken up by another within seconds.
func TestDeadProcess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		table(t, db)
		ctx := context.Background()
		var done atomic.Int64
		first := job.New(db, job.Config{})
		hold := make(chan struct{})
		job.Register(first, &worker{db: db, done: &done, hold: hold})
		if err := first.Start(ctx); err != nil {
			t.Fatal(err)
		}
		enqueue(t, db, 5)
		eventually(t, "5 running", func() bool { return states(t, first)["running"] == 5 })
		// As if it had been killed: its heartbeat is old, its jobs stay running.
		second := job.New(db, job.Config{})
		job.Register(second, &worker{db: db, done: &done})
		write(t, db, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, `update nodes set seen_at = 1`)
			return err
		})
		if err := second.Start(ctx); err != nil {
			t.Fatal(err)
		}
		// The first goes on saying that it is alive unless it is stopped from it.
		stale := time.NewTicker(50 * time.Millisecond)
		defer stale.Stop()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range stale.C {
				if done.Load() >= 5 {
					return
				}
				_ = db.Write(ctx, func(tx *store.Tx) error {
					_, err := tx.Exec(ctx, `update nodes set seen_at = 1 where id = (select min(id) from nodes)`)
					return err
				})
			}
		}()
		eventually(t, "5 taken over", func() bool { return done.Load() == 5 })
		<-ended
		close(hold) // the first wakes up and must not do them again
		for _, q := range []*job.Queue{first, second} {
			stop, cancel := context.WithTimeout(ctx, 10*time.Second)
			if err := q.Stop(stop); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
		if done.Load() != 5 {
			t.Errorf("done %d times, want 5", done.Load())
		}
	})
}

func TestPeriodic(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		table(t, db)
		write(t, db, func(tx *store.Tx) error {
			_, err := tx.Exec(context.Background(), `insert into works (id, state) values ('p', 'NEW')`)
			return err
		})
		var done atomic.Int64
		q := job.New(db, job.Config{})
		job.Register(q, &worker{db: db, done: &done})
		q.Every(time.Hour, workArgs{"p"})
		if err := q.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		defer q.Stop(context.Background())
		eventually(t, "the periodic job", func() bool { return done.Load() == 1 })
	})
}

// A stop, even in the midst of starting, is no error.
func TestStopIsQuiet(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		table(t, db)
		var said bytes.Buffer
		log := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
		for i := range 12 {
			var done atomic.Int64
			q := job.New(db, job.Config{Log: log})
			job.Register(q, &worker{db: db, done: &done})
			for n := range 20 {
				q.Every(time.Duration(n+1)*time.Second, workArgs{fmt.Sprint(n)})
			}
			if err := q.Start(context.Background()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(i) * 7 * time.Millisecond)
			if err := q.Stop(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if said.Len() > 0 {
			t.Errorf("a clean stop says: %s", said.String())
		}
	})
}
