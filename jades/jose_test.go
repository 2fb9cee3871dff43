package jades_test

import (
	"crypto"
	"fmt"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/jades"
)

// An independent JOSE library takes our values, in every form and with every key, and gets the
// content that was signed; and we take its values.
func TestValuesByGoJOSE(t *testing.T) {
	pki := newPKI(t)
	all := []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
	for _, actor := range []string{"good", "p256", "p384", "p521", "ed25519"} {
		for _, form := range forms {
			for _, pss := range []bool{false, true} {
				for _, h := range []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512} {
					t.Run(fmt.Sprintf("%s-%v-%v-%v", actor, form, pss, h), func(t *testing.T) {
						a := pki.Actor(t, actor)
						p := a.Signing(pki.Now())
						p.Hash, p.PSS = h, pss
						signed := made(t, a, p, jades.Options{Serialization: form}, file("a", text))
						theirs, err := jose.ParseSigned(string(signed), all) //nolint:staticcheck // of either form
						if err != nil {
							t.Fatal(err)
						}
						content, err := theirs.Verify(a.Certificate.PublicKey)
						if err != nil || string(content) != text {
							t.Errorf("%q, %v", content, err)
						}
					})
				}
			}
		}
	}
}

// A plain JWS is read and told from JAdES.
func TestPlainJWS(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "p256")
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: a.Key}, (&jose.SignerOptions{}).WithHeader("kid", "1"))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := signer.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	compact, err := theirs.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	for _, signed := range []string{compact, theirs.FullSerialize()} {
		doc := read(t, []byte(signed))
		s := doc.Signatures[0]
		if doc.Format != ades.JAdES || jades.Profile(s, doc, nil).Name != "JSON-NOT-ETSI" || s.Intact() != ades.Unknown || ades.Fatal(s.Problems) {
			t.Errorf("%s, %s, %v, %v", doc.Format, jades.Profile(s, doc, nil).Name, s.Intact(), s.Problems)
		}
	}
}
