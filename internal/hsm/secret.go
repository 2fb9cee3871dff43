package hsm

// Secrets is a token as the place of secrets that others are derived from: they
// are made in it and never leave it.
type Secrets interface {
	// Secrets returns those of a label.
	Secrets(label string) ([]Secret, error)
	// MakeSecret makes another one under a label.
	MakeSecret(label string) (Secret, error)
	Close() error
}

// Secret is a generic secret key of 256 bits (CKK_GENERIC_SECRET).
type Secret interface {
	// Derive is the HMAC-SHA-256 of a text under the secret, computed in the token.
	Derive(text []byte) ([32]byte, error)
	// Destroy removes the secret.
	Destroy() error
}
