package report

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A time is written as its layout has it, in every year.
func TestWireText(t *testing.T) {
	times := []time.Time{time.Unix(0, 999_999_999), time.Unix(1<<33, 0), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}
	for range 1000 {
		times = append(times, time.Unix(rand.Int64N(1<<35)-1<<34, rand.Int64N(1e9)))
	}
	for _, at := range times {
		if got, want := wireText(at.UTC()), at.UTC().Format(wireTime); got != want {
			t.Errorf("%v is %s, want %s", at, got, want)
		}
	}
}
