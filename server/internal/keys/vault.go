package keys

import (
	"cmp"
	"context"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/argon2"

	"rogito.dev/rogito/internal/hsm"
	"rogito.dev/rogito/server/internal/fault"
)

// Sealer is the master key: it seals small secrets for one purpose and one owner
// each. In another row than its owner's a sealed value does not open.
type Sealer interface {
	SealFor(purpose, owner string, plaintext []byte) ([]byte, error)
	UnsealFor(purpose, owner string, sealed []byte) ([]byte, error)
	MAC(purpose string, data []byte) [32]byte
}

// Cost of turning a password into a key (RFC 9106). It is stored with every
// key, so it can be raised later.
type Cost struct {
	Time   uint32 // passes; zero means the default
	Memory uint32 // KiB; zero means the default
}

// DefaultCost is taken where a configuration has none. Only tests that make hundreds of
// servers lower it.
var DefaultCost = Cost{Time: 2, Memory: 32 << 10}

func (c Cost) orDefault() Cost {
	return Cost{Time: cmp.Or(c.Time, DefaultCost.Time), Memory: cmp.Or(c.Memory, DefaultCost.Memory)}
}

// Vault protects keys and opens them. An opened key stays in memory for up to
// Hold, so that mass signing pays for the password once.
type Vault struct {
	master Sealer
	token  Token
	cost   Cost
	hold   time.Duration
	now    func() time.Time
	drop   func()

	slots   chan struct{} // derivations in parallel
	opening *gates        // one at a time for each key
	mac     []byte        // of this process: the cache holds no password

	mu   sync.Mutex
	open map[string]*opened
}

type opened struct {
	key   crypto.Signer
	proof []byte // HMAC of the password and of the sealed key that it opened
	until time.Time
}

// VaultConfig of a Vault; the zero value is good where no token is used.
type VaultConfig struct {
	Cost     Cost
	Hold     time.Duration // zero means 60 seconds, which is also the most; negative means not at all
	Parallel int           // derivations at a time; zero means the default
	Token    Token         // a PKCS#11 token, or nil
	Now      func() time.Time
	Dropped  func() // told when a key has left memory, or a password was wrong; may be nil
}

// NewVault returns a vault under a master key.
func NewVault(master Sealer, c VaultConfig) *Vault {
	if c.Hold == 0 || c.Hold > time.Minute {
		c.Hold = time.Minute
	}
	if c.Parallel == 0 {
		c.Parallel = 2
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Dropped == nil {
		c.Dropped = func() {}
	}
	v := &Vault{
		drop: c.Dropped, master: master, token: c.Token, cost: c.Cost.orDefault(), hold: c.Hold, now: c.Now,
		slots: make(chan struct{}, c.Parallel), mac: make([]byte, 32), open: map[string]*opened{}, opening: newGates(),
	}
	_, _ = rand.Read(v.mac)
	return v
}

// What the password opens: a PKCS#8 key, the label of a key in the token, or
// what a key at a provider is used with.
const (
	holdsPKCS8  = 1
	holdsLabel  = 2
	holdsRemote = 3
)

// Bounds on the cost that a sealed key may name.
const (
	maxPasses = 64
	maxMemory = 1 << 20 // KiB
)

const (
	sealVersion = 1
	keyPurpose  = "signing-key"
)

// Protect seals a private key under the password and the master key. id is an
// Owner, and ties the result to it: it opens under no other.
func (v *Vault) Protect(ctx context.Context, id string, key crypto.Signer, password string) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("keys: private key: %w", err)
	}
	defer clear(der)
	return v.protect(ctx, id, append([]byte{holdsPKCS8}, der...), password)
}

// ProtectLabel seals the name of a key in the token.
func (v *Vault) ProtectLabel(ctx context.Context, id, label, password string) ([]byte, error) {
	return v.protect(ctx, id, append([]byte{holdsLabel}, label...), password)
}

// Lengths of the parts that protect lays out.
const (
	headLength    = 1 + 4 + 4 + 16 + 12 // version, passes, memory, salt, nonce
	wrappedLength = 32 + 16             // the key's own key, sealed under the password
	nonceLength   = 12
)

// protect lays out: head, the key's own key sealed under the password, nonce,
// the key sealed under its own key. The last two are what Erase takes away:
// the password can still be judged then, and opens nothing.
func (v *Vault) protect(ctx context.Context, id string, secret []byte, password string) ([]byte, error) {
	defer clear(secret)
	head := make([]byte, headLength)
	head[0] = sealVersion
	binary.BigEndian.PutUint32(head[1:], v.cost.Time)
	binary.BigEndian.PutUint32(head[5:], v.cost.Memory)
	_, _ = rand.Read(head[9:])
	wrap, err := v.derive(ctx, password, head)
	if err != nil {
		return nil, err
	}
	own := make([]byte, 32)
	defer clear(own)
	_, _ = rand.Read(own)
	inner := wrap.Seal(head, head[25:37], own, []byte(id))
	aead, err := newGCM(own)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, nonceLength)
	_, _ = rand.Read(nonce)
	inner = aead.Seal(append(inner, nonce...), nonce, secret, []byte(id))
	return v.master.SealFor(keyPurpose, rowOf(id), inner)
}

// Erase takes the key out of what protect made and leaves what a password is
// judged by.
func (v *Vault) Erase(id string, sealed []byte) ([]byte, error) {
	inner, err := v.master.UnsealFor(keyPurpose, rowOf(id), sealed)
	if err != nil {
		return nil, fmt.Errorf("keys: unseal: %w", err)
	}
	if !wellFormed(inner) {
		return nil, errors.New("keys: sealed key has an unknown form")
	}
	defer clear(inner)
	return v.master.SealFor(keyPurpose, rowOf(id), inner[:headLength+wrappedLength])
}

// destroy removes a key from the token.
func (v *Vault) destroy(name string) error {
	if v.token == nil {
		return errors.New("the key is in a PKCS#11 token, and none is configured")
	}
	return v.token.Destroy(name)
}

// Reprotect opens with the old password and seals under the new one.
func (v *Vault) Reprotect(ctx context.Context, id string, sealed []byte, before, after string) ([]byte, error) {
	secret, err := v.reveal(ctx, id, sealed, before)
	if err != nil {
		return nil, err
	}
	v.Forget(rowOf(id))
	return v.protect(ctx, id, secret, after)
}

// Open returns the key, or ErrPassword. A wrong password takes as long as a right one whose key
// is not in memory. Many callers who find a key just dropped cost one derivation: after
// waiting, each looks in memory again.
func (v *Vault) Open(ctx context.Context, id string, sealed []byte, password string) (crypto.Signer, error) {
	if key := v.Held(id, sealed, password); key != nil {
		return key, nil
	}
	if v.hold >= 0 {
		leave, err := v.opening.enter(ctx, id)
		if err != nil {
			return nil, err
		}
		defer leave()
		if key := v.Held(id, sealed, password); key != nil {
			return key, nil
		}
	}
	secret, err := v.reveal(ctx, id, sealed, password)
	if err != nil {
		return nil, err
	}
	defer clear(secret)
	key, err := v.signer(secret)
	if err != nil {
		return nil, err
	}
	v.keep(id, sealed, password, key)
	return key, nil
}

func (v *Vault) signer(secret []byte) (crypto.Signer, error) {
	switch secret[0] {
	case holdsLabel:
		if v.token == nil {
			return nil, errors.New("keys: the key is in a PKCS#11 token, and none is configured")
		}
		key, err := v.token.Find(string(secret[1:]))
		if errors.Is(err, hsm.ErrUnavailable) {
			return nil, &fault.Error{Code: fault.Unavailable, Text: "the token that holds the key is not available", RetryAfter: 5 * time.Second, Err: err}
		}
		return key, err
	case holdsRemote:
		return readRemote(secret[1:])
	case holdsPKCS8:
		k, err := x509.ParsePKCS8PrivateKey(secret[1:])
		if err != nil {
			return nil, fmt.Errorf("keys: private key: %w", err)
		}
		s, ok := k.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("keys: a %T cannot sign", k)
		}
		return s, nil
	}
	return nil, errors.New("keys: unknown content")
}

func (v *Vault) reveal(ctx context.Context, id string, sealed []byte, password string) ([]byte, error) {
	inner, err := v.master.UnsealFor(keyPurpose, rowOf(id), sealed)
	if err != nil {
		return nil, fmt.Errorf("keys: unseal: %w", err)
	}
	if !wellFormed(inner) {
		return nil, errors.New("keys: sealed key has an unknown form")
	}
	wrap, err := v.derive(ctx, password, inner)
	if err != nil {
		return nil, err
	}
	end := headLength + wrappedLength
	own, err := wrap.Open(nil, inner[25:37], inner[headLength:end], []byte(id))
	if err != nil {
		v.drop()
		return nil, ErrPassword
	}
	defer clear(own)
	if len(inner) == end {
		return nil, ErrErased
	}
	aead, err := newGCM(own)
	if err != nil {
		return nil, err
	}
	secret, err := aead.Open(nil, inner[end:end+nonceLength], inner[end+nonceLength:], []byte(id))
	if err != nil || len(secret) == 0 {
		return nil, errors.New("keys: the key does not open under its own key")
	}
	return secret, nil
}

// ErrErased says that the password is right and the key is gone for good.
var ErrErased = errors.New("keys: the key was erased")

// wellFormed says that a password can be tried on what protect laid out, at a
// cost that can be paid.
func wellFormed(inner []byte) bool {
	end := headLength + wrappedLength
	if len(inner) < end || len(inner) > end && len(inner) <= end+nonceLength || inner[0] != sealVersion {
		return false
	}
	passes, memory := binary.BigEndian.Uint32(inner[1:]), binary.BigEndian.Uint32(inner[5:])
	return passes > 0 && passes <= maxPasses && memory <= maxMemory
}

// ProtectPassword seals nothing but what a password is judged by. id ties the result to
// it, as an Owner does.
func (v *Vault) ProtectPassword(ctx context.Context, id, password string) ([]byte, error) {
	sealed, err := v.ProtectLabel(ctx, id, "-", password)
	if err != nil {
		return nil, err
	}
	return v.Erase(id, sealed)
}

// CheckPassword judges a password by what ProtectPassword made; ErrPassword: it is
// another.
func (v *Vault) CheckPassword(ctx context.Context, id string, sealed []byte, password string) error {
	_, err := v.reveal(ctx, id, sealed, password)
	switch {
	case errors.Is(err, ErrErased):
		return nil
	case err == nil:
		return errors.New("keys: a key where a password alone should be")
	}
	return err
}

// Pretend costs what a wrong password costs; for usernames that do not exist.
func (v *Vault) Pretend(ctx context.Context, password string) error {
	head := make([]byte, headLength)
	binary.BigEndian.PutUint32(head[1:], v.cost.Time)
	binary.BigEndian.PutUint32(head[5:], v.cost.Memory)
	_, err := v.derive(ctx, password, head)
	return err
}

// derive waits for a slot first, which bounds the memory of parallel derivations.
func (v *Vault) derive(ctx context.Context, password string, head []byte) (cipher.AEAD, error) {
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	passes, memory := binary.BigEndian.Uint32(head[1:]), binary.BigEndian.Uint32(head[5:])
	key := argon2.IDKey([]byte(password), head[9:25], passes, memory, 1, 32)
	defer clear(key)
	return newGCM(key)
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Held returns a key from memory if it was opened with this password from this sealed key. A
// new password or an erased key changes the sealed bytes, so a caller who has read the row just
// now never gets a key from before the change, even one made by another server.
func (v *Vault) Held(id string, sealed []byte, password string) crypto.Signer {
	v.mu.Lock()
	defer v.mu.Unlock()
	o := v.open[id]
	if o == nil {
		return nil
	}
	if !v.now().Before(o.until) {
		delete(v.open, id)
		v.drop()
		return nil
	}
	if !hmac.Equal(o.proof, v.proof(sealed, password)) {
		return nil
	}
	return o.key
}

func (v *Vault) keep(id string, sealed []byte, password string, key crypto.Signer) {
	if v.hold < 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open[id] = &opened{key, v.proof(sealed, password), v.now().Add(v.hold)}
	time.AfterFunc(v.hold, func() { v.expire(id) })
}

func (v *Vault) expire(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if o := v.open[id]; o != nil && !v.now().Before(o.until) {
		delete(v.open, id)
		v.drop()
	}
}

// Forget drops the key of a credential from memory: after a new password, a
// suspension, a lock.
func (v *Vault) Forget(credential string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id := range v.open {
		if rowOf(id) == credential {
			delete(v.open, id)
		}
	}
	v.drop()
}

func (v *Vault) proof(sealed []byte, password string) []byte {
	m := hmac.New(sha256.New, v.mac)
	h := sha256.Sum256(sealed)
	m.Write(h[:])
	m.Write([]byte(password))
	return m.Sum(nil)
}
