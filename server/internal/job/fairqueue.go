package job

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"rogito.dev/rogito/server/internal/store"
)

// River works first come, first served: a hundred thousand jobs of one account
// would run before everybody else's. Work that belongs to accounts therefore
// waits in a queue of our own (the table job_line), and a River job is only a
// permit to take the first item of it. Items are numbered by turns, as in
// start-time fair queueing: an account's next item is one turn after its last,
// and an account without items joins at the first item's turn. So each waiting
// account is served once before any is served twice, and adding and taking an
// item cost one index lookup, however long the queue.
//
// Turns are not enough where work is slow: all workers may be busy with one
// account. So some workers are reserved: when the shared workers are busy, the
// permit of an account that has nothing waiting goes to the reserved ones, and
// one account never has two of them in one process.
//
// A permit is used up by what it takes, or by an empty queue, and by nothing else.
// There may be too many: one too many finds nothing to do. Those that a dead
// process or an error took along are replaced by Refill.

// Queues of permits.
const (
	Shared   = "shared"
	Reserved = "reserved"
)

// Item is work that waits in the fair queue.
type Item struct {
	ID, Account string
	Weight      int // in turns; at least 1
}

// Enqueue adds work to the fair queue, with a permit for a worker to take it, in
// the caller's transaction. An item that is queued already stays where it is.
func (q *Queue) Enqueue(ctx context.Context, tx *store.Tx, item Item, permit river.JobArgs) error {
	var mine, first int64
	err := tx.QueryRow(ctx, `select coalesce((select max(ends) from job_line where account_id = $1), -1), coalesce((select min(turn) from job_line), -1)`,
		item.Account).Scan(&mine, &first)
	if err != nil {
		return fmt.Errorf("job: read the fair queue: %w", err)
	}
	turn := max(mine, first, 0)
	n, err := tx.Exec(ctx, `insert into job_line (id, account_id, turn, ends, created_at) values ($1, $2, $3, $4, $5) on conflict (id) do nothing`,
		item.ID, item.Account, turn, turn+int64(max(1, item.Weight)), time.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("job: enqueue: %w", err)
	}
	if n == 0 {
		return nil
	}
	queue := Shared
	if mine < 0 && (first >= 0 || q.full()) {
		queue = Reserved
	}
	return tx.Enqueue(ctx, permit, &river.InsertOpts{Queue: queue})
}

// Claim runs a transaction that takes work with Pop or Take, again while all
// that waits is being taken by others.
func Claim(ctx context.Context, db *store.DB, take func(tx *store.Tx) error) error {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		err := db.Write(ctx, take)
		if !errors.Is(err, errBusy) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// errBusy says that others are taking what waits. Their permits may have been
// issued for what was not there yet when this one looked, so that who gives up
// now may leave something behind.
var errBusy = errors.New("job: others are taking what waits")

// Pop takes the first item out of the fair queue; "" when it is empty.
func Pop(ctx context.Context, tx *store.Tx) (id string, err error) {
	if tx.Pgx() == nil {
		return popFirst(ctx, tx, "")
	}
	for range 2 { // the second statement sees what was committed since the first
		if id, err = popFirst(ctx, tx, " for update skip locked"); err != nil || id != "" {
			return id, err
		}
	}
	if some, err := waiting(ctx, tx); err != nil || !some {
		return "", err
	}
	return "", errBusy
}

// popFirst with a lock has two at once take the first two.
func popFirst(ctx context.Context, tx *store.Tx, lock string) (id string, err error) {
	err = tx.QueryRow(ctx, `delete from job_line where id = (select id from job_line order by turn, id limit 1`+lock+`) returning id`).Scan(&id)
	if errors.Is(err, store.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("job: pop: %w", err)
	}
	return id, nil
}

// waiting says whether anything waits, taken by somebody at this moment or not.
func waiting(ctx context.Context, tx *store.Tx) (some bool, err error) {
	err = tx.QueryRow(ctx, `select exists (select 1 from job_line)`).Scan(&some)
	return some, err
}

// Take takes the item that a reserved permit was issued for, and says whether it
// was there. Where it was not, or may is false because the account has a
// reserved worker already, the permit becomes a shared one.
func Take(ctx context.Context, tx *store.Tx, id string, may bool, permit river.JobArgs) (bool, error) {
	if may {
		n, err := tx.Exec(ctx, `delete from job_line where id = $1`, id)
		if err != nil {
			return false, fmt.Errorf("job: take: %w", err)
		}
		if n == 1 {
			return true, nil
		}
	}
	if some, err := waiting(ctx, tx); err != nil || !some {
		return false, err
	}
	return false, tx.Enqueue(ctx, permit, &river.InsertOpts{Queue: Shared})
}

// busyWorkers counts the workers of this process that serve the fair queue.
type busyWorkers struct {
	mu       sync.Mutex
	shared   int             // how many shared ones are at work
	reserved map[string]bool // accounts that have a reserved one
}

// Occupy marks a worker of one of the two queues as busy, until leave is called; a
// shared one waits there until the processors have time for it, or the context
// ends. It is false where the account has a reserved worker already.
func (q *Queue) Occupy(ctx context.Context, queue, account string) (leave func(), ok bool) {
	if q == nil {
		return func() {}, true
	}
	l := &q.busy
	if queue != Reserved {
		l.count(1)
		leave := q.pace.enter(ctx)
		return func() { leave(); l.count(-1) }, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reserved[account] {
		return func() {}, false
	}
	if l.reserved == nil {
		l.reserved = map[string]bool{}
	}
	l.reserved[account] = true
	return func() { l.mu.Lock(); defer l.mu.Unlock(); delete(l.reserved, account) }, true
}

func (l *busyWorkers) count(shared int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared += shared
}

// full says that no shared worker of this process is free.
func (q *Queue) full() bool {
	if q == nil {
		return false
	}
	q.busy.mu.Lock()
	defer q.busy.mu.Unlock()
	return q.busy.shared >= q.cfg.Workers
}

// refillAtOnce bounds the permits that are added together.
const refillAtOnce = 1000

// Refill adds permits when more items have waited for longer than the patience
// than there are permits that nobody has taken up.
func Refill(ctx context.Context, db *store.DB, patience time.Duration, permit river.JobArgs) error {
	var waiting int
	err := db.Read().QueryRow(ctx, `select count(*) from (select id from job_line where created_at < $1 limit $2) as overdue`,
		time.Now().Add(-patience).UnixMilli(), refillAtOnce).Scan(&waiting)
	if err != nil || waiting == 0 {
		return err
	}
	return db.Write(ctx, func(tx *store.Tx) error {
		var left int
		err := tx.QueryRow(ctx, `select count(*) from (select id from river_job where state in ('available', 'retryable', 'scheduled') and queue in ($1, $2) limit $3) as permits`,
			Shared, Reserved, refillAtOnce).Scan(&left)
		if err != nil {
			return err
		}
		for range waiting - left {
			if err := tx.Enqueue(ctx, permit, &river.InsertOpts{Queue: Shared}); err != nil {
				return err
			}
		}
		return nil
	})
}
