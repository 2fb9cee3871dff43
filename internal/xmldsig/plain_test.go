package xmldsig

import (
	"strings"
	"testing"
)

// Every byte at every place among others is escaped as if it stood alone.
func TestEscapesWherever(t *testing.T) {
	alone := func(e *escapes, s string) string {
		var out strings.Builder
		for _, c := range []byte(s) {
			if e[c] != "" {
				out.WriteString(e[c])
			} else {
				out.WriteByte(c)
			}
		}
		return out.String()
	}
	for _, e := range []*escapes{&textEscapes, &attrEscapes} {
		for around := range 256 {
			for c := range 256 {
				s := []byte(strings.Repeat(string([]byte{byte(around)}), 19))
				s[c%19] = byte(c)
				if got, want := string(e.append(nil, string(s))), alone(e, string(s)); got != want {
					t.Fatalf("%q became %q, not %q", s, got, want)
				}
			}
		}
		for i := range 19 {
			for c := range 256 {
				s := []byte("abcdefgh ijklmnopqr")
				s[i] = byte(c)
				if got, want := string(e.append(nil, string(s))), alone(e, string(s)); got != want {
					t.Fatalf("%q became %q, not %q", s, got, want)
				}
			}
		}
	}
}
