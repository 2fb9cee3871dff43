package spid_test

import (
	"errors"
	"testing"

	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/spid/demo"
)

// FuzzResponse: nothing but what the provider signed is believed, and nothing
// panics. Whatever passes must say what the signed answer said.
func FuzzResponse(f *testing.F) {
	w := newWorld(f)
	d, q := w.start(f, w.idp)
	p := w.parts(f, q)
	for _, attack := range wrapping {
		f.Add([]byte(attack(p)))
	}
	f.Add([]byte(p.response))
	f.Add([]byte(p.plain))
	f.Fuzz(func(t *testing.T, message []byte) {
		_, _ = w.sp.Request(posted(message))
		a, err := w.finish(d, message)
		var no *identify.Refusal
		if err != nil && !errors.As(err, &no) {
			t.Fatalf("an accident: %v", err)
		}
		if err == nil && a.Proof.Proven.FiscalCode != demo.People[0]["fiscalNumber"][len("TINIT-"):] {
			t.Fatalf("somebody else: %+v", a.Proof)
		}
	})
}

// FuzzProviderMetadata reads metadata.
func FuzzProviderMetadata(f *testing.F) {
	w := newWorld(f)
	f.Add(w.idp.OwnMetadata())
	f.Add([]byte(unsignedMetadata(w.other)))
	f.Add(w.sp.NewMetadata())
	f.Fuzz(func(_ *testing.T, text []byte) { _ = w.sp.ParseProviders(text) })
}
