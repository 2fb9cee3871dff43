package limits

import (
	"context"
	"errors"
	"runtime"
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
// for or a time-stamp fetched, has memory of its own: in places of this size.
const (
	keepPlace = 256 << 10
	keepAll   = 128 << 20
)

var (
	kept = make(chan struct{}, keepAll/keepPlace)
	turn = make(chan struct{}, 1) // of who takes several places, so that two do not wait for each other's
)

// Keep is Bounded for work that makes something to be kept until release. The
// context that comes back has a budget for what is still to be done with it.
func Keep[T any](ctx context.Context, memory int64, work func(context.Context) (T, error)) (made T, rest context.Context, release func(), err error) {
	places := 1
	if err = take(ctx, places); err != nil {
		return made, nil, nil, err
	}
	defer func() {
		if release == nil {
			give(places)
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
		more := placesFor(cost) - places
		if err == nil && more > 0 {
			if ok = tryTake(more); ok {
				places += more
			} else {
				made = none
			}
		}
		return err
	})
	if err == nil && !ok { // begun again once there is room to keep it
		give(places)
		places = 0
		if err = take(ctx, placesFor(cost)); err == nil {
			places = placesFor(cost)
			own := WithBudget(ctx, NewBudget(memory))
			made, err = work(own)
			err = all(own, err)
		}
	}
	if err != nil {
		return none, nil, nil, err
	}
	n := places
	return made, WithBudget(ctx, NewBudget(min(memory, max(Small(memory), 2*cost)))), func() { give(n) }, nil
}

func placesFor(bytes int64) int {
	return int(min(max(1, (bytes+keepPlace-1)/keepPlace), keepAll/keepPlace))
}

// ErrCrowded says that there is no room to keep something more now.
var ErrCrowded = errors.New("there is no room to keep a document more")

type impatientKey struct{}

// Impatient has Keep fail with ErrCrowded where it would wait for room. Who has
// something kept and waits for more would make others wait who do the same.
func Impatient(ctx context.Context) context.Context {
	return context.WithValue(ctx, impatientKey{}, true)
}

// take waits for places, as long as the context allows.
func take(ctx context.Context, n int) error {
	if ctx.Value(impatientKey{}) != nil {
		if !tryTake(n) {
			return ErrCrowded
		}
		return nil
	}
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-turn }()
	for i := range n {
		select {
		case kept <- struct{}{}:
		case <-ctx.Done():
			give(i)
			return ctx.Err()
		}
	}
	return nil
}

func tryTake(n int) bool {
	for i := range n {
		select {
		case kept <- struct{}{}:
		default:
			give(i)
			return false
		}
	}
	return true
}

func give(n int) {
	for range n {
		<-kept
	}
}
