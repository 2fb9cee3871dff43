package upload

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// FuzzDecodeStandard holds the quick decoder against that of the standard
// library: what it takes is what that one makes of it, and it takes all that has
// no line breaks.
func FuzzDecodeStandard(f *testing.F) {
	for n := range 40 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		f.Add([]byte(base64.StdEncoding.EncodeToString(b)))
		f.Add([]byte(base64.RawStdEncoding.EncodeToString(b)))
		f.Add([]byte(base64.URLEncoding.EncodeToString(b)))
	}
	long := strings.Repeat("QUJD", 50)
	for i := range len(long) {
		for _, c := range []string{"=", "\n", " ", "-", "\x00", "\xff", "*", "\r\n"} {
			f.Add([]byte(long[:i] + c + long[i+1:]))
		}
	}
	for _, s := range []string{"", "=", "====", "QQ==", "QR==", "QUJDQQ==QUJD", "QUJDQUJDQUJDQQ==", "QUJDQUJDQQ==QUJDQUJD", "QUJD\nUUJD\nQUJ\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		m, err := base64.StdEncoding.Decode(want, text)
		plain := err == nil && !bytes.ContainsAny(text, "\r\n")
		eachWay(func() {
			room := bytes.Repeat([]byte{0xa5}, len(text)/4*3+64)
			got, beyond := room[:len(text)/4*3], room[len(text)/4*3:]
			n, ok := decodeStandard(got, text)
			if ok != plain {
				t.Fatalf("%q: taken %v, and by the library %v (vectors %v, wide %v)", text, ok, err, vectors, wide)
			}
			if ok && !bytes.Equal(got[:n], want[:m]) {
				t.Fatalf("%q: %q, and by the library %q (vectors %v, wide %v)", text, got[:n], want[:m], vectors, wide)
			}
			if len(bytes.Trim(beyond, "\xa5")) > 0 {
				t.Fatalf("%q: written beyond its room (vectors %v, wide %v)", text, vectors, wide)
			}
		})
	})
}

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

// eachWay does something without vectors, and with those that there are.
func eachWay(do func()) {
	has, wider := vectors, wide
	defer func() { vectors, wide = has, wider }()
	vectors, wide = false, false
	do()
	if vectors = has; has {
		do()
	}
	if wide = wider; has && wider {
		do()
	}
}

func BenchmarkDecodeStandard(b *testing.B) {
	text := []byte(base64.StdEncoding.EncodeToString(make([]byte, 100_000)))
	dst := make([]byte, len(text)/4*3)
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			_, _ = base64.StdEncoding.Decode(dst, text)
		}
	})
	eachWay(func() {
		b.Run(fmt.Sprintf("own, vectors %v, wide %v", vectors, wide), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				decodeStandard(dst, text)
			}
		})
	})
}
