package pades

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
)

// BenchmarkRaw is the bare key operation, to set the others against.
func BenchmarkRaw(b *testing.B) {
	pki := adestest.Must(b, nil)
	for _, who := range []string{"good", "p256"} {
		key := pki.Actor(b, who).Key
		digest := sha256.Sum256([]byte("x"))
		b.Run(who, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := key.Sign(rand.Reader, digest[:], crypto.SHA256); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// sink takes the signed document without keeping it.
type sink struct{ n int }

func (s *sink) Write(p []byte) (int, error) { s.n += len(p); return len(p), nil }

// BenchmarkSign makes PAdES-B of a document of 100 KB.
func BenchmarkSign(b *testing.B) {
	pki := adestest.Must(b, nil)
	doc := simplePDF(100 << 10)
	for _, who := range []string{"good", "p256"} {
		a := pki.Actor(b, who)
		o := Options{Signing: a.Signing(pki.Now()), Reason: "benchmark"}
		b.Run(who, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				d, err := Prepare(bytes.NewReader(doc), o)
				if err != nil {
					b.Fatal(err)
				}
				value, err := ades.Value(a.Key, d, o.Signing)
				if err != nil {
					b.Fatal(err)
				}
				if err := d.Finish(&sink{}, value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRead reads PAdES-B and LT of 200 KB.
func BenchmarkRead(b *testing.B) {
	pki := adestest.Must(b, nil)
	a := pki.Actor(b, "good")
	for _, level := range []ades.Level{ades.LevelB, ades.LevelLT} {
		var out bytes.Buffer
		r := ades.Raising{Level: level, Stamper: pki.Unit, Sources: pki}
		err := Sign(context.Background(), bytes.NewReader(simplePDF(200<<10)), &out, a.Key, Options{Signing: a.Signing(pki.Now())}, r)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(level.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				doc, err := Read(context.Background(), bytes.NewReader(out.Bytes()), ades.Reading{})
				if err != nil || doc.Signatures[0].Intact() != ades.Yes {
					b.Fatal(err)
				}
			}
		})
	}
}

var _ io.Writer = (*sink)(nil)
