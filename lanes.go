package rogito

import (
	"context"
	"runtime"
	"sync"
)

// DefaultMemory is what reading one document may hold beyond the document
// itself, where a Verifier does not say.
const DefaultMemory = 128 << 20

// lanes bound what readings cost together. Nearly all documents need little
// memory: they are read in the quick lane, several at once, each with a small
// part of what one document may have. One that turns out to need more is
// dropped and read again in the heavy lane, one after another, with all of it.
// While it waits for its turn it holds nothing, so that any number of hostile
// documents neither fill the memory nor keep others from being read.
type lanes struct {
	once  sync.Once
	quick chan struct{}
	heavy chan struct{}
}

// quickShare is the part of the memory that a document in the quick lane has.
const quickShare = 8

func (l *lanes) open() {
	l.once.Do(func() {
		l.quick = make(chan struct{}, max(4, 2*runtime.GOMAXPROCS(0)))
		l.heavy = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/4))
	})
}

// enter waits for a place in a lane, as long as the context allows.
func enter(ctx context.Context, lane chan struct{}) (leave func(), err error) {
	select {
	case lane <- struct{}{}:
		return func() { <-lane }, nil
	default:
	}
	select {
	case lane <- struct{}{}:
		return func() { <-lane }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
