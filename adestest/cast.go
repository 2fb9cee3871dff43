package adestest

import (
	"crypto"
	"crypto/x509"
	"fmt"
	"strings"
	"sync"
	"testing"

	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/internal/oid"
)

// role is the declaration of one actor.
type role struct {
	key        string
	issuer     string
	from, to   int // months from now
	usage      x509.KeyUsage
	seal       bool
	plain      bool // no QcStatements
	list       bool // revocation by CRL in place of OCSP
	revoked    int  // months from now when it was revoked; 0 for never
	reason     int
	noneAtAll  bool // names no revocation service
	withoutSCD bool
}

// cast is everybody there is; the zero values make a good qualified signer.
var cast = map[string]role{
	"good":           {key: "RSA-2048"},
	"rsa3072":        {key: "RSA-3072"},
	"rsa4096":        {key: "RSA-4096"},
	"p256":           {key: "P-256"},
	"p384":           {key: "P-384"},
	"p521":           {key: "P-521"},
	"ed25519":        {key: "Ed25519"},
	"second":         {key: "P-256"},
	"third":          {key: "P-256"},
	"eseal":          {key: "P-256", seal: true},
	"crl":            {key: "P-256", list: true},
	"advanced":       {key: "P-256", plain: true},
	"no-device":      {key: "P-256", withoutSCD: true},
	"expired":        {key: "P-256", from: -36, to: -1},
	"not-yet-valid":  {key: "P-256", from: 1, to: 36},
	"revoked":        {key: "P-256", revoked: -1, reason: 1},
	"revoked-crl":    {key: "P-256", revoked: -1, reason: 1, list: true},
	"suspended":      {key: "P-256", revoked: -1, reason: 6},
	"wrong-usage":    {key: "P-256", usage: x509.KeyUsageKeyEncipherment},
	"both-usages":    {key: "RSA-2048", usage: x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment},
	"unknown-issuer": {key: "P-256", issuer: "rogue"},
	"no-revocation":  {key: "P-256", noneAtAll: true},
}

// Cast lists the names of all actors.
func Cast() []string {
	names := make([]string, 0, len(cast))
	for n := range cast {
		names = append(names, n)
	}
	return names
}

// Actor returns one of the cast, and makes it on first use.
func (p *PKI) Actor(t testing.TB, name string) *Actor {
	t.Helper()
	a, err := p.Enter(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Enter is Actor for callers other than tests. "good#2" is another one like "good", with its own
// key. RSA keys are shared by name between all PKIs of the process.
func (p *PKI) Enter(name string) (*Actor, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a, ok := p.actors[name]; ok {
		return a, nil
	}
	role, _, _ := strings.Cut(name, "#")
	r, ok := cast[role]
	if !ok {
		return nil, fmt.Errorf("adestest: nobody is called %q", name)
	}
	a, err := p.issue(name, r)
	if err != nil {
		return nil, fmt.Errorf("adestest: %s: %w", name, err)
	}
	p.actors[name] = a
	return a, nil
}

// made caches the RSA keys of this process by name: generating one takes longer than everything
// else that tests do with a PKI, so actors of the same name in several PKIs share theirs. Their
// certificates differ.
var made struct {
	sync.Mutex
	keys map[string]crypto.Signer
}

func newKey(name, kind string) (crypto.Signer, error) {
	if !strings.HasPrefix(kind, "RSA-") {
		return ca.NewKey(kind)
	}
	made.Lock()
	defer made.Unlock()
	if key, ok := made.keys[name]; ok {
		return key, nil
	}
	key, err := ca.NewKey(kind)
	if err != nil {
		return nil, err
	}
	if made.keys == nil {
		made.keys = map[string]crypto.Signer{}
	}
	made.keys[name] = key
	return key, nil
}

func (p *PKI) issue(name string, r role) (*Actor, error) {
	key, err := newKey(name, r.key)
	if err != nil {
		return nil, err
	}
	if r.issuer == "" {
		r.issuer = "issuing"
	}
	if r.from == 0 && r.to == 0 {
		r.from, r.to = -12, 24
	}
	by := p.cas[r.issuer]
	req := p.request(name, r)
	req.PublicKey = key.Public()
	cert, err := by.Signer(req, r.statements(p))
	if err != nil {
		return nil, err
	}
	if r.revoked != 0 {
		p.revoked[cert.SerialNumber.String()] = ca.Revoked{
			Serial: cert.SerialNumber, At: p.Now().AddDate(0, r.revoked, 0), Reason: r.reason,
		}
	}
	chain := []*x509.Certificate{by.Certificate}
	if by.name != "rogue" {
		chain = append(chain, p.Root)
	}
	return &Actor{Name: name, Certificate: cert, Key: key, Chain: chain}, nil
}

func (p *PKI) request(name string, r role) ca.Request {
	now := p.Now()
	req := ca.Request{
		Subject: ca.Name{
			Country: "IT", Surname: "Tester", GivenName: name, SerialNumber: "TINIT-TSTTST80A01H501T",
			CommonName: "Tester " + name,
		},
		NotBefore: now.AddDate(0, r.from, 0), NotAfter: now.AddDate(0, r.to, 0), Usage: r.usage,
		IssuerCertificate: p.URL("/ca/" + r.issuer + ".cer"),
	}
	if r.seal {
		req.Subject = ca.Name{
			Country: "IT", Organization: "Test Company", OrganizationIdentifier: "VATIT-01234567890",
			CommonName: "Test Company Seal",
		}
	}
	switch {
	case r.noneAtAll:
	case r.list:
		req.CRL = p.URL("/crl/" + r.issuer + ".crl")
	default:
		req.OCSP = p.URL("/ocsp/" + r.issuer)
	}
	if !r.plain {
		req.Policies = []string{oid.PolicyQCPnQSCD}
		if r.seal {
			req.Policies = []string{oid.PolicyQCPlQSCD}
		}
	}
	return req
}

func (r role) statements(p *PKI) *ca.Statements {
	if r.plain {
		return nil
	}
	return &ca.Statements{
		Seal: r.seal, Device: !r.withoutSCD, Retention: 20,
		Disclosures: []ca.Disclosure{{URL: p.URL("/pds-en.pdf"), Language: "en"}, {URL: p.URL("/pds-it.pdf"), Language: "it"}},
	}
}

// Revoke makes an actor's certificate revoked from now on.
func (p *PKI) Revoke(a *Actor, reason int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revoked[a.Certificate.SerialNumber.String()] = ca.Revoked{
		Serial: a.Certificate.SerialNumber, At: p.Now(), Reason: reason,
	}
}
