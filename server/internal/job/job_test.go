package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// worker ends a row of works, once.
type worker struct {
	db   *store.DB
	done *atomic.Int64
	hold chan struct{}
}

func (w *worker) Work(ctx context.Context, i job.Item) error {
	if w.hold != nil {
		select {
		case <-w.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return w.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update works set state = 'DONE', times = times + 1 where id = $1 and state = 'NEW'`, i.ID)
		if err == nil && n == 1 {
			tx.OnCommit(func() { w.done.Add(1) })
		}
		return err
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

func put(t testing.TB, db *store.DB, n int) {
	t.Helper()
	ctx := context.Background()
	for range n {
		write(t, db, func(tx *store.Tx) error {
			id := store.NewID()
			if _, err := tx.Exec(ctx, `insert into works (id, state) values ($1, 'NEW')`, id); err != nil {
				return err
			}
			return job.Put(ctx, tx, job.Item{Kind: "work", ID: id})
		})
	}
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

// Two processes share one queue; every item is done once, one that always fails blocks no other and
// is given up, and what is put back is not there.
func TestTwoProcesses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		table(t, db)
		ctx := context.Background()
		var done [2]atomic.Int64
		var tries atomic.Int64
		var queues []*job.Queue
		for i := range done {
			q := job.New(db, job.Config{})
			q.Register("work", job.Kind{Work: (&worker{db: db, done: &done[i]}).Work})
			q.Register("poison", job.Kind{Attempts: 2, Work: func(context.Context, job.Item) error { tries.Add(1); panic("poison") }})
			q.Register("refused", job.Kind{Work: func(context.Context, job.Item) error { return fmt.Errorf("%w: no", job.ErrGiveUp) }})
			queues = append(queues, q)
		}
		write(t, db, func(tx *store.Tx) error {
			return errors.Join(job.Put(ctx, tx, job.Item{Kind: "poison"}), job.Put(ctx, tx, job.Item{Kind: "refused"}), job.Put(ctx, tx, job.Item{Kind: "of another release"}))
		})
		if err := db.Write(ctx, func(tx *store.Tx) error {
			return errors.Join(job.Put(ctx, tx, job.Item{Kind: "work", ID: "never"}), errors.New("no"))
		}); err == nil {
			t.Fatal("it was written")
		}
		put(t, db, 60)
		for _, q := range queues {
			if err := q.Start(ctx); err != nil {
				t.Fatal(err)
			}
		}
		put(t, db, 60)
		await.Until(t, "120 items", func() bool { return done[0].Load()+done[1].Load() == 120 })
		await.Until(t, "two are given up", func() bool { return states(t, queues[0])["discarded"] == 2 })
		if tries.Load() != 2 {
			t.Errorf("the poison was tried %d times, want 2", tries.Load())
		}
		for _, q := range queues {
			if err := q.Stop(ctx); err != nil {
				t.Error(err)
			}
		}
		if n := storetest.Count(t, db, `select count(*) from works where state = 'DONE' and times = 1`); n != 120 {
			t.Errorf("%d done exactly once", n)
		}
		if n := storetest.Count(t, db, `select count(*) from work`); n != 3 {
			t.Errorf("%d items are left, want the two that were given up and the unknown one", n)
		}
	})
}

// Work of a process that died is taken up by another when its lease is over, and what
// the first does afterwards changes nothing.
func TestDeadProcess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		table(t, db)
		ctx := context.Background()
		var done atomic.Int64
		first := job.New(db, job.Config{Lease: time.Hour}) // it renews nothing in time
		hold := make(chan struct{})
		first.Register("work", job.Kind{Work: (&worker{db: db, done: &done, hold: hold}).Work})
		if err := first.Start(ctx); err != nil {
			t.Fatal(err)
		}
		put(t, db, 8) // as many as it has workers
		await.Until(t, "8 running", func() bool { return states(t, first)["running"] == 8 })
		second := job.New(db, job.Config{})
		second.Register("work", job.Kind{Work: (&worker{db: db, done: &done}).Work})
		if err := second.Start(ctx); err != nil {
			t.Fatal(err)
		}
		await.Never(t, 50*time.Millisecond, "work that is held was taken over", func() bool { return done.Load() != 0 })
		write(t, db, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, `update work set lease_until = 1`)
			return err
		})
		await.Until(t, "8 taken over", func() bool { return done.Load() == 8 })
		close(hold) // the first wakes up and must not do them again
		for _, q := range []*job.Queue{first, second} {
			if err := q.Stop(ctx); err != nil {
				t.Error(err)
			}
		}
		if n := storetest.Count(t, db, `select count(*) from works where times = 1`); done.Load() != 8 || n != 8 {
			t.Errorf("done %d times, %d of 8 once", done.Load(), n)
		}
	})
}

// A lease is renewed for as long as the work takes.
func TestLeaseIsRenewed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		table(t, db)
		ctx := context.Background()
		var done atomic.Int64
		hold := make(chan struct{})
		for range 2 {
			q := job.New(db, job.Config{Lease: 3 * time.Second})
			q.Register("work", job.Kind{Work: (&worker{db: db, done: &done, hold: hold}).Work})
			if err := q.Start(ctx); err != nil {
				t.Fatal(err)
			}
			defer q.Stop(ctx)
		}
		put(t, db, 3)
		await.Until(t, "3 begun", func() bool { return storetest.Count(t, db, `select count(*) from work where starts > 0`) == 3 })
		await.Never(t, 7*time.Second, "one is begun twice", func() bool {
			return storetest.Count(t, db, `select count(*) from work where starts = 1`) != 3
		})
		close(hold)
		await.Until(t, "3 done", func() bool { return done.Load() == 3 })
	})
}

// Work that comes back is done by one of two processes, at once and then not before its
// time.
func TestPeriodic(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		var done atomic.Int64
		for range 2 {
			q := job.New(db, job.Config{})
			q.Every(time.Hour, "again", job.Kind{Work: func(context.Context, job.Item) error { done.Add(1); return nil }})
			if err := q.Start(context.Background()); err != nil {
				t.Fatal(err)
			}
			defer q.Stop(context.Background())
		}
		times := func(n int64) func() bool { // and the end of the last is written, which sets the hour anew
			return func() bool {
				return done.Load() == n && storetest.Count(t, db, `select count(*) from work where lease_by = '' and lease_until > 1`) == 1
			}
		}
		await.Until(t, "the periodic work", times(1))
		write(t, db, func(tx *store.Tx) error {
			_, err := tx.Exec(context.Background(), `update work set lease_until = 1 where lease_by = ''`)
			return err
		})
		await.Until(t, "the next time", times(2))
		sooner := job.New(db, job.Config{})
		sooner.Every(time.Second, "again", job.Kind{Work: func(context.Context, job.Item) error { done.Add(1); return nil }})
		if err := sooner.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		defer sooner.Stop(context.Background())
		await.Until(t, "a shorter interval", func() bool { return done.Load() > 2 })
	})
}

// Who cannot store claims no row, and does only what frees space.
func TestUnable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		table(t, db)
		storetest.Exec(t, db, turns)
		var done, swept, claimed atomic.Int64
		var full atomic.Bool
		full.Store(true)
		q := job.New(db, job.Config{Able: func(context.Context) error {
			if full.Load() {
				return errors.New("no room")
			}
			return nil
		}})
		q.Register("work", job.Kind{Attempts: 1, Work: (&worker{db: db, done: &done}).Work})
		q.Every(time.Hour, "sweep", job.Kind{Frees: true, Work: func(context.Context, job.Item) error { swept.Add(1); return nil }})
		q.Add(job.Source{Table: "turns", Ready: turnReady, Order: "t.turn, t.id", Longest: time.Hour, Work: func(ctx context.Context, c job.Claim) error {
			claimed.Add(1)
			return db.Write(ctx, func(tx *store.Tx) error { return tx.Later(ctx, `update turns set done = 1 where id = $1`, c.ID) })
		}})
		put(t, db, 3)
		write(t, db, func(tx *store.Tx) error { return enqueue(t.Context(), tx, q, "a", "a", 1) })
		if err := q.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		defer q.Stop(context.Background())
		await.Until(t, "what frees space", func() bool { return swept.Load() == 1 })
		await.Never(t, 1500*time.Millisecond, "something is begun", func() bool {
			return storetest.Count(t, db, `select count(*) from turns where starts > 0`) != 0 || claimed.Load() != 0 || done.Load() != 0
		})
		full.Store(false)
		await.Until(t, "4 done", func() bool { return done.Load() == 3 && claimed.Load() == 1 })
	})
}

// A stop, even in the midst of starting, is no error, and leaves nothing claimed.
func TestStopIsQuiet(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		table(t, db)
		var said bytes.Buffer
		log := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
		hold := make(chan struct{})
		put(t, db, 3)
		for range 8 {
			var done atomic.Int64
			q := job.New(db, job.Config{Log: log})
			q.Register("work", job.Kind{Work: (&worker{db: db, done: &done, hold: hold}).Work})
			for n := range 20 {
				q.Every(time.Duration(n+1)*time.Second, fmt.Sprint(n), job.Kind{Work: func(context.Context, job.Item) error { return nil }})
			}
			if err := q.Start(context.Background()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(rand.N(50 * time.Millisecond))
			stop, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			if err := q.Stop(stop); err != nil {
				t.Fatal(err)
			}
			cancel()
			if n := storetest.Count(t, db, `select count(*) from work where lease_by <> '' or kind = 'work' and starts > 0`); n != 0 {
				t.Fatalf("%d are still claimed", n)
			}
		}
		if said.Len() > 0 {
			t.Errorf("a clean stop says: %s", said.String())
		}
	})
}
