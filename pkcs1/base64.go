package pkcs1

import (
	"bytes"
	"encoding/base64"
)

// decodeBase64 decodes text that is nothing but base64 with line breaks. A
// binary value has other octets: that all of 64 or more fall into the alphabet
// by chance does not happen.
func decodeBase64(b []byte) ([]byte, bool) {
	text := bytes.Join(bytes.Fields(b), nil)
	if len(text) < 64 {
		return nil, false
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(out, text)
	return out[:n], err == nil
}
