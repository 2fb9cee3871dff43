package ca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
)

// signatureHash goes with the strength of the key; Ed25519 has none.
func signatureHash(pub crypto.PublicKey) crypto.Hash {
	switch k := pub.(type) {
	case ed25519.PublicKey:
		return 0
	case *ecdsa.PublicKey:
		switch k.Curve.Params().BitSize {
		case 384:
			return crypto.SHA384
		case 521:
			return crypto.SHA512
		}
	}
	return crypto.SHA256
}
