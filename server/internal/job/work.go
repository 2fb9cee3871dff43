package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/store"
)

// Kind is a kind of work without a record of its own, in the table work.
type Kind struct {
	// Attempts is how often it may fail; zero means 5. What has failed so often stays
	// for a week, to be seen.
	Attempts int
	// Timeout of one attempt; zero means 2 minutes.
	Timeout time.Duration
	Frees   bool // space: it is done even while nothing can be stored
	Work    func(ctx context.Context, item Item) error
}

// Item is one piece of work. There is one item of a kind and id.
type Item struct {
	Kind, ID string
	Account  string
	Detail   string
	After    time.Duration // not before
}

// Register sets what works on the items of a kind; to be called before Start.
func (q *Queue) Register(kind string, k Kind) {
	if k.Attempts <= 0 {
		k.Attempts = 5
	}
	if k.Timeout <= 0 {
		k.Timeout = 2 * time.Minute
	}
	q.kinds[kind] = k
}

// Every has a kind of work done at an interval, by one of all processes; to be called before
// Start. The work must tolerate being done twice.
func (q *Queue) Every(interval time.Duration, kind string, k Kind) {
	q.Register(kind, k)
	q.every[kind] = interval
}

// Put adds an item in a transaction: it is worked on once that commits, and never
// otherwise.
func Put(ctx context.Context, tx *store.Tx, i Item) error {
	now := time.Now()
	err := tx.Later(ctx, `insert into work (id, kind, name, account_id, detail, lease_until, created_at) values ($1, $2, $3, $4, $5, $6, $7) on conflict (id) do nothing`,
		i.Kind+" "+i.ID, i.Kind, i.ID, i.Account, i.Detail, now.Add(i.After).UnixMilli(), now.UnixMilli())
	if err != nil {
		return fmt.Errorf("job: put: %w", err)
	}
	return nil
}

// Drop deletes an item in a transaction: it is not worked on any more.
func Drop(ctx context.Context, tx *store.Tx, kind, id string) error {
	if err := tx.Later(ctx, `delete from work where id = $1`, kind+" "+id); err != nil {
		return fmt.Errorf("job: drop: %w", err)
	}
	return nil
}

// dead is an item that has failed too often.
const dead = `dead = 1`

// keepDead is how long such an item can be seen.
const keepDead = 7 * 24 * time.Hour

const (
	longestTimeout  = 6 * time.Hour
	longestInterval = 366 * 24 * time.Hour
	ownWorkers      = 8
)

// works is the source of what has no record of its own.
func (q *Queue) works() Source {
	return Source{
		Table: "work", Ready: "t.dead = 0", Order: "t.lease_until, t.id", Longest: longestInterval, Workers: ownWorkers, Timeout: longestTimeout, Anyway: true, Work: q.item,
		Columns: "kind, name, account_id, detail", Scan: func(row store.Row, more ...any) (any, error) {
			var i Item
			err := row.Scan(append([]any{&i.Kind, &i.ID, &i.Account, &i.Detail}, more...)...)
			return i, err
		},
	}
}

// plan has the rows of what is done again and again there, and none of them wait for
// longer than its interval is now.
func (q *Queue) plan(ctx context.Context) error {
	if len(q.every) == 0 {
		return nil
	}
	return q.db.Write(disk.Reclaiming(ctx), func(tx *store.Tx) error {
		for kind, interval := range q.every {
			if err := Put(ctx, tx, Item{Kind: kind}); err != nil {
				return err
			}
			next := time.Now().Add(interval).UnixMilli()
			if err := tx.Later(ctx, `update work set lease_until = $1 where kind = $2 and lease_by = '' and lease_until > $1`, next, kind); err != nil {
				return err
			}
		}
		return tx.Later(ctx, `delete from work where dead = 1 and created_at < $1`, time.Now().Add(-keepDead).UnixMilli())
	})
}

// unknownPause is how soon an item of a kind that this process does not know, but
// perhaps another, is looked at again.
const unknownPause = time.Minute

// unablePause is how soon an item is looked at again that would store something where
// nothing can be stored.
const unablePause = 5 * time.Second

// item works on one and ends its claim.
func (q *Queue) item(ctx context.Context, c Claim) error {
	i, _ := c.Row.(Item)
	k, known := q.kinds[i.Kind]
	if !known {
		return q.give(ctx, c, Outcome{Pause: unknownPause, Undone: true})
	}
	if !k.Frees && q.cfg.Able(ctx) != nil {
		return q.give(ctx, c, Outcome{Pause: unablePause, Undone: true})
	}
	limited, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	err := q.attempt(limited, k, i)
	interval, again := q.every[i.Kind]
	var wait snooze
	switch {
	case err == nil && again:
		return q.write(ctx, `update work set lease_by = '', lease_until = $3, starts = 0, failures = 0 where id = $1 and lease_by = $2`, c.ID, c.Lease, time.Now().Add(interval).UnixMilli())
	case err == nil:
		return q.write(ctx, `delete from work where id = $1 and lease_by = $2`, c.ID, c.Lease)
	case errors.Is(ctx.Err(), context.Canceled): // we are being stopped
		return q.give(ctx, c, Outcome{Undone: true})
	case errors.As(err, &wait):
		return q.give(ctx, c, Outcome{Pause: wait.pause, Undone: true})
	}
	q.cfg.Log.WarnContext(ctx, "job failed", "kind", i.Kind, "job", i.ID, "failures", c.Failures+1, "of", k.Attempts, "error", err)
	if !again && (c.Failures+1 >= k.Attempts || errors.Is(err, ErrGiveUp)) {
		return q.write(ctx, `update work set lease_by = '', failures = failures + 1, `+dead+` where id = $1 and lease_by = $2`, c.ID, c.Lease)
	}
	pause := Backoff(c.Failures)
	if again {
		pause = min(pause, interval)
	}
	return q.give(ctx, c, Outcome{Pause: pause, Failed: true})
}

func (q *Queue) attempt(ctx context.Context, k Kind, i Item) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return k.Work(ctx, i)
}

// Backoff is the pause after the failure that follows n others: 1 s, 4, 16, 64, …, an
// hour at most.
func Backoff(n int) time.Duration { return min(time.Second<<min(2*n, 20), time.Hour) }

// ErrGiveUp says that there is no point in another attempt.
var ErrGiveUp = errors.New("job: to be given up")

// snooze is an error that puts work off without counting it.
type snooze struct{ pause time.Duration }

func (s snooze) Error() string { return "put off for " + s.pause.String() }

// Snooze puts an item off without counting an attempt.
func Snooze(pause time.Duration) error { return snooze{pause} }

func (q *Queue) give(ctx context.Context, c Claim, o Outcome) error {
	ctx = disk.Reclaiming(context.WithoutCancel(ctx))
	return q.db.Write(ctx, func(tx *store.Tx) error { return Later(ctx, tx, c, o, q.cfg.Now()) })
}

func (q *Queue) write(ctx context.Context, query string, args ...any) error {
	ctx = disk.Reclaiming(context.WithoutCancel(ctx))
	return q.db.Write(ctx, func(tx *store.Tx) error { return tx.Later(ctx, query, args...) })
}
