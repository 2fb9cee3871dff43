package trust

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	stdpkix "crypto/x509/pkix"
	"math/big"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/report"
)

var anyKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// costly is a certificate with the given name, an RSA key of 16,384 bits without a private half,
// and a made-up signature of that length.
func costly(t testing.TB, serial int64, subject, issuer string) []byte {
	t.Helper()
	random := func(top byte) []byte {
		b := make([]byte, 16384/8)
		rand.Read(b)
		b[0], b[len(b)-1] = top, b[len(b)-1]|1
		return b
	}
	signer := anyKey()
	c := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: stdpkix.Name{CommonName: subject}, NotAfter: time.Now().AddDate(1, 0, 0)}
	parent := &x509.Certificate{Subject: stdpkix.Name{CommonName: issuer}}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &rsa.PublicKey{N: new(big.Int).SetBytes(random(0xff)), E: 65537}, signer)
	if err != nil {
		t.Fatal(err)
	}
	in := cryptobyte.String(der)
	var body, tbs, alg cryptobyte.String
	if !in.ReadASN1(&body, asn1.SEQUENCE) || !body.ReadASN1Element(&tbs, asn1.SEQUENCE) || !body.ReadASN1Element(&alg, asn1.SEQUENCE) {
		t.Fatal("the certificate cannot be taken apart")
	}
	var out cryptobyte.Builder
	out.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddBytes(tbs)
		b.AddBytes(alg)
		b.AddASN1BitString(random(0x00))
	})
	return out.BytesOrPanic()
}

// crowd is a document of many signers, each of whom many might have issued.
func crowd(t testing.TB) *report.Facts {
	doc := new(ades.Document)
	for i := range 24 {
		doc.Evidence = append(doc.Evidence, ades.Evidence{Kind: ades.EvidenceCertificate, Raw: costly(t, int64(i), "Issuer", "Nobody")})
	}
	for i := range 40 {
		doc.Signatures = append(doc.Signatures, &ades.Signature{SigningCertificate: costly(t, int64(1000+i), "Signer", "Issuer")})
	}
	return &report.Facts{Layers: []*report.Layer{{Document: doc}}}
}

// Checks are bounded by what they cost: with keys of 16,384 bits, a few dozen
// are made in place of 960, and nothing once the caller has hung up.
func TestEffort(t *testing.T) {
	facts := crowd(t)
	count := func(ctx context.Context) int {
		s := new(Store)
		s.Gather(ctx, facts, time.Now())
		return s.checked.Len()
	}
	if n := count(t.Context()); n == 0 || n > 100 {
		t.Errorf("%d signature checks", n)
	}
	if len(facts.Notes) == 0 {
		t.Error("no note says that something was left out")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if n := count(gone); n != 0 {
		t.Errorf("%d signature checks for nobody", n)
	}
}

// Evidence spends the memory of the document.
func TestEvidenceSpendsMemory(t *testing.T) {
	raw := []byte("no list at all, but a thousand bytes would not fit")
	facts := &report.Facts{Layers: []*report.Layer{{Document: &ades.Document{Evidence: []ades.Evidence{{Kind: ades.EvidenceCRL, Raw: raw}}}}}}
	budget := limits.NewBudget(1000)
	new(Store).Gather(limits.WithBudget(t.Context(), budget), facts, time.Now())
	if budget.Spend(1000) == nil {
		t.Error("nothing was spent")
	}
}

// A version 1 certificate says nowhere that it is an authority (RFC 5280,
// 6.1.4 (k)); what a trusted list names as one is.
func TestNotAuthority(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{}, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := pkix.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	old := *c
	old.Version, old.Extensions = 1, nil
	leaf := *c
	for _, row := range []struct {
		anchor *pkix.Certificate
		listed bool
		ok     bool
	}{{c, false, false}, {&old, false, false}, {c, true, true}, {&old, true, true}} {
		problems := validate([]*pkix.Certificate{&leaf, row.anchor}, true, row.listed, newWork(t.Context()))
		if (len(problems) == 0) != row.ok {
			t.Errorf("version %d, listed %v: %v", row.anchor.Version, row.listed, problems)
		}
	}
}
