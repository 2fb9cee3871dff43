// Package spid identifies people by SPID, the Italian public system of digital
// identity: a service provider of SAML 2.0 under the rules of AgID (Regole
// tecniche SPID and the notices to providers).
//
// An answer is judged on the very elements that were verified. An element that
// is not expected, or is there twice, makes the whole answer one that is not
// believed. Nothing is encrypted: SPID encrypts no assertions.
package spid

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/spid/saml"
)

// Config is the part of the configuration below identify.spid.
type Config struct {
	EntityID     string       `yaml:"entity_id" doc:"SPID: name of this service provider as agreed with AgID, an https address; empty: SPID is not offered"`
	Key          string       `yaml:"key" doc:"SPID: file with the RSA key (PEM) that signs requests and metadata"`
	Certificate  string       `yaml:"certificate" doc:"SPID: file with its certificate (PEM); further ones are published too, for the time in which a key is replaced"`
	IDPMetadata  []string     `yaml:"idp_metadata" doc:"SPID: metadata of identity providers, files or addresses, read again daily"`
	Level        int          `yaml:"level" doc:"SPID: level asked for, 2 or 3"`
	Button       string       `yaml:"button" doc:"SPID: file with the operator's copy of the official logo for the button Entra con SPID (PNG or SVG, at most 256 kB); empty: the button has the words only"`
	Organization Organization `yaml:"organization"`
	Contact      Contact      `yaml:"contact"`
	Billing      Billing      `yaml:"billing"`
}

// Organization in the metadata.
type Organization struct {
	Name        string `yaml:"name" doc:"SPID: full name of the organisation, as in the agreement"`
	DisplayName string `yaml:"display_name" doc:"SPID: name that people are shown; empty: name"`
	URL         string `yaml:"url" doc:"SPID: address of the organisation's site"`
}

// Contact in the metadata.
type Contact struct {
	Email      string `yaml:"email" doc:"SPID: address for AgID and the identity providers, not a person's own"`
	Telephone  string `yaml:"telephone" doc:"SPID: telephone number, +39..."`
	IPACode    string `yaml:"ipa_code" doc:"SPID: code in the index of public administrations; empty: the provider is a private one"`
	VATNumber  string `yaml:"vat_number" doc:"SPID: VAT number with its country, IT..."`
	FiscalCode string `yaml:"fiscal_code" doc:"SPID: tax code of the organisation"`
}

// private says that the provider is no public administration.
func (c *Contact) private() bool { return c.IPACode == "" }

// Billing of a private provider in the metadata.
type Billing struct {
	Name       string `yaml:"name" doc:"SPID: who is invoiced (private providers)"`
	VATNumber  string `yaml:"vat_number" doc:"SPID: VAT number with its country"`
	Address    string `yaml:"address" doc:"SPID: street and number"`
	PostalCode string `yaml:"postal_code" doc:"SPID: postal code, five digits"`
	City       string `yaml:"city" doc:"SPID: city"`
	Province   string `yaml:"province" doc:"SPID: province, two letters"`
	Email      string `yaml:"email" doc:"SPID: address for invoices"`
}

// DefaultLevel is what the configuration asks for unless it says otherwise.
const DefaultLevel = 2

// Deps are what the method needs.
type Deps struct {
	Client    *http.Client // for metadata; the guarded one
	Now       func() time.Time
	Log       *slog.Logger
	PublicURL string
	// AllowHTTP says for which hosts (HOST:PORT) plain http is good enough, for
	// metadata and for the addresses in it; nil: for this machine only.
	AllowHTTP func(host string) bool
}

// SPID is the method. It implements identify.Method.
type SPID struct {
	cfg      Config
	deps     Deps
	signer   saml.Signer
	certs    []*pkix.Certificate // ours; the first is of the key
	sources  []*source
	metadata []byte
	acs, slo string
}

var _ identify.Method = (*SPID)(nil)

// New reads key and certificate and makes the metadata. What is wrong with the
// configuration is an error that names the key. The metadata of identity
// providers are read when they are first wanted: without them the server runs
// and SPID is not offered.
func New(cfg Config, deps Deps) (*SPID, error) {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Client == nil {
		deps.Client = &http.Client{Timeout: loadTime}
	}
	if deps.AllowHTTP == nil {
		deps.AllowHTTP = thisMachine
	}
	base := strings.TrimSuffix(deps.PublicURL, "/")
	s := &SPID{cfg: cfg, deps: deps, acs: base + "/spid/acs", slo: base + "/spid/slo"}
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := s.readKey(); err != nil {
		return nil, err
	}
	for _, at := range cfg.IDPMetadata {
		s.sources = append(s.sources, &source{at: at})
	}
	var err error
	s.metadata, err = s.makeMetadata()
	return s, err
}

// Name of the method.
func (s *SPID) Name() string { return "spid" }

// LevelURI is how SPID writes a level.
func LevelURI(level int) string { return fmt.Sprintf("https://www.spid.gov.it/SpidL%d", level) }

func (s *SPID) now() time.Time { return s.deps.Now().UTC() }

func wrong(key, format string, args ...any) error {
	return fmt.Errorf("identify.spid.%s %s", key, fmt.Sprintf(format, args...))
}

var (
	mail  = regexp.MustCompile(`^[\w.+-]+@[\w.-]+\.\w{2,24}$`)
	vat   = regexp.MustCompile(`^[A-Z]{2}[0-9A-Za-z]{2,28}$`)
	cap5  = regexp.MustCompile(`^[0-9]{5}$`)
	two   = regexp.MustCompile(`^[A-Z]{2}$`)
	phone = regexp.MustCompile(`^\+?[0-9]{5,20}$`)
)

// check holds the configuration against the rules for metadata (AgID, notice
// 29), so that a wrong one is noticed here and not by AgID.
func (s *SPID) check() error {
	c := &s.cfg
	if c.Level != 2 && c.Level != 3 {
		return wrong("level", "must be 2 or 3, not %d", c.Level)
	}
	if u, err := url.Parse(c.EntityID); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return wrong("entity_id", "must be an https address")
	}
	for _, at := range c.IDPMetadata {
		if u, err := url.Parse(at); err == nil && u.Scheme == "http" && !s.deps.AllowHTTP(u.Host) {
			return wrong("idp_metadata", "must be a file or an https address: %s", at)
		}
	}
	c.Contact.Telephone = strings.ReplaceAll(c.Contact.Telephone, " ", "")
	c.Contact.VATNumber, c.Billing.VATNumber = withCountry(c.Contact.VATNumber), withCountry(c.Billing.VATNumber)
	for _, f := range []struct {
		key, value string
		need       bool
		form       *regexp.Regexp
	}{
		{"organization.name", c.Organization.Name, true, nil},
		{"organization.url", c.Organization.URL, true, nil},
		{"contact.email", c.Contact.Email, true, mail},
		{"contact.telephone", c.Contact.Telephone, false, phone},
		{"contact.vat_number", c.Contact.VATNumber, false, vat},
	} {
		if f.value == "" && f.need {
			return wrong(f.key, "is missing")
		}
		if f.value != "" && f.form != nil && !f.form.MatchString(f.value) {
			return wrong(f.key, "is not well-formed")
		}
	}
	if c.Contact.private() {
		return s.checkPrivate()
	}
	return nil
}

func (s *SPID) checkPrivate() error {
	c, b := &s.cfg.Contact, &s.cfg.Billing
	if c.VATNumber == "" && c.FiscalCode == "" {
		return wrong("contact.vat_number", "or contact.fiscal_code is missing")
	}
	for _, f := range []struct {
		key, value string
		form       *regexp.Regexp
	}{
		{"billing.name", b.Name, nil},
		{"billing.vat_number", b.VATNumber, vat},
		{"billing.address", b.Address, nil},
		{"billing.postal_code", b.PostalCode, cap5},
		{"billing.city", b.City, nil},
		{"billing.email", b.Email, mail},
	} {
		if f.value == "" {
			return wrong(f.key, "is missing (private providers)")
		}
		if f.form != nil && !f.form.MatchString(f.value) {
			return wrong(f.key, "is not well-formed")
		}
	}
	if b.Province != "" && !two.MatchString(b.Province) {
		return wrong("billing.province", "must be two capital letters")
	}
	return nil
}

// withCountry puts IT before an Italian number.
func withCountry(number string) string {
	number = strings.ReplaceAll(number, " ", "")
	if number != "" && strings.Trim(number, "0123456789") == "" {
		return "IT" + number
	}
	return number
}

// readKey reads the key and its certificates. The first certificate in the
// file need not be that of the key: while a key is replaced, the old and the
// new certificate are there together.
func (s *SPID) readKey() error {
	text, err := os.ReadFile(s.cfg.Key)
	if err != nil {
		return wrong("key", "cannot be read: %v", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return wrong("key", "is not a PEM file")
	}
	var parsed any
	if parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
		parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	key, isRSA := parsed.(*rsa.PrivateKey)
	if err != nil || !isRSA || key.N.BitLen() < 2048 {
		return wrong("key", "is not an RSA key of 2048 bits or more, without password")
	}
	if text, err = os.ReadFile(s.cfg.Certificate); err != nil {
		return wrong("certificate", "cannot be read: %v", err)
	}
	spki, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return wrong("key", "cannot be used: %v", err)
	}
	for block, text = pem.Decode(text); block != nil; block, text = pem.Decode(text) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := pkix.ParseCertificate(block.Bytes)
		if err != nil {
			return wrong("certificate", "cannot be read: %v", err)
		}
		if len(s.signer.Certificate) == 0 && bytes.Equal(c.RawSPKI, spki) {
			s.signer = saml.Signer{Key: key, Certificate: c.Raw}
			s.certs = append([]*pkix.Certificate{c}, s.certs...)
		} else {
			s.certs = append(s.certs, c)
		}
	}
	if s.signer.Key == nil {
		return wrong("certificate", "has no certificate of identify.spid.key")
	}
	return nil
}

// secure says whether an address may be talked to.
func (s *SPID) secure(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || strings.ContainsAny(raw, " \"'<>\\") {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && s.deps.AllowHTTP(u.Host)
}

func thisMachine(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Providers are the identity providers whose metadata count now.
func (s *SPID) Providers(ctx context.Context) []identify.Provider {
	var out []identify.Provider
	for _, p := range s.providers(ctx) {
		out = append(out, identify.Provider{ID: p.entity, Name: p.name})
	}
	return out
}

// errProvider means that there is no such identity provider now.
var errProvider = errors.New("unknown identity provider")

func (s *SPID) provider(ctx context.Context, entity string) (*provider, error) {
	for _, p := range s.providers(ctx) {
		if p.entity == entity {
			return p, nil
		}
	}
	return nil, errProvider
}
