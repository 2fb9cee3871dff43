package enroll

import (
	"context"
	"crypto"
	"crypto/x509"
	"fmt"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// Examine compares every certificate that may sign with its key, and calls tell for those that
// cannot sign. It returns how many there are.
func (s *Service) Examine(ctx context.Context, tell func(string)) (int, error) {
	held := map[string]keys.Held{}
	err := s.keys.Examine(ctx, func(h keys.Held) {
		held[h.ID] = h
		if h.Fault != "" {
			tell(fmt.Sprintf("credential %s (certificate %s): %s", h.Username, h.ID, h.Fault))
		}
	})
	if err != nil {
		return 0, err
	}
	kept, err := s.all(ctx, `select `+columns+` from `+keptKeys+` order by id`)
	if err != nil {
		return 0, err
	}
	for _, c := range kept {
		tell(fmt.Sprintf("certificate %s: it is revoked, and its key is still in the token, which did not destroy it", c.ID))
	}
	rows, err := s.db.Read().Query(ctx, `select id, certificate from certificates where state in ('DONE', 'SUSPENDED') order by id`)
	n := 0
	err = store.Each("read certificates", rows, err, func(r store.Row) error {
		var id string
		var der []byte
		if err := r.Scan(&id, &der); err != nil {
			return err
		}
		n++
		if h, ok := held[id]; !ok {
			tell(fmt.Sprintf("certificate %s: its private key is not there", id))
		} else if what := mismatch(der, h.Public); what != "" && h.Fault == "" {
			tell(fmt.Sprintf("certificate %s (%s): %s", id, h.Username, what))
		}
		return nil
	})
	return n, err
}

// mismatch says what keeps a certificate from being that of a public key.
func mismatch(der, public []byte) string {
	cert, err := pkix.ParseCertificate(der)
	if err != nil {
		return "it cannot be read"
	}
	pub, err := x509.ParsePKIXPublicKey(public)
	if err != nil {
		return "its public key cannot be read"
	}
	same, ok := pub.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !same.Equal(cert.PublicKey) {
		return "it is for another key than the one that is kept"
	}
	return ""
}
