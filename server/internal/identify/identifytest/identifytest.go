// Package identifytest is, for tests, people and organisations who have a signature of their own: a
// key that no server uses, certified by an authority that the server under test is told to trust.
package identifytest

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/xades"
)

// Authority certifies them.
type Authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t)}
	subject := a.name(ca.Name{Country: "IT", Organization: "Outside", CommonName: "Outside CA"})
	a.cert = a.issue(&x509.Certificate{
		RawSubject: subject, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, nil, a.key)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *Authority) name(n ca.Name) []byte {
	der, err := n.Encode()
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

func (a *Authority) issue(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = serial, time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

// File is the path of a file with the authority's certificate, for trust.anchors.
func (a *Authority) File() string {
	a.t.Helper()
	path := filepath.Join(a.t.TempDir(), "outside.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// shortTerm says that a certificate is never revoked (EN 319 412-1, 5.2), so that no revocations
// have to be published.
var shortTerm = pkix.Extension{Id: asn1.ObjectIdentifier{0, 4, 0, 194121, 2, 1}, Value: asn1.NullBytes}

// Signer has a certificate and its key.
type Signer struct {
	Certificate *x509.Certificate
	Key         *ecdsa.PrivateKey
	a           *Authority
}

// Signer certifies a new key under the given names.
func (a *Authority) Signer(n ca.Name) *Signer {
	a.t.Helper()
	key := newKey(a.t)
	cert := a.issue(&x509.Certificate{
		RawSubject: a.name(n), KeyUsage: x509.KeyUsageContentCommitment, ExtraExtensions: []pkix.Extension{shortTerm},
	}, a.cert, key)
	return &Signer{cert, key, a}
}

// Person certifies a person with two names and a tax code, which may be empty.
func (a *Authority) Person(given, surname, code string) *Signer {
	a.t.Helper()
	n := ca.Name{Country: "IT", GivenName: given, Surname: surname, CommonName: given + " " + surname}
	if code != "" {
		n.SerialNumber = "TINIT-" + code
	}
	return a.Signer(n)
}

// Sign signs documents in a format: by content where it is empty. Change, where
// it is not nil, changes how.
func (s *Signer) Sign(format ades.Format, change func(*rogito.Options), docs ...[]byte) []byte {
	s.a.t.Helper()
	o := rogito.Options{Format: format}
	o.Certificate, o.Chain, o.Time = s.Certificate, []*x509.Certificate{s.a.cert}, time.Now()
	if change != nil {
		change(&o)
	}
	var in rogito.Input
	for i, d := range docs {
		in.Files = append(in.Files, ades.File{Name: string(rune('a'+i)) + ".bin", Source: bytes.NewReader(d)})
	}
	var out bytes.Buffer
	if _, err := rogito.Sign(context.Background(), in, &out, s.Key, o); err != nil {
		s.a.t.Fatal(err)
	}
	return out.Bytes()
}

// PDF signs a PDF invisibly.
func (s *Signer) PDF(doc []byte) []byte { return s.Sign(ades.PAdES, nil, doc) }

// P7M signs a document as .p7m.
func (s *Signer) P7M(doc []byte) []byte { return s.Sign(ades.CAdES, nil, doc) }

// Enveloping signs a document within an XML signature.
func (s *Signer) Enveloping(doc []byte) []byte {
	return s.Sign(ades.XAdES, func(o *rogito.Options) { o.XAdES.Packaging = xades.Enveloping }, doc)
}
