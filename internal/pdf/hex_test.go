package pdf

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// White space may stand anywhere, and a digit that is missing at the end is 0.
func TestHexString(t *testing.T) {
	t.Parallel()
	octets := bytes.Repeat([]byte{0x01, 0xab, 0xCD, 0xef, 0x90}, 7)
	plain := hex.EncodeToString(octets)
	for i := range len(plain) {
		for _, in := range []string{plain[:i] + "\n" + plain[i:], plain[:i] + " \t " + strings.ToUpper(plain[i:])} {
			l := lexer{buf: []byte("<" + in + ">"), last: true}
			got, err := l.hex()
			s := skimmer{lexer: lexer{buf: l.buf, last: true}}
			if err != nil || !bytes.Equal(got.Bytes, octets) || l.pos != len(l.buf) || s.skipHex() != nil || s.pos != len(s.buf) {
				t.Fatalf("%q: %x, %v", in, got.Bytes, err)
			}
		}
		odd := plain[:i] + "x" + plain[i:]
		l := lexer{buf: []byte("<" + odd + ">"), last: true}
		noted := false
		s := skimmer{lexer: lexer{buf: l.buf, last: true}, soft: func(*Kind, ...any) { noted = true }}
		if _, err := l.hex(); err == nil || s.skipHex() != nil || !noted {
			t.Fatalf("%q was taken", odd)
		}
		short := lexer{buf: []byte("<" + plain[:i] + ">"), last: true}
		want, _ := hex.DecodeString(plain[:i] + "0"[:i%2])
		if got, err := short.hex(); err != nil || !bytes.Equal(got.Bytes, want) {
			t.Fatalf("%q: %x, want %x (%v)", plain[:i], got.Bytes, want, err)
		}
	}
}
