//go:build !amd64

package pkix

import "crypto/rsa"

// quick says that power serves a key, which it does with the vectors of amd64 only.
func quick(*rsa.PublicKey) bool { return false }

func power(*rsa.PublicKey, []byte) ([]byte, bool) { return nil, false }
