package server

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/identify/cns/demo"
)

// cardSite is a server that asks for cards, with an authority of them.
func cardSite(t *testing.T, change ...func(*Config)) (*site, *demo.Authority) {
	t.Helper()
	mux := http.NewServeMux()
	lists := httptest.NewServer(mux)
	t.Cleanup(lists.Close)
	authority, err := demo.NewAuthority("CA Carta Nazionale dei Servizi", lists.URL+"/crl", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/crl", authority)
	dir := t.TempDir()
	anchors := filepath.Join(dir, "anchors.pem")
	if err := os.WriteFile(anchors, authority.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	cert, key := selfSigned(t, dir)
	return newSite(t, append([]func(*Config){allow(lists.URL), func(c *Config) {
		k := &c.Identify.CNS
		k.Listen, k.URL, k.Cert, k.Key, k.Anchors, k.Header = ln.Addr().String(), "https://"+ln.Addr().String(), cert, key, []string{anchors}, "X-Card"
	}}, change...)...), authority
}

// reader is a browser with a card in its reader; nil: with none.
func reader(t *testing.T, card *tls.Certificate) *http.Client {
	b := aBrowser(t)
	cfg := &tls.Config{InsecureSkipVerify: true}
	if card != nil {
		cfg.Certificates = []tls.Certificate{*card}
	}
	b.Transport = &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: true}
	return b
}

func (s *site) read(browser *http.Client, address string, header ...string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := browser.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// cardLink is where the page of an order asks for the card.
func (s *site) cardLink(browser *http.Client, c bought) string {
	s.t.Helper()
	_, page := s.read(browser, c.CertificateLink)
	_, rest, _ := strings.Cut(page, `href="https://127.0.0.1`)
	link, _, found := strings.Cut(rest, `"`)
	if !found || !strings.Contains(link, "/cns/") {
		s.t.Fatalf("the page has no link to the card: %s", page)
	}
	return "https://127.0.0.1" + link
}

func TestCardIdentifies(t *testing.T) {
	t.Parallel()
	s, authority := cardSite(t)
	for _, inSerial := range []bool{false, true} {
		card, err := authority.Issue(demo.Card{Code: "PRVLSE80A41H501X", GivenName: "ELSA", Surname: "PROVA", InSerial: inSerial})
		if err != nil {
			t.Fatal(err)
		}
		c := s.buy("automatic", m{"identification": "cns", "subject": elsa["subject"]})
		browser := reader(t, card)
		status, page := s.read(browser, s.cardLink(browser, c))
		if status != 200 || !strings.Contains(page, `id="reveal"`) || s.certificateState(c.ID) != "DONE" {
			t.Fatalf("%d %s %s", status, s.certificateState(c.ID), page)
		}
		if page := s.pageOf(aBrowser(t), c.CertificateLink, url_("action", "reveal")); element(page, "certificate-password") != "" {
			t.Error("a browser that showed no card sees the credentials")
		}
		if page := s.pageOf(browser, c.CertificateLink, url_("action", "reveal")); element(page, "certificate-password") == "" {
			t.Errorf("no credentials: %s", page)
		}
	}
	s.verifyAudit()
}

// No card is no try; the wrong one is; a header from whoever likes to send it is
// neither.
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
	c := s.buy("automatic", m{"identification": "cns", "subject": elsa["subject"]})
	nobody := reader(t, nil)
	link := s.cardLink(nobody, c)
	text := url.PathEscape(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: good.Certificate[0]})))
	for range 7 {
		for _, header := range [][]string{nil, {"X-Card", text}, {"X-Card", text, "X-Forwarded-For", "127.0.0.1"}, {"X-Card", ":" + base64.StdEncoding.EncodeToString(good.Certificate[0]) + ":"}} {
			status, page := s.read(nobody, link, append(header, "Accept-Language", "it")...)
			if status != 422 || !strings.Contains(page, `data-code="313"`) || !strings.Contains(page, "nessuna carta") || !strings.Contains(page, c.CertificateLink) {
				t.Fatalf("no card, header %v: %d %s", header, status, page)
			}
			main := strings.Replace(link, s.cfg.Identify.CNS.URL, s.url, 1)
			if status, page := s.read(nobody, main, header...); status != 422 || !strings.Contains(page, "no card") {
				t.Fatalf("at the main listener: %d %s", status, page)
			}
		}
	}
	if s.certificateState(c.ID) != "NEW" {
		t.Errorf("a visit without a card is a try: %s", s.certificateState(c.ID))
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
		status, page := s.read(reader(t, one.card), link, "X-Card", text)
		if status != 422 || !strings.Contains(page, `data-code="`+one.code+`"`) || !strings.Contains(page, one.text) || s.certificateState(c.ID) != "REGISTERING" {
			t.Errorf("%s: %d %s %s", one.text, status, s.certificateState(c.ID), page)
		}
	}
	browser := reader(t, good)
	if status, _ := s.read(browser, link); status != 200 || s.certificateState(c.ID) != "DONE" {
		t.Errorf("after four refusals the good one: %d %s", status, s.certificateState(c.ID))
	}
}

// Behind a proxy the certificate comes in a header, in either form, and is judged
// as a card is.
func TestCardBehindProxy(t *testing.T) {
	t.Parallel()
	s, authority := cardSite(t, func(c *Config) { c.TrustedProxies = []string{"127.0.0.1/32"} })
	for _, one := range []struct{ code, state string }{{"PRVLSE80A41H501X", "DONE"}, {"BNCGRG80A41H501X", "REGISTERING"}} {
		card, err := authority.Issue(demo.Card{Code: one.code, GivenName: "ELSA", Surname: "PROVA"})
		if err != nil {
			t.Fatal(err)
		}
		text := url.PathEscape(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: card.Certificate[0]})))
		for _, value := range []string{text, ":" + base64.StdEncoding.EncodeToString(card.Certificate[0]) + ":"} {
			c := s.buy("automatic", m{"subject": elsa["subject"]})
			browser := reader(t, nil)
			at := strings.Replace(s.cardLink(browser, c), s.cfg.Identify.CNS.URL, s.url, 1)
			s.read(browser, at, "X-Card", value, "X-Forwarded-For", "192.0.2.7")
			if got := s.certificateState(c.ID); got != one.state {
				t.Errorf("%s: %s", one.code, got)
			}
		}
	}
}
