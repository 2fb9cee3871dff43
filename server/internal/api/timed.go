package api

import (
	"context"
	"time"

	"rogito.dev/rogito/internal/lazy"
)

// timed is context.WithTimeout whose timer is set when somebody first waits for it. Most calls
// are answered before anybody does.
type timed struct {
	lazy.Context
	begun time.Time
	limit time.Duration
}

func withTimeout(parent context.Context, from time.Time, d time.Duration) *timed {
	t := &timed{Context: lazy.Context{Context: parent}, begun: from, limit: d}
	t.Wait = t.wait
	return t
}

func (t *timed) wait(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, t.begun.Add(t.limit))
}

// Deadline implements context.Context.
func (t *timed) Deadline() (time.Time, bool) {
	own := t.begun.Add(t.limit)
	if end, ok := t.Context.Context.Deadline(); ok && end.Before(own) {
		return end, true
	}
	return own, true
}

// Err implements context.Context. Without a timer the clock says that it is over, the one that is cheaper
// to read.
func (t *timed) Err() error {
	err := t.Context.Err()
	if err == nil && time.Since(t.begun) >= t.limit {
		return context.DeadlineExceeded
	}
	return err
}

// leave ends it: whoever still waits need not.
func (t *timed) leave() { t.End(context.Canceled) }
