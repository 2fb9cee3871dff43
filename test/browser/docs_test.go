package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The reference of the API is somebody else's page: it keeps to our policy and
// asks nobody else. The start page, the table of errors and the report of POST
// /verify are ours.
func TestDocsPages(t *testing.T) {
	s := startServer(t)
	b := open(t, s, how{})
	b.goTo("/docs/reference")
	b.wait(".swagger-ui .opblock")
	b.shot("reference")
	for i, h := range ways {
		h.Lang, h.Same = "en", i > 0 // English as all of the reference, and long: axe-core reads it once
		b := open(t, s, h)
		b.goTo("/docs/errors#130")
		b.sound("errors")
		b.goTo("/docs")
		b.sound("docs")
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

// "Try it out" signs as the page stands: with the sandbox's token, and nothing
// else put in.
func TestDocsTryItOut(t *testing.T) {
	s := startServer(t)
	b := open(t, s, how{})
	b.goTo("/docs/reference")
	b.wait(".swagger-ui .auth-wrapper .authorize")
	b.click(".swagger-ui .auth-wrapper .authorize")
	b.wait("#auth-bearer-value")
	b.typeIn("#auth-bearer-value", s.Sandbox.Token)
	b.click(".modal-ux form:has(#auth-bearer-value) .authorize")
	b.wait(".modal-ux .btn-done")
	b.click(".modal-ux .btn-done")
	for _, one := range []struct{ operation, want string }{
		{"Signatures-signAutomatic", `"state": "DONE"`},
		{"Verification-verify", `"integrity": true`},
	} {
		block := "#operations-" + one.operation
		b.click(block + " .opblock-summary-control")
		b.wait(block + " .try-out__btn")
		b.click(block + " .try-out__btn")
		b.wait(block + " .execute")
		b.click(block + " .execute")
		b.wait(block + " .live-responses-table tbody .response-col_status")
		if status, text := b.text(block+" .live-responses-table tbody .response-col_status"), b.text(block+" .live-responses-table"); !strings.HasPrefix(status, "200") || !strings.Contains(text, one.want) {
			t.Errorf("%s: %s\n%.1500s", one.operation, status, text)
		}
		b.click(block + " .opblock-summary-control")
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
