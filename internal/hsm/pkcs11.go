//go:build pkcs11

package hsm

import (
	"crypto"
	"crypto/elliptic"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ThalesGroup/crypto11"
)

// Open logs in to the token.
func Open(c Config) (Token, error) {
	t := &token{config: c}
	if err := t.connect(); err != nil {
		return nil, err
	}
	return t, nil
}

// token keeps one login and makes a new one when it is lost: a module that was
// restarted or a token that was pulled and put back. It does so at most once
// in the pause, so that a dead token costs no busy loop.
type token struct {
	config Config

	mu    sync.RWMutex
	ctx   *crypto11.Context
	tried time.Time
}

const reconnectPause = 200 * time.Millisecond

func (t *token) connect() error {
	ctx, err := crypto11.Configure(&crypto11.Config{
		Path: t.config.Library, TokenLabel: t.config.Label, Pin: t.config.PIN,
		PoolWaitTimeout: 10 * time.Second,
	})
	if err != nil {
		return fmt.Errorf("hsm: open token: %w", err)
	}
	t.ctx = ctx
	return nil
}

func (t *token) reconnect(lost *crypto11.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx != lost && t.ctx != nil {
		return nil // another caller was here before
	}
	if time.Since(t.tried) < reconnectPause {
		return errors.New("hsm: the token is not available")
	}
	t.tried = time.Now()
	if t.ctx != nil {
		_ = t.ctx.Close() // it is lost already
		t.ctx = nil
	}
	return t.connect()
}

func (t *token) current() (*crypto11.Context, error) {
	t.mu.RLock()
	ctx := t.ctx
	t.mu.RUnlock()
	if ctx != nil {
		return ctx, nil
	}
	if err := t.reconnect(nil); err != nil {
		return nil, err
	}
	return t.current()
}

func (t *token) Generate(label, algorithm string) (crypto.Signer, error) {
	ctx, err := t.current()
	if err != nil {
		return nil, err
	}
	id := []byte(label)
	switch algorithm {
	case "RSA2048":
		return ctx.GenerateRSAKeyPairWithLabel(id, id, 2048)
	case "RSA3072":
		return ctx.GenerateRSAKeyPairWithLabel(id, id, 3072)
	case "RSA4096":
		return ctx.GenerateRSAKeyPairWithLabel(id, id, 4096)
	case "P256":
		return ctx.GenerateECDSAKeyPairWithLabel(id, id, elliptic.P256())
	case "P384":
		return ctx.GenerateECDSAKeyPairWithLabel(id, id, elliptic.P384())
	}
	return nil, fmt.Errorf("hsm: %q is none of %v", algorithm, Algorithms)
}

func (t *token) Find(label string) (crypto.Signer, error) {
	ctx, err := t.current()
	if err != nil {
		return nil, err
	}
	key, err := find(ctx, label)
	if err == nil {
		return &tokenKey{t, label, key.Public()}, nil
	}
	if err := t.reconnect(ctx); err != nil {
		return nil, err
	}
	if ctx, err = t.current(); err != nil {
		return nil, err
	}
	if key, err = find(ctx, label); err != nil {
		return nil, err
	}
	return &tokenKey{t, label, key.Public()}, nil
}

func find(ctx *crypto11.Context, label string) (crypto.Signer, error) {
	key, err := ctx.FindKeyPair(nil, []byte(label))
	if err != nil {
		return nil, fmt.Errorf("hsm: find in token: %w", err)
	}
	if key == nil {
		return nil, fmt.Errorf("hsm: the token holds no key %q", label)
	}
	return key, nil
}

func (t *token) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx == nil {
		return nil
	}
	err := t.ctx.Close()
	t.ctx = nil
	return err
}

// tokenKey finds its key anew for each use: a handle does not outlive a
// session, and a lost session is opened again once.
type tokenKey struct {
	token  *token
	label  string
	public crypto.PublicKey
}

func (k *tokenKey) Public() crypto.PublicKey { return k.public }

func (k *tokenKey) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	ctx, err := k.token.current()
	if err != nil {
		return nil, err
	}
	value, err := k.signOnce(ctx, rand, digest, opts)
	if err == nil {
		return value, nil
	}
	if again := k.token.reconnect(ctx); again != nil {
		return nil, errors.Join(err, again)
	}
	if ctx, err = k.token.current(); err != nil {
		return nil, err
	}
	return k.signOnce(ctx, rand, digest, opts)
}

func (k *tokenKey) signOnce(ctx *crypto11.Context, rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	key, err := find(ctx, k.label)
	if err != nil {
		return nil, err
	}
	return key.Sign(rand, digest, opts)
}
