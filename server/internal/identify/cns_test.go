package identify_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/url"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/identify/cns/demo"
	"rogito.dev/rogito/server/servertest/sitetest"
)

func TestCardIdentifies(t *testing.T) {
	t.Parallel()
	s, authority := cardSite(t)
	for _, inSerial := range []bool{false, true} {
		card, err := authority.Issue(demo.Card{Code: "PRVLSE80A41H501X", GivenName: "ELSA", Surname: "PROVA", InSerial: inSerial})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Buy("automatic", m{"identification": "cns", "subject": sitetest.Elsa["subject"]})
		browser := reader(t, card)
		status, page := s.Read(browser, s.CardLink(browser, c))
		if status != 200 || !strings.Contains(page, `id="reveal"`) || s.CertificateState(c.ID) != "DONE" {
			t.Fatalf("%d %s %s", status, s.CertificateState(c.ID), page)
		}
		if page := s.PageOf(aBrowser(t), c.CertificateLink, url_("action", "reveal")); element(page, "certificate-password") != "" {
			t.Error("a browser that showed no card sees the credentials")
		}
		if page := s.PageOf(browser, c.CertificateLink, url_("action", "reveal")); element(page, "certificate-password") == "" {
			t.Errorf("no credentials: %s", page)
		}
	}
	s.VerifyAudit()
}

// A visit without a card, or with a header that any client can send, is not counted as a try; a
// wrong card is.
func TestCardRefused(t *testing.T) {
	t.Parallel()
	s, authority := cardSite(t)
	issue := func(c demo.Card) *tls.Certificate {
		card, err := authority.Issue(c)
		if err != nil {
			t.Fatal(err)
		}
		return card
	}
	good := issue(demo.Card{Code: "PRVLSE80A41H501X", GivenName: "ELSA", Surname: "PROVA"})
	c := s.Buy("automatic", m{"identification": "cns", "subject": sitetest.Elsa["subject"]})
	nobody := reader(t, nil)
	link := s.CardLink(nobody, c)
	text := url.PathEscape(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: good.Certificate[0]})))
	for range 7 {
		for _, header := range [][]string{nil, {"X-Card", text}, {"X-Card", text, "X-Forwarded-For", "127.0.0.1"}, {"X-Card", ":" + base64.StdEncoding.EncodeToString(good.Certificate[0]) + ":"}} {
			status, page := s.Read(nobody, link, append(header, "Accept-Language", "it")...)
			if status != 422 || !strings.Contains(page, `data-code="313"`) || !strings.Contains(page, "nessuna carta") || !strings.Contains(page, c.CertificateLink) {
				t.Fatalf("no card, header %v: %d %s", header, status, page)
			}
			main := strings.Replace(link, s.Config.Identify.CNS.URL, s.URL, 1)
			if status, page := s.Read(nobody, main, header...); status != 422 || !strings.Contains(page, "no card") {
				t.Fatalf("at the main listener: %d %s", status, page)
			}
		}
	}
	if s.CertificateState(c.ID) != "NEW" {
		t.Errorf("a visit without a card is a try: %s", s.CertificateState(c.ID))
	}
	revoked := issue(demo.Card{Code: "PRVLSE80A41H501X", GivenName: "ELSA", Surname: "PROVA"})
	if err := authority.Revoke(revoked); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		card *tls.Certificate
		code string
		text string
	}{
		{issue(demo.Card{Code: "BNCGRG80A41H501X", GivenName: "ELSA", Surname: "PROVA"}), "312", "Fiscal code"},
		{issue(demo.Card{Code: "PRVLSE80A41H501X", GivenName: "GIORGIA", Surname: "PROVA"}), "312", "Given name"},
		{revoked, "313", "revoked"},
		{issue(demo.Card{Code: "PRVLSE80A41H501X", GivenName: "ELSA", Surname: "PROVA", Change: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Second) }}), "313", "expired"},
	} {
		// The header of a good card does not help a bad one.
		status, page := s.Read(reader(t, one.card), link, "X-Card", text)
		if status != 422 || !strings.Contains(page, `data-code="`+one.code+`"`) || !strings.Contains(page, one.text) || s.CertificateState(c.ID) != "REGISTERING" {
			t.Errorf("%s: %d %s %s", one.text, status, s.CertificateState(c.ID), page)
		}
	}
	browser := reader(t, good)
	if status, _ := s.Read(browser, link); status != 200 || s.CertificateState(c.ID) != "DONE" {
		t.Errorf("after four refusals the good one: %d %s", status, s.CertificateState(c.ID))
	}
}

// Behind a proxy the certificate comes in a header, in either form, and is judged
// as a card is.
func TestCardBehindProxy(t *testing.T) {
	t.Parallel()
	s, authority := cardSite(t, func(c *server.Config) { c.TrustedProxies = []string{"127.0.0.1/32"} })
	for _, one := range []struct{ code, state string }{{"PRVLSE80A41H501X", "DONE"}, {"BNCGRG80A41H501X", "REGISTERING"}} {
		card, err := authority.Issue(demo.Card{Code: one.code, GivenName: "ELSA", Surname: "PROVA"})
		if err != nil {
			t.Fatal(err)
		}
		text := url.PathEscape(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: card.Certificate[0]})))
		for _, value := range []string{text, ":" + base64.StdEncoding.EncodeToString(card.Certificate[0]) + ":"} {
			c := s.Buy("automatic", m{"subject": sitetest.Elsa["subject"]})
			browser := reader(t, nil)
			at := strings.Replace(s.CardLink(browser, c), s.Config.Identify.CNS.URL, s.URL, 1)
			s.Read(browser, at, "X-Card", value, "X-Forwarded-For", "192.0.2.7")
			if got := s.CertificateState(c.ID); got != one.state {
				t.Errorf("%s: %s", one.code, got)
			}
		}
	}
}
