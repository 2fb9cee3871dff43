package memory

import (
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
)

// Scrub overwrites memory that is free: passwords and keys without references would otherwise stay
// there until chance overwrites them, since the collector does not clear them. Collecting alone and
// giving pages back left 28 of 35 copies of a password and 4 of 5 of a key in
// TestSecretsLeaveMemory; with this none. It is best effort. What is still referred to stays, as
// does what the read buffer of an open connection holds of its last request.
func Scrub() {
	runtime.GC()
	runtime.GC() // what pools held is free after the second
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	for _, class := range stats.BySize {
		if class.Size == 0 {
			continue
		}
		fill(int(class.Size), func(n int) any { return make([]byte, n) })
		fill(int(class.Size), func(n int) any { return make([]*byte, max(1, n/8)) })
		fill(int(class.Size), func(n int) any { return make([]*byte, max(1, n/8-1)) }) // larger ones have a header
	}
	debug.FreeOSMemory() // whole pages come back as zeros
}

// Bounds of fill: what is taken at a time, and for one size in all.
const (
	fillPiece = 64 << 10
	fillMost  = 16 << 20
)

// fill takes every free place of a size, which clears it, until the heap grows twice in a row: then
// none was left, and the growth was not caused by another goroutine.
func fill(size int, take func(int) any) {
	n := max(1, fillPiece/size)
	var held []any
	for total, grew := 0, 0; total < fillMost && grew < 2; total += n * size {
		before := heapInUse()
		for range n {
			held = append(held, take(size))
		}
		if heapInUse()-before >= int64(n*size)*3/4 {
			grew++
		} else {
			grew = 0
		}
	}
	runtime.KeepAlive(held)
}

// heapInUse is the size of the pages that hold objects, free places included.
func heapInUse() int64 {
	m := []runtimemetrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	runtimemetrics.Read(m)
	return int64(m[0].Value.Uint64() + m[1].Value.Uint64())
}
