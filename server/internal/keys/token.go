package keys

import "crypto"

// Token is a PKCS#11 token (OASIS PKCS #11 v2.40): keys are made in it and
// never leave it.
type Token interface {
	// Generate makes a key pair under a label.
	Generate(label, algorithm string) (crypto.Signer, error)
	// Find returns the key pair of a label.
	Find(label string) (crypto.Signer, error)
	Close() error
}

// TokenConfig says where the token is. The PIN is the operator's, not the
// holder's.
type TokenConfig struct {
	Library string // path of the PKCS#11 module
	Label   string // of the token
	PIN     string
}
