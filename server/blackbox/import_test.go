package blackbox

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"os"
	"path/filepath"
	"testing"

	"software.sslmate.com/src/go-pkcs12"
)

// pairFile is a PKCS#12 file of a key pair whose authority is unknown and publishes
// nothing.
func pairFile(t testing.TB, password string) []byte {
	t.Helper()
	silent := &lines{}
	silent.ca, silent.authority = silent.issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "Silent CA", Country: []string{"IT"}}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	leaf, key := silent.issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "Ida Prova", Country: []string{"IT"}}, KeyUsage: x509.KeyUsageContentCommitment})
	b, err := pkcs12.Modern.Encode(key, leaf, []*x509.Certificate{silent.ca}, password)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// importPair takes such a key pair in, as the operator does.
func (w *world) importPair(t testing.TB, email, username, password string) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"key.p12": pairFile(t, password), "password": []byte(password + "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.nodes[0].run("cert", "import", email, "automatic", filepath.Join(dir, "key.p12"), "--username", username, "--password-file", filepath.Join(dir, "password"), "--json")
}
