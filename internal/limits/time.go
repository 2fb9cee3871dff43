package limits

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how many times its processor time work may take by the clock, on a busy machine.
const patience = 8

// WithTime bounds the processor time of work in the calling goroutine, which is locked to its
// thread until done is called. With wall time, a genuine document would be refused because others
// were read at the same time. done returns the time used. If the system does not provide thread
// times, wall time is used.
func WithTime(ctx context.Context, most time.Duration) (bounded context.Context, done func() time.Duration) {
	runtime.LockOSThread()
	t := &timed{most: most, used: threadTime(), begun: time.Now()}
	t.Context, t.cancel = context.WithCancel(ctx)
	t.before = t.used()
	t.mu.Lock()
	t.timer = time.AfterFunc(max(most, 0), t.check)
	t.mu.Unlock()
	return t, t.done
}

// timed ends like a context with a deadline.
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

// spent is the time used, by the clock if thread time is unknown.
func (t *timed) spent() time.Duration {
	if now := t.used(); now >= 0 && t.before >= 0 {
		return now - t.before
	}
	return time.Since(t.begun)
}

// check ends the context if its time is used up, and else schedules the next check.
func (t *timed) check() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return // the thread may belong to other work
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

// done ends the context and returns the time used.
func (t *timed) done() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.timer.Stop()
	t.cancel()
	runtime.UnlockOSThread()
	return t.spent()
}

// Deadline is when the context ends by the clock.
func (t *timed) Deadline() (time.Time, bool) {
	end := t.begun.Add(patience * t.most)
	if outer, ok := t.Context.Deadline(); ok && outer.Before(end) {
		end = outer
	}
	return end, true
}
