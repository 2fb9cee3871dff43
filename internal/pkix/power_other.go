//go:build !amd64

package pkix

import (
	"crypto/rsa"
	"math/big"
)

// quick says that there is something faster than crypto/rsa for a key.
func quick(*rsa.PublicKey) bool { return false }

// power is c raised to the exponent of a key modulo its modulus, which c is below.
func power(c *big.Int, key *rsa.PublicKey) *big.Int {
	return c.Exp(c, big.NewInt(int64(key.E)), key.N)
}
