package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The start page, the pages of operations, the table of errors and the report of POST
// /verify. Every operation has a page, with a call that a shell takes.
func TestDocsPages(t *testing.T) {
	s := startServer(t)
	for i, h := range ways {
		h.Lang, h.Same = "en", i > 0 // English as all of the reference, and long: axe-core reads it once
		b := open(t, s, h)
		b.goTo("/docs/errors#130")
		b.sound("errors")
		b.goTo("/docs/reference/signAutomatic")
		b.sound("reference")
		b.goTo("/docs/reference/lookupQuotation")
		b.sound("reference-lookup")
		b.goTo("/docs/reference") // leads to the list
		if got := b.eval("location.pathname + location.hash"); got != "/docs#operations" {
			t.Errorf("the reference is at %s", got)
		}
		b.sound("docs")
		if i > 0 {
			continue
		}
		var all []string
		b.must(json.Unmarshal([]byte(b.eval(`JSON.stringify([...document.querySelectorAll("main table a")].map((e) => e.getAttribute("href")))`)), &all))
		if len(all) < 70 {
			t.Fatalf("%d operations are listed", len(all))
		}
		for _, path := range all {
			resp, err := http.Get(s.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			page, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(page), "curl ") || strings.Contains(string(page), "{automatic.") {
				t.Errorf("%s: %d, %v", path, resp.StatusCode, err)
			}
		}
	}

	body, err := json.Marshal(map[string]any{"inputDocument": "bmVzc3Vubw==", "language": "it"})
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequest(http.MethodPost, s.URL+"/verify", strings.NewReader(string(body)))
	req.Header.Set("Authorization", "Bearer "+s.Sandbox.Token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/html")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var page strings.Builder
	if _, err := io.Copy(&page, resp.Body); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), `id="verdict"`) {
		t.Fatalf("%d: %.500s", resp.StatusCode, page.String())
	}
	if csp := resp.Header.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q", csp)
	}
	// Shown as the browser would show the answer, under its own policy.
	at := serveOnce(t, resp.Header.Get("Content-Security-Policy"), page.String())
	alone := open(t, &server{URL: at}, how{Lang: "it"})
	alone.goTo("/")
	if got := alone.eval("getComputedStyle(document.querySelector('.verdict')).borderLeftStyle"); got != "solid" {
		t.Errorf("the style of the report is not applied: %s", got)
	}
	alone.sound("report-unsigned")
}

// The calls of the reference run as they stand: with the sandbox's token, and nothing
// else put in.
func TestDocsCalls(t *testing.T) {
	s := startServer(t)
	b := open(t, s, how{})
	for _, one := range []struct{ operation, want string }{
		{"signAutomatic", `"state":"DONE"`},
		{"verify", `"integrity":true`},
	} {
		b.goTo("/docs/reference/" + one.operation)
		cmd := exec.Command("sh", "-c", b.text("pre"))
		cmd.Env = append(os.Environ(), "TOKEN="+s.Sandbox.Token)
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), one.want) {
			t.Errorf("%s: %v\n%.1500s", one.operation, err, out)
		}
	}
}

// serveOnce serves a page under a policy.
func serveOnce(t *testing.T, policy, page string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(s.Close)
	return s.URL
}
