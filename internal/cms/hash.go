package cms

import (
	"crypto"
	"crypto/ed25519"

	"rogito.dev/rogito/ades"
)

// HashFor is the hash with which a key can sign CMS: the one asked for, except that Ed25519
// requires SHA-512 (RFC 8419, 3.1).
func HashFor(s ades.SignParams) crypto.Hash {
	if s.Certificate != nil {
		if _, ok := s.Certificate.PublicKey.(ed25519.PublicKey); ok {
			return crypto.SHA512
		}
	}
	return s.Digest()
}
