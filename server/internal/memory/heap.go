// Package memory keeps the heap from being collected too often, and secrets
// from lying where they can be found: in free memory, or in a core dump.
package memory

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync/atomic"
	"time"
)

// heapFloor is memory that is never touched and so never resident. The collector
// starts at twice the live heap; with a live heap of a few megabytes it would run
// a thousand times a minute under load. Without the floor lookups over HTTP cost
// 7 % more processor time, client included (60,000 at a time, in turn with and
// without, median of eight rounds). A larger GOGC would do the same and let a
// large heap double as well.
var heapFloor []byte

const heapFloorSize = 64 << 20

// RaiseHeapFloor takes the floor, once.
func RaiseHeapFloor() {
	if heapFloor == nil {
		heapFloor = make([]byte, heapFloorSize)
	}
}

// Memory goes back to the system when the server has little to do: with the
// floor the collector alone would keep what a burst of work once took.
const (
	restEvery = 10 * time.Second
	restBelow = 4 << 20  // allocated since the last look: little to do
	restAfter = 16 << 20 // allocated since memory was last given back
)

// Release gives memory back, at once and then when there is little to do and much
// was allocated or a key was dropped since; what was in it is overwritten then.
func Release(ctx context.Context, dropped *atomic.Bool) {
	debug.FreeOSMemory()
	tick := time.NewTicker(restEvery)
	defer tick.Stop()
	freed := allocated()
	for last := freed; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := allocated()
		if now-last < restBelow && (dropped.Swap(false) || now-freed > restAfter) {
			Scrub()
			freed = allocated()
			now = freed
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
