package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	stdpkix "crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net/url"
	"slices"
	"testing"
	"time"

	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/pkix"
)

// TestExcludedNames: what an authority must not name, it must not name in another spelling either.
func TestExcludedNames(t *testing.T) {
	excluded := stdpkix.Name{Organization: []string{"Strasse"}}
	name, err := asn1.Marshal(excluded.ToRDNSequence())
	if err != nil {
		t.Fatal(err)
	}
	// NameConstraints with excludedSubtrees of a directoryName and of mail at evil.example.
	wrap := func(class, tag int, parts ...[]byte) []byte {
		der, err := asn1.Marshal(asn1.RawValue{Class: class, Tag: tag, IsCompound: true, Bytes: slices.Concat(parts...)})
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	subtree := func(base []byte) []byte { return wrap(0, asn1.TagSequence, base) }
	text := func(tag int, s string) []byte {
		return append([]byte{0x80 | byte(tag), byte(len(s))}, s...)
	}
	constraints := wrap(0, asn1.TagSequence, wrap(2, 1, subtree(wrap(2, 4, name)), subtree(text(1, "evil.example")), subtree(text(6, "evil.example"))))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	issue := func(c, by *x509.Certificate) *pkix.Certificate {
		c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(now.UnixNano()), now, now.AddDate(1, 0, 0)
		der, err := x509.CreateCertificate(rand.Reader, c, by, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		out, err := pkix.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	root := &x509.Certificate{
		Subject: stdpkix.Name{CommonName: "Root"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		ExtraExtensions: []stdpkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 30}, Critical: true, Value: constraints}},
	}
	anchor := issue(root, root)
	at := func(u string) []*url.URL {
		parsed, err := url.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		return []*url.URL{parsed}
	}
	organization := func(s string) *x509.Certificate {
		return &x509.Certificate{Subject: stdpkix.Name{Organization: []string{s}}}
	}
	mailbox := func(s string) *x509.Certificate {
		id, err := asn1.Marshal(asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 8, 9})
		if err != nil {
			t.Fatal(err)
		}
		utf8 := append([]byte{0x0c, byte(len(s))}, s...)
		san := wrap(0, asn1.TagSequence, wrap(2, 0, id, wrap(2, 0, utf8)))
		return &x509.Certificate{Subject: stdpkix.Name{CommonName: "A"}, ExtraExtensions: []stdpkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: san}}}
	}
	withMail := func(subject, alternative string) *x509.Certificate {
		c := &x509.Certificate{Subject: stdpkix.Name{ExtraNames: []stdpkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}, Value: subject}}}}
		if alternative != "" {
			c.EmailAddresses = []string{alternative}
		}
		return c
	}
	for what, c := range map[string]struct {
		leaf    *x509.Certificate
		refused bool
	}{
		"another organization":                 {organization("Strada"), false},
		"the organization":                     {organization("Strasse"), true},
		"in capitals":                          {organization("STRASSE"), true},
		"with a sharp s":                       {organization("Straße"), true},
		"with a joiner that nobody sees":       {organization("Stra\u200dsse"), true},
		"with a variation selector":            {organization("Stra\ufe0fsse"), true},
		"mail elsewhere":                       {withMail("a@good.example", "b@good.example"), false},
		"mail":                                 {withMail("a@evil.example", ""), true},
		"mail, another as alternative":         {withMail("a@evil.example", "b@good.example"), true},
		"mail as alternative":                  {withMail("a@good.example", "b@evil.example"), true},
		"mail at the name from the root":       {withMail("a@evil.example.", ""), true},
		"mail in UTF-8 elsewhere":              {mailbox("à@good.example"), false},
		"mail in UTF-8":                        {mailbox("à@evil.example"), true},
		"an address elsewhere":                 {&x509.Certificate{Subject: stdpkix.Name{CommonName: "A"}, URIs: at("https://good.example/")}, false},
		"an address":                           {&x509.Certificate{Subject: stdpkix.Name{CommonName: "A"}, URIs: at("https://evil.example/")}, true},
		"an address at the name from the root": {&x509.Certificate{Subject: stdpkix.Name{CommonName: "A"}, URIs: at("https://evil.example./")}, true},
	} {
		problems := validate([]*pkix.Certificate{issue(c.leaf, root), anchor}, true, false, newWork(t.Context()))
		if refused := len(problems) == 1 && problems[0].Code == finding.NameForbidden.Code; refused != c.refused || len(problems) > 1 {
			t.Errorf("%s: %v", what, problems)
		}
	}
}
