package server

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var (
	formTag  = regexp.MustCompile(`(?s)<form([^>]*)>(.*?)</form>`)
	field    = regexp.MustCompile(`<(?:input|button)[^>]* name="([^"]*)"[^>]* value="([^"]*)"`)
	chosen   = regexp.MustCompile(`(?s)<select name="([^"]*)".*?<option value="([^"]*)"`)
	actionOf = regexp.MustCompile(`action="([^"]*)"`)
)

var (
	begins = regexp.MustCompile(`id="begin" href="([^"]*)"`)
	leads  = regexp.MustCompile(`(?:class="provider"|class="enter"|id="show-card") href="([^"]*)"`)
)

// submit sends the first form of a page as it stands, the first of its choices
// chosen.
func submit(t *testing.T, browser *http.Client, page string, at *url.URL) (*http.Response, string) {
	t.Helper()
	form := formTag.FindStringSubmatch(page)
	if form == nil {
		t.Fatalf("no form at %s: %s", at, page)
	}
	target, values := at, url.Values{}
	if a := actionOf.FindStringSubmatch(form[1]); a != nil {
		u, err := at.Parse(html.UnescapeString(a[1]))
		if err != nil {
			t.Fatal(err)
		}
		target = u
	}
	for _, f := range append(field.FindAllStringSubmatch(form[2], -1), chosen.FindAllStringSubmatch(form[2], -1)...) {
		if !values.Has(f[1]) {
			values.Set(f[1], html.UnescapeString(f[2]))
		}
	}
	resp, err := browser.PostForm(target.String(), values)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp, string(b)
}

// In a sandbox with made-up providers each journey leads to the credentials.
func TestDemo(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.Identify.Demo = true })
	if a := s.do("GET", "/certificates/identifications", nil); string(a.Data) != `["video","spid","cie","cns","signature"]` {
		t.Fatalf("%s", a.Data)
	}
	for _, method := range []string{"spid", "cie", "cns"} {
		c := s.buy("automatic", m{"certificateOwner": "Mario Rossi", "identification": method})
		browser := aBrowser(t)
		s.holder = browser
		page := s.page(c.CertificateLink, nil)
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
		if page := s.page(c.CertificateLink, confirming(page)); element(page, "certificate-password") == "" || s.certificateState(c.ID) != "DONE" {
			t.Errorf("%s: no credentials: %s", method, page)
		}
	}
	for _, path := range []string{"/spid/metadata", "/.well-known/openid-federation"} {
		if resp, err := http.Get(s.url + path); err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: %v %v", path, resp, err)
		}
	}
}
