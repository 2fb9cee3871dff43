package limits

import (
	"context"
	"errors"
	"runtime"

	"golang.org/x/sync/semaphore"
)

// The lanes bound the total cost of all work on documents in this process: reading, signing,
// merging. Nearly all documents need little memory and are handled in the quick lane, several at
// once, each with a small part of the memory that one document may have. Work that needs more is
// dropped and repeated in the heavy lane, a few at a time, with all of it. While it waits it holds
// nothing, so that hostile documents in any number neither exhaust memory nor delay others.
var (
	quick = make(chan struct{}, max(4, 2*runtime.GOMAXPROCS(0)))
	heavy = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/4))
)

// quickShare is the fraction of the memory for a document in the quick lane.
const quickShare = 8

// Small is the share of memory for a document in the quick lane.
func Small(memory int64) int64 { return memory / quickShare }

// Lanes runs work on a document that may take so many bytes of memory, in the quick lane and, if
// that does not suffice, again in the heavy one. The budget is in the context. Work returns that it
// is heavy if its result, although it fits the quick lane, is large. The caller must call leave
// when it no longer holds the result; without an error leave is never nil. Work that is already in
// a lane stays there.
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

// inLane waits for a place in a lane until the context ends, and runs work there. The place is
// released if the work fails or panics.
func inLane(ctx context.Context, lane chan struct{}, b *Budget, work func(context.Context) (bool, error)) (leave func(), isHeavy bool, err error) {
	if ctx.Err() != nil { // select would choose at random if there is a free place too
		return nil, false, ctx.Err()
	}
	select {
	case lane <- struct{}{}:
	default: // Done may allocate a channel, which is only needed for waiting
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

// Bounded is Lanes for work that keeps nothing. Exceeding the budget is ErrBudget.
func Bounded(ctx context.Context, memory int64, work func(context.Context) error) error {
	leave, err := Lanes(ctx, memory, func(ctx context.Context) (bool, error) { return false, all(ctx, work(ctx)) })
	if err == nil {
		leave()
	}
	return err
}

// all returns ErrBudget if work succeeded only because it ignored a lack of memory.
func all(ctx context.Context, err error) error {
	if err == nil && BudgetOf(ctx).Exceeded() {
		return ErrBudget
	}
	return err
}

// Results kept after leaving a lane, while a key operation or a time-stamp is pending, have their
// own memory.
const (
	keepLeast = 256 << 10
	keepAll   = 128 << 20
)

var kept = semaphore.NewWeighted(keepAll)

// Keep is Bounded for work whose result is kept until release. The returned context has a budget
// for further work on it.
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
	if err == nil && !ok { // started again once there is memory to keep it
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

// ErrCrowded means that there is currently no memory to keep another result.
var ErrCrowded = errors.New("there is no room to keep a document more")

type impatientKey struct{}

// Impatient makes Keep fail with ErrCrowded instead of waiting. A caller that holds one result
// while waiting for another could deadlock with others doing the same.
func Impatient(ctx context.Context) context.Context {
	return context.WithValue(ctx, impatientKey{}, true)
}

// acquire waits for memory to keep a result, until the context ends.
func acquire(ctx context.Context, n int64) error {
	if ctx.Value(impatientKey{}) == nil {
		return kept.Acquire(ctx, n)
	}
	if !kept.TryAcquire(n) {
		return ErrCrowded
	}
	return nil
}
