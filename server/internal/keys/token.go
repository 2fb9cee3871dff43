package keys

import "rogito.dev/rogito/internal/hsm"

// Token is a PKCS#11 token: keys are made in it and never leave it.
type Token = hsm.Token

// TokenConfig says where the token is. The PIN is the operator's, not the
// holder's.
type TokenConfig = hsm.Config

// OpenToken logs in to the token. It needs a binary built with the tag pkcs11.
func OpenToken(c TokenConfig) (Token, error) { return hsm.Open(c) }
