//go:build pkcs11

package hsm

import (
	"crypto/rand"
	"errors"
	"fmt"
	"hash"

	"github.com/ThalesGroup/crypto11"
	"github.com/miekg/pkcs11"
)

// OpenSecrets logs in to a token for its secrets.
func OpenSecrets(c Config) (Secrets, error) {
	t := &token{config: c}
	if err := t.connect(); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *token) Secrets(label string) (all []Secret, err error) {
	err = t.with(func(ctx *crypto11.Context) error {
		keys, err := ctx.FindKeys(nil, []byte(label))
		if err != nil {
			return fmt.Errorf("hsm: find secrets in token: %w", err)
		}
		all = nil
		for _, k := range keys {
			all = append(all, &secret{k})
		}
		return nil
	})
	return all, err
}

func (t *token) MakeSecret(label string) (made Secret, err error) {
	err = t.with(func(ctx *crypto11.Context) error {
		id := make([]byte, 16)
		_, _ = rand.Read(id)
		// Sensitive and not extractable, unless told otherwise.
		k, err := ctx.GenerateSecretKeyWithLabel(id, []byte(label), 256, crypto11.CipherGeneric)
		if err != nil {
			return fmt.Errorf("hsm: make secret in token: %w", err)
		}
		made = &secret{k}
		return nil
	})
	return made, err
}

type secret struct{ key *crypto11.SecretKey }

// Derive has what the library does in a panic come back as an error: its hashes
// have no other way to tell.
func (s *secret) Derive(text []byte) (sum [32]byte, err error) {
	defer func() {
		switch told := recover().(type) {
		case nil:
		case pkcs11.Error:
			err = fmt.Errorf("hsm: derive in token: %w", told)
		default:
			panic(told)
		}
	}()
	var h hash.Hash
	if h, err = s.key.NewHMAC(pkcs11.CKM_SHA256_HMAC, 0); err == nil {
		_, err = h.Write(text)
	}
	if err != nil {
		return sum, fmt.Errorf("hsm: derive in token: %w", err)
	}
	if n := copy(sum[:], h.Sum(nil)); n != len(sum) {
		return sum, errors.New("hsm: derive in token: too short")
	}
	return sum, nil
}

func (s *secret) Destroy() error {
	if err := s.key.Delete(); err != nil {
		return fmt.Errorf("hsm: destroy secret in token: %w", err)
	}
	return nil
}
