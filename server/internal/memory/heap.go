// Package memory keeps secrets from lying where they can be found: in free memory,
// or in a core dump.
package memory

import (
	"context"
	runtimemetrics "runtime/metrics"
	"sync/atomic"
	"time"
)

const (
	restEvery = 10 * time.Second
	restBelow = 4 << 20 // bytes allocated since the last look: little to do
)

// scrubs is how often it is done: one pass does not reach the free places that another
// processor holds.
const scrubs = 3

// ScrubAfter overwrites free memory after a key was dropped, when there is little to do,
// until ctx ends.
func ScrubAfter(ctx context.Context, dropped *atomic.Bool) {
	tick := time.NewTicker(restEvery)
	defer tick.Stop()
	for last, due := allocated(), 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if dropped.Swap(false) {
			due = scrubs
		}
		now := allocated()
		if due > 0 && now-last < restBelow {
			Scrub()
			due, now = due-1, allocated()
		}
		last = now
	}
}

// allocated is all that was ever allocated, in bytes.
func allocated() uint64 {
	m := []runtimemetrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	runtimemetrics.Read(m)
	return m[0].Value.Uint64()
}
