// Package job is the queue. A row is its own work: whatever table has the columns id,
// account_id, turn, lease_by, lease_until, starts, failures and created_at is a Source,
// and workers take those of its rows that are ready and not leased. Signature records and
// callbacks are such tables; the table work has items without a record of their own.
//
// A worker claims a row in one statement, under a lease that its process renews. The
// lease is the only guard: every change that the work makes is conditional on it
// (… where id = $1 and lease_by = $2), so that a process which was taken for dead
// changes nothing. One that dies stops renewing, and the row is claimed again. There
// is nothing beside the row that could be lost or left over.
//
// lease_until without lease_by is a pause: the row is not claimed before.
//
// Accounts take turns, as in start-time fair queueing: a row's turn is one after the account's
// last, and an account without rows joins at the first row's turn (Turn). So each account that
// waits is served once before any is served twice. Turns are not enough where work is slow, since
// all workers may be busy with one account: then the reserved ones claim only for accounts that no
// other worker of this process is busy with.
package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/span"
	"rogito.dev/rogito/server/internal/store"
)

// Config is how a process works on the queue.
type Config struct {
	// Workers is how many rows of a source are worked on at once, unless the source
	// says. Zero means 4 for each processor, at least 16.
	Workers int
	// Lease is how long a process may give no sign of life before its work is taken
	// up by others. Zero means 15 seconds.
	Lease time.Duration
	// Able says what keeps this process from storing what it would make: then it
	// claims nothing. Nil: nothing does.
	Able func(context.Context) error
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Log takes what goes wrong; nil is silent.
	Log *slog.Logger
}

// Source is a table of work.
type Source struct {
	Table    string
	Ready    string        // condition that a row, called t, is to be worked on
	Order    string        // in which rows are claimed
	Longest  time.Duration // pause; what ends later was written by a clock that was ahead
	Workers  int           // zero: as the queue has them
	Reserved int           // for accounts that this process does not work for
	Timeout  time.Duration
	Anyway   bool // claimed even while nothing can be stored, since Work looks to that
	// Columns come with the claim, where Scan is set, which scans more behind them and
	// makes of them what Claim.Row is. In them $1 is now.
	Columns string
	Scan    func(row store.Row, more ...any) (any, error)
	// Work works on a claimed row and ends the claim itself: whatever it returns is
	// only logged, and a row that is still claimed then waits for the lease to run out.
	Work func(context.Context, Claim) error
}

// Claim is the right to work on a row.
type Claim struct {
	Table, ID, Account string
	Lease              string
	Starts, Failures   int // this one counted as started
	Row                any // what the source's Scan made of the columns
}

// Queue works on its sources.
type Queue struct {
	db    *store.DB
	cfg   Config
	lanes []*lane
	kinds map[string]Kind
	every map[string]time.Duration

	mu     sync.Mutex
	held   map[[2]string]string // table and id → lease
	quit   context.CancelFunc
	ended  sync.WaitGroup // loops
	work   sync.WaitGroup // rows being worked on
	leases sync.WaitGroup // the loop that renews them
	cancel context.CancelFunc
}

// lane is a source with its workers.
type lane struct {
	Source
	wake     chan struct{}
	mu       sync.Mutex
	busy     int // shared workers
	reserved int
	accounts map[string]int // that are worked for
	looked   time.Time      // for other accounts
}

// New returns a queue that works on nothing yet.
func New(db *store.DB, cfg Config) *Queue {
	if cfg.Workers <= 0 {
		cfg.Workers = max(16, 4*runtime.GOMAXPROCS(0))
	}
	if cfg.Lease <= 0 {
		cfg.Lease = 15 * time.Second
	}
	if cfg.Able == nil {
		cfg.Able = func(context.Context) error { return nil }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	q := &Queue{db: db, cfg: cfg, kinds: map[string]Kind{}, every: map[string]time.Duration{}, held: map[[2]string]string{}}
	q.Add(q.works())
	return q
}

// Workers is how many rows of a source are worked on at once, unless the source says.
func (q *Queue) Workers() int { return q.cfg.Workers }

// Add adds a source; to be called before Start.
func (q *Queue) Add(s Source) {
	if s.Workers <= 0 {
		s.Workers = q.cfg.Workers
	}
	q.lanes = append(q.lanes, &lane{Source: s, wake: make(chan struct{}, 1), accounts: map[string]int{}})
}

// Wake wakes the workers of a table once a transaction that brought work commits. Other
// processes look every second.
func (q *Queue) Wake(tx *store.Tx, table string) {
	if q == nil {
		return
	}
	tx.OnCommit(func() {
		for _, l := range q.lanes {
			if l.Table == table {
				l.stir()
			}
		}
	})
}

func (l *lane) stir() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Start begins to work. The context bounds the start only; Stop ends the work.
func (q *Queue) Start(ctx context.Context) error {
	if err := q.plan(ctx); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	loops, quit := context.WithCancel(context.WithoutCancel(ctx))
	works, cancel := context.WithCancel(context.WithoutCancel(ctx))
	q.quit, q.cancel = quit, cancel
	for _, l := range q.lanes {
		q.ended.Go(func() { q.serve(loops, works, l) })
	}
	q.leases.Go(func() { q.keep(works) })
	return nil
}

// Stop lets work under way finish until the context ends, and then cancels it. What was
// cancelled is taken up again, here or by another process.
func (q *Queue) Stop(ctx context.Context) error {
	if q.quit == nil {
		return nil
	}
	q.quit()
	q.ended.Wait()
	idle := make(chan struct{})
	go func() { q.work.Wait(); close(idle) }()
	var err error
	select {
	case <-idle:
	case <-ctx.Done():
		err = ctx.Err()
	}
	q.cancel()
	q.work.Wait()
	q.leases.Wait()
	q.quit = nil
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // that is how long it was given
	}
	return err
}

// pollEvery is how soon work of another process is found, and work whose pause is over.
const pollEvery = time.Second

// serve claims work while there are workers for it.
func (q *Queue) serve(loop, works context.Context, l *lane) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	l.stir() // what waited before the start
	for {
		polled := false
		select {
		case <-loop.Done():
			return
		case <-l.wake:
		case <-tick.C:
			polled = true
		}
		for more := true; more && loop.Err() == nil; polled = false {
			var err error
			if more, err = q.round(loop, works, l, polled); err != nil && loop.Err() == nil {
				q.cfg.Log.WarnContext(loop, "look for work", "table", l.Table, "error", err)
			}
		}
	}
}

// lookEvery is how often the reserved workers look for other accounts while the shared
// ones are busy.
const lookEvery = 200 * time.Millisecond

// round claims as much as there are workers for, and says whether there may be more. A look
// only reads where nothing has announced work.
func (q *Queue) round(ctx, works context.Context, l *lane, polled bool) (bool, error) {
	l.mu.Lock()
	free, kept, due := l.Workers-l.busy, l.Reserved-l.reserved, time.Since(l.looked) > lookEvery
	var not []any
	for account := range l.accounts {
		not = append(not, account)
	}
	l.mu.Unlock()
	switch {
	case free > 0:
		not = nil
	case kept > 0 && due:
		l.looked, free = time.Now(), 1
	default:
		return false, nil
	}
	if polled {
		if some, err := q.waiting(ctx, l.Source); err != nil || !some {
			return false, err
		}
	}
	if !l.Anyway && q.cfg.Able(ctx) != nil {
		return false, nil // readiness reports why
	}
	most := min(free, claimAtOnce)
	claims, err := q.Claim(ctx, l.Source, most, not)
	for _, c := range claims {
		q.begin(works, l, c, not != nil)
	}
	return len(claims) == most, err // fewer: there are no more
}

// begin starts the work on a row.
func (q *Queue) begin(ctx context.Context, l *lane, c Claim, reserved bool) {
	count := func(n int) (full bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		full = l.busy >= l.Workers
		if reserved {
			l.reserved += n
		} else {
			l.busy += n
		}
		if l.accounts[c.Account] += n; l.accounts[c.Account] == 0 {
			delete(l.accounts, c.Account)
		}
		return full
	}
	count(1)
	release := q.Hold(c.Table, c.ID, c.Lease)
	q.work.Go(func() {
		ctx, end := span.Start(span.With(ctx), span.Job, attribute.String("rogito.table", l.Table))
		cancel := func() {}
		if l.Timeout > 0 {
			ctx, cancel = context.WithTimeout(ctx, l.Timeout)
		}
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
			if err != nil && ctx.Err() == nil {
				q.cfg.Log.WarnContext(ctx, "work failed", "table", c.Table, "row", c.ID, "starts", c.Starts, "error", err)
			}
			cancel()
			end(err)
			release()
			if count(-1) { // what waits may have waited for this worker
				l.stir()
			}
		}()
		err = l.Work(ctx, c)
	})
}

// Hold renews the lease of a row until release is called.
func (q *Queue) Hold(table, id, lease string) (release func()) {
	if q == nil {
		return func() {}
	}
	key := [2]string{table, id}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held[key] = lease
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.held[key] == lease {
			delete(q.held, key)
		}
	}
}

// keep renews the leases of this process until the context ends.
func (q *Queue) keep(ctx context.Context) {
	tick := time.NewTicker(q.cfg.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := q.renew(disk.Reclaiming(ctx)); err != nil && ctx.Err() == nil {
			q.cfg.Log.ErrorContext(ctx, "renew leases", "error", err)
		}
	}
}
