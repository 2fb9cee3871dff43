package store

import (
	"context"
	"errors"
)

type claimKey struct{}

// WithClaim returns a context that carries the claim of the call, so that the
// room that makes the record can write it in the record's transaction.
func WithClaim(ctx context.Context, c *Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

// ClaimFrom is the claim of the call that ctx belongs to; nil, whose methods
// do nothing, where there is none.
func ClaimFrom(ctx context.Context) *Claim {
	c, _ := ctx.Value(claimKey{}).(*Claim)
	return c
}

// Keep writes the whole answer of a call that made no record of its own, in a
// transaction of its own. A key that is written already stays as it is.
func (c *Claim) Keep(ctx context.Context, answer []byte) error {
	if c == nil {
		return nil
	}
	err := c.of.db.Write(ctx, func(tx *Tx) error { return c.Answer(ctx, tx, "", answer) })
	if errors.Is(err, ErrReplay) {
		return nil
	}
	return err
}
