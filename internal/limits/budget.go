package limits

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrBudget says that a document asks for more than one verification or
// signature may cost. It is a verdict about the document, not an accident.
var ErrBudget = errors.New("the document unpacks to more than is allowed")

// Budget bounds what the work on one document may inflate and hold, over all
// its layers and parsers. Parsers find it in their context.
type Budget struct {
	all         int64
	left, least atomic.Int64
	exceeded    atomic.Bool
}

// NewBudget returns a budget of that many bytes.
func NewBudget(bytes int64) *Budget {
	b := new(Budget)
	b.all = bytes
	b.left.Store(bytes)
	b.least.Store(bytes)
	return b
}

// Spend takes n bytes, or returns ErrBudget when they are not left. A nil
// Budget has no end.
func (b *Budget) Spend(n int64) error {
	if b == nil {
		return nil
	}
	left := b.left.Add(-n)
	b.note(left)
	if left < 0 {
		b.exceeded.Store(true)
		return ErrBudget
	}
	return nil
}

func (b *Budget) note(left int64) {
	for least := b.least.Load(); left < least && !b.least.CompareAndSwap(least, left); {
		least = b.least.Load()
	}
}

// Peak is the most that was spent at one time.
func (b *Budget) Peak() int64 {
	if b == nil {
		return 0
	}
	return b.all - b.least.Load()
}

// Try takes n bytes if they are left. It is for what can be done without, such
// as a cache.
func (b *Budget) Try(n int64) bool {
	if b == nil {
		return true
	}
	for {
		left := b.left.Load()
		if left < n {
			return false
		}
		if b.left.CompareAndSwap(left, left-n) {
			b.note(left - n)
			return true
		}
	}
}

// Left is how many bytes can still be spent; -1 where there is no end.
func (b *Budget) Left() int64 {
	if b == nil {
		return -1
	}
	return max(0, b.left.Load())
}

// Exceeded reports whether more was asked for than there was: what was read
// then is not all of the document.
func (b *Budget) Exceeded() bool { return b != nil && b.exceeded.Load() }

// Return gives back bytes that are held no longer.
func (b *Budget) Return(n int64) {
	if b != nil {
		b.left.Add(n)
	}
}

// Pay spends n bytes of the budget that a source of bytes brings with it, if it
// brings one (see Paying).
func Pay(src any, n int64) error {
	if p, ok := src.(interface{ budget() *Budget }); ok {
		return p.budget().Spend(n)
	}
	return nil
}

// Source is where a document is read from.
type Source interface {
	ReadAt(p []byte, off int64) (int, error)
	Size() int64
}

// Paying gives a source a budget, for parsers that are given no context.
func Paying(src Source, b *Budget) Source {
	if b == nil {
		return src
	}
	return paying{src, b}
}

type paying struct {
	Source
	from *Budget
}

func (p paying) budget() *Budget { return p.from }

type budgetKey struct{}

// WithBudget returns a context that carries b.
func WithBudget(ctx context.Context, b *Budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// BudgetOf is the budget of a context; nil where it has none.
func BudgetOf(ctx context.Context) *Budget {
	b, _ := ctx.Value(budgetKey{}).(*Budget)
	return b
}

type readingKey struct{}

// WithReading returns a context for the time in which a document is read, and a
// function that ends it. Content that was found is handed out after that: then
// neither the context's end nor its budget counts, since whoever reads on has
// paid for the content once and has a time of his own.
func WithReading(ctx context.Context) (context.Context, func()) {
	over := new(atomic.Bool)
	return context.WithValue(ctx, readingKey{}, over), func() { over.Store(true) }
}

// ReadingOver reports whether the reading has ended.
func ReadingOver(ctx context.Context) bool {
	over, ok := ctx.Value(readingKey{}).(*atomic.Bool)
	return ok && over.Load()
}
