package people_test

import (
	"encoding/json"
	"html"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/servertest/sitetest"
)

var stateHandle = regexp.MustCompile(`data-state="(\w+)"`)

// A person asked for EU-AES goes through SPID, CIE or a card, on the page and in one browser, and
// signs with a certificate that has what was proven. Another person is 312, and changes nothing.
func TestPeopleAreIdentified(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *server.Config) { c.Identify.Demo = true })
	for _, c := range []struct{ method, surname, want string }{{"spid", "Rossi", ""}, {"cie", "Rossi", ""}, {"cns", "Rossi", ""}, {"spid", "Verdi", "312"}} {
		a := s.Do("POST", "/EU-AES", m{"inputDocuments": b64(sitetest.SamplePDF), "signers": []m{{"name": "Mario", "surname": c.surname, "identification": []string{c.method}, "signatures": []any{}}}})
		r := &asked{}
		if err := json.Unmarshal(a.Data, r); err != nil || a.Status != 200 {
			t.Fatalf("%d %s %v", a.Status, a.Message, err)
		}
		r = s.Asked(r.ID, "WAIT_SIGNERS")
		browser := aBrowser(t)
		at, err := url.Parse(r.Signers[0].URL)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := browser.Get(at.String())
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		link := regexp.MustCompile(`href="([^"]*/` + c.method + `(?:\?[^"]*)?)"`).FindSubmatch(b)
		if link == nil {
			t.Fatalf("%s: no way to a provider: %s", c.method, b)
		}
		if at, err = at.Parse(html.UnescapeString(string(link[1]))); err != nil {
			t.Fatal(err)
		}
		if resp, err = browser.Get(at.String()); err != nil {
			t.Fatal(err)
		}
		b, _ = io.ReadAll(resp.Body)
		resp.Body.Close()
		page := string(b)
		for range 4 {
			if strings.Contains(page, `data-state="`) || resp.StatusCode != 200 {
				break
			}
			resp, page = submit(t, browser, page, resp.Request.URL)
		}
		state := stateHandle.FindStringSubmatch(page)
		if c.want != "" {
			if resp.StatusCode != 422 || !strings.Contains(page, `data-code="`+c.want+`"`) || s.Asked(r.ID, "WAIT_SIGNERS").Signers[0].State != "VIEWED" {
				t.Errorf("%s: %d %s", c.method, resp.StatusCode, page)
			}
			continue
		}
		if resp.StatusCode != 200 || state == nil || state[1] != "AUTHENTICATED" {
			t.Errorf("%s: %d at %s: %s", c.method, resp.StatusCode, resp.Request.URL.Path, page)
			continue
		}
		if resp, err = browser.PostForm(r.Signers[0].URL+"/sign", url.Values{"agree": {"on"}}); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		s.Asked(r.ID, "DONE")
		_, signed := s.Raw("GET", "/signatures/"+r.ID+"/signedDocument", nil)
		verdict := s.Do("POST", "/verify", m{"inputDocument": b64(signed)})
		if allValid(s, signed, 1); !strings.Contains(verdict.Message, "Mario Rossi") {
			t.Errorf("%s: %s", c.method, verdict.Message)
		}
	}
	if !s.AuditGood(s.OpenServer()) {
		t.Error("the audit log and the records do not agree")
	}
}
