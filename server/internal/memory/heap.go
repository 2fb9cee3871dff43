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

// ScrubAfter overwrites free memory once a key was dropped and there is little to
// do, until ctx ends.
func ScrubAfter(ctx context.Context, dropped *atomic.Bool) {
	tick := time.NewTicker(restEvery)
	defer tick.Stop()
	for last := allocated(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := allocated()
		if now-last < restBelow && dropped.Swap(false) {
			Scrub()
			now = allocated()
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
