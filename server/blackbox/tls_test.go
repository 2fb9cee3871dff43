package blackbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// lines are the certificates of the suite's connections: one for the servers,
// and one authority for the clients that present theirs.
type lines struct {
	dir       string
	pool      *x509.CertPool
	ca        *x509.Certificate
	authority *ecdsa.PrivateKey
}

func newLines(t testing.TB) *lines {
	l := &lines{dir: t.TempDir(), pool: x509.NewCertPool()}
	l.ca, l.authority = l.issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "Clients"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	server, key := l.issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	l.pool.AddCert(l.ca)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"ca.pem": {Type: "CERTIFICATE", Bytes: l.ca.Raw}, "server.pem": {Type: "CERTIFICATE", Bytes: server.Raw}, "server.key": {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(filepath.Join(l.dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// issue makes a certificate, signed by the authority where there is one.
func (l *lines) issue(t testing.TB, tpl *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	tpl.SerialNumber = serial
	if tpl.NotAfter.IsZero() {
		tpl.NotBefore, tpl.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	}
	parent, by := l.ca, l.authority
	if parent == nil {
		parent, by = tpl, key
	}
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

// client makes a certificate for a client: its PEM, and a transport that
// presents it.
func (l *lines) client(t testing.TB, name string) (text string, transport *http.Transport) {
	t.Helper()
	c, key := l.issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})),
		l.transport(tls.Certificate{Certificate: [][]byte{c.Raw}, PrivateKey: key})
}

func (l *lines) transport(present ...tls.Certificate) *http.Transport {
	return &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: l.pool, Certificates: present, MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: 200,
	}
}

// env makes a node speak TLS, and take client certificates.
func (l *lines) env() []string {
	return []string{
		"ROGITO_TLS_CERT=" + filepath.Join(l.dir, "server.pem"), "ROGITO_TLS_KEY=" + filepath.Join(l.dir, "server.key"),
		"ROGITO_TLS_CLIENT_CA=" + filepath.Join(l.dir, "ca.pem"),
	}
}
