package upload

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzOrdinary holds the quick search against one byte by byte.
func FuzzOrdinary(f *testing.F) {
	for n := range 70 {
		for _, c := range []string{"", "\"", "\\", "\x1f", "\x00", "\x7f", "\x80", "\xff", " "} {
			f.Add([]byte(strings.Repeat("a", n) + c + strings.Repeat("~", 40)))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := bytes.IndexFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r > 0x7f })
		if want < 0 {
			want = len(text)
		}
		eachWay(func() {
			if got := ordinary(text); got != want {
				t.Fatalf("%q: %d, not %d (vectors %v)", text, got, want, vectors)
			}
		})
	})
}

// eachWay does something without vectors, and with them where there are any.
func eachWay(do func()) {
	has := vectors
	defer func() { vectors = has }()
	vectors = false
	do()
	if vectors = has; has {
		do()
	}
}
