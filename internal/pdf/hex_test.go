package pdf

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// Eight and 32 at once are what they are one by one, whatever stands at any place.
func TestHexWords(t *testing.T) {
	t.Parallel()
	for _, long := range []int{1, 9} {
		for at := range 8 * long {
			for c := range 256 {
				b := bytes.Repeat([]byte("0Aa9fF1b"), long)
				b[at] = byte(c)
				want := long
				if hexValue[c] < 0 {
					want = at / 8
				}
				out := make([]byte, 4*long)
				if got := hexWords(b); got != want {
					t.Fatalf("%q: %d words, want %d", b, got, want)
				}
				if got := decodeHex(out, b); got != 4*want {
					t.Fatalf("%q: %d octets, want %d", b, got, 4*want)
				}
				if octets, err := hex.DecodeString(string(b[:8*want])); err != nil || !bytes.Equal(octets, out[:4*want]) {
					t.Fatalf("%q: %x, want %x (%v)", b, out, octets, err)
				}
			}
		}
	}
}

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
		s := skimmer{lexer: lexer{buf: l.buf, last: true}}
		if _, err := l.hex(); err == nil || s.skipHex() == nil {
			t.Fatalf("%q was taken", odd)
		}
		short := lexer{buf: []byte("<" + plain[:i] + ">"), last: true}
		want, _ := hex.DecodeString(plain[:i] + "0"[:i%2])
		if got, err := short.hex(); err != nil || !bytes.Equal(got.Bytes, want) {
			t.Fatalf("%q: %x, want %x (%v)", plain[:i], got.Bytes, want, err)
		}
	}
}
