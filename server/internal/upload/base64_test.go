package upload

import (
	"bytes"
	"encoding/base64"
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
	long := strings.Repeat("QUJD", 10)
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
		got := make([]byte, len(text)/4*3)
		n, ok := decodeStandard(got, text)
		plain := err == nil && !bytes.ContainsAny(text, "\r\n")
		if ok != plain {
			t.Fatalf("%q: taken %v, and by the library %v", text, ok, err)
		}
		if ok && !bytes.Equal(got[:n], want[:m]) {
			t.Fatalf("%q: %q, and by the library %q", text, got[:n], want[:m])
		}
	})
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
	b.Run("own", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			decodeStandard(dst, text)
		}
	})
}
