package audit

import (
	"context"
	"time"

	"rogito.dev/rogito/server/internal/store"
)

// LoseAfter has events missed earlier, for the time of a test.
func LoseAfter(d time.Duration) (undo func()) {
	old := lostAfter
	lostAfter = d
	return func() { lostAfter = old }
}

// Look says what a checkpointer decides by: how many entries there are, and how
// many the newest checkpoint has.
func (k *Checkpointer) Look(ctx context.Context) (size, newest int64) {
	k.step(ctx, func(s, n int64) bool { size, newest = s, n; return false })
	return size, newest
}

// Unseen is how many events this process has not seen in the tree yet.
func (l *Log) Unseen() int { return len(l.unseen.olderThan(-time.Hour)) }

// SequenceBatch is how many rows get their places together.
const SequenceBatch = sequenceBatch

// SequenceSome gives one batch its places; passed is for the next one.
func (l *Log) SequenceSome(ctx context.Context, after int64) (passed int64, err error) {
	err = l.db.Write(ctx, func(tx *store.Tx) (err error) {
		_, passed, _, err = l.sequence(ctx, tx, after)
		return err
	})
	return passed, err
}

// Forget drops what this process has seen, as a restart does. A server would not start on
// a log that was manipulated.
func (l *Log) Forget() {
	l.known.Store(nil)
	l.stored.Clear()
	l.unseen = unseen{}
}
