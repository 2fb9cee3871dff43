package cns

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cns/demo"
)

// issuers are an authority of cards and one that only looks like it.
type issuers struct{ good, other *demo.Authority }

func newIssuers(t *testing.T) issuers {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	made := map[string]*demo.Authority{}
	for _, name := range []string{"good", "other"} {
		a, err := demo.NewAuthority("CA Carta Nazionale dei Servizi", srv.URL+"/"+name+".crl", time.Now)
		if err != nil {
			t.Fatal(err)
		}
		mux.Handle("/"+name+".crl", a)
		made[name] = a
	}
	return issuers{made["good"], made["other"]}
}

var mario = demo.Card{Code: "RSSMRA80A01H501U", GivenName: "MARIO", Surname: "ROSSI"}

func changed(c demo.Card, change func(*x509.Certificate)) demo.Card {
	c.Change = change
	return c
}

func TestCards(t *testing.T) {
	i := newIssuers(t)
	m, err := New(Config{}, Deps{Client: http.DefaultClient, Listed: func() [][]byte { return [][]byte{i.good.Certificate.Raw} }})
	if err != nil {
		t.Fatal(err)
	}
	inSerial := mario
	inSerial.InSerial = true
	order := identify.Order{Ordered: identify.Attributes{GivenName: "Mario", Surname: "Rossi", FiscalCode: "RSSMRA80A01H501U"}}
	for _, one := range []struct {
		name   string
		by     *demo.Authority
		card   demo.Card
		revoke bool
		reason string // "": it identifies
	}{
		{name: "fiscal code in the common name", card: mario},
		{name: "fiscal code in the serial number", card: inSerial},
		{name: "expired", card: changed(mario, func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
		}), reason: "expired"},
		{name: "of tomorrow", card: changed(mario, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(24 * time.Hour) }), reason: "expired"},
		{name: "revoked", card: mario, revoke: true, reason: "revoked"},
		{name: "of a look-alike of the same name", by: i.other, card: mario, reason: "issuer"},
		{name: "no clientAuth", card: changed(mario, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection} }), reason: "kind"},
		{name: "no extended key usage", card: changed(mario, func(c *x509.Certificate) { c.ExtKeyUsage = nil }), reason: "kind"},
		{name: "any extended key usage", card: changed(mario, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} }), reason: "kind"},
		{name: "for signing documents", card: changed(mario, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageContentCommitment }), reason: "kind"},
		{name: "no policy", card: changed(mario, func(c *x509.Certificate) { c.PolicyIdentifiers, c.Policies = nil, nil }), reason: "kind"},
		{name: "another policy", card: changed(mario, func(c *x509.Certificate) {
			c.PolicyIdentifiers, c.Policies = []asn1.ObjectIdentifier{{1, 3, 76, 16, 2, 2}}, []x509.OID{oid(1, 3, 76, 16, 2, 2)}
		}), reason: "kind"},
		{name: "no address of revocation data", card: changed(mario, func(c *x509.Certificate) { c.CRLDistributionPoints = nil }), reason: "revocation"},
		{name: "revocation data that cannot be had", card: changed(mario, func(c *x509.Certificate) { c.CRLDistributionPoints = []string{"http://127.0.0.1:1/crl"} }), reason: "revocation"},
		{name: "the list of another", card: changed(mario, func(c *x509.Certificate) {
			c.CRLDistributionPoints = []string{strings.Replace(c.CRLDistributionPoints[0], "good", "other", 1)}
		}), reason: "revocation"},
		{name: "a fiscal code elsewhere", card: changed(mario, func(c *x509.Certificate) {
			c.Subject = pkix.Name{CommonName: "MARIO ROSSI", SerialNumber: "RSSMRA80A01H501U", OrganizationalUnit: []string{"RSSMRA80A01H501U/1"}}
		}), reason: "code"},
		{name: "a common name without a slash", card: changed(mario, func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: "RSSMRA80A01H501U"} }), reason: "code"},
		{name: "two fiscal codes", card: changed(mario, func(c *x509.Certificate) { c.Subject.SerialNumber = "TINIT-BNCGRG80A41H501X" }), reason: "code"},
		{name: "two common names", card: changed(mario, func(c *x509.Certificate) {
			for _, cn := range []string{"RSSMRA80A01H501U/1", "BNCGRG80A41H501X/1"} {
				c.Subject.ExtraNames = append(c.Subject.ExtraNames, pkix.AttributeTypeAndValue{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: cn})
			}
		}), reason: "code"},
		{name: "a foreign tax number", card: changed(mario, func(c *x509.Certificate) {
			c.Subject = pkix.Name{CommonName: "x", SerialNumber: "TINDE-RSSMRA80A01H501U"}
		}), reason: "code"},
	} {
		by := one.by
		if by == nil {
			by = i.good
		}
		card, err := by.Issue(one.card)
		if err != nil {
			t.Fatalf("%s: %v", one.name, err)
		}
		if one.revoke {
			if err := by.Revoke(card); err != nil {
				t.Fatal(err)
			}
		}
		a, err := m.Finish(context.Background(), nil, show(card))
		var r *identify.Refusal
		switch {
		case one.reason != "":
			if !errors.As(err, &r) || r.Reason != one.reason || r.Italian == "" {
				t.Errorf("%s: %v, want %s", one.name, err, one.reason)
			}
		case err != nil:
			t.Errorf("%s: %v", one.name, err)
		default:
			if _, err := order.Settle(a.Proof); err != nil {
				t.Errorf("%s: %v", one.name, err)
			}
			if !strings.Contains(a.Proof.Issuer, "CA Carta Nazionale dei Servizi") || len(a.Files) != 2 || a.Files[1].Name != "revocation-1.crl" {
				t.Errorf("%s: %+v", one.name, a)
			}
			_, err := identify.Order{Ordered: identify.Attributes{FiscalCode: "BNCGRG80A41H501X"}}.Settle(a.Proof)
			if !errors.Is(err, fault.NotTheApplicant) {
				t.Errorf("%s: another's order: %v", one.name, err)
			}
		}
	}
}

// Without a network no card is accepted, and one in the operator's files is an
// issuer as well.
func TestCardsOffline(t *testing.T) {
	i := newIssuers(t)
	m, err := New(Config{}, Deps{}, i.good.Certificate.Raw)
	if err != nil {
		t.Fatal(err)
	}
	card, err := i.good.Issue(mario)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Finish(context.Background(), nil, show(card))
	var r *identify.Refusal
	if !errors.As(err, &r) || r.Reason != "revocation" {
		t.Errorf("%v", err)
	}
}

func show(card *tls.Certificate) url.Values {
	v := url.Values{"request": {"r"}}
	for _, der := range card.Certificate {
		v.Add("certificate", string(der))
	}
	return v
}

func oid(n ...uint64) x509.OID {
	o, err := x509.OIDFromInts(n)
	if err != nil {
		panic(err)
	}
	return o
}

func TestFromHeader(t *testing.T) {
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("a+b")}))
	for value, want := range map[string]string{
		url.PathEscape(text): "a+b",
		":" + base64.StdEncoding.EncodeToString([]byte("a+b")) + ":": "a+b",
		":" + base64.StdEncoding.EncodeToString([]byte("a+b")):       "",
		"": "", "::": "", "%zz": "", text: "a+b",
	} {
		got := ""
		if all := FromHeader([]string{value}); len(all) == 1 {
			got = string(all[0])
		}
		if got != want {
			t.Errorf("%q: %q", value, got)
		}
	}
	if FromHeader([]string{url.PathEscape(text), url.PathEscape(text)}) != nil {
		t.Error("a header that stands there twice is believed")
	}
}

func FuzzFromHeader(f *testing.F) {
	f.Add(":YWI=:")
	f.Add("-----BEGIN%20CERTIFICATE-----%0AYWI%3D%0A-----END%20CERTIFICATE-----")
	f.Fuzz(func(_ *testing.T, s string) { FromHeader([]string{s}) })
}
