//go:build unix

package pades

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/yardstick"
)

// BenchmarkRaw is the bare key operation, to set the others against.
func BenchmarkRaw(b *testing.B) {
	pki := adestest.Must(b, nil)
	for _, who := range []string{"good", "p256"} {
		key := pki.Actor(b, who).Key
		digest := sha256.Sum256([]byte("x"))
		b.Run(who, func(b *testing.B) {
			b.ReportAllocs()
			defer onCPU(b)()
			for b.Loop() {
				if _, err := key.Sign(rand.Reader, digest[:], crypto.SHA256); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSign makes PAdES-B of a document of 100 KB.
func BenchmarkSign(b *testing.B) {
	pki := adestest.Must(b, nil)
	doc := simplePDF(100 << 10)
	for _, who := range []string{"good", "p256"} {
		a := pki.Actor(b, who)
		p, o := a.Signing(pki.Now()), Options{Reason: "benchmark"}
		b.Run(who, func(b *testing.B) {
			b.ReportAllocs()
			defer onCPU(b)()
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				d, err := Prepare(context.Background(), bytes.NewReader(doc), p, o)
				if err != nil {
					b.Fatal(err)
				}
				value, err := d.Value(a.Key)
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
		r := ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: pki}
		err := sign(context.Background(), bytes.NewReader(simplePDF(200<<10)), &out, a.Key, a.Signing(pki.Now()), Options{}, r)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(level.String(), func(b *testing.B) {
			b.ReportAllocs()
			defer onCPU(b)()
			for b.Loop() {
				doc, err := Read(context.Background(), bytes.NewReader(out.Bytes()), ades.ReadOptions{})
				if err != nil || doc.Signatures[0].Intact() != ades.Yes {
					b.Fatal(err)
				}
			}
		})
	}
}

// onCPU reports the processor time of an operation, which is what to compare
// on a machine that has other work.
func onCPU(b *testing.B) func() {
	start := yardstick.Processor()
	return func() { b.ReportMetric(float64(yardstick.Processor()-start)/float64(b.N), "cpu-ns/op") }
}
