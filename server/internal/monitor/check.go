package monitor

import (
	"context"
	"errors"
	"sync"
	"time"
)

// How often and for how long a check looks. A caller gets an answer within patience, from memory if
// the look takes longer: a dependency that is slow but works is no reason to be taken out of the
// load balancer. Only the first look is waited for, since there is nothing in memory yet.
const (
	lookEvery  = time.Second
	patience   = 500 * time.Millisecond
	longestRun = 10 * time.Second
)

var errNoAnswer = errors.New("does not answer")

// Check is one thing that must work, looked at no more than once a second however many ask.
type Check struct {
	Name string
	run  func(context.Context) error

	mu      sync.Mutex
	looked  time.Time     // when the last look ended; zero: none has
	err     error         // what it found
	since   time.Time     // when the look under way began
	running chan struct{} // closed at its end; nil: none is
}

// NewCheck is a check that has not run yet.
func NewCheck(name string, run func(context.Context) error) *Check {
	return &Check{Name: name, run: run}
}

// Ask says what is wrong, or nil.
func (c *Check) Ask(ctx context.Context) error {
	c.mu.Lock()
	if c.running == nil {
		if !c.looked.IsZero() && time.Since(c.looked) < lookEvery {
			defer c.mu.Unlock()
			return c.err
		}
		c.running, c.since = make(chan struct{}), time.Now()
		go c.runOnce(context.WithoutCancel(ctx), c.running)
	}
	running, longest := c.running, patience
	if c.looked.IsZero() {
		longest = longestRun - time.Since(c.since)
	}
	c.mu.Unlock()
	wait := time.NewTimer(longest)
	defer wait.Stop()
	select {
	case <-running:
	case <-wait.C:
	case <-ctx.Done():
		return ctx.Err() // says nothing about what is checked
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looked.IsZero() || c.running != nil && time.Since(c.since) >= longestRun {
		return errNoAnswer
	}
	return c.err
}

func (c *Check) runOnce(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	err := c.run(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked, c.err, c.running = time.Now(), err, nil
	close(done)
}
