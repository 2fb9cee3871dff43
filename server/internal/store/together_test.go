package store

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

// Nobody is told less than what was so when he asked, and a crowd reads less
// often than it asks.
func TestTogetherIsNeverOld(t *testing.T) {
	t.Parallel()
	var g Together[int64]
	var state, readings atomic.Int64
	var crowd sync.WaitGroup
	const clients, each = 32, 200
	for range clients {
		crowd.Go(func() {
			for range each {
				before := state.Add(1) // what this caller wrote
				got, err := g.Read(t.Context(), "a", func(context.Context) (int64, error) { readings.Add(1); return state.Load(), nil })
				if err != nil || got < before {
					t.Errorf("%d was written and %d read: %v", before, got, err)
				}
			}
		})
	}
	crowd.Wait()
	if n := readings.Load(); n >= clients*each {
		t.Errorf("%d readings for %d callers: none was shared", n, clients*each)
	}
	if len(g.waiting) > 0 {
		t.Errorf("%d are remembered", len(g.waiting))
	}
}

// A caller who goes takes nobody with him; keys do not mix.
func TestTogetherWithoutTheFirst(t *testing.T) {
	t.Parallel()
	r := &reading[string]{done: make(chan struct{}), err: context.Canceled}
	g := Together[string]{waiting: map[string]*reading[string]{"a": r}}
	load := func(ctx context.Context) (string, error) { return "read", ctx.Err() }
	if v, err := g.Read(t.Context(), "b", load); v != "read" || err != nil {
		t.Errorf("another key: %q, %v", v, err)
	}
	close(r.done)
	if v, err := g.Read(t.Context(), "a", load); v != "read" || err != nil {
		t.Errorf("after the first has gone: %q, %v", v, err)
	}
}
