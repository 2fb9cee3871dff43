package cades_test

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
	"rogito.dev/rogito/cades"
)

func benchmarkSign(b *testing.B, actor string) {
	pki := adestest.Must(b, nil)
	a := pki.Actor(b, actor)
	p := a.Signing(pki.Now())
	src := bytes.NewReader(make([]byte, 100_000))
	b.ReportAllocs()
	for b.Loop() {
		d, err := cades.Prepare(context.Background(), src, p, cades.Options{})
		if err != nil {
			b.Fatal(err)
		}
		value, err := d.Value(a.Key)
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Finish(io.Discard, value); err != nil {
			b.Fatal(err)
		}
	}
}

// The raw rates beside which the signing rates are to be read.
func benchmarkRaw(b *testing.B, actor string) {
	a := adestest.Must(b, nil).Actor(b, actor)
	digest := sha256.Sum256(nil)
	for b.Loop() {
		if _, err := a.Key.Sign(rand.Reader, digest[:], crypto.SHA256); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRawRSA2048(b *testing.B)  { benchmarkRaw(b, "good") }
func BenchmarkSignRSA2048(b *testing.B) { benchmarkSign(b, "good") }
func BenchmarkRawP256(b *testing.B)     { benchmarkRaw(b, "p256") }
func BenchmarkSignP256(b *testing.B)    { benchmarkSign(b, "p256") }

func BenchmarkRead(b *testing.B) {
	pki := adestest.Must(b, nil)
	signed := attached(b, pki.Actor(b, "good"), make([]byte, 100_000), pki)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := cades.Read(context.Background(), bytes.NewReader(signed), ades.ReadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
