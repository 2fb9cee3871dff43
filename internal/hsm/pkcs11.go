//go:build pkcs11

package hsm

import (
	"crypto"
	"crypto/elliptic"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ThalesGroup/crypto11"
	"github.com/miekg/pkcs11"
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
// restarted or a token that was pulled and put back. Between two attempts it
// pauses, so that a dead token costs no busy loop, and longest where the PIN is
// refused, since tokens lock themselves after a few wrong ones.
type token struct {
	config Config

	mu    sync.RWMutex
	ctx   *crypto11.Context
	pause time.Duration // after the last attempt that failed
	next  time.Time     // no attempt before
	why   error         // of the last attempt
}

// Pauses between two logins.
const (
	leastPause = 200 * time.Millisecond
	mostPause  = 30 * time.Second
	pinPause   = 5 * time.Minute
)

func (t *token) connect() error {
	c := &crypto11.Config{
		Path: t.config.Library, TokenLabel: t.config.Label, Pin: t.config.PIN,
		PoolWaitTimeout: 10 * time.Second,
	}
	if t.config.Sessions > 0 {
		c.MaxSessions = t.config.Sessions + 1 // one keeps the login
	}
	ctx, err := crypto11.Configure(c)
	if err != nil {
		return fmt.Errorf("open token: %w", err)
	}
	t.ctx = ctx
	return nil
}

// reconnect replaces a login that is lost, unless another caller has done so or
// it is too early.
func (t *token) reconnect(lost *crypto11.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx != lost && t.ctx != nil {
		return nil
	}
	if time.Now().Before(t.next) {
		return errors.Join(ErrUnavailable, t.why)
	}
	if t.ctx != nil {
		_ = t.ctx.Close() // it is lost already
		t.ctx = nil
	}
	if t.why = t.connect(); t.why == nil {
		t.pause, t.next = 0, time.Now().Add(leastPause)
		return nil
	}
	t.pause = min(max(2*t.pause, leastPause), mostPause)
	if refusedPIN(t.why) {
		t.pause = pinPause
	}
	t.next = time.Now().Add(t.pause)
	return errors.Join(ErrUnavailable, t.why)
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

// with runs something in the token, once more under a new login where the old
// one was lost.
func (t *token) with(do func(*crypto11.Context) error) error {
	ctx, err := t.current()
	if err != nil {
		return err
	}
	if err = do(ctx); err == nil || !lost(err) {
		return err
	}
	if again := t.reconnect(ctx); again != nil {
		return errors.Join(again, err)
	}
	if ctx, err = t.current(); err != nil {
		return err
	}
	if err = do(ctx); err != nil && lost(err) {
		return errors.Join(ErrUnavailable, err)
	}
	return err
}

// The errors of a module whose session, login or device is gone.
var lostCodes = []pkcs11.Error{
	pkcs11.CKR_SESSION_HANDLE_INVALID, pkcs11.CKR_SESSION_CLOSED, pkcs11.CKR_USER_NOT_LOGGED_IN, pkcs11.CKR_CRYPTOKI_NOT_INITIALIZED,
	pkcs11.CKR_DEVICE_ERROR, pkcs11.CKR_DEVICE_REMOVED, pkcs11.CKR_DEVICE_MEMORY, pkcs11.CKR_TOKEN_NOT_PRESENT, pkcs11.CKR_TOKEN_NOT_RECOGNIZED,
	pkcs11.CKR_SLOT_ID_INVALID, pkcs11.CKR_GENERAL_ERROR, pkcs11.CKR_FUNCTION_FAILED, pkcs11.CKR_KEY_HANDLE_INVALID, pkcs11.CKR_OBJECT_HANDLE_INVALID,
}

func lost(err error) bool {
	var code pkcs11.Error
	if errors.As(err, &code) {
		return slices.Contains(lostCodes, code)
	}
	return strings.Contains(err.Error(), "closed") // crypto11 exports no error for it
}

func refusedPIN(err error) bool {
	var code pkcs11.Error
	return errors.As(err, &code) && slices.Contains([]pkcs11.Error{
		pkcs11.CKR_PIN_INCORRECT, pkcs11.CKR_PIN_LOCKED, pkcs11.CKR_PIN_EXPIRED, pkcs11.CKR_PIN_INVALID, pkcs11.CKR_PIN_LEN_RANGE,
	}, code)
}

func (t *token) Generate(label, algorithm string) (key crypto.Signer, err error) {
	err = t.with(func(ctx *crypto11.Context) error {
		key, err = generate(ctx, []byte(label), algorithm)
		return err
	})
	if err != nil {
		return nil, err
	}
	return key, nil
}

func generate(ctx *crypto11.Context, id []byte, algorithm string) (crypto.Signer, error) {
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
	return nil, fmt.Errorf("%q is none of %v", algorithm, Algorithms)
}

func (t *token) Find(label string) (crypto.Signer, error) {
	k := &tokenKey{token: t, label: label}
	err := t.with(func(ctx *crypto11.Context) error {
		key, err := k.in(ctx)
		if err == nil {
			k.public = key.Public()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return k, nil
}

func find(ctx *crypto11.Context, label string) (crypto.Signer, error) {
	key, err := ctx.FindKeyPair(nil, []byte(label))
	if err != nil {
		return nil, fmt.Errorf("find in token: %w", err)
	}
	if key == nil {
		return nil, fmt.Errorf("the token holds no key %q", label)
	}
	return key, nil
}

func (t *token) Destroy(label string) error {
	return t.with(func(ctx *crypto11.Context) error {
		pairs, err := ctx.FindKeyPairs(nil, []byte(label))
		for _, p := range pairs {
			err = errors.Join(err, p.Delete())
		}
		if err != nil {
			return fmt.Errorf("destroy in token: %w", err)
		}
		if pairs, err = ctx.FindKeyPairs(nil, []byte(label)); err != nil || len(pairs) > 0 {
			return errors.Join(errors.New("the token says that it destroyed a key, and still has it"), err)
		}
		return nil
	})
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

// tokenKey finds its key once for each login: a handle does not outlive one.
type tokenKey struct {
	token  *token
	label  string
	public crypto.PublicKey

	mu  sync.Mutex
	of  *crypto11.Context
	key crypto.Signer
}

func (k *tokenKey) Public() crypto.PublicKey { return k.public }

// in is the key as a login knows it.
func (k *tokenKey) in(ctx *crypto11.Context) (crypto.Signer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == ctx {
		return k.key, nil
	}
	key, err := find(ctx, k.label)
	if err != nil {
		return nil, err
	}
	k.of, k.key = ctx, key
	return key, nil
}

func (k *tokenKey) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) (value []byte, err error) {
	err = k.token.with(func(ctx *crypto11.Context) error {
		key, err := k.in(ctx)
		if err != nil {
			return err
		}
		value, err = key.Sign(rand, digest, opts)
		return err
	})
	return value, err
}
