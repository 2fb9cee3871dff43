//go:build !pkcs11

package hsm

import "errors"

// Open needs a binary built with the tag pkcs11 (and cgo).
func Open(Config) (Token, error) {
	return nil, errors.New("this binary was built without PKCS#11; build it with -tags pkcs11")
}

// OpenSecrets needs such a binary too.
func OpenSecrets(c Config) (Secrets, error) {
	_, err := Open(c)
	return nil, err
}
