package rogito

import (
	"context"
	"runtime"
	"sync"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
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

// weight is what the facts of a document hold, nearly all of it evidence.
func weight(f *report.Facts) (n int64) {
	if f == nil {
		return 0
	}
	var add func(list []*ades.Signature)
	sum := func(list []ades.Evidence) {
		for i := range list {
			n += int64(len(list[i].Raw))
		}
	}
	add = func(list []*ades.Signature) {
		for _, s := range list {
			sum(s.Evidence)
			add(s.CounterSignatures)
		}
	}
	for _, l := range f.Layers {
		if l.Document != nil {
			sum(l.Document.Evidence)
			add(l.Document.Signatures)
		}
	}
	return n
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
