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
	used := threadTime()
	begun, before := time.Now(), used()
	spent := func() time.Duration {
		if now := used(); now >= 0 && before >= 0 {
			return now - before
		}
		return time.Since(begun)
	}
	inner, cancel := context.WithTimeout(ctx, patience*most)
	c := &timed{Context: inner}
	var mu sync.Mutex
	var over bool
	var timer *time.Timer
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return // the thread may be another's
		}
		if left := most - spent(); left > 0 {
			timer.Reset(max(left, time.Millisecond))
			return
		}
		c.late.Store(true)
		cancel()
	}
	mu.Lock()
	timer = time.AfterFunc(max(most, 0), look)
	mu.Unlock()
	return c, func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
		cancel()
		runtime.UnlockOSThread()
		return spent()
	}
}

// timed ends as one with a deadline does.
type timed struct {
	context.Context
	late atomic.Bool
}

func (t *timed) Err() error {
	err := t.Context.Err()
	if err != nil && t.late.Load() {
		return context.DeadlineExceeded
	}
	return err
}
