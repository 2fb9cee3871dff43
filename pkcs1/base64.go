package pkcs1

import (
	"bytes"
	"encoding/base64"
)

// decodeBase64 decodes text that is only base64 and line breaks. Binary values have other octets:
// 64 or more within the alphabet do not occur by chance.
func decodeBase64(b []byte) ([]byte, bool) {
	text := bytes.Join(bytes.Fields(b), nil)
	if len(text) < 64 {
		return nil, false
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(out, text)
	return out[:n], err == nil
}
