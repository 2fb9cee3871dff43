package audit

import (
	"context"
	"errors"
	"fmt"

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
func (l *Log) Last(ctx context.Context, tx *store.Tx, record, kind string, judge func(*Entry) error) error {
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
		return judge(e)
	}, rowColumns+lastOf, record, kind)
}
