package cades_test

import (
	"bytes"
	"context"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/corpus"
)

func FuzzRead(f *testing.F) {
	pki := adestest.Must(f, clock)
	a := pki.Actor(f, "p256")
	b := attached(f, a, []byte("text"), pki)
	for _, level := range []ades.Level{ades.LevelT, ades.LevelLTA} {
		f.Add(raised(f, pki, b, level))
	}
	c, err := cades.Counter(context.Background(), bytes.NewReader(b), "", a.Signing(at), cades.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(finished(f, a, c, a.Signing(at)))
	corpus.Seeds(f, 32<<10, "files", "cades", "*")
	f.Fuzz(func(_ *testing.T, in []byte) {
		doc, err := cades.Read(context.Background(), bytes.NewReader(in), ades.ReadOptions{})
		if err != nil {
			return
		}
		for _, s := range doc.Signatures {
			cades.Profile(s, doc, func(...[]byte) bool { return true })
		}
	})
}
