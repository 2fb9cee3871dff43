package memory

import (
	"os"
	"runtime"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/memory/memorytest"
)

// Memory without references is overwritten by a scrub, whatever its size.
func TestScrub(t *testing.T) {
	mask := func(b []byte) []byte { // so that the search itself leaves no trace of it
		out := make([]byte, len(b))
		for i := range b {
			out[i] = b[i] ^ 0x5a
		}
		return out
	}
	hidden := mask([]byte("canary-in-the-heap"))
	leave := func() {
		var keep [][]byte
		for _, size := range []int{18, 24, 100, 1000, 5000, 40_000, 300_000} {
			for range 200 {
				b := make([]byte, size)
				copy(b[size-18:], hidden)
				for i := range 18 {
					b[size-18+i] ^= 0x5a
				}
				keep = append(keep, b)
			}
		}
		runtime.KeepAlive(keep)
	}
	count := func() int {
		n := 0
		needle := mask(hidden)
		for _, v := range memorytest.Find(t, os.Getpid(), map[string][]byte{"canary": needle}) {
			n += v
		}
		clear(needle)
		return n
	}
	leave()
	before := count()
	begin := time.Now()
	Scrub()
	took := time.Since(begin)
	after := count()
	t.Logf("%d before, %d after, in %v", before, after, took)
	if before < 500 {
		t.Errorf("the search found only %d", before)
	}
	if after > before/20 { // the needle itself, and what other goroutines hold places beside
		t.Errorf("%d are left of %d", after, before)
	}
}
