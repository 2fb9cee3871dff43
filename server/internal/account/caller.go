package account

import (
	"context"
	"net/netip"
)

// Caller is who sent a request, once known.
type Caller struct {
	AccountID string
	TokenID   string // empty when the API key was given instead of a token
	Scopes    []string
	Admin     bool
	Sandbox   bool       // the sandbox's account: no rate limit applies
	Address   netip.Addr // the client's, a trusted proxy's word taken into account
	Bound     bool       // the token is bound to listed addresses, not to nearly all there are
	Host      string     // by which the caller reached the server

	// Refresh is set where the token's refresh token was given: good for
	// nothing but its rotation.
	Refresh bool

	Member string // person of the account who acts; empty: the token's holder

	Domain  string // by which the server was reached
	scopes  []Scope
	Family  []string // the token and those it comes from
	Limited []string // those of them that have limits
	Quota   Quota    // of the account
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom is the caller of the request that ctx belongs to, or nil for operations without
// authentication.
func CallerFrom(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}

// Actor names a caller for the log: the person, or the token.
func (c *Caller) Actor() string {
	switch {
	case c.Member != "":
		return "person " + c.Member + " token " + c.TokenID
	case c.TokenID == "":
		return "account " + c.AccountID
	}
	return "token " + c.TokenID
}
