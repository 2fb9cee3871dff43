package identify_test

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/identify/cie/cietest"
)

// A whole journey with the Django provider: from the order's page over the
// provider's own pages to the credentials, and not where the provider cheats.
func TestCounterpartCIE(t *testing.T) {
	t.Parallel()
	django := cietest.Start(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	us := "http://" + ln.Addr().String()
	settings := django.Settings(us)
	s := newSite(t, allow(django.URL, us), func(c *server.Config) {
		c.Listen, c.PublicURL, c.Identify.CIE = ln.Addr().String(), us, settings
		c.Identify.CIE.Level = 2
	})
	django.Onboard(settings)
	start := func(c bought) (*http.Client, string) {
		browser := aBrowser(t)
		browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		resp, err := browser.Get(c.CertificateLink + "/cie?provider=" + url.QueryEscape(django.Entity()))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 302 {
			t.Fatalf("%d", resp.StatusCode)
		}
		return browser, resp.Header.Get("Location")
	}
	for _, one := range []struct{ code, tamper, state, page string }{
		{"RSSMRA80A01H501U", "", "DONE", `id="certificate-password"`}, // after the holder confirmed
		{"BNCGRG80A41H501X", "", "REGISTERING", `data-code="312"`},
		{"RSSMRA80A01H501U", "id_token_nonce=another", "REGISTERING", `data-code="313"`},
	} {
		c := s.Buy("automatic", m{"identification": "cie", "subject": m{"fiscalCode": one.code}})
		browser, departure := start(c)
		django.Tamper(one.tamper)
		back := django.Login(browser, departure).String()
		browser.CheckRedirect = nil
		status, page := s.Read(browser, back, "Accept-Language", "en")
		if strings.Contains(page, `id="confirm"`) { // the names, which the order does not have
			page = s.PageOf(browser, c.CertificateLink, confirming(page))
		}
		if !strings.Contains(page, one.page) || s.CertificateState(c.ID) != one.state {
			t.Errorf("%+v: %d, it is %s: %s", one, status, s.CertificateState(c.ID), page)
		}
		if status, page := s.Read(browser, back); status != 422 || !strings.Contains(page, `data-code="313"`) {
			t.Errorf("the answer again: %d %s", status, page)
		}
	}
}
