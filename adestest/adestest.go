// Package adestest is for tests, ours and yours: a public-key infrastructure
// in memory with a cast of characters (good, expired, revoked, wrong usage,
// unknown issuer, one for each algorithm), a time-stamping authority, OCSP and
// revocation lists. Everything in it is real but the trust: certificates,
// answers and tokens are made by the same code that a service would use.
//
// [New] builds it without a socket; [Start] puts it on loopback as well, so that other validators
// can ask it for revocation data. The clock is an argument.
package adestest

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/tsp"
)

// PKI is a root, an issuing authority for signers, one for time-stamping units, and the holders of
// their certificates.
type PKI struct {
	Root *x509.Certificate
	// Issuing is the authority of the signers.
	Issuing *x509.Certificate
	// Unit is the time-stamping unit; it implements ades.Stamper and
	// http.Handler.
	Unit *tsp.Responder

	clock   func() time.Time
	base    string
	mu      sync.Mutex
	cas     map[string]*authority // by name: root, issuing, time, rogue
	actors  map[string]*Actor
	revoked map[string]ca.Revoked // by serial number
}

// authority is a certificate authority with its OCSP responder.
type authority struct {
	ca.Issuer
	name      string
	responder ca.Issuer
	number    int64
}

// Actor is a certificate with its key.
type Actor struct {
	Name        string
	Certificate *x509.Certificate
	Key         crypto.Signer
	Chain       []*x509.Certificate // issuers, the root last
}

// Signing is the beginning of every format's options.
func (a *Actor) Signing(at time.Time) ades.SignParams {
	return ades.SignParams{Certificate: a.Certificate, Chain: a.Chain, Time: at}
}

// New builds a PKI in memory. The clock determines validity periods and the times in answers and
// tokens; nil means time.Now. Certificates name addresses under base, at which no server is needed.
func New(clock func() time.Time, base string) (*PKI, error) {
	if clock == nil {
		clock = time.Now
	}
	if base == "" {
		base = "http://pki.invalid"
	}
	p := &PKI{
		clock: clock, base: base, cas: map[string]*authority{},
		actors: map[string]*Actor{}, revoked: map[string]ca.Revoked{},
	}
	if err := p.authorities(); err != nil {
		return nil, fmt.Errorf("adestest: %w", err)
	}
	return p, nil
}

// Start builds a PKI and serves it on loopback until the test ends.
func Start(t testing.TB, clock func() time.Time) *PKI {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String()
	p, err := New(clock, base)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = p.Handler()
	server.Start()
	t.Cleanup(server.Close)
	return p
}

// Must is New for tests that need no socket.
func Must(t testing.TB, clock func() time.Time) *PKI {
	t.Helper()
	p, err := New(clock, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Now is the time by the PKI's clock, to the second.
func (p *PKI) Now() time.Time { return p.clock().UTC().Truncate(time.Second) }

// URL is an address under which the PKI is served.
func (p *PKI) URL(path string) string { return p.base + path }

// TSA is the address of the time-stamping authority.
func (p *PKI) TSA() string { return p.URL("/tsa") }

// RootPEM is the trust anchor as PEM.
func (p *PKI) RootPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Root.Raw})
}

func (p *PKI) authorities() error {
	key, err := ca.NewKey("P-256")
	if err != nil {
		return err
	}
	now := p.Now()
	p.Root, err = ca.Root(ca.Request{
		Subject:   ca.Name{Country: "IT", Organization: "Rogito Test", CommonName: "Test Root"},
		NotBefore: now.AddDate(-10, 0, 0), NotAfter: now.AddDate(20, 0, 0),
	}, key)
	if err != nil {
		return err
	}
	p.cas["root"] = &authority{Issuer: ca.Issuer{Certificate: p.Root, Key: key}, name: "root"}
	for name, cn := range map[string]string{"issuing": "Test Qualified CA", "time": "Test Time-stamping CA"} {
		if err := p.subordinate(name, cn); err != nil {
			return err
		}
	}
	p.Issuing = p.cas["issuing"].Certificate
	if err := p.rogue(); err != nil {
		return err
	}
	return p.RenewUnit()
}

func (p *PKI) subordinate(name, cn string) error {
	key, err := ca.NewKey("P-256")
	if err != nil {
		return err
	}
	now := p.Now()
	cert, err := p.cas["root"].Authority(ca.Request{
		Subject:   ca.Name{Country: "IT", Organization: "Rogito Test", CommonName: cn},
		PublicKey: key.Public(), NotBefore: now.AddDate(-9, 0, 0), NotAfter: now.AddDate(15, 0, 0),
		CRL: p.URL("/crl/root.crl"), IssuerCertificate: p.URL("/ca/root.cer"), Policies: []string{"2.5.29.32.0"},
	}, 0)
	if err != nil {
		return err
	}
	a := &authority{Issuer: ca.Issuer{Certificate: cert, Key: key}, name: name}
	p.cas[name] = a
	return p.responder(a)
}

func (p *PKI) responder(a *authority) error {
	key, err := ca.NewKey("P-256")
	if err != nil {
		return err
	}
	now := p.Now()
	cert, err := a.Issuer.Responder(ca.Request{
		Subject:   ca.Name{Country: "IT", Organization: "Rogito Test", CommonName: a.Certificate.Subject.CommonName + " OCSP"},
		PublicKey: key.Public(), NotBefore: now.AddDate(-5, 0, 0), NotAfter: now.AddDate(5, 0, 0),
	})
	a.responder = ca.Issuer{Certificate: cert, Key: key}
	return err
}

// rogue is an authority that is not trusted.
func (p *PKI) rogue() error {
	key, err := ca.NewKey("P-256")
	if err != nil {
		return err
	}
	now := p.Now()
	cert, err := ca.Root(ca.Request{
		Subject:   ca.Name{Country: "IT", Organization: "Nobody", CommonName: "Unknown Root"},
		NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(5, 0, 0),
	}, key)
	if err != nil {
		return err
	}
	a := &authority{Issuer: ca.Issuer{Certificate: cert, Key: key}, name: "rogue"}
	p.cas["rogue"] = a
	return p.responder(a)
}

// RenewUnit replaces the time-stamping unit by a new one, valid from now on,
// as an authority does every few years. The old one stays what it was.
func (p *PKI) RenewUnit() error {
	key, err := ca.NewKey("P-256")
	if err != nil {
		return err
	}
	now := p.Now()
	a := p.cas["time"]
	cert, err := a.TimestampUnit(ca.Request{
		Subject:   ca.Name{Country: "IT", Organization: "Rogito Test", CommonName: "Test Time-stamping Unit"},
		PublicKey: key.Public(), NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(10, 0, 0),
		CRL: p.URL("/crl/time.crl"), IssuerCertificate: p.URL("/ca/time.cer"),
	})
	p.Unit = &tsp.Responder{
		Certificate: cert, Key: key, Chain: []*x509.Certificate{a.Certificate},
		Policy: "0.4.0.2023.1.1", Now: p.clock,
	}
	return err
}
