package abuse_test

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// harmless holds a page to what every page keeps: nothing of the texts runs,
// nothing may be loaded or framed, and no script at all is allowed.
func harmless(t *testing.T, name string, h http.Header, page string) {
	t.Helper()
	if found := sitetest.Runs.FindString(page); found != "" {
		t.Errorf("%s: %q would run", name, found)
	}
	csp := h.Get("Content-Security-Policy")
	if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "script-src") || !strings.Contains(csp, "frame-ancestors 'none'") || !strings.Contains(csp, "base-uri 'none'") {
		t.Errorf("%s: policy %q", name, csp)
	}
	if h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: types are guessed", name)
	}
}

// hostileSigner signs a text in the name of a signer with markup in it: as JSON, because markup in a
// certificate that a p7m holds in clear is refused.
func hostileSigner(t *testing.T, name string) []byte {
	t.Helper()
	key, err := ca.NewKey("P-256")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	cert, err := ca.Root(ca.Request{Subject: ca.Name{Country: "IT", Organization: name, CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}, key)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, err = rogito.Sign(context.Background(), rogito.File(name, strings.NewReader(name)), &out, key, rogito.Options{Format: ades.JAdES, SignParams: ades.SignParams{Certificate: cert, Time: now}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Names of holders and signers, titles, file names and what a PDF says of
// itself are text on every page.
func TestPagesShowText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, text := range sitetest.HostileTexts {
		c := s.Buy("automatic", m{"certificateOwner": text, "subject": m{"givenName": text, "surname": "x", "organization": text}})
		resp, err := http.Get(c.CertificateLink)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		harmless(t, "certificateLink", resp.Header, string(page))
		if resp.Header.Get("X-Frame-Options") != "DENY" {
			t.Error("certificateLink can be framed")
		}

		pdf := bytes.Replace(sitetest.SamplePDF, []byte("Sample"), []byte("Sam<a>"), 1)
		r := s.Sign(m{"sourceType": "base64", "payload": b64(pdf), "name": text}, m{"title": text, "description": text}, optionsOf(m{"signerImage": m{"reason": text}}))
		for _, accept := range []string{"text/html", "application/json", "text/plain"} {
			resp, page := s.Raw("GET", "/signatures/"+r.ID+"/audit", nil, "Accept", accept)
			if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
				harmless(t, "audit", resp.Header, string(page))
			} else if resp.Header.Get("X-Content-Type-Options") != "nosniff" && accept != "application/json" {
				t.Errorf("audit as %s: types are guessed", accept)
			}
		}
		for name, doc := range map[string][]byte{"signer's name": hostileSigner(t, text), "PDF": s.Download(r.ID, "signedDocument")} {
			resp, page := s.Raw("POST", "/verify", m{"inputDocument": b64(doc)}, "Accept", "text/html")
			if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
				t.Fatalf("%s: %s", name, resp.Header.Get("Content-Type"))
			}
			harmless(t, "report, "+name, resp.Header, string(page))
		}
	}
	for _, path := range []string{"/enrol/" + strings.Repeat("f", 24) + "/<script>", "/enrol/x/%3Cscript%3Ealert(1)%3C/script%3E"} {
		resp, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 404 || sitetest.Runs.Match(page) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, page)
		}
	}
}

// A form that another site sends in the holder's name is refused, and nothing
// has happened; a browser is never asked for a password that it would then send
// along by itself.
func TestOtherSitesCannotAct(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.Buy("automatic", nil)
	for name, headers := range map[string][]string{
		"fetch metadata": {"Sec-Fetch-Site", "cross-site"},
		"same site":      {"Sec-Fetch-Site", "same-site"},
		"origin":         {"Origin", "https://evil.example"},
		"opaque origin":  {"Origin", "null"},
	} {
		req, _ := http.NewRequest(http.MethodPost, c.CertificateLink, strings.NewReader(url.Values{"action": {"approve"}}.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set(headers[0], headers[1])
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden || s.CertificateState(c.ID) != "NEW" {
			t.Errorf("%s: %d, %s", name, resp.StatusCode, s.CertificateState(c.ID))
		}
	}
	for _, op := range s.Operations() {
		if !op.Secured {
			continue
		}
		path := strings.Replace(op.Spelled()[0], "%s", strings.Repeat("f", 24), 1)
		resp, _ := s.RawAs("", op.Method, path, string(op.Body))
		for _, v := range resp.Header.Values("WWW-Authenticate") {
			if strings.HasPrefix(strings.ToLower(v), "basic") {
				t.Errorf("%s %s asks browsers for a password", op.Method, path)
			}
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s is open to other sites", op.Method, path)
		}
	}
	if page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}}); element(page, "certificate-username") == "" {
		t.Error("the holder cannot act either")
	}
}

// What is sent to be verified is not kept: no blob, no row, no file.
func TestVerifiedIsNotKept(t *testing.T) {
	t.Parallel()
	s := newSite(t, sitetest.Alone(t))
	doc := s.Download(s.Sign(b64(append(bytes.Repeat([]byte("canary-of-verification "), 100_000), sitetest.SampleTXT...))).ID, "signedDocument")
	srv := s.OpenServer()
	blobs := func() (n int) {
		if err := srv.Parts().Blobs.List(context.Background(), time.Now().Add(day), func(string) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	records := func() (n int) {
		if err := srv.Parts().DB.Read().QueryRow(context.Background(), `select count(*) from signature_files`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	b, r := blobs(), records()
	for range 3 {
		if a := s.Do("POST", "/verify", m{"inputDocument": b64(doc)}); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		if code := verifyForm(s, doc); code != 200 {
			t.Fatalf("form: %d", code)
		}
	}
	if blobs() != b || records() != r {
		t.Errorf("%d blobs more, %d rows more", blobs()-b, records()-r)
	}
	err := filepath.WalkDir(s.Config.Data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("canary-of-verification")) {
			t.Errorf("it is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(server.Spool(s.Config.Data)); err != nil || len(left) != 0 {
		t.Errorf("%d files in the spool, %v", len(left), err)
	}
}

func verifyForm(s *site, doc []byte) int {
	s.T.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, _ := w.CreateFormFile("inputDocument", `<img src=x onerror=alert(1)>.p7m`)
	_, _ = part.Write(doc)
	w.Close()
	req, _ := http.NewRequest(http.MethodPost, s.URL+"/verify", &body)
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+s.Box.Token)
	req.Header.Set("Accept", "text/html")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.T.Fatal(err)
	}
	defer resp.Body.Close()
	page, _ := io.ReadAll(resp.Body)
	harmless(s.T, "report of a form", resp.Header, string(page))
	return resp.StatusCode
}
