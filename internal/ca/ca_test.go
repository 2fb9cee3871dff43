package ca

import (
	"crypto"
	"crypto/x509"
	"math/big"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func request(cn string, pub crypto.PublicKey) Request {
	return Request{
		Subject: Name{Country: "IT", CommonName: cn}, PublicKey: pub,
		NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(5, 0, 0),
	}
}

func root(t testing.TB, kind string) Issuer {
	t.Helper()
	key, err := NewKey(kind)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := Root(request("Root "+kind, nil), key)
	if err != nil {
		t.Fatal(err)
	}
	return Issuer{cert, key}
}

func TestEveryKeyIssues(t *testing.T) {
	for _, kind := range []string{"RSA-2048", "P-256", "P-384", "P-521", "Ed25519"} {
		r := root(t, kind)
		key, err := NewKey(kind)
		if err != nil {
			t.Fatal(err)
		}
		sub, err := r.Authority(request("Sub", key.Public()), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := sub.CheckSignatureFrom(r.Certificate); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if !sub.IsCA || !sub.MaxPathLenZero {
			t.Errorf("%s: not an authority", kind)
		}
		leaf, err := Issuer{sub, key}.Signer(request("Leaf", r.Key.Public()), nil)
		if err != nil {
			t.Fatal(err)
		}
		pool, inter := x509.NewCertPool(), x509.NewCertPool()
		pool.AddCert(r.Certificate)
		inter.AddCert(sub)
		_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, Intermediates: inter, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := NewKey("RSA-512"); err == nil {
		t.Error("a weak key is made")
	}
}

func TestQualified(t *testing.T) {
	r := root(t, "P-256")
	req := request("Person", r.Key.Public())
	req.Policies, req.CPS = []string{oid.PolicyQCPnQSCD, "1.2.3"}, "https://ca.example/cps"
	cert, err := r.Signer(req, &Statements{Device: true, Retention: 20, Disclosures: []Disclosure{{"https://ca.example/pds", "en"}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pkix.ParseCertificate(cert.Raw)
	if err != nil {
		t.Fatal(err)
	}
	if c.QcStatements == nil || len(c.BadExtensions) > 0 {
		t.Fatalf("statements %+v, bad extensions %v", c.QcStatements, c.BadExtensions)
	}
	if c.KeyUsage != pkix.NonRepudiation || len(c.Policies) != 2 {
		t.Errorf("usage %v, policies %v", c.KeyUsage, c.Policies)
	}
	for _, e := range c.Extensions {
		if e.OID == "2.5.29.15" && !e.Critical {
			t.Error("key usage is not critical")
		}
	}
	if dn := c.SubjectDN(); dn[:4] != "C=IT" {
		t.Errorf("name %s", dn)
	}
}

func TestTimestampUnit(t *testing.T) {
	r := root(t, "P-256")
	cert, err := r.TimestampUnit(request("Unit", r.Key.Public()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := pkix.ParseCertificate(cert.Raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.ExtKeyUsage) != 1 || c.ExtKeyUsage[0] != oid.UsageTimeStamping || !c.ExtKeyUsageCritical {
		t.Errorf("extended key usage %v, critical %v", c.ExtKeyUsage, c.ExtKeyUsageCritical)
	}
}

func TestNames(t *testing.T) {
	for _, bad := range []Name{{}, {Country: "IT", SerialNumber: "è"}, {Country: "IT", CommonName: "a\nb"}, {Country: "I*"}} {
		if _, err := bad.Encode(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	n := Name{Country: "IT", Surname: "D'Annunzio & Società", CommonName: "Òla"}
	if _, err := n.Encode(); err != nil {
		t.Error(err)
	}
}

// answer has a responder answer about a certificate, and lets another
// implementation read it.
func answer(t testing.TB, kind string, h crypto.Hash, s Status) (*ocsp.Response, error) {
	t.Helper()
	r := root(t, "P-256")
	key, err := NewKey(kind)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := r.Responder(request("Responder", key.Public()))
	if err != nil {
		t.Fatal(err)
	}
	id := CertIDOf(r.Certificate, big.NewInt(99), h)
	req, err := ParseOCSPRequest(id.Encode([]byte("nonce")))
	if err != nil {
		t.Fatal(err)
	}
	if !req.Certificates[0].Matches(r.Certificate) {
		t.Error("the request is not about this issuer")
	}
	times := OCSP{ThisUpdate: now, ProducedAt: now, NextUpdate: now.Add(time.Hour), ArchiveCutoff: now.AddDate(-5, 0, 0)}
	der, err := Issuer{cert, key}.Answer(req, times, func(CertID) Status { return s })
	if err != nil {
		t.Fatal(err)
	}
	own, err := pkix.ParseOCSPResponse(der)
	if err != nil {
		t.Fatal(err)
	}
	if string(own.Nonce) != "nonce" && string(own.Nonce) != "\x04\x05nonce" {
		t.Errorf("nonce %x", own.Nonce)
	}
	return ocsp.ParseResponse(der, r.Certificate)
}

func TestOCSP(t *testing.T) {
	for _, kind := range []string{"RSA-2048", "P-256", "P-384"} {
		for _, h := range []crypto.Hash{crypto.SHA1, crypto.SHA256} {
			got, err := answer(t, kind, h, Status{})
			if err != nil || got.Status != ocsp.Good || got.SerialNumber.Int64() != 99 || !got.ThisUpdate.Equal(now) {
				t.Errorf("%s: %+v, %v", kind, got, err)
			}
		}
	}
	got, err := answer(t, "P-256", crypto.SHA1, Status{RevokedAt: now.Add(-time.Hour), Reason: 1})
	if err != nil || got.Status != ocsp.Revoked || got.RevocationReason != 1 || !got.RevokedAt.Equal(now.Add(-time.Hour)) {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = answer(t, "P-256", crypto.SHA1, Status{Unknown: true})
	if err != nil || got.Status != ocsp.Unknown {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCRL(t *testing.T) {
	r := root(t, "RSA-2048")
	der, err := r.CRL(List{
		Number: big.NewInt(3), ThisUpdate: now, NextUpdate: now.Add(time.Hour), KeepsExpired: now.AddDate(-3, 0, 0),
		Revoked: []Revoked{{big.NewInt(5), now, 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		t.Fatal(err)
	}
	if err := list.CheckSignatureFrom(r.Certificate); err != nil {
		t.Error(err)
	}
	own, err := pkix.ParseCRL(der)
	if err != nil || own.ExpiredCertsOnCRL.IsZero() || len(list.RevokedCertificateEntries) != 1 {
		t.Errorf("%+v, %v", own, err)
	}
}

func FuzzParseOCSPRequest(f *testing.F) {
	r := root(f, "P-256")
	f.Add(CertIDOf(r.Certificate, big.NewInt(1), crypto.SHA1).Encode(nil))
	f.Add(CertIDOf(r.Certificate, big.NewInt(1), crypto.SHA256).Encode([]byte("n")))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if req, err := ParseOCSPRequest(b); err == nil {
			for _, c := range req.Certificates {
				c.Matches(r.Certificate)
			}
		}
	})
}
