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
	left atomic.Int64
}

// NewBudget returns a budget of that many bytes.
func NewBudget(bytes int64) *Budget {
	b := new(Budget)
	b.left.Store(bytes)
	return b
}

// Spend takes n bytes, or returns ErrBudget when they are not left. A nil
// Budget has no end.
func (b *Budget) Spend(n int64) error {
	if b != nil && b.left.Add(-n) < 0 {
		return ErrBudget
	}
	return nil
}

// Return gives back bytes that are held no longer.
func (b *Budget) Return(n int64) {
	if b != nil {
		b.left.Add(n)
	}
}

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
