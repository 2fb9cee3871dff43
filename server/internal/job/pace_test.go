package job

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// Workers become more while nobody waits for a processor, fewer while many do, and
// never fewer than there are processors; they come in in their order, and who gives
// up takes nobody's place.
func TestPace(t *testing.T) {
	t.Parallel()
	least := runtime.GOMAXPROCS(0)
	p := &pace{most: least + 2, ticking: true} // looked at by hand
	ctx, giveUp := context.WithCancel(t.Context())
	var leave []func()
	for range least {
		leave = append(leave, p.enter(ctx))
	}
	waiting := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.waiting)
	}
	come := func(ctx context.Context) chan func() {
		in, before := make(chan func(), 1), waiting()
		go func() { in <- p.enter(ctx) }()
		for waiting() == before {
			time.Sleep(time.Millisecond)
		}
		return in
	}
	gone, first, second, third := come(ctx), come(t.Context()), come(t.Context()), come(t.Context())
	giveUp()
	(<-gone)() // is no worker that leaves
	look := func(wait time.Duration, working int) {
		t.Helper()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.adjust(wait)
		p.admit()
		if p.working != working {
			t.Errorf("%d work after a wait of %s, want %d", p.working, wait, working)
		}
	}
	look(longWait*3/4, least) // as it should be
	look(0, least+1)
	leave = append(leave, <-first)
	look(2*longWait, least+1) // whoever is at work stays
	leave[0]()
	look(longWait*3/4, least)
	look(0, least+1)
	leave = append(leave, <-second)
	look(0, least+2)
	leave = append(leave, <-third)
	for range 5 {
		look(2*longWait, least+2)
	}
	if p.limit != least {
		t.Errorf("a limit of %d, want %d", p.limit, least)
	}
	for _, l := range leave[1:] {
		l()
	}
	if p.working != 0 || len(p.waiting) != 0 {
		t.Errorf("%d work and %d wait at the end", p.working, len(p.waiting))
	}
}

// A crowd that computes waits for processors.
func TestWaitForProcessor(t *testing.T) {
	var w waitForProcessor
	w.mean()
	var stop atomic.Bool
	for range 8 * runtime.GOMAXPROCS(0) {
		go func() {
			for n := 0; !stop.Load(); n++ {
				_ = n * n
			}
		}()
	}
	defer stop.Store(true)
	for end := time.Now().Add(time.Minute); ; { // on a busy machine few get their turn in a while
		time.Sleep(300 * time.Millisecond)
		wait := w.mean()
		if wait >= longWait {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("goroutines waited for %s", wait)
		}
	}
}
