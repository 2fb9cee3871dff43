package enroll_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/keys"
)

// mailsOf reads what the holder of an order was told.
func mailsOf(s *site, id string) (all []string) {
	files, _ := filepath.Glob(filepath.Join(s.Config.Data, "outbox", id+"-*.eml"))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			s.T.Fatal(err)
		}
		all = append(all, strings.ReplaceAll(string(b), "=\r\n", ""))
	}
	return all
}

// told waits until a holder was told something.
func told(s *site, id string, words ...string) {
	s.T.Helper()
	for range await.Within(await.Limit) {
		for _, one := range mailsOf(s, id) {
			if !strings.Contains(one, "elsa@example.org") {
				s.T.Fatalf("to somebody else: %s", one)
			}
			found := true
			for _, w := range words {
				found = found && strings.Contains(one, w)
			}
			if found {
				return
			}
		}
	}
	s.T.Errorf("nobody told the holder %q: %q", words, mailsOf(s, id))
}

// One thing on a page: each step has an address of its own, which can be loaded again
// and leads to where the order stands once it is past it. The holder is told of what
// others decide, and why.
func TestEnrolmentStepByStep(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *server.Config) {
		c.Identify.Demo = true
		c.Operator = server.OperatorConfig{Name: "Notai Riuniti", PrivacyURL: "https://example.org/privacy", TermsURL: "https://example.org/terms"}
	})
	elsa := m{"givenName": "Elsa", "surname": "Prova", "fiscalCode": "PRVLSE80A41H501X", "email": "elsa@example.org"}
	c := s.Buy("otp", m{"certificateOwner": "Elsa Prova", "subject": elsa})
	at := func(path string) string {
		status, page := s.Read(s.Browser(), c.CertificateLink+path, "Accept-Language", "it")
		if status != 200 {
			t.Errorf("%s: %d", path, status)
		}
		return page
	}
	step := regexp.MustCompile(`data-step="([a-z]+)"`)
	for path, wants := range map[string][]string{
		"":           {"start", "Notai Riuniti", "https://example.org/privacy", "https://example.org/terms", "Ordinato da", `id="begin"`},
		"/choose":    {"choose", "/spid", "/cie", "/cns", "/video", "/signature"},
		"/spid":      {"spid", "Entra con SPID", "/spid?idp=", "https://www.spid.gov.it/serve-aiuto"},
		"/cie":       {"cie", "Entra con CIE", "/cie?provider="},
		"/cns":       {"cns", "/demo/cns/"},
		"/video":     {"video", "Sono Elsa Prova", `capture="user"`, "data:image/png;base64,"},
		"/signature": {"signature", "/statement.pdf"},
	} {
		for range 2 { // loading it again changes nothing
			page := at(path)
			if got := step.FindStringSubmatch(page); got == nil || got[1] != wants[0] {
				t.Errorf("%s shows %v", path, got)
			}
			for _, want := range wants[1:] {
				if !strings.Contains(page, want) {
					t.Errorf("%s has no %q", path, want)
				}
			}
		}
	}
	if got := s.CertificateState(c.ID); got != "NEW" {
		t.Errorf("looking at the pages made it %s", got)
	}
	fake := []byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom................")
	for _, files := range []map[string][]byte{{"video": fake, "photo": filmtest.Photo()}, {"video": filmtest.MP4("vide", 4200), "photo": []byte("\xff\xd8\xff\xe0 no picture")}} {
		if status, page := s.Upload(c.CertificateLink+"/video", "video", files); status != 422 || !strings.Contains(page, `data-step="video"`) || !strings.Contains(page, `data-code="310"`) {
			t.Errorf("what nobody can look at: %d %s", status, page)
		}
	}
	files := map[string][]byte{"video": filmtest.WebM(50), "photo": filmtest.Photo()}
	if status, page := s.Upload(c.CertificateLink+"/video", "video", files); status != 200 || !strings.Contains(page, `data-step="wait"`) {
		t.Errorf("%d %s", status, page)
	}
	for _, path := range []string{"/choose", "/video", "/spid", ""} {
		if got := step.FindStringSubmatch(at(path)); got == nil || got[1] != "wait" {
			t.Errorf("%s of an order that waits shows %v", path, got)
		}
	}
	told(s, c.ID, "hai inviato per dimostrare chi sei", "we have what you sent", strings.TrimPrefix(c.CertificateLink, s.URL))
	if a := s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": false, "reason": "document-expired"}); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	told(s, c.ID, "documento =C3=A8 scaduto", "The document has expired")
	if status, page := s.Read(s.Browser(), c.CertificateLink, "Accept-Language", "it"); status != 404 || !strings.Contains(page, "documento è scaduto") {
		t.Errorf("the refused order: %d %s", status, page)
	}
	if status, page := s.Read(aBrowser(t), c.CertificateLink[:len(c.CertificateLink)-1]+"0", "Accept-Language", "it"); status != 404 || strings.Contains(page, "scaduto") {
		t.Errorf("with another secret: %d", status)
	}

	c = s.Buy("otp", m{"certificateOwner": "Elsa Prova", "subject": elsa})
	s.Holder = nil
	page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
	secret, kept := element(page, "otp-secret"), regexp.MustCompile(`name="kept" value="([^"]+)"`).FindStringSubmatch(page)
	if !strings.Contains(page, `href="otpauth://totp/`) || kept == nil || secret == "" {
		t.Fatalf("%s", page)
	}
	told(s, c.ID, "credentials of your certificate were shown", "127.0.0.1")
	code, err := keys.Code(secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{code: "alert good", "000000": `role="alert" id="tried"`} {
		if page := s.Page(c.CertificateLink, url.Values{"action": {"try"}, "kept": {kept[1]}, "code": {code}}); !strings.Contains(page, want) || element(page, "otp-secret") != secret {
			t.Errorf("trying a code: %s", page)
		}
	}
	for _, forged := range []string{"", "AAAA", kept[1][:len(kept[1])-4] + "AAAA"} {
		resp, err := http.PostForm(c.CertificateLink, url.Values{"action": {"try"}, "kept": {forged}, "code": {code}})
		if err != nil || resp.StatusCode != 409 {
			t.Errorf("made up: %v %v", resp, err)
		}
		resp.Body.Close()
	}
	for _, change := range []struct{ path, words string }{{"suspend", "suspended"}, {"resume", "it signs again"}, {"revoke", "revoked"}} {
		if a := s.Do("POST", "/certificates/"+c.ID+"/"+change.path, nil); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		told(s, c.ID, change.words)
	}
}
