package client

import (
	"context"

	"rogito.dev/rogito/server/internal/remote"
)

// Open asks the provider what it thinks of a credential, and readies it.
func (p *Provider) Open(ctx context.Context, l remote.Login) (remote.Signer, error) {
	session, err := p.sessionFor(ctx, l)
	if err != nil {
		return nil, err
	}
	c, err := session.Credential(ctx, l.ID)
	if err != nil {
		return nil, err
	}
	return &signer{Session: session, credential: c, login: l}, nil
}

// sessionFor calls with the holder's tokens, where there are any, and else with
// the operator's.
func (p *Provider) sessionFor(ctx context.Context, l remote.Login) (*Session, error) {
	if p.Flow() != FlowCode {
		return p.Session(), nil
	}
	var tokens Tokens
	if _, err := l.Tokens.Read(ctx, &tokens); err != nil {
		return nil, err
	}
	return p.SessionOf(tokens, func(ctx context.Context, old Tokens) (Tokens, error) { return p.renewKept(ctx, l.Tokens, old) }), nil
}

// renewKept gets new tokens of a holder and keeps them. Of several who want
// them one asks: a provider may take a refresh token once only.
func (p *Provider) renewKept(ctx context.Context, kept remote.Tokens, old Tokens) (Tokens, error) {
	leave, err := kept.Turn(ctx)
	if err != nil {
		return old, err
	}
	defer leave()
	var now Tokens
	version, err := kept.Read(ctx, &now)
	if err != nil || now.Access != old.Access {
		return now, err
	}
	fresh, refused := p.Renew(ctx, now)
	if refused != nil { // another server may have been first
		if _, err := kept.Read(ctx, &now); err == nil && now.Access != old.Access {
			return now, nil
		}
		return old, refused
	}
	return fresh, kept.Replace(context.WithoutCancel(ctx), version, fresh)
}
