package cms

import (
	"crypto/sha256"
	"encoding/hex"
)

// SignerID names a signature by what its signer made: it stays the same when
// unsigned attributes are added.
func SignerID(si *SignerInfo) string {
	h := sha256.New()
	for _, f := range si.RawFields {
		h.Write(f)
	}
	return hex.EncodeToString(h.Sum(nil))
}
