//go:build !pkcs11

package keys

import "errors"

// OpenToken needs a binary built with the tag pkcs11 (and cgo).
func OpenToken(TokenConfig) (Token, error) {
	return nil, errors.New("keys: this binary was built without PKCS#11; build it with -tags pkcs11")
}
