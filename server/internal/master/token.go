package master

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"rogito.dev/rogito/internal/hsm"
)

// Token is a PKCS#11 token that has the master key: it is derived, at every start,
// from a secret that never leaves the token.
type Token struct {
	Module, Label string // library and label of the token
	PINFile       string // file with the PIN
	Key           string // label of the secret; those of a rotation have the same
}

// derivation is what the token computes the HMAC of.
const derivation = "rogito master key"

// tokenKey is a master key with the secret that it comes from.
type tokenKey struct {
	fileKey
	secret hsm.Secret
}

// use opens the token for the time of a function.
func (t *Token) use(fn func(hsm.Secrets) error) error {
	c := hsm.Config{Library: t.Module, Label: t.Label}
	if t.PINFile != "" {
		pin, err := os.ReadFile(t.PINFile)
		if err != nil {
			return fmt.Errorf("master: master.pkcs11.pin_file: %w", err)
		}
		c.PIN = strings.TrimSpace(string(pin))
	}
	in, err := hsm.OpenSecrets(c)
	if err != nil {
		return fmt.Errorf("master: master.pkcs11: %w", err)
	}
	return errors.Join(fn(in), in.Close())
}

func derive(s hsm.Secret) (k tokenKey, err error) {
	k.secret = s
	k.fileKey, err = s.Derive([]byte(derivation))
	return k, err
}

// all are the master keys that the token has: one, or two where a rotation was cut
// short.
func (t *Token) all(in hsm.Secrets) (all []tokenKey, err error) {
	secrets, err := in.Secrets(t.Key)
	if err != nil {
		return nil, fmt.Errorf("master: master.pkcs11: %w", err)
	}
	for _, s := range secrets {
		k, err := derive(s)
		if err != nil {
			return nil, fmt.Errorf("master: master.pkcs11: %w", err)
		}
		all = append(all, k)
	}
	return all, nil
}

// make makes another master key in the token.
func (t *Token) make(in hsm.Secrets) (tokenKey, error) {
	s, err := in.MakeSecret(t.Key)
	if err != nil {
		return tokenKey{}, fmt.Errorf("master: master.pkcs11: %w", err)
	}
	return derive(s)
}

// find looks for the key with an id.
func (t *Token) find(id string) (k fileKey, err error) {
	return k, t.use(func(in hsm.Secrets) error {
		all, err := t.all(in)
		for _, one := range all {
			if one.ID() == id {
				k = one.fileKey
				return nil
			}
		}
		if err == nil {
			err = fmt.Errorf("%w: the data is sealed under master key %s, and none of the %d secrets %q of the token leads to it", ErrNoKey, id, len(all), t.Key)
		}
		return err
	})
}

// keyOrNew is the one key of a token that serves a new installation.
func (t *Token) keyOrNew() (k fileKey, err error) {
	return k, t.use(func(in hsm.Secrets) error {
		all, err := t.all(in)
		switch {
		case err != nil:
			return err
		case len(all) > 1:
			return fmt.Errorf("master: the token has %d secrets %q, and a new installation takes one: name another with master.pkcs11.key", len(all), t.Key)
		case len(all) == 1:
			k = all[0].fileKey
			return nil
		}
		made, err := t.make(in)
		k = made.fileKey
		return err
	})
}

// rotate has swap replace the key of an id by a new one, and destroys what nothing
// is sealed under any more. Where swap fails, or the process dies, both stay, and
// the next rotation clears up.
func (t *Token) rotate(id string, swap func(before, next fileKey) error) (next tokenKey, err error) {
	return next, t.use(func(in hsm.Secrets) error {
		all, err := t.all(in)
		if err != nil {
			return err
		}
		var before *tokenKey
		for i := range all {
			if all[i].ID() == id {
				before = &all[i]
			}
		}
		if before == nil {
			return fmt.Errorf("%w: the data is sealed under master key %s, and no secret %q of the token leads to it", ErrNoKey, id, t.Key)
		}
		if next, err = t.make(in); err != nil {
			return err
		}
		if err := swap(before.fileKey, next.fileKey); err != nil {
			return err
		}
		for _, old := range all {
			err = errors.Join(err, old.secret.Destroy())
		}
		return err
	})
}

// CheckToken says why no master key can be derived in the token; nil also where
// there is no token.
func (c Config) CheckToken() error {
	if c.Token == nil {
		return nil
	}
	return c.Token.use(func(in hsm.Secrets) error {
		all, err := c.Token.all(in)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("master: the token has no secret %q", c.Token.Key)
		}
		return err
	})
}
