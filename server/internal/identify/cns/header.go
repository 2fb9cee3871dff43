package cns

import (
	"encoding/base64"
	"encoding/pem"
	"net/url"
	"strings"
)

// FromHeader reads the certificates (DER) that a proxy hands on: PEM,
// URL-encoded, or the byte sequence of RFC 9440. A header that occurs
// twice is none: one of the two may be the client's.
func FromHeader(values []string) [][]byte {
	if len(values) != 1 || len(values[0]) > 64<<10 {
		return nil
	}
	value := strings.TrimSpace(values[0])
	if inner, ok := strings.CutPrefix(value, ":"); ok {
		der, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, ":"))
		if err != nil || !strings.HasSuffix(inner, ":") || len(der) == 0 {
			return nil
		}
		return [][]byte{der}
	}
	text, err := url.PathUnescape(value)
	if err != nil {
		return nil
	}
	var all [][]byte
	for rest := []byte(text); len(all) < 8; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if b.Type == "CERTIFICATE" {
			all = append(all, b.Bytes)
		}
	}
	return all
}
