package audit

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
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
}

type written struct {
	account, record, kind string
	at                    time.Time
	base                  int64 // its place is not before this leaf
}

// mostUnseen bounds them where a log cannot be sequenced.
const mostUnseen = 100_000

// lostAfter is when an event is missed: a commit is visible at once, and
// sequencing takes a second. Those that another server has sequenced are looked
// for some time before.
var lostAfter = 30 * time.Second

func lookedForAfter() time.Duration { return lostAfter / 10 }

func (u *unseen) add(list []*row, base int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.rows == nil {
		u.rows = map[string]written{}
	}
	for _, r := range list {
		if len(u.rows) < mostUnseen {
			u.rows[string(r.mac)] = written{account: r.account, record: r.record, kind: r.kinds, at: time.Now(), base: base}
		}
	}
}

// see forgets what has a place.
func (u *unseen) see(list []*row) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range list {
		delete(u.rows, string(r.mac))
	}
}

func (u *unseen) forget(mac string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.rows, mac)
}

// olderThan are those that were written so long ago.
func (u *unseen) olderThan(age time.Duration) map[string]written {
	u.mu.Lock()
	defer u.mu.Unlock()
	old := map[string]written{}
	for mac, w := range u.rows {
		if time.Since(w.at) > age {
			old[mac] = w
		}
	}
	return old
}

// findLost looks for events of this process among the leaves that others have
// made, and writes down which are not in the log any more.
func (l *Log) findLost(ctx context.Context) error {
	if err := l.findOwn(ctx); err != nil {
		return err
	}
	for mac, w := range l.unseen.olderThan(lostAfter) {
		var there int64
		err := l.db.Read().QueryRow(ctx, `select count(*) from audit_events where (seq is null or seq >= $1) and mac = $2`, w.base, []byte(mac)).Scan(&there)
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
		l.unseen.forget(mac)
	}
	return nil
}

// findOwn forgets the events that have a place. Only these are read: were every
// leaf of all servers read by each, a signature would cost more with every server.
func (l *Log) findOwn(ctx context.Context) error {
	old := l.unseen.olderThan(lookedForAfter())
	for some := range slices.Chunk(slices.Collect(maps.Keys(old)), 1000) {
		from := int64(math.MaxInt64)
		macs := make([][]byte, len(some))
		for i, mac := range some {
			macs[i], from = []byte(mac), min(from, old[mac].base)
		}
		rows, err := l.db.Read().Query(ctx, `select mac from audit_events where seq >= $1 and mac = any($2)`, from, macs)
		err = store.Each("audit: look for own entries", rows, err, func(r store.Row) error {
			var mac []byte
			err := r.Scan(&mac)
			l.unseen.forget(string(mac))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
