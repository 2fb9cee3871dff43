package limits

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const memory = 8 << 20

// Work that needs little is done once; work that needs more is done again, alone;
// work that needs too much is an error, and so is work that went on without.
func TestLanes(t *testing.T) {
	for _, c := range []struct {
		name  string
		needs int64
		hides bool // goes on although there was not enough
		runs  int
		want  error
	}{
		{"little", memory / 16, false, 1, nil},
		{"more", memory / 2, false, 2, nil},
		{"more, and goes on", memory / 2, true, 2, nil},
		{"too much", 2 * memory, false, 2, ErrBudget},
		{"too much, and goes on", 2 * memory, true, 2, ErrBudget},
	} {
		runs := 0
		err := Bounded(t.Context(), memory, func(ctx context.Context) error {
			runs++
			err := BudgetOf(ctx).Spend(c.needs)
			if c.hides {
				return nil
			}
			return err
		})
		if runs != c.runs || !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %d runs, %v", c.name, runs, err)
		}
	}
}

// A place is given back however the work ends, and one that waits for a place
// goes when its caller does.
func TestLanesAreLeft(t *testing.T) {
	ends := map[string]func(context.Context) error{
		"well":     func(context.Context) error { return nil },
		"in error": func(context.Context) error { return errors.New("no") },
		"heavy":    func(ctx context.Context) error { return BudgetOf(ctx).Spend(memory / 2) },
		"panics":   func(context.Context) error { panic("no") },
		"panics, heavy": func(ctx context.Context) error {
			if BudgetOf(ctx).Spend(memory/2) == nil {
				panic("no")
			}
			return nil
		},
	}
	for name, work := range ends {
		for range 3 * (cap(quick) + cap(heavy)) {
			func() {
				defer func() { _ = recover() }()
				_ = Bounded(t.Context(), memory, work)
				_, _, release, err := Keep(t.Context(), memory, func(ctx context.Context) (int, error) { return 0, work(ctx) })
				if err == nil {
					release()
				}
			}()
		}
		if len(quick)+len(heavy) != 0 {
			t.Fatalf("%s: %d and %d places are still taken", name, len(quick), len(heavy))
		}
		nothingKept(t)
	}
	for range cap(quick) {
		quick <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := Bounded(ctx, memory, ends["well"]); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	for range cap(quick) {
		<-quick
	}
}

// Any number of documents that need much hold no more than the lanes and what
// may be kept allow, together, and all of them are done.
func TestKeptTogether(t *testing.T) {
	const each = 20 << 20
	var now, most atomic.Int64
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			_, rest, release, err := Keep(t.Context(), 128<<20, func(ctx context.Context) (int, error) {
				if err := BudgetOf(ctx).Spend(each); err != nil {
					return 0, err
				}
				return 0, nil
			})
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			held := now.Add(each)
			for m := most.Load(); held > m && !most.CompareAndSwap(m, held); m = most.Load() {
			}
			runtime.Gosched()
			now.Add(-each)
			if left := BudgetOf(rest).Left(); left < each {
				t.Errorf("%d bytes are left for the rest", left)
			}
		})
	}
	wg.Wait()
	if most.Load() > keepAll {
		t.Errorf("%d bytes at once", most.Load())
	}
	nothingKept(t)
}

func nothingKept(t *testing.T) {
	t.Helper()
	if !kept.TryAcquire(keepAll) {
		t.Fatal("memory is still held")
	}
	kept.Release(keepAll)
}
