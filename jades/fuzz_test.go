package jades_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/jades"
)

// Whatever a file holds, it is read or refused; what is read can be raised or
// refused, and a raised one is still what it was.
func FuzzRead(f *testing.F) {
	pki := newPKI(f)
	a := pki.Actor(f, "p256")
	for _, p := range packagings() {
		for _, form := range forms {
			p.o.Serialization = form
			signed := made(f, a, a.Signing(pki.Now()), p.o, p.files...)
			f.Add(signed)
			if form != jades.Compact && !p.o.Detached {
				f.Add(raised(f, pki, signed, ades.LevelLTA))
			}
		}
	}
	f.Add([]byte(`{"payload":"","signatures":[{"header":{"etsiU":[{"cSig":{"signature":"AA"}}]},"signature":"AA"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		jades.Detect(bytes.NewReader(data))
		given := []ades.File{{Name: "order 1.json", Source: strings.NewReader(text)}}
		doc, err := jades.Read(t.Context(), bytes.NewReader(data), ades.ReadOptions{Detached: given})
		if err != nil {
			return
		}
		for _, s := range doc.Signatures {
			jades.Profile(s, doc, nil)
		}
		_ = jades.Augment(t.Context(), bytes.NewReader(data), io.Discard, ades.AugmentOptions{Level: ades.LevelT, Stamper: pki.Unit, Detached: given})
	})
}

func TestLooksLike(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "p256")
	compact := string(made(t, a, a.Signing(pki.Now()), jades.Options{Serialization: jades.Compact}, file("a", text)))
	for data, want := range map[string]jades.Kind{
		compact: jades.JWS, compact + "\n": jades.JWS, compact + "~": jades.SDJWT, compact + "~WyJhIl0~eyJ0.eyJ0.AA": jades.SDJWT,
		string(made(t, a, a.Signing(pki.Now()), jades.Options{}, file("a", text))):                             jades.JWS,
		string(made(t, a, a.Signing(pki.Now()), jades.Options{Serialization: jades.General}, file("a", text))): jades.JWS,
		`{"payload":"a","protected":"b"`:                               jades.JWS, // cut off
		`{"signatures":[{"protected":"b"`:                              jades.JWS,
		`{"payload":"a","payloadType":"x","signatures":[{"sig":"b"}]}`: jades.NoJWS, // DSSE
		`{"payload":{"a":1},"signature":"Anna"}`:                       jades.NoJWS,
		`{"title":"x","signatures":[{"name":"Anna"}]}`:                 jades.NoJWS,
		`{"a":1}`: jades.NoJWS, `{`: jades.NoJWS, ``: jades.NoJWS, `{\rtf1 signature}`: jades.NoJWS, "eyJhbGciOiJFUzI1NiJ9": jades.NoJWS,
		"eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..AA.AA.AA": jades.NoJWS, // a JWE
		"Dear Anna. How are you. Bye.":                      jades.NoJWS,
	} {
		if got := jades.Detect(strings.NewReader(data)); got != want {
			t.Errorf("%.60q looks like %d, want %d", data, got, want)
		}
	}
}
