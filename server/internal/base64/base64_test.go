package base64

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// FuzzDecode holds the quick decoder against that of the standard
// library: what it takes is what that one makes of it, and it takes all that has
// no line breaks.
func FuzzDecode(f *testing.F) {
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
			n, ok := Decode(got, text)
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

// FuzzAppendEncode holds the quick encoder against that of the standard library.
func FuzzAppendEncode(f *testing.F) {
	for n := range 130 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		f.Add([]byte(nil), b)
		f.Add([]byte("before"), b)
	}
	all := make([]byte, 0, 3<<16) // every group of three begins with one of sixteen bits
	for i := range 1 << 16 {
		all = append(all, byte(i>>8), byte(i), byte(i>>4))
	}
	f.Add([]byte(nil), all)
	f.Fuzz(func(t *testing.T, before, raw []byte) {
		want := base64.StdEncoding.AppendEncode(bytes.Clone(before), raw)
		eachWay(func() {
			for _, spare := range []int{0, 1, 31, len(raw), 2*len(raw) + 64} {
				room := bytes.Repeat([]byte{0xa5}, len(before)+spare)
				copy(room, before)
				got := AppendEncode(room[:len(before)], raw)
				if !bytes.Equal(got, want) {
					t.Fatalf("%x: %q, and by the library %q (vectors %v)", raw, got, want, vectors)
				}
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

func BenchmarkDecode(b *testing.B) {
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
				Decode(dst, text)
			}
		})
	})
}

func BenchmarkAppendEncode(b *testing.B) {
	raw := make([]byte, 24<<10)
	dst := make([]byte, 0, 32<<10)
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			_ = base64.StdEncoding.AppendEncode(dst, raw)
		}
	})
	b.Run(fmt.Sprintf("own, vectors %v", vectors), func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			_ = AppendEncode(dst, raw)
		}
	})
}
