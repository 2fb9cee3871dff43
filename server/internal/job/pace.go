package job

import (
	"context"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"
)

// Work that waits for others, for a database or a time-stamp, wants many workers;
// work that computes, as signing does, wants as many as there are processors. More
// of them get nothing done sooner, and everybody waits for a processor behind
// them: with sixteen on two, another account's signature took 151 ms in the call
// and 269 later beside a backlog, paced 22 and 83. So the shared workers that are
// at work become more while goroutines of this process hardly wait for a processor,
// and fewer while they do.
type pace struct {
	most int // at work at once, however idle the processors are

	mu      sync.Mutex
	limit   int // at work at once, now
	working int
	waiting []chan struct{} // in the order in which they came; closed when it is their turn
	ticking bool
	wait    waitForProcessor
}

const (
	// paceEvery is the time between two looks at how long goroutines wait.
	paceEvery = 50 * time.Millisecond
	// longWait is how long one may, on average: a signature waits for a processor
	// some twenty times.
	longWait = time.Millisecond
)

// least is how many may be at work however busy the processors are.
func (p *pace) least() int { return min(p.most, runtime.GOMAXPROCS(0)) }

// enter waits for a turn to work, or for the end of the context.
func (p *pace) enter(ctx context.Context) (leave func()) {
	turn := make(chan struct{})
	p.mu.Lock()
	p.limit = max(p.limit, p.least())
	p.waiting = append(p.waiting, turn)
	p.admit()
	p.mu.Unlock()
	select {
	case <-turn:
		return p.leave
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, turn); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		return func() {}
	}
	return p.leave // it came at the same moment
}

func (p *pace) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working--
	p.admit()
}

// admit lets in whoever may work now, and looks again later while the limit
// matters.
func (p *pace) admit() {
	for len(p.waiting) > 0 && p.working < p.limit {
		close(p.waiting[0])
		p.waiting = p.waiting[1:]
		p.working++
	}
	if matters := len(p.waiting) > 0 || p.working > p.least(); matters && !p.ticking {
		p.ticking = true
		p.wait.mean() // from now on
		time.AfterFunc(paceEvery, p.tick)
	}
}

func (p *pace) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ticking = false
	p.adjust(p.wait.mean())
	p.admit()
}

// adjust is by one at a time: what is measured is a sample.
func (p *pace) adjust(wait time.Duration) {
	switch {
	case wait > longWait:
		p.limit = max(p.least(), min(p.limit, p.working)-1)
	case wait < longWait/2 && len(p.waiting) > 0:
		p.limit = min(p.most, p.limit+1)
	}
}

// waitForProcessor is how long goroutines that could run wait for it. What other
// processes take is hardly in it.
type waitForProcessor struct {
	sample [1]metrics.Sample
	before []uint64
}

// mean is that of the time since it was last asked for.
func (w *waitForProcessor) mean() time.Duration {
	w.sample[0].Name = "/sched/latencies:seconds"
	metrics.Read(w.sample[:])
	h := w.sample[0].Value.Float64Histogram()
	var sum float64
	var n uint64
	for i, count := range h.Counts {
		if i < len(w.before) {
			count -= w.before[i]
		}
		n += count
		sum += float64(count) * max(0, h.Buckets[i]) // the lower bound; the first has none
	}
	w.before = append(w.before[:0], h.Counts...)
	return time.Duration(sum / float64(max(n, 1)) * float64(time.Second))
}
