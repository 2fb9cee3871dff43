package check_test

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// dropped posts the form of /check.
func dropped(s *site, name string, content []byte, fields map[string]string, header ...string) (*http.Response, string) {
	s.T.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	f, err := w.CreateFormFile("inputDocument", name)
	if err != nil {
		s.T.Fatal(err)
	}
	_, _ = f.Write(content)
	for k, v := range fields {
		if k == "detachedContent" {
			f, _ := w.CreateFormFile(k, "content")
			_, _ = f.Write([]byte(v))
			continue
		}
		_ = w.WriteField(k, v)
	}
	w.Close()
	return ask(s, http.MethodPost, "/check", w.FormDataContentType(), &body, header...)
}

// ask sends what a browser sends, unless headers say otherwise.
func ask(s *site, method, path, kind string, body io.Reader, header ...string) (*http.Response, string) {
	s.T.Helper()
	req, err := http.NewRequest(method, s.URL+path, body)
	if err != nil {
		s.T.Fatal(err)
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	req.Header.Set("Accept-Language", "it-IT,it;q=0.9")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.T.Fatal(err)
	}
	return resp, string(b)
}

// A browser reads pages, a program JSON: at "/", at /check, and where either is
// refused. Nothing of what was dropped is left behind.
func TestCheckPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, sitetest.Alone(t), func(c *server.Config) { c.Console.CheckPerMinute = 0 })
	if resp, page := ask(s, http.MethodGet, "/", "", nil); resp.StatusCode != 200 || !strings.Contains(page, `href="/check"`) || !strings.Contains(page, `<html lang="it">`) {
		t.Errorf("/: %d", resp.StatusCode)
	}
	for _, accept := range []string{"application/json", "*/*", ""} {
		if resp, text := ask(s, http.MethodGet, "/", "", nil, "Accept", accept); resp.StatusCode != 404 || !strings.Contains(text, `"error":102`) {
			t.Errorf("/ for %q: %d %s", accept, resp.StatusCode, text)
		}
	}
	signed := s.Download(s.Sign(b64([]byte("testo")), m{"signatureType": "cades"}).ID, "signedDocument")
	resp, page := dropped(s, "atto.txt.p7m", signed, nil)
	for _, want := range []string{`id="verdict" data-indication="TOTAL-PASSED"`, `class="card signature trial" data-indication="TOTAL-PASSED"`, "atto.txt.p7m", "Valida", `id="report-pdf"`, `id="report-xml"`, "Posso fidarmi?", `download="atto.txt"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in the page (%d)", want, resp.StatusCode)
		}
	}
	h := resp.Header
	if csp := h.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || h.Get("X-Frame-Options") != "DENY" ||
		h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("headers %v", h)
	}
	if _, page := dropped(s, "x", bytes.Repeat([]byte("nobody keeps this "), 1<<17), nil); !strings.Contains(page, `id="verdict" data-indication="INDETERMINATE"`) || strings.Contains(page, `class="card signature`) {
		t.Error("a file without a signature")
	}
	resp, text := dropped(s, "atto.p7m", signed, nil, "Accept", "application/json")
	var a struct {
		Success bool
		Data    struct{ OverallVerified bool }
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil || !a.Success || !a.Data.OverallVerified || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("JSON: %v %.200s", err, text)
	}
	for accept, want := range map[string]string{"application/pdf": "%PDF-", "application/xml": "<?xml"} {
		if _, text := dropped(s, "atto.p7m", signed, nil, "Accept", accept); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %.40s", accept, text)
		}
	}
	err := filepath.WalkDir(s.Config.Data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("nobody keeps this")) {
			t.Errorf("%s holds what was only verified", filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Detached content, a date, nesting and a password reach the verification.
func TestCheckFields(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *server.Config) { c.Console.CheckPerMinute = 0 })
	detached := s.Download(s.Sign(b64([]byte("il contenuto")), m{"signatureType": "cades"}, optionsOf(m{"detached": true})).ID, "signedDocument")
	for content, want := range map[string]string{"": "INDETERMINATE", "il contenuto": "TOTAL-PASSED", "un altro": "TOTAL-FAILED"} {
		fields := map[string]string{"pdfEncryptionPassword": "", "verifyOnDate": ""}
		if content != "" {
			fields["detachedContent"] = content
		}
		if _, page := dropped(s, "x.p7s", detached, fields); !strings.Contains(page, `id="verdict" data-indication="`+want+`"`) {
			t.Errorf("content %q is not %s", content, want)
		}
	}
	if _, page := dropped(s, "x.p7s", detached, map[string]string{"detachedContent": "il contenuto", "verifyOnDate": "2001-01-01"}); strings.Contains(page, `id="verdict" data-indication="TOTAL-PASSED"`) {
		t.Error("valid before it was signed")
	}
	for name, fields := range map[string]map[string]string{"verifyOnDate": {"verifyOnDate": "domani"}, "recursive": {"recursive": "forse"}} {
		if resp, page := dropped(s, "x.p7s", detached, fields); resp.StatusCode/100 != 4 || !strings.Contains(page, `role="alert"`) || !strings.Contains(page, `id="check"`) {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	if resp, page := ask(s, http.MethodPost, "/check", "application/x-www-form-urlencoded", strings.NewReader("inputDocument=x")); resp.StatusCode/100 != 4 || !strings.Contains(page, `role="alert"`) {
		t.Errorf("no multipart: %d", resp.StatusCode)
	}
}

// An address has its documents a minute; X-Forwarded-For counts behind a trusted
// proxy only. Another site's form is refused, and so is everybody where the page
// is closed.
func TestCheckRefused(t *testing.T) {
	t.Parallel()
	text := []byte("testo")
	open := newSite(t, func(c *server.Config) { c.Console.CheckPerMinute = 2 })
	for i, want := range []int{200, 200, 429, 429} {
		resp, page := dropped(open, "x", text, nil, "X-Forwarded-For", "192.0.2."+string(rune('1'+i)))
		if resp.StatusCode != want || want == 429 && (!strings.Contains(page, `role="alert"`) || resp.Header.Get("Retry-After") == "") {
			t.Errorf("number %d: %d", i+1, resp.StatusCode)
		}
	}
	if resp, text := dropped(open, "x", text, nil, "Accept", "application/json"); resp.StatusCode != 429 || !strings.Contains(text, `"error":130`) {
		t.Errorf("JSON: %d %s", resp.StatusCode, text)
	}
	proxied := newSite(t, func(c *server.Config) {
		c.Console.CheckPerMinute = 1
		c.TrustedProxies = []string{"127.0.0.0/8"}
	})
	for address, want := range map[string]int{"192.0.2.1": 200, "192.0.2.2": 200, "2001:db8::1": 200} {
		if resp, _ := dropped(proxied, "x", text, nil, "X-Forwarded-For", address); resp.StatusCode != want {
			t.Errorf("%s: %d", address, resp.StatusCode)
		}
	}
	if resp, _ := dropped(proxied, "x", text, nil, "X-Forwarded-For", "2001:db8::2"); resp.StatusCode != 429 { // the same /64
		t.Errorf("the same network: %d", resp.StatusCode)
	}
	resp, page := dropped(proxied, "x", text, nil, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
	if resp.StatusCode != 403 || !strings.Contains(page, `role="alert"`) {
		t.Errorf("another site's form: %d", resp.StatusCode)
	}
	var body bytes.Buffer // of several files each counts
	w := multipart.NewWriter(&body)
	for _, name := range []string{"uno.txt", "due.txt"} {
		f, _ := w.CreateFormFile("inputDocument", name)
		_, _ = f.Write(text)
	}
	w.Close()
	resp, page = ask(proxied, http.MethodPost, "/check", w.FormDataContentType(), &body, "X-Forwarded-For", "192.0.2.9")
	if resp.StatusCode != 200 || strings.Count(page, "Non verificato") != 2 || !strings.Contains(page, "Non firmato: 1") { // in the count and in the table
		t.Errorf("two files where one is allowed: %d %s", resp.StatusCode, page)
	}
	no := false
	closed := newSite(t, func(c *server.Config) { c.Console.PublicCheck = &no })
	if resp, page := dropped(closed, "x", text, nil); resp.StatusCode != 403 || !strings.Contains(page, `role="alert"`) || !strings.Contains(page, `href="/console/login"`) {
		t.Errorf("closed: %d", resp.StatusCode)
	}
	if resp, text := dropped(closed, "x", text, nil, "Accept", "application/json"); resp.StatusCode != 403 || !strings.Contains(text, `"error":654`) {
		t.Errorf("closed, JSON: %d", resp.StatusCode)
	}
	off := newSite(t, func(c *server.Config) { c.Console.Enabled = false })
	for _, path := range []string{"/", "/check"} {
		if resp, text := ask(off, http.MethodGet, path, "", nil); resp.StatusCode != 404 || !strings.Contains(text, `"error":102`) {
			t.Errorf("off: %s %d", path, resp.StatusCode)
		}
	}
}
