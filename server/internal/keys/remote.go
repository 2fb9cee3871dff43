package keys

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/store"
)

// Remote is what a key at a provider is used with. It is sealed under the holder's password in
// place of a private key.
type Remote struct {
	Provider   string `json:"provider"`
	Credential string `json:"credential"` // its id there
	PIN        string `json:"pin,omitempty"`
	// Delegate is who uses the key, where that is not its holder.
	Delegate         string `json:"delegate,omitempty"`
	DelegatePassword string `json:"delegatePassword,omitempty"`

	SPKI []byte `json:"public"` // SubjectPublicKeyInfo
	Wrap []byte `json:"wrap"`   // key that the holder's token there is sealed under

	public crypto.PublicKey
}

// NotHere replaces the provider of a credential that cannot be used to reach the key: the key
// was given up, or callers bring their own login.
const NotHere = "-"

// NewRemote describes a key at a provider.
func NewRemote(provider string, l remote.Login, pub crypto.PublicKey) (*Remote, error) {
	der, err := publicBytes(pub)
	if err != nil {
		return nil, err
	}
	r := &Remote{
		Provider: provider, Credential: l.ID, PIN: l.Password, Delegate: l.Delegate, DelegatePassword: l.DelegatePassword,
		SPKI: der, Wrap: make([]byte, 32), public: pub,
	}
	_, _ = rand.Read(r.Wrap)
	return r, nil
}

func readRemote(b []byte) (*Remote, error) {
	r := &Remote{}
	err := json.Unmarshal(b, r)
	if err == nil {
		r.public, err = x509.ParsePKIXPublicKey(r.SPKI)
	}
	if err != nil {
		return nil, fmt.Errorf("keys: remote key: %w", err)
	}
	return r, nil
}

// Login is what the key is used with, but for what comes with a call.
func (r *Remote) Login() remote.Login {
	return remote.Login{ID: r.Credential, Password: r.PIN, Delegate: r.Delegate, DelegatePassword: r.DelegatePassword}
}

// Public key.
func (r *Remote) Public() crypto.PublicKey { return r.public }

// Sign refuses: digests go to the provider together, by package signing.
func (r *Remote) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("keys: a key at a provider signs only through it")
}

// ProtectRemote seals what a key at a provider is used with.
func (v *Vault) ProtectRemote(ctx context.Context, id string, r *Remote, password string) ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return v.protect(ctx, id, append([]byte{holdsRemote}, b...), password)
}

const remoteTokenPurpose = "remote-token"

// SealToken seals the holder's token at the provider under a key that the password opens. It is
// renewed more often than the password changes, hence a column of its own.
func (s *Store) SealToken(id string, r *Remote, token any) ([]byte, error) {
	b, err := json.Marshal(token)
	if err != nil {
		return nil, err
	}
	aead, err := newGCM(r.Wrap)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, nonceLength)
	_, _ = rand.Read(nonce)
	return s.master.SealFor(remoteTokenPurpose, id, aead.Seal(nonce, nonce, b, []byte(id)))
}

// RemoteTurn waits until no other goroutine here renews the token of a credential.
func (s *Store) RemoteTurn(ctx context.Context, id string) (leave func(), err error) {
	return s.gates.enter(ctx, "remote "+id)
}

// RemoteToken reads the holder's token into a value; sealed names what was read.
func (s *Store) RemoteToken(ctx context.Context, id string, r *Remote, token any) (sealed []byte, err error) {
	if err := s.db.Read().QueryRow(ctx, `select remote_token from credentials where id = $1`, id).Scan(&sealed); err != nil {
		return nil, fmt.Errorf("read remote token: %w", err)
	}
	if len(sealed) == 0 {
		return nil, nil
	}
	b, err := s.master.UnsealFor(remoteTokenPurpose, id, sealed)
	if err != nil {
		return nil, fmt.Errorf("keys: unseal: %w", err)
	}
	aead, err := newGCM(r.Wrap)
	if err != nil {
		return nil, err
	}
	if len(b) < nonceLength {
		return nil, errors.New("keys: the token has an unknown form")
	}
	plain, err := aead.Open(nil, b[:nonceLength], b[nonceLength:], []byte(id))
	if err != nil {
		return nil, errors.New("keys: the token does not open under its key")
	}
	return sealed, json.Unmarshal(plain, token)
}

// ReplaceToken puts a new token in the place of the one that was read; false
// where another was put there meanwhile.
func (s *Store) ReplaceToken(ctx context.Context, id string, r *Remote, before []byte, token any) (bool, error) {
	sealed, err := s.SealToken(id, r, token)
	if err != nil {
		return false, err
	}
	var n int64
	err = s.db.Write(ctx, func(tx *store.Tx) (err error) {
		n, err = tx.Exec(ctx, `update credentials set remote_token = $1 where id = $2 and remote_token = $3`, sealed, id, before)
		return err
	})
	return n == 1, err
}
