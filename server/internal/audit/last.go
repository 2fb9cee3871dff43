package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"rogito.dev/rogito/server/internal/store"
)

// errForged says that an event is not one that this server wrote.
var errForged = errors.New("audit: an event is not the one that was written")

// lastOf finds the last row of a kind that a credential has. What has no place yet
// is newer than the rest: a null is the largest on PostgreSQL, and there is none on
// SQLite. The kinds are those of the index audit_events_credential.
const lastOf = ` from audit_events where record_id = $1 and kind = $2 and kind in ('certificate-key', 'certificate-code') order by seq desc, n desc limit 1`

// Last has the last event of a kind that a credential has judged, inside a
// transaction, with what the transaction asks next; nil where there is none.
//
// The database is asked each time which event that is. Where it is the one that was
// read before, by its keyed digest and its place, it is not read again: that is a
// quarter of the cost, for every signature. A newer one that was given the digest of
// the older has another place, is read, and refused.
func (l *Log) Last(ctx context.Context, tx *store.Tx, record, kind string, judge func(*Entry) error) error {
	known := l.judged.get(record, kind)
	if known == nil {
		return l.readLast(ctx, tx, record, kind, judge, func(e *Entry) { l.judged.set(record, kind, e) })
	}
	return tx.Ask(ctx, func(from store.Row) error {
		var mac []byte
		seq, n := int64(-1), int64(-1)
		if err := from.Scan(&mac, &seq, &n); err != nil && !errors.Is(err, store.ErrNoRows) {
			return unavailable(fmt.Errorf("audit: read: %w", err))
		}
		if bytes.Equal(mac, known.row.mac) && seq == known.row.seq && n == known.row.n {
			return judge(known)
		}
		l.judged.set(record, kind, nil) // a one-time password is another each time, and not worth remembering
		return l.readLast(ctx, tx, record, kind, judge, func(*Entry) {})
	}, `select mac, coalesce(seq, -1), coalesce(n, -1)`+lastOf, record, kind)
}

func (l *Log) readLast(ctx context.Context, tx *store.Tx, record, kind string, judge func(*Entry) error, remember func(*Entry)) error {
	return tx.Ask(ctx, func(from store.Row) error {
		r, err := scanRow(from)
		switch {
		case errors.Is(err, store.ErrNoRows):
			return judge(nil)
		case err != nil:
			return unavailable(err)
		}
		r.unpackWords()
		e := r.entries[0]
		if !l.written(e) {
			return unavailable(fmt.Errorf("%w: one about %s", errForged, record))
		}
		remember(e)
		return judge(e)
	}, rowColumns+lastOf, record, kind)
}

// judged are events that were read, by record and kind. They never change; whether
// one is still the last is asked each time.
type judged struct {
	mu   sync.Mutex
	last map[[2]string]*Entry
}

const mostJudged = 4096

func (j *judged) get(record, kind string) *Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last[[2]string{record, kind}]
}

// set remembers an event; nil forgets.
func (j *judged) set(record, kind string, e *Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.last == nil || len(j.last) >= mostJudged {
		j.last = map[[2]string]*Entry{}
	}
	if j.last[[2]string{record, kind}] = e; e == nil {
		delete(j.last, [2]string{record, kind})
	}
}
