package client

import (
	"context"

	own "rogito.dev/rogito/internal/pkix"
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
	return &key{signer: Signer{Session: session}, credential: c, login: l}, nil
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

// key is a credential, ready to be used.
type key struct {
	signer     Signer
	credential *Credential
	login      remote.Login
}

// Certificate of the credential, and others that came along.
func (k *key) Certificate() (*own.Certificate, [][]byte) {
	return k.credential.Certificate, k.credential.Others
}

// Most signatures under one authorization.
func (k *key) Most() int { return k.credential.Multisign }

// NeedsPSS says that the key signs nothing else.
func (k *key) NeedsPSS() bool { return k.credential.NeedsPSS() }

// Sign has digests signed.
func (k *key) Sign(ctx context.Context, r remote.Request) ([]remote.Value, error) {
	return k.signer.Sign(ctx, Request{
		Credential: k.credential, Public: k.credential.Certificate.PublicKey, Hash: r.Hash, PSS: r.PSS, PIN: k.login.Password, OTP: k.login.OTP,
		Digests: r.Digests, Expect: r.Expect, Before: r.Before,
	})
}

// Close has nothing to end: an authorization ends by itself.
func (k *key) Close(context.Context) {}
