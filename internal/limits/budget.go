package limits

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrBudget means that a document needs more than one verification or signature may cost. It is a
// verdict about the document, not an operational error.
var ErrBudget = errors.New("the document unpacks to more than is allowed")

// Budget bounds what the work on one document may inflate and hold, over all its layers and
// parsers. Parsers find it in their context.
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

// Spend takes n bytes, or returns ErrBudget if they are not left. A nil Budget is unlimited.
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

// Peak is the most that was in use at one time.
func (b *Budget) Peak() int64 {
	if b == nil {
		return 0
	}
	return b.all - b.least.Load()
}

// Try takes n bytes if they are left. It is for optional memory, such as a cache.
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

// Left is how many bytes can still be spent; -1 if unlimited.
func (b *Budget) Left() int64 {
	if b == nil {
		return -1
	}
	return max(0, b.left.Load())
}

// Exceeded reports whether more was asked for than was left: what was read then is not the complete
// document.
func (b *Budget) Exceeded() bool { return b != nil && b.exceeded.Load() }

// Return gives back bytes that are no longer held.
func (b *Budget) Return(n int64) {
	if b != nil {
		b.left.Add(n)
	}
}

// Pay spends n bytes of the budget that is attached to a source, if any (see Paying).
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

// Paying attaches a budget to a source, for parsers without a context.
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

// BudgetOf is the budget of a context; nil if it has none.
func BudgetOf(ctx context.Context) *Budget {
	b, _ := ctx.Value(budgetKey{}).(*Budget)
	return b
}

type readingKey struct{}

// WithReading returns a context for reading a document, and a function that ends it. Content found
// is returned to callers after that: then neither the end of the context nor its budget applies,
// since the content has been charged once and its reader has its own time limit.
func WithReading(ctx context.Context) (context.Context, func()) {
	over := new(atomic.Bool)
	return context.WithValue(ctx, readingKey{}, over), func() { over.Store(true) }
}

// ReadingOver reports whether the reading has ended.
func ReadingOver(ctx context.Context) bool {
	over, ok := ctx.Value(readingKey{}).(*atomic.Bool)
	return ok && over.Load()
}
