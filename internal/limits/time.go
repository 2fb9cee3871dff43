package limits

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how many times its share of the processor work may take by the
// clock, on a machine that is busy with other things.
const patience = 8

// WithTime bounds the processor time of work that runs in the calling goroutine,
// which keeps its thread until done is called. A clock on the wall would call a
// genuine document too expensive because others were read beside it. done
// returns the time that was used. Where the system does not tell the time of a
// thread, that of the clock counts.
func WithTime(ctx context.Context, most time.Duration) (bounded context.Context, done func() time.Duration) {
	runtime.LockOSThread()
	t := &timed{most: most, used: threadTime(), begun: time.Now()}
	t.Context, t.cancel = context.WithCancel(ctx)
	t.before = t.used()
	t.mu.Lock()
	t.timer = time.AfterFunc(max(most, 0), t.look)
	t.mu.Unlock()
	return t, t.done
}

// timed ends as one with a deadline does.
type timed struct {
	context.Context
	cancel context.CancelFunc
	late   atomic.Bool // its time is used up
	most   time.Duration
	used   func() time.Duration
	begun  time.Time
	before time.Duration

	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// spent is the time that was used, by the clock where no other is known.
func (t *timed) spent() time.Duration {
	if now := t.used(); now >= 0 && t.before >= 0 {
		return now - t.before
	}
	return time.Since(t.begun)
}

// look ends it where its time is used up, and else looks again when it may be.
func (t *timed) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return // the thread may be another's
	}
	left, clock := t.most-t.spent(), patience*t.most-time.Since(t.begun)
	if left > 0 && clock > 0 {
		t.timer.Reset(min(max(left, time.Millisecond), clock))
		return
	}
	t.late.Store(t.Context.Err() == nil)
	t.cancel()
}

// Err implements context.Context.
func (t *timed) Err() error {
	err := t.Context.Err()
	if err != nil && t.late.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// done ends it, and tells the time that was used.
func (t *timed) done() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.timer.Stop()
	t.cancel()
	runtime.UnlockOSThread()
	return t.spent()
}

// Deadline is when it ends by the clock.
func (t *timed) Deadline() (time.Time, bool) {
	end := t.begun.Add(patience * t.most)
	if outer, ok := t.Context.Deadline(); ok && outer.Before(end) {
		end = outer
	}
	return end, true
}
