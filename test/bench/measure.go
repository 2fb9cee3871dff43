package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/internal/yardstick"
)

// work is something that is done again and again.
type work struct {
	name string
	once func() error
}

// figure is what was measured of a work.
type figure struct {
	rate  float64 // a second of processor time
	bytes float64 // allocated each time
}

// measure does each work in turns on one core until each has had its budget of
// processor time, so that what disturbs one disturbs all. The rate is the median
// of the turns: processor time too is longer when a neighbour wants the cache.
func measure(budget time.Duration, works ...work) (map[string]figure, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const turns = 20
	type state struct {
		n     int
		bytes uint64
		rates []float64
	}
	states := make([]state, len(works))
	for turn := range turns + 1 {
		for i, w := range works {
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start, n := yardstick.Processor(), 0
			var spent time.Duration
			for spent < budget/turns {
				for range 8 {
					if err := w.once(); err != nil {
						return nil, fmt.Errorf("%s: %w", w.name, err)
					}
				}
				n += 8
				spent = yardstick.Processor() - start
			}
			runtime.ReadMemStats(&after)
			if turn > 0 { // the first one warms up
				s := &states[i]
				s.n, s.bytes = s.n+n, s.bytes+after.TotalAlloc-before.TotalAlloc
				s.rates = append(s.rates, float64(n)/spent.Seconds())
			}
		}
	}
	out := make(map[string]figure, len(works))
	for i, s := range states {
		slices.Sort(s.rates)
		out[works[i].name] = figure{rate: s.rates[len(s.rates)/2], bytes: float64(s.bytes) / float64(s.n)}
	}
	return out, nil
}

// load is the load average of the last minute.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}
