package keys

import (
	"context"
	"crypto/x509"
	"fmt"

	"rogito.dev/rogito/server/internal/store"
)

// Held is the part of a credential that is kept in the clear, and what is wrong with the rest.
type Held struct {
	ID, Username string
	Public       []byte // SubjectPublicKeyInfo
	Fault        string // empty: the master key opens all of it
}

// Examine goes through the credentials and calls tell with each. It needs no passwords: what the
// master key seals must open, have the form that a password can be tried on, and be in its own row.
func (s *Store) Examine(ctx context.Context, tell func(Held)) error {
	after := ""
	for {
		page, err := s.heldAfter(ctx, after)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return nil
		}
		for _, h := range page {
			tell(h)
			after = h.ID
		}
	}
}

const examinePage = 500

func (s *Store) heldAfter(ctx context.Context, after string) ([]Held, error) {
	rows, err := s.db.Read().Query(ctx, `select id, username, algorithm, public_key, sealed, totp from credentials where id > $1 order by id limit $2`, after, examinePage)
	return store.All("read credentials", rows, err, s.examine)
}

func (s *Store) examine(row store.Row) (Held, error) {
	var h Held
	var algorithm string
	var sealed, totp []byte
	if err := row.Scan(&h.ID, &h.Username, &algorithm, &h.Public, &sealed, &totp); err != nil {
		return h, fmt.Errorf("read credential: %w", err)
	}
	switch inner, err := s.master.UnsealFor(keyPurpose, h.ID, sealed); {
	case err != nil:
		h.Fault = "the private key does not open under the master key"
	case !wellFormed(inner):
		h.Fault = "the private key has an unknown form"
	}
	if h.Fault != "" {
		return h, nil
	}
	if pub, err := x509.ParsePKIXPublicKey(h.Public); err != nil || AlgorithmOf(pub) != algorithm {
		h.Fault = "the public key cannot be read, or is no " + algorithm
		return h, nil
	}
	if len(totp) > 0 {
		text, err := s.master.UnsealFor(totpPurpose, h.ID, totp)
		if err != nil {
			h.Fault = "the one-time passwords do not open under the master key"
		}
		clear(text)
	}
	return h, nil
}
