package job

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"rogito.dev/rogito/server/internal/store"
)

// River works first come, first served: a hundred thousand jobs of one account
// would stand before everybody else's. Work that belongs to accounts therefore
// waits in a line of our own (the table job_line), and a job of River is only a
// permit to take whoever is at the head of it. Places are numbered by turns,
// as in start-time fair queueing: an account's next place is one turn after its
// last, and an account that had none waiting joins at the head's turn. So each
// account that waits is served once before any is served twice, and entering
// and leaving cost one look into an index, however long the line.
//
// Turns are not enough where work is slow: all workers may be busy with one
// account. So a few workers more are kept for those who come first: the permit
// of an account with nothing waiting goes to them when there is a crowd, and
// one account never has two of them in one process.
//
// Permits may be lost and may be too many. One too many finds nothing to do;
// lost ones are replaced by Refill.

// Queues of permits.
const (
	Turns = "turns"
	First = "turns-first"
)

// Place is work that waits in the line.
type Place struct {
	ID, Account string
	Weight      int // in turns; at least 1
}

// Enter puts work into the line, with a permit for somebody to take it up, in
// the caller's transaction. What is in the line already stays where it is.
func (q *Queue) Enter(ctx context.Context, tx *store.Tx, p Place, permit river.JobArgs) error {
	var mine, head int64
	err := tx.QueryRow(ctx, `select coalesce((select max(ends) from job_line where account_id = $1), -1), coalesce((select min(turn) from job_line), -1)`,
		p.Account).Scan(&mine, &head)
	if err != nil {
		return fmt.Errorf("job: look at the line: %w", err)
	}
	turn := max(mine, head, 0)
	n, err := tx.Exec(ctx, `insert into job_line (id, account_id, turn, ends, created_at) values ($1, $2, $3, $4, $5) on conflict (id) do nothing`,
		p.ID, p.Account, turn, turn+int64(max(1, p.Weight)), time.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("job: enter the line: %w", err)
	}
	if n == 0 {
		return nil
	}
	queue := Turns
	if mine < 0 && (head >= 0 || q.full()) {
		queue = First
	}
	return tx.Enqueue(ctx, permit, &river.InsertOpts{Queue: queue})
}

// Head takes whoever is first out of the line; "" when nobody waits.
func Head(ctx context.Context, tx *store.Tx) (id string, err error) {
	skip := ""
	if tx.Pgx() != nil {
		skip = " for update skip locked" // two at once take the first two
	}
	err = tx.QueryRow(ctx, `delete from job_line where id = (select id from job_line order by turn, id limit 1`+skip+`) returning id`).Scan(&id)
	if errors.Is(err, store.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("job: take the head of the line: %w", err)
	}
	return id, nil
}

// Own takes the very place out of the line that a permit of the few was issued
// for, and says whether it was there. Where it was not, or the permit's account
// may not have one of the few, the permit becomes one of the many.
func Own(ctx context.Context, tx *store.Tx, id string, may bool, permit river.JobArgs) (bool, error) {
	if may {
		n, err := tx.Exec(ctx, `delete from job_line where id = $1`, id)
		if err != nil {
			return false, fmt.Errorf("job: leave the line: %w", err)
		}
		if n == 1 {
			return true, nil
		}
	}
	return false, passOn(ctx, tx, permit)
}

// passOn turns a permit of the few into one of the many, for whoever waits.
func passOn(ctx context.Context, tx *store.Tx, permit river.JobArgs) error {
	var some bool
	if err := tx.QueryRow(ctx, `select exists (select 1 from job_line)`).Scan(&some); err != nil || !some {
		return err
	}
	return tx.Enqueue(ctx, permit, &river.InsertOpts{Queue: Turns})
}

// lanes are the workers of this process that serve the line.
type lanes struct {
	mu    sync.Mutex
	busy  int             // of the many
	first map[string]bool // accounts that have one of the few
}

// Occupy says that a worker of one of the two queues is at work, until the
// function is called. It is false where the account has one of the few already.
func (q *Queue) Occupy(queue, account string) (leave func(), ok bool) {
	if q == nil {
		return func() {}, true
	}
	l := &q.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	if queue != First {
		l.busy++
		return func() { l.mu.Lock(); defer l.mu.Unlock(); l.busy-- }, true
	}
	if l.first[account] {
		return func() {}, false
	}
	if l.first == nil {
		l.first = map[string]bool{}
	}
	l.first[account] = true
	return func() { l.mu.Lock(); defer l.mu.Unlock(); delete(l.first, account) }, true
}

// full says that this process has no worker free among the many.
func (q *Queue) full() bool {
	if q == nil {
		return false
	}
	q.lanes.mu.Lock()
	defer q.lanes.mu.Unlock()
	return q.lanes.busy >= q.cfg.Workers
}

// refillAtOnce bounds the permits that are added together.
const refillAtOnce = 1000

// Refill adds permits when places have waited for longer than the patience and
// no permit is left for any.
func Refill(ctx context.Context, db *store.DB, patience time.Duration, permit river.JobArgs) error {
	var waiting int
	err := db.Read().QueryRow(ctx, `select count(*) from (select id from job_line where created_at < $1 limit $2) as overdue`,
		time.Now().Add(-patience).UnixMilli(), refillAtOnce).Scan(&waiting)
	if err != nil || waiting == 0 {
		return err
	}
	return db.Write(ctx, func(tx *store.Tx) error {
		var left bool
		err := tx.QueryRow(ctx, `select exists (select 1 from river_job where state in ('available', 'running', 'retryable', 'scheduled') and queue in ($1, $2))`,
			Turns, First).Scan(&left)
		if err != nil || left {
			return err
		}
		for range waiting {
			if err := tx.Enqueue(ctx, permit, &river.InsertOpts{Queue: Turns}); err != nil {
				return err
			}
		}
		return nil
	})
}
