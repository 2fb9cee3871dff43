package job_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// journal is the order in which things happened, over all processes.
type journal struct {
	mu     sync.Mutex
	starts []string // ids in the order of their starts
	at     map[string]time.Time
}

func (l *journal) started(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts = append(l.starts, id)
	if l.at == nil {
		l.at = map[string]time.Time{}
	}
	l.at[id] = time.Now()
}

func (l *journal) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.starts)
}

// distinct is how many different things happened.
func (l *journal) distinct() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.at)
}

// turns is a table whose rows take turns, as signature records do.
const turns = `create table turns (id text primary key, account_id text not null, turn bigint not null, lease_by text not null default '', lease_until bigint not null default 0,
	starts bigint not null default 0, failures bigint not null default 0, created_at bigint not null default 0, done bigint not null default 0)`

const turnReady = `t.done = 0`

func enqueue(ctx context.Context, tx *store.Tx, q *job.Queue, id, account string, weight int) error {
	q.Wake(tx, "turns")
	return tx.Later(ctx, `insert into turns (id, account_id, turn) values ($1, $2, `+job.Turn("turns", turnReady, "$2", "$3")+`)`, id, account, weight)
}

// serving is a queue of one process for the table. One worker has no reserved ones beside it: they
// take work out of its turn whenever that of a row lasts long.
func serving(db *store.DB, workers int, log *journal, work func(ctx context.Context, id string)) *job.Queue {
	q := job.New(db, job.Config{Workers: workers})
	q.Add(job.Source{Table: "turns", Ready: turnReady, Order: "t.turn, t.id", Longest: time.Hour, Reserved: min(workers-1, max(2, workers/4)), Work: func(ctx context.Context, c job.Claim) error {
		log.started(c.ID)
		if work != nil {
			work(ctx, c.ID)
		}
		return db.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
			return tx.Expect(ctx, 1, fmt.Errorf("%s is not ours", c.ID), `update turns set done = 1 where id = $1 and lease_by = $2`, c.ID, c.Lease)
		})
	}})
	return q
}

// company is n processes that serve one table.
func company(t *testing.T, db *store.DB, n, workers int, work func(ctx context.Context, id string)) (*journal, []*job.Queue) {
	t.Helper()
	storetest.Exec(t, db, turns)
	storetest.Exec(t, db, `create index turns_turn on turns (turn, id) where done = 0`)
	storetest.Exec(t, db, `create index turns_account on turns (account_id, turn) where done = 0`)
	log := &journal{}
	var all []*job.Queue
	for range n {
		all = append(all, serving(db, workers, log, work))
	}
	return log, all
}

func open(t *testing.T, all []*job.Queue) {
	t.Helper()
	for _, q := range all {
		if err := q.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = q.Stop(context.Background()) })
	}
}

// enterMany puts n places of an account into the line, some in each transaction.
func enterMany(t *testing.T, db *store.DB, q *job.Queue, account string, n int) {
	t.Helper()
	ctx := context.Background()
	for i := 0; i < n; i += 250 {
		write(t, db, func(tx *store.Tx) error {
			for k := i; k < min(n, i+250); k++ {
				id := fmt.Sprintf("%s-%06d", account, k)
				if err := enqueue(ctx, tx, q, id, account, 1); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// A backlog of one account does not hold up another: what comes later starts
// after no more work of the backlog than there are workers, and a place for
// each account that waits. In a soak the backlog is 100,000 long, and the wait is
// also held against what it is without one.
func TestBacklogIsFair(t *testing.T) {
	backlog, trickle := 3000, 40
	soak := os.Getenv("ROGITO_TEST_SOAK") != ""
	if soak {
		backlog, trickle = 100_000, 400
	}
	const nodes, workers = 2, 8
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		entered := make(chan struct{})
		log, all := company(t, db, nodes, workers, func(ctx context.Context, id string) {
			if id[:3] == "big" {
				select {
				case <-entered: // all of it waits before any of it is done
				case <-ctx.Done():
				}
			}
			pause(ctx, 2*time.Millisecond)
		})
		open(t, all)
		idle, _ := newcomers(t, db, all, log, "idle", 20, math.MaxInt)
		enterMany(t, db, all[0], "big", backlog)
		close(entered)
		await.Until(t, "the backlog is being worked on", func() bool { return log.len() > 100 })
		busy, before := newcomers(t, db, all, log, "small", trickle, backlog-100)
		if len(before) < trickle/4 {
			t.Fatalf("the backlog was over after %d newcomers", len(before))
		}
		t.Logf("of a backlog of %d, %d started before a newcomer (p95; worst %d), which waited for %v; %v without a backlog",
			backlog, p95(before), slices.Max(before), p95(busy).Round(time.Millisecond), p95(idle).Round(time.Millisecond))
		// Rows that were fetched when the newcomer came are before it, and so are ties.
		if limit := nodes*workers + 2; p95(before) > limit {
			t.Errorf("%d starts of the backlog before a newcomer's (p95), want at most %d", p95(before), limit)
		}
		if soak && p95(busy) > 2*p95(idle)+20*time.Millisecond { // the pause between two fetches
			t.Errorf("a newcomer waits for %v (p95), %v without a backlog", p95(busy), p95(idle))
		}
	})
}

// newcomers enter one after the other, n of them or until so much work was begun;
// it returns how long each waited and how much other work was begun meanwhile.
func newcomers(t *testing.T, db *store.DB, all []*job.Queue, log *journal, account string, n, until int) (waits []time.Duration, before []int) {
	t.Helper()
	ctx := context.Background()
	for i := 0; i < n && log.len() < until; i++ {
		id := fmt.Sprintf("%s-%06d", account, i)
		write(t, db, func(tx *store.Tx) error {
			return enqueue(ctx, tx, all[i%len(all)], id, account, 1)
		})
		from, entered := log.len(), time.Now()
		started := func() (at time.Time, ok bool) {
			log.mu.Lock()
			defer log.mu.Unlock()
			at, ok = log.at[id]
			return at, ok
		}
		await.Until(t, id, func() bool { _, ok := started(); return ok })
		at, _ := started()
		waits = append(waits, max(0, at.Sub(entered)))
		log.mu.Lock()
		before = append(before, max(0, slices.Index(log.starts, id)-from))
		log.mu.Unlock()
	}
	return waits, before
}

func p95[T cmp.Ordered](list []T) T {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)*95/100]
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Two backlogs take turns, whichever came first; the heavier takes fewer.
func TestTurns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		log, all := company(t, db, 1, 1, nil)
		ctx := context.Background()
		enterMany(t, db, all[0], "a", 90)
		write(t, db, func(tx *store.Tx) error {
			for i := range 30 {
				id := fmt.Sprintf("b-%03d", i)
				if err := enqueue(ctx, tx, all[0], id, "b", 3); err != nil {
					return err
				}
			}
			return nil
		})
		open(t, all)
		await.Until(t, "120 starts", func() bool { return log.len() == 120 })
		light, heavy := 0, 0
		for _, id := range log.starts[:60] {
			if id[0] == 'a' {
				light++
			} else {
				heavy++
			}
		}
		if light < 42 || light > 48 {
			t.Errorf("of the first sixty, %d are light and %d weigh three turns; want about 45 and 15", light, heavy)
		}
		slices.Sort(log.starts)
		if len(slices.Compact(log.starts)) != 120 {
			t.Error("something was worked on twice")
		}
	})
}

// When every worker is busy with slow work of one account, another's is begun
// all the same, by one of the few that are kept for it.
func TestSlowBacklog(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		free := make(chan struct{})
		log, all := company(t, db, 1, 4, func(ctx context.Context, id string) {
			if id[:3] == "big" {
				select {
				case <-free:
				case <-ctx.Done():
				}
			}
		})
		enterMany(t, db, all[0], "big", 50)
		open(t, all)
		await.Until(t, "every worker is taken", func() bool { return log.len() >= 4 })
		ctx := context.Background()
		for i := range 10 {
			id, account := fmt.Sprintf("s-%02d", i), fmt.Sprintf("small%d", i)
			write(t, db, func(tx *store.Tx) error {
				return enqueue(ctx, tx, all[0], id, account, 1)
			})
		}
		await.Until(t, "the others' work", func() bool { return log.len() >= 14 })
		await.Never(t, 100*time.Millisecond, "more starts than 4 and the others' 10 while the backlog stands still", func() bool { return log.len() != 14 })
		close(free)
		await.Until(t, "all of it", func() bool { return log.len() == 60 })
	})
}
