package cms

import (
	"crypto/sha256"
	"encoding/hex"
)

// SignerID identifies a signature by what its signer made, so that it does not change when unsigned
// attributes are added.
func SignerID(si *SignerInfo) string {
	h := sha256.New()
	for _, f := range si.RawFields {
		h.Write(f)
	}
	return hex.EncodeToString(h.Sum(nil))
}
