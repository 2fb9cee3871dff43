// Package provider is a remote signing service for tests: the Cloud Signature Consortium API in
// versions 1.0.4.0 and 2.0.0.2, with OAuth, over TLS on loopback. It was written from the
// specification by an author who had not read Rogito's client, so that the two can disagree.
//
// It is strict: whatever the specification demands of a client and is not done
// is refused where the specification says so, and noted (Complaints). It
// records every call, so that a test can ask whether a hash was sent again
// that may have been signed already (Repeated). Its faults are in faults.go.
package provider

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"rogito.dev/rogito/adestest"
)

// The algorithms by their object identifiers.
const (
	oidRSA       = "1.2.840.113549.1.1.1"
	oidPSS       = "1.2.840.113549.1.1.10"
	oidRSASHA256 = "1.2.840.113549.1.1.11"
	oidRSASHA384 = "1.2.840.113549.1.1.12"
	oidRSASHA512 = "1.2.840.113549.1.1.13"
	oidEC        = "1.2.840.10045.2.1"
	oidECSHA256  = "1.2.840.10045.4.3.2"
	oidECSHA384  = "1.2.840.10045.4.3.3"
	oidECSHA512  = "1.2.840.10045.4.3.4"
	oidSHA256    = "2.16.840.1.101.3.4.2.1"
	oidSHA384    = "2.16.840.1.101.3.4.2.2"
	oidSHA512    = "2.16.840.1.101.3.4.2.3"
	oidP256      = "1.2.840.10045.3.1.7"
)

// Client is who may ask for tokens.
type Client struct {
	ID, Secret string
	Redirects  []string
}

// Credential is a key with its certificate and the way to activate it.
type Credential struct {
	ID         string
	Actor      *adestest.Actor
	User       string   // whose it is
	Mode       string   // implicit, explicit
	PIN        string   // "" for none
	OTP        string   // the secret of the one-time passwords (see Code); "" for none
	SCAL       string   // "1" or "2"
	Multisign  int      // hashes in one call
	KeyStatus  string   // enabled, disabled
	Status     string   // valid, expired, suspended, revoked
	Algorithms []string // nil: hash-specific identifiers of the key's kind
	SADLife    time.Duration

	otps []string // accepted once each
}

// Code is a one-time password that the credential will take, once. It stands
// for what the holder's device shows.
func (p *Provider) Code(credential string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := make([]byte, 4)
	_, _ = rand.Read(b)
	n := uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
	code := fmt.Sprintf("%06d", n%1000000)
	c := p.credentials[credential]
	c.otps = append(c.otps, code)
	return code
}

// Provider is a running service.
type Provider struct {
	PKI        *adestest.PKI
	Client     Client
	FixedToken string // a token that does not end, for clients with a fixed one
	TokenLife  time.Duration
	Hang       time.Duration // how long a hanging answer hangs
	Delay      time.Duration // before each answer of signHash: the work of a device
	Chain      string        // of certificates in credentials/info: see chain

	api *httptest.Server // the service
	pki *httptest.Server // revocation data and time-stamps, over plain HTTP

	mu          sync.Mutex
	credentials map[string]*Credential
	order       []string
	bearers     map[string]*bearer
	refreshes   map[string]*bearer
	codes       map[string]*grant
	pushed      map[string]map[string][]string
	sads        map[string]*sad
	calls       []*Call
	complaints  []string
	faults      []*active
	extra       int                   // credentials made by Another
	saved       map[string]Credential // before the first fault was switched on
}

// bearer is an access token.
type bearer struct {
	user  string // "" for a client of its own
	scope string
	until time.Time
	ended bool
}

// sad is signature activation data.
type sad struct {
	credential string
	user       string
	token      string
	hashes     []string // in the order authorised; nil where SCAL is 1 and none were named
	left       int
	until      time.Time
	used       map[string]int
}

// Start starts a provider with one credential for each kind of key.
func Start() (*Provider, error) {
	p := &Provider{
		Client: Client{ID: "rogito", Secret: "client-secret-" + random(8)}, FixedToken: "fixed-" + random(16),
		TokenLife: time.Hour, Hang: time.Minute,
		credentials: map[string]*Credential{}, bearers: map[string]*bearer{}, refreshes: map[string]*bearer{},
		codes: map[string]*grant{}, pushed: map[string]map[string][]string{}, sads: map[string]*sad{},
	}
	p.pki = httptest.NewUnstartedServer(nil)
	var err error
	if p.PKI, err = adestest.New(nil, "http://"+p.pki.Listener.Addr().String()); err != nil {
		return nil, err
	}
	p.pki.Config.Handler = p.PKI.Handler()
	p.pki.Start()
	p.api = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.api.Config.ErrorLog = log.New(io.Discard, "", 0) // cut connections are the purpose
	p.api.StartTLS()
	for _, c := range []struct{ id, actor string }{
		{"rsa", "good"}, {"rsa3072", "rsa3072"}, {"p256", "p256"}, {"seal", "eseal"}, {"plain", "advanced"},
	} {
		if err := p.Add(c.id, c.actor, nil); err != nil {
			p.Close()
			return nil, err
		}
	}
	for _, id := range []string{"rsa", "p256"} {
		err := p.Add(id+"-otp", map[string]string{"rsa": "both-usages", "p256": "second"}[id], func(c *Credential) { c.OTP = "yes" })
		if err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// Add makes a credential with a certificate of the cast of adestest, explicit
// with a PIN, SCAL 2, ten hashes at once, of a user who has its name.
func (p *Provider) Add(id, actor string, change func(*Credential)) error {
	a, err := p.PKI.Enter(actor)
	if err != nil {
		return err
	}
	c := &Credential{
		ID: id, Actor: a, User: id, Mode: "explicit", PIN: "pin-" + random(4), SCAL: "2", Multisign: 10,
		KeyStatus: "enabled", Status: "valid", SADLife: 5 * time.Minute,
	}
	if change != nil {
		change(c)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.credentials[id] = c
	p.order = append(p.order, id)
	return nil
}

// Another makes a credential like one that is there, with a key, a PIN and a
// user of its own, and returns its identifier.
func (p *Provider) Another(like string) (string, error) {
	p.mu.Lock()
	old := *p.credentials[like]
	p.extra++
	id, actor := fmt.Sprintf("%s-%d", like, p.extra), fmt.Sprintf("%s#%d", old.Actor.Name, p.extra)
	p.mu.Unlock()
	err := p.Add(id, actor, func(c *Credential) {
		c.Mode, c.OTP, c.SCAL, c.Multisign, c.Algorithms, c.SADLife = old.Mode, old.OTP, old.SCAL, old.Multisign, old.Algorithms, old.SADLife
	})
	return id, err
}

// Credential is one by its identifier; Change changes it.
func (p *Provider) Credential(id string) Credential {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *p.credentials[id]
}

// Change changes a credential while the provider runs.
func (p *Provider) Change(id string, change func(*Credential)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p.credentials[id])
}

// Close ends the service.
func (p *Provider) Close() {
	p.api.CloseClientConnections()
	p.api.Close()
	p.pki.Close()
}

// URL is the base of the API in version 1 or 2.
func (p *Provider) URL(version int) string { return fmt.Sprintf("%s/csc/v%d", p.api.URL, version) }

// PlainURL is a base whose version only info tells, in another release of the
// specification; the address of its OAuth ends with a slash.
func (p *Provider) PlainURL(version int) string {
	return p.api.URL + map[int]string{1: "/one", 2: "/two"}[version]
}

// PKIAddress is the host and port of revocation data and time-stamps.
func (p *Provider) PKIAddress() string { return p.pki.Listener.Addr().String() }

// Address is the host and port of the service.
func (p *Provider) Address() string { return p.api.Listener.Addr().String() }

// Browser is a client that trusts the provider's TLS certificate.
func (p *Provider) Browser() *http.Client { return p.api.Client() }

// CA is the PEM of the certificate that the provider's TLS is trusted by.
func (p *Provider) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.api.Certificate().Raw})
}

// algorithms are the identifiers in key.algo.
func (c *Credential) algorithms() []string {
	switch {
	case c.Algorithms != nil:
		return c.Algorithms
	case c.rsa():
		return []string{oidRSASHA256, oidRSASHA384, oidRSASHA512}
	}
	return []string{oidECSHA256, oidECSHA384, oidECSHA512}
}

func (c *Credential) rsa() bool {
	_, ok := c.Actor.Key.Public().(*rsa.PublicKey)
	return ok
}

func (c *Credential) usable() bool { return c.KeyStatus == "enabled" && c.Status == "valid" }

// chain is the certificates as credentials/info has them: the signer's first.
// The parts of a broken one are named by Provider.Chain.
func (p *Provider) chain(c *Credential, which string) []string {
	list := [][]byte{c.Actor.Certificate.Raw}
	if which == "chain" {
		for _, one := range c.Actor.Chain {
			list = append(list, one.Raw)
		}
	}
	switch last := len(list) - 1; p.Chain {
	case "reversed":
		slices.Reverse(list)
	case "shuffled":
		if last > 1 {
			list[1], list[last] = list[last], list[1]
		}
	case "no-root":
		list = list[:max(last, 1)]
	case "leaf-only":
		list = list[:1]
	case "wrong-leaf":
		if other, err := p.PKI.Enter("third"); err == nil {
			list[0] = other.Certificate.Raw
		}
	case "foreign-issuer":
		if other, err := p.PKI.Enter("unknown-issuer"); err == nil {
			list = [][]byte{list[0], other.Chain[0].Raw}
		}
	case "twice":
		list = append(list, list...)
	case "garbage":
		list = [][]byte{[]byte("this is no certificate")}
	case "none":
		list = nil
	}
	out := make([]string, 0, len(list))
	for _, one := range list {
		out = append(out, base64.StdEncoding.EncodeToString(one))
	}
	return out
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// hashes by object identifier.
var hashes = map[string]crypto.Hash{oidSHA256: crypto.SHA256, oidSHA384: crypto.SHA384, oidSHA512: crypto.SHA512}

// implied is the hash that a signature algorithm names by itself.
var implied = map[string]crypto.Hash{
	oidRSASHA256: crypto.SHA256, oidRSASHA384: crypto.SHA384, oidRSASHA512: crypto.SHA512,
	oidECSHA256: crypto.SHA256, oidECSHA384: crypto.SHA384, oidECSHA512: crypto.SHA512,
}
