package limits

import (
	"context"
	"errors"
	"runtime"

	"golang.org/x/sync/semaphore"
)

// The lanes bound what all work on documents costs together, in this process:
// reading, signing, merging. Nearly all documents need little memory: the work
// on them is done in the quick lane, several at once, each with a small part of
// what one document may have. Work that turns out to need more is dropped and
// done again in the heavy lane, one after another, with all of it. While it
// waits for its turn it holds nothing, so that any number of hostile documents
// neither fill the memory nor keep others from being worked on.
var (
	quick = make(chan struct{}, max(4, 2*runtime.GOMAXPROCS(0)))
	heavy = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/4))
)

// quickShare is the part of the memory that a document in the quick lane has.
const quickShare = 8

// Small is what a document in the quick lane may have of so much memory.
func Small(memory int64) int64 { return memory / quickShare }

// Lanes does work on a document that may take that many bytes of memory, in the
// quick lane and, where that does not suffice, again in the heavy one. The
// budget is in the context. Work says that it is heavy where what it found,
// although it fits the quick lane, is much to keep. The heavy lane is left with
// leave, when what was found is held no longer; without an error leave is never
// nil. Work that is in a lane already stays there.
func Lanes(ctx context.Context, memory int64, work func(context.Context) (isHeavy bool, err error)) (leave func(), err error) {
	if ctx.Value(laneKey{}) != nil {
		_, err := work(ctx)
		return func() {}, err
	}
	budget := NewBudget(Small(memory))
	leave, isHeavy, err := inLane(ctx, quick, budget, work)
	if leave != nil {
		leave()
	}
	if !budget.Exceeded() && !isHeavy {
		return func() {}, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	leave, _, err = inLane(ctx, heavy, NewBudget(memory), work)
	return leave, err
}

type laneKey struct{}

// inLane waits for a place in a lane, as long as the context allows, and works
// there. The place is given back where the work fails or panics.
func inLane(ctx context.Context, lane chan struct{}, b *Budget, work func(context.Context) (bool, error)) (leave func(), isHeavy bool, err error) {
	if ctx.Err() != nil { // with a free place as well, select would take either
		return nil, false, ctx.Err()
	}
	select {
	case lane <- struct{}{}:
	default: // only who has to wait needs a channel that ends it
		select {
		case lane <- struct{}{}:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
	defer func() {
		if leave == nil {
			<-lane
		}
	}()
	isHeavy, err = work(context.WithValue(WithBudget(ctx, b), laneKey{}, true))
	if err != nil {
		return nil, isHeavy, err
	}
	return func() { <-lane }, isHeavy, nil
}

// Bounded is Lanes for work that keeps nothing. More than the budget allows is
// ErrBudget.
func Bounded(ctx context.Context, memory int64, work func(context.Context) error) error {
	leave, err := Lanes(ctx, memory, func(ctx context.Context) (bool, error) { return false, all(ctx, work(ctx)) })
	if err == nil {
		leave()
	}
	return err
}

// all makes sure that work did not go on without what it had no memory for.
func all(ctx context.Context, err error) error {
	if err == nil && BudgetOf(ctx).Exceeded() {
		return ErrBudget
	}
	return err
}

// What is made of a document in a lane and kept after it, while a key is asked
// for or a time-stamp fetched, has memory of its own.
const (
	keepLeast = 256 << 10
	keepAll   = 128 << 20
)

var kept = semaphore.NewWeighted(keepAll)

// Keep is Bounded for work that makes something to be kept until release. The
// context that comes back has a budget for what is still to be done with it.
func Keep[T any](ctx context.Context, memory int64, work func(context.Context) (T, error)) (made T, rest context.Context, release func(), err error) {
	held := int64(keepLeast)
	if err = acquire(ctx, held); err != nil {
		return made, nil, nil, err
	}
	defer func() {
		if release == nil {
			kept.Release(held)
		}
	}()
	var none T
	var cost int64
	ok := true
	err = Bounded(ctx, memory, func(ctx context.Context) error {
		made = none
		var err error
		made, err = work(ctx)
		cost = BudgetOf(ctx).Peak()
		more := keepSize(cost) - held
		if err == nil && more > 0 {
			if ok = kept.TryAcquire(more); ok {
				held += more
			} else {
				made = none
			}
		}
		return err
	})
	if err == nil && !ok { // begun again once there is memory to keep it
		kept.Release(held)
		held = 0
		if err = acquire(ctx, keepSize(cost)); err == nil {
			held = keepSize(cost)
			own := WithBudget(ctx, NewBudget(memory))
			made, err = work(own)
			err = all(own, err)
		}
	}
	if err != nil {
		return none, nil, nil, err
	}
	return made, WithBudget(ctx, NewBudget(min(memory, max(Small(memory), 2*cost)))), func() { kept.Release(held) }, nil
}

func keepSize(bytes int64) int64 { return min(max(keepLeast, bytes), keepAll) }

// ErrCrowded says that there is no room to keep something more now.
var ErrCrowded = errors.New("there is no room to keep a document more")

type impatientKey struct{}

// Impatient has Keep fail with ErrCrowded where it would wait for room. Who has
// something kept and waits for more would make others wait who do the same.
func Impatient(ctx context.Context) context.Context {
	return context.WithValue(ctx, impatientKey{}, true)
}

// acquire waits for memory to keep something in, as long as the context allows.
func acquire(ctx context.Context, n int64) error {
	if ctx.Value(impatientKey{}) == nil {
		return kept.Acquire(ctx, n)
	}
	if !kept.TryAcquire(n) {
		return ErrCrowded
	}
	return nil
}
