// Package hsm accesses keys in PKCS#11 tokens (OASIS PKCS #11 v2.40). It requires cgo and the build
// tag pkcs11: without these, Open returns an error.
package hsm

import (
	"crypto"
	"errors"
)

// ErrUnavailable means that the token currently cannot be used: it was removed, its sessions are
// lost, or its PIN is refused. Trying again later may help.
var ErrUnavailable = errors.New("the token is not available")

// Algorithms that a key pair can be made for.
var Algorithms = []string{"RSA2048", "RSA3072", "RSA4096", "P256", "P384"}

// Token is a PKCS#11 token (OASIS PKCS #11 v2.40): keys are made in it and
// never leave it.
type Token interface {
	// Generate makes a key pair under a label.
	Generate(label, algorithm string) (crypto.Signer, error)
	// Find returns the key pair of a label.
	Find(label string) (crypto.Signer, error)
	// Destroy removes the key pair of a label. Where there is none, that is good.
	Destroy(label string) error
	Close() error
}

// Config says where the token is. The PIN is the operator's, not the
// holder's.
type Config struct {
	Library string // path of the PKCS#11 module
	Label   string // of the token
	PIN     string
	// Sessions that are open at once, each of which does one thing at a time;
	// zero means as many as the token allows, at most 1024.
	Sessions int
}
