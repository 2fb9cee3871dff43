package monitor

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadySaysWhatIsWrong(t *testing.T) {
	h := &Health{}
	ask := func() (int, string) {
		w := httptest.NewRecorder()
		h.Ready(w, httptest.NewRequest("GET", "/readyz", nil))
		return w.Code, w.Body.String()
	}
	if code, body := ask(); code != 503 || !strings.Contains(body, "starting") {
		t.Errorf("%d %s", code, body)
	}
	h.Started.Store(true)
	h.Add(NewCheck("database", func(context.Context) error { return fmt.Errorf("dial postgres://me:canary@db: refused") }))
	if code, body := ask(); code != 503 || !strings.Contains(body, "database") || !strings.Contains(body, "refused") || strings.Contains(body, "canary") {
		t.Errorf("%d %s", code, body)
	}
	h.Draining.Store(true)
	if code, body := ask(); code != 503 || !strings.Contains(body, "shutting down") {
		t.Errorf("%d %s", code, body)
	}
}

// A dependency that is slow and works does not make a server unready, nor does it hold
// who asks; one that does not answer does, after a while.
func TestSlowChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes atomic.Int64 // how long a look takes
		var looks atomic.Int64
		var bad atomic.Bool
		c := NewCheck("blobs", func(ctx context.Context) error {
			looks.Add(1)
			select {
			case <-time.After(time.Duration(takes.Load())):
			case <-ctx.Done():
				return ctx.Err()
			}
			if bad.Load() {
				return fmt.Errorf("takes nothing")
			}
			return nil
		})
		h := &Health{}
		h.Started.Store(true)
		h.Add(c)
		ask := func() (ready bool) {
			begun := time.Now()
			ready = len(h.Wrong(t.Context())) == 0
			if took := time.Since(begun); took > time.Second { // of the bubble's clock
				t.Errorf("answered after %v", took)
			}
			return ready
		}
		for range 5 { // three seconds a look: not known at first, then always ready
			ask()
			time.Sleep(time.Second)
		}
		takes.Store(int64(3 * time.Second))
		for range 20 {
			if !ask() {
				t.Fatal("slow, and not ready")
			}
			time.Sleep(700 * time.Millisecond)
		}
		bad.Store(true)
		time.Sleep(4 * time.Second) // for the look that is under way
		for ask() {
			time.Sleep(time.Second)
		}
		if n := looks.Load(); n > 20 {
			t.Errorf("%d looks", n)
		}
		for range 10 { // what was wrong is wrong until a look has found otherwise
			if ask() {
				t.Fatal("ready without a look")
			}
		}
		bad.Store(false)
		for begun := time.Now(); !ask(); time.Sleep(time.Second) {
			if time.Since(begun) > time.Minute {
				t.Fatal("never ready again")
			}
		}
		takes.Store(int64(time.Hour)) // it does not answer at all
		begun := time.Now()
		for ask() {
			time.Sleep(time.Second)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("ready for %v without an answer", took)
		}
		takes.Store(0)
		time.Sleep(longestRun)
	})
}

// A look that ignores its time, as one into a disk that hangs does, is not waited for.
func TestHangingCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := NewCheck("database", func(context.Context) error { <-release; return nil })
		if err := c.Ask(t.Context()); err == nil {
			t.Error("ready before anything is known")
		}
		time.Sleep(time.Minute)
		if err := c.Ask(t.Context()); err == nil || err.Error() != "does not answer" {
			t.Errorf("after a minute: %v", err)
		}
		close(release)
		synctest.Wait()
		if err := c.Ask(t.Context()); err != nil {
			t.Errorf("it answered: %v", err)
		}
	})
}

// However many ask, it is looked at once a second.
func TestLooksAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		c := NewCheck("database", func(context.Context) error { looks.Add(1); return nil })
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				for range 50 {
					if err := c.Ask(t.Context()); err != nil {
						t.Error(err)
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		all.Wait()
		if n := looks.Load(); n < 4 || n > 6 {
			t.Errorf("%d looks in five seconds", n)
		}
	})
}
