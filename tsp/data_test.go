package tsp_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/tsp"
)

// tsd makes a TimeStampedData of RFC 5544 with one token.
func tsd(token []byte, content string) []byte { return tsdOf(content, token) }

// tsdOf makes one with several.
func tsdOf(content string, tokens ...[]byte) []byte {
	zero := cbasn1.Tag(0).ContextSpecific().Constructed()
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		oid.Add(b, oid.TimestampedData)
		b.AddASN1(zero, func(b *cryptobyte.Builder) {
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddASN1Int64(1)
				b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
					b.AddASN1Boolean(false)
					b.AddASN1(cbasn1.UTF8String, func(b *cryptobyte.Builder) { b.AddBytes([]byte("a.txt")) })
				})
				b.AddASN1OctetString([]byte(content))
				b.AddASN1(zero, func(b *cryptobyte.Builder) {
					for _, token := range tokens {
						b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddBytes(token) })
					}
				})
			})
		})
	})
	return b.BytesOrPanic()
}

// m7m makes a MIME message with a document and its token.
func m7m(token []byte, content string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "MIME-Version: 1.0\r\nContent-Type: multipart/mixed;\r\n boundary=\"xyz\"\r\n\r\n")
	fmt.Fprintf(&b, "--xyz\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=\"a.txt\"\r\n\r\n%s\r\n", content)
	fmt.Fprintf(&b, "--xyz\r\nContent-Type: application/timestamp-reply\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n--xyz--\r\n",
		base64.StdEncoding.EncodeToString(token))
	return b.Bytes()
}

// TestManyTokens: each time-stamp of a file covers all before it, so there may not be any number.
func TestManyTokens(t *testing.T) {
	for n, ok := range map[int]bool{256: true, 257: false} {
		tokens := slices.Repeat([][]byte{{0x30, 0}}, n)
		if _, err := tsp.ReadData(bytes.NewReader(tsdOf("hello", tokens...))); (err == nil) != ok {
			t.Errorf("%d tokens: %v", n, err)
		}
	}
}
