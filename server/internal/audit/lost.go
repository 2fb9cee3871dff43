package audit

import (
	"context"
	"encoding/hex"
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
	rows map[string]written // by their keyed digests
	from int64              // leaves before this one were looked at
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

func (u *unseen) add(list []*row, base int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.rows) == 0 {
		u.rows, u.from = map[string]written{}, base
	}
	for _, r := range list {
		if len(u.rows) < mostUnseen {
			u.rows[string(r.mac)] = written{account: r.account, record: r.record, kind: r.kinds, at: time.Now()}
		}
	}
}

// see forgets what has a place.
func (u *unseen) see(mac string, seq int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.rows, mac)
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
	for mac, w := range u.rows {
		if time.Since(w.at) > lostAfter {
			late[mac] = w
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
		rows, err := l.db.Read().Query(ctx, `select mac, seq from audit_events where seq >= $1 order by seq limit $2`, from, page)
		n = 0
		err = store.Each("audit: look for own entries", rows, err, func(r store.Row) error {
			var mac []byte
			var seq int64
			if err := r.Scan(&mac, &seq); err != nil {
				return err
			}
			l.unseen.see(string(mac), seq)
			n++
			return nil
		})
		if err != nil {
			return err
		}
	}
	from, _ := l.unseen.start()
	for mac, w := range l.unseen.overdue() {
		var there int64
		err := l.db.Read().QueryRow(ctx, `select count(*) from audit_events where (seq is null or seq >= $1) and mac = $2`, from, []byte(mac)).Scan(&there)
		if err != nil {
			return fmt.Errorf("audit: look for own entries: %w", err)
		}
		if there == 0 {
			err := l.db.Write(ctx, func(tx *store.Tx) error {
				return l.Append(ctx, tx, Event{
					Account: w.account, Record: w.record, Kind: KindLost, Log: "an entry was taken away before it had its place",
					Detail: map[string]string{"id": hex.EncodeToString([]byte(mac)), "kind": w.kind, "record": w.record},
				})
			})
			if err != nil {
				return err
			}
		}
		l.unseen.see(mac, -1)
	}
	return nil
}
