package audit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/store"
)

// KindLost marks an event that was committed and then taken away before it got
// its place in the tree. It makes the log bad.
const KindLost = "audit-lost"

// unseen are the events that this process has committed on PostgreSQL and not
// seen in the tree yet. Until then a row can be deleted without a trace in the
// tree; the process that wrote it remembers.
type unseen struct {
	mu   sync.Mutex
	rows map[string]written
	from int64 // leaves before this one were looked at
}

type written struct {
	account, record, kind string
	at                    time.Time
}

// mostUnseen bounds them where a log cannot be sequenced.
const mostUnseen = 100_000

// lostAfter is when an event is missed: a commit is visible at once, and
// sequencing takes a second.
var lostAfter = 30 * time.Second

func (u *unseen) add(list []*Entry, base int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.rows) == 0 {
		u.rows, u.from = map[string]written{}, base
	}
	for _, e := range list {
		if len(u.rows) < mostUnseen {
			u.rows[e.ID] = written{account: e.Account, record: e.Record, kind: e.Kind, at: time.Now()}
		}
	}
}

// see forgets what has a place.
func (u *unseen) see(id string, seq int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.rows, id)
	u.from = max(u.from, seq+1)
}

// start is the leaf to look from; false when nothing is missed.
func (u *unseen) start() (int64, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.from, len(u.rows) > 0
}

func (u *unseen) overdue() map[string]written {
	u.mu.Lock()
	defer u.mu.Unlock()
	late := map[string]written{}
	for id, w := range u.rows {
		if time.Since(w.at) > lostAfter {
			late[id] = w
		}
	}
	return late
}

// findLost looks for the events of this process among the leaves, and writes
// down which are not in the log any more.
func (l *Log) findLost(ctx context.Context) error {
	const page = 5000
	for n := page; n == page; {
		from, some := l.unseen.start()
		if !some {
			return nil
		}
		rows, err := l.db.Read().Query(ctx, `select id, seq from audit_events where seq >= $1 order by seq limit $2`, from, page)
		n = 0
		err = store.Each("audit: look for own entries", rows, err, func(r store.Row) error {
			var id string
			var seq int64
			if err := r.Scan(&id, &seq); err != nil {
				return err
			}
			l.unseen.see(id, seq)
			n++
			return nil
		})
		if err != nil {
			return err
		}
	}
	for id, w := range l.unseen.overdue() {
		var there int64
		if err := l.db.Read().QueryRow(ctx, `select count(*) from audit_events where id = $1`, id).Scan(&there); err != nil {
			return fmt.Errorf("audit: look for own entries: %w", err)
		}
		if there == 0 {
			err := l.db.Write(ctx, func(tx *store.Tx) error {
				return l.Append(ctx, tx, Event{
					Account: w.account, Record: w.record, Kind: KindLost, Log: "an entry was taken away before it had its place",
					Detail: map[string]string{"id": id, "kind": w.kind, "record": w.record},
				})
			})
			if err != nil {
				return err
			}
		}
		l.unseen.see(id, -1)
	}
	return nil
}
