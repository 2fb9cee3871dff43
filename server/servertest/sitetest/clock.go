package sitetest

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing"
	"software.sslmate.com/src/go-pkcs12"
)

// OpenServer opens the installation once more, beside the running server.
func (s *Site) OpenServer() *server.Server {
	s.T.Helper()
	cfg := s.Config
	cfg.Listen, cfg.Log.Level = "127.0.0.1:0", "error"
	srv, err := server.Open(context.Background(), cfg)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(srv.Close)
	return srv
}

// SigningAt is the signing service with another clock.
func SigningAt(s *server.Server, now func() time.Time) *signing.Service {
	w := s.Parts()
	return signing.New(signing.Deps{
		DB: s.Parts().DB, Master: s.Parts().Master, Blobs: s.Parts().Blobs, Keys: w.Keys, Enroll: w.Enroll, Audit: w.Audit, Callbacks: w.Callbacks, Biller: s.Parts().Billing, Tokens: s.Parts().Accounts, Guard: w.Guard,
	}, signing.Config{Now: now})
}

func EnrollAt(s *server.Server, now func() time.Time) *enroll.Service {
	w := s.Parts()
	return enroll.New(enroll.Parts{
		DB: s.Parts().DB, Master: s.Parts().Master, Blobs: s.Parts().Blobs, Keys: w.Keys, Authority: w.Authority, Audit: w.Audit, Callbacks: w.Callbacks, Biller: s.Parts().Billing,
	}, enroll.Config{Now: now, Sandbox: true})
}

func After(d time.Duration) func() time.Time { return func() time.Time { return time.Now().Add(d) } }

const Day = 24 * time.Hour

// PFX is a key pair of an unknown authority, which publishes nothing.
func PFX(t *testing.T, alg, password string) ([]byte, *x509.Certificate) {
	t.Helper()
	make := func(alg string, tpl, parent *x509.Certificate, by crypto.Signer) (*x509.Certificate, crypto.Signer) {
		key, err := keys.Generate(alg)
		if err != nil {
			t.Fatal(err)
		}
		if by == nil {
			parent, by = tpl, key
		}
		tpl.NotBefore, tpl.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(Day)
		der, err := x509.CreateCertificate(rand.Reader, tpl, parent, key.Public(), by)
		if err != nil {
			t.Fatal(err)
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return c, key
	}
	ca, caKey := make("P256", &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Silent CA", Country: []string{"IT"}}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	leaf, key := make(alg, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "Ida Prova", Country: []string{"IT"}}, KeyUsage: x509.KeyUsageContentCommitment,
	}, ca, caKey)
	out, err := pkcs12.Modern.Encode(key, leaf, []*x509.Certificate{ca}, password)
	if err != nil {
		t.Fatal(err)
	}
	return out, leaf
}

// WriteFile for commands that read files.
func WriteFile(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
