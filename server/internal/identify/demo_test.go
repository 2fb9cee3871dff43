package identify_test

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"rogito.dev/rogito/server"
)

var begins = regexp.MustCompile(`id="begin" href="([^"]*)"`)

var leads = regexp.MustCompile(`(?:class="provider"|class="enter"|id="show-card") href="([^"]*)"`)

// In a sandbox with made-up providers each journey leads to the credentials.
func TestDemo(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *server.Config) { c.Identify.Demo = true })
	if a := s.Do("GET", "/certificates/identifications", nil); string(a.Data) != `["video","spid","cie","cns","signature"]` {
		t.Fatalf("%s", a.Data)
	}
	for _, method := range []string{"spid", "cie", "cns"} {
		c := s.Buy("automatic", m{"certificateOwner": "Mario Rossi", "identification": method})
		browser := aBrowser(t)
		s.Holder = browser
		page := s.Page(c.CertificateLink, nil)
		at, err := url.Parse(c.CertificateLink)
		if err != nil {
			t.Fatal(err)
		}
		var resp *http.Response
		for _, link := range []*regexp.Regexp{begins, leads} { // the page of the method, then the provider
			m := link.FindStringSubmatch(page)
			if m == nil {
				t.Fatalf("%s: no way on: %s", method, page)
			}
			if at, err = at.Parse(html.UnescapeString(m[1])); err != nil {
				t.Fatal(err)
			}
			if resp, err = browser.Get(at.String()); err != nil {
				t.Fatal(err)
			}
			b, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			page = string(b)
		}
		for range 4 {
			if strings.Contains(page, `id="confirm"`) || resp.StatusCode != 200 {
				break
			}
			if strings.Contains(resp.Request.URL.Path, "/demo/") && !strings.Contains(page, "DEMO") {
				t.Errorf("%s is not marked: %s", resp.Request.URL.Path, page)
			}
			resp, page = submit(t, browser, page, resp.Request.URL)
		}
		if resp.StatusCode != 200 || !strings.Contains(page, `id="confirm"`) {
			t.Errorf("%s: %d at %s: %s", method, resp.StatusCode, resp.Request.URL.Path, page)
			continue
		}
		if page := s.Page(c.CertificateLink, confirming(page)); element(page, "certificate-password") == "" || s.CertificateState(c.ID) != "DONE" {
			t.Errorf("%s: no credentials: %s", method, page)
		}
	}
	for _, path := range []string{"/spid/metadata", "/.well-known/openid-federation"} {
		if resp, err := http.Get(s.URL + path); err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: %v %v", path, resp, err)
		}
	}
}
