package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/network"
	"rogito.dev/rogito/server/internal/store"
)

type bought struct{ ID, State, CertificateLink string }

func (s *site) buy(kind string, more m) bought {
	s.t.Helper()
	body := m{"certificateOwner": "Elsa Prova"}
	for k, v := range more {
		body[k] = v
	}
	a := s.do("POST", "/certificates/namirial-"+kind, body)
	var b bought
	if a.Status != 200 || json.Unmarshal(a.Data, &b) != nil {
		s.t.Fatalf("%d/%d %s", a.Status, a.code(), a.Message)
	}
	return b
}

// upload posts files to a page.
func (s *site) upload(link, action string, files map[string][]byte) (int, string) {
	s.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("action", action)
	for name, data := range files {
		f, err := w.CreateFormFile(name, name+".bin")
		if err != nil {
			s.t.Fatal(err)
		}
		_, _ = f.Write(data)
	}
	w.Close()
	resp, err := s.browser().Post(link, w.FormDataContentType(), &b)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	page, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(page)
}

func (s *site) certificateState(id string) string {
	s.t.Helper()
	var c struct{ State string }
	if err := json.Unmarshal(s.do("GET", "/certificates/"+id, nil).Data, &c); err != nil {
		s.t.Fatal(err)
	}
	return c.State
}

func TestIdentificationByVideo(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		c := s.buy("automatic", nil)
		if a := s.do("POST", "/certificates/"+c.ID+"/review", m{"approve": true}); a.Status != 409 || a.code() != 145 {
			t.Errorf("review before anything was handed in: %d/%d", a.Status, a.code())
		}
		if code, _ := s.upload(c.CertificateLink, "video", map[string][]byte{"video": filmtest.MP4("vide", 4200)}); code != 422 {
			t.Errorf("without a photo: %d", code)
		}
		if code, page := s.upload(c.CertificateLink, "video", map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()}); code != 200 || s.certificateState(c.ID) != "REGISTERING" {
			t.Fatalf("%d %s", code, page)
		}
		if a := s.do("POST", "/certificates/"+c.ID+"/review", m{"approve": true, "reason": "same face"}); a.Status != 200 || s.certificateState(c.ID) != "DONE" {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		if page := s.page(c.CertificateLink, nil); element(page, "certificate-password") != "" || !strings.Contains(page, `id="reveal"`) {
			t.Error("a mere visit shows the credentials")
		}
		if page := s.page(c.CertificateLink, url.Values{"action": {"reveal"}}); element(page, "certificate-password") == "" {
			t.Errorf("no credentials: %s", page)
		}
		c = s.buy("automatic", nil)
		s.upload(c.CertificateLink, "video", map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()})
		if a := s.do("POST", "/certificates/"+c.ID+"/review", m{"approve": false}); a.Status != 200 || s.certificateState(c.ID) != "CANCELLED" {
			t.Errorf("refused: %d %s", a.Status, s.certificateState(c.ID))
		}
	})
}

// statement downloads the document that the holder of an order signs.
func (s *site) statement(link string) []byte {
	s.t.Helper()
	resp, err := s.browser().Get(link + "/statement.pdf")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/pdf" {
		s.t.Fatalf("statement: %d %s", resp.StatusCode, b)
	}
	return b
}

// The statement of an order, signed by its applicant, identifies; nothing else
// that the applicant ever signed does, and nobody else's signature.
func TestIdentificationBySignature(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		person := m{"givenName": "Mario", "surname": "Rossi", "fiscalCode": "RSSMRA80A01H501U"}
		own := s.outside.Person("Mario", "Rossi", "RSSMRA80A01H501U")
		mario := func(doc []byte, p7m bool) []byte {
			if p7m {
				return own.P7M(doc)
			}
			return own.Sign("", nil, doc)
		}
		ada := s.outside.Person("Ada", "Prova", "PRVDAA80A41H501X").PDF
		order := func(more m) bought {
			body := m{"identification": "signature", "certificateOwner": "Mario Rossi", "subject": person}
			for k, v := range more {
				body[k] = v
			}
			return s.buy("automatic", body)
		}
		other := order(nil)
		otherStatement := s.statement(other.CertificateLink)
		for _, bad := range []struct {
			name string
			more m
			make func(statement []byte) []byte
			code string
		}{
			{"an old contract", nil, func([]byte) []byte { return mario(samplePDF, false) }, "310"},
			{"an old contract as p7m", nil, func([]byte) []byte { return mario([]byte("a contract"), true) }, "310"},
			{"the statement of another order", nil, func([]byte) []byte { return mario(otherStatement, false) }, "310"},
			{"the statement of another order as p7m", nil, func([]byte) []byte { return mario(otherStatement, true) }, "310"},
			{"the statement, not signed", nil, func(st []byte) []byte { return st }, "310"},
			{"the statement, changed after signing", nil, func(st []byte) []byte { return append(mario(st, false), "tampered"...) }, "310"},
			{"the statement under another text", nil, func(st []byte) []byte { return mario(covered(t, st), false) }, "310"},
			{"signed by somebody else", nil, ada, "312"},
			{"for another name", m{"subject": m{"givenName": "Giorgia", "surname": "Bianchi", "fiscalCode": "RSSMRA80A01H501U"}}, func(st []byte) []byte { return mario(st, false) }, "312"},
			{"for another code", m{"subject": m{"fiscalCode": "BNCGRG80A41H501X"}}, func(st []byte) []byte { return mario(st, false) }, "312"},
			{"for somebody of another name", m{"certificateOwner": "Giorgia Bianchi", "subject": m{}}, func(st []byte) []byte { return mario(st, false) }, "312"},
		} {
			o := order(bad.more)
			code, page := s.upload(o.CertificateLink, "signature", map[string][]byte{"document": bad.make(s.statement(o.CertificateLink))})
			if code != 422 || s.certificateState(o.ID) != "NEW" || !strings.Contains(page, `data-code="`+bad.code+`"`) {
				t.Errorf("%s: %d, %s, %s", bad.name, code, s.certificateState(o.ID), element(page, "problem"))
			}
		}
		for name, p7m := range map[string]bool{"pades": false, "p7m": true} {
			o := order(m{"subject": m{"fiscalCode": "rssmra80a01h501u", "email": "mario@bank.example"}})
			body := s.statement(o.CertificateLink)
			if string(body) != string(s.statement(o.CertificateLink)) {
				t.Error("the statement changes from one download to the next")
			}
			signed := mario(body, p7m)
			code, page := s.upload(o.CertificateLink, "signature", map[string][]byte{"document": signed})
			if code != 200 || element(page, "certificate-username") == "" || s.certificateState(o.ID) != "DONE" {
				t.Fatalf("%s: %d %s", name, code, page)
			}
			var d struct{ SubjectDN string }
			if err := json.Unmarshal(s.do("GET", "/certificates/"+o.ID, nil).Data, &d); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(d.SubjectDN, "Mario Rossi") || !strings.Contains(d.SubjectDN, "RSSMRA80A01H501U") || strings.Contains(d.SubjectDN, "bank.example") {
				t.Errorf("%s: certified %s", name, d.SubjectDN)
			}
			again := order(nil)
			if code, _ := s.upload(again.CertificateLink, "signature", map[string][]byte{"document": signed}); code != 422 {
				t.Errorf("%s: a used statement identifies again: %d", name, code)
			}
		}
	})
}

// covered is a document with another text over it, as an update.
func covered(t *testing.T, doc []byte) []byte {
	t.Helper()
	start := bytes.LastIndex(doc, []byte("startxref"))
	var prev, size int
	if _, err := fmt.Sscanf(string(doc[start:]), "startxref\n%d", &prev); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(doc[bytes.LastIndex(doc, []byte("/Size")):]), "/Size %d", &size); err != nil {
		t.Fatal(err)
	}
	content := "BT /F 20 Tf 40 500 Td (I have won a bicycle) Tj ET"
	b := bytes.Clone(doc)
	at := len(b)
	b = fmt.Appendf(b, "6 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n", len(content), content)
	xref := len(b)
	return fmt.Appendf(b, "xref\n6 1\n%010d 00000 n \ntrailer\n<< /Size %d /Root 1 0 R /Prev %d >>\nstartxref\n%d\n%%%%EOF\n", at, size, prev, xref)
}

// The link alone, which the buyer has, is worth nothing once credentials wait
// behind it, and no answer shows it any more.
func TestCredentialsReachTheHolderAlone(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		files := map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()}
		c := s.buy("automatic", m{"identification": "video"})
		s.upload(c.CertificateLink, "video", files)
		a := s.do("POST", "/certificates/"+c.ID+"/review", m{"approve": true})
		for name, answer := range map[string]string{
			"review": string(a.Data), "detail": string(s.do("GET", "/certificates/"+c.ID, nil).Data), "list": string(s.do("GET", "/certificates", nil).Data),
		} {
			if a.Status != 200 || strings.Contains(answer, c.CertificateLink) {
				t.Errorf("%s shows the link of credentials that wait: %s", name, answer)
			}
		}
		holder := s.browser()
		s.holder = nil // the buyer's browser
		for _, form := range []url.Values{nil, {"action": {"reveal"}}, {"action": {"device"}, "password": {"x"}}} {
			if page := s.page(c.CertificateLink, form); element(page, "certificate-password") != "" || strings.Contains(page, `id="reveal"`) {
				t.Errorf("another browser sees the credentials after %v", form)
			}
		}
		s.upload(c.CertificateLink, "video", files)
		if page := s.page(c.CertificateLink, url.Values{"action": {"reveal"}}); element(page, "certificate-password") != "" {
			t.Error("an identification that nobody has looked at reveals the credentials")
		}
		if a := s.do("POST", "/certificates/"+c.ID+"/review", m{"approve": false, "reason": "another face"}); a.Status != 200 || s.certificateState(c.ID) != "DONE" {
			t.Errorf("refused: %d %s", a.Status, s.certificateState(c.ID))
		}
		s.holder = holder
		if page := s.page(c.CertificateLink, url.Values{"action": {"reveal"}}); element(page, "certificate-password") == "" {
			t.Errorf("the holder's browser: %s", page)
		}
	})
}

func TestPurchaseFaults(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		for _, c := range []struct {
			path string
			body m
			want int
		}{
			{"acme-automatic", m{"certificateOwner": "x"}, 305},
			{"provider-quantum", m{"certificateOwner": "x"}, 305},
			{"provider-automatic", m{}, 310},
			{"provider-automatic", m{"certificateOwner": 7}, 310},
			{"provider-automatic", m{"certificateOwner": "x", "keyAlgorithm": "DSA"}, 310},
			{"provider-automatic", m{"certificateOwner": "x", "validityYears": 4}, 310},
			{"provider-automatic", m{"certificateOwner": "x", "identification": "magic"}, 310},
			{"provider-automatic", m{"certificateOwner": "x", "subject": m{"country": "ITA"}}, 310},
			{"provider-automatic", m{"certificateOwner": "x", "identification": "spid"}, 311},
			{"provider-automatic", m{"certificateOwner": "x", "identification": "cie"}, 311},
			{"provider-automatic", m{"certificateOwner": "x", "identification": "cns"}, 311},
			{"provider-automatic", m{"certificateOwner": "x", "callback": m{"url": "http://10.0.0.1/"}}, 706},
		} {
			if a := s.do("POST", "/certificates/"+c.path, c.body); a.code() != c.want {
				t.Errorf("%s %v: %d/%d %s, want %d", c.path, c.body, a.Status, a.code(), a.Message, c.want)
			}
		}
		c := s.buy("eseal", nil)
		if a := s.do("POST", "/certificates/"+c.ID+"/cancel", nil); a.Status != 200 || s.certificateState(c.ID) != "CANCELLED" {
			t.Errorf("cancel: %d", a.Status)
		}
		if a := s.do("POST", "/certificates/"+c.ID+"/cancel", nil); a.code() != 145 {
			t.Errorf("cancel again: %d", a.code())
		}
		wrong := strings.Replace(c.CertificateLink, c.ID+"/", c.ID+"/x", 1)
		resp, err := http.Get(wrong)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 404 {
			t.Errorf("a guessed link: %d", resp.StatusCode)
		}
	})
}

func TestNewPasswordAndNewDevice(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		c := s.buy("otp", nil)
		page := s.page(c.CertificateLink, url.Values{"action": {"approve"}})
		user, pass, secret := element(page, "certificate-username"), element(page, "certificate-password"), element(page, "otp-secret")
		if a := s.do("POST", "/certificates/"+c.ID+"/password", m{"old": "wrong-one", "new": "a new password"}); a.code() != 310 {
			t.Errorf("wrong old password: %d/%d", a.Status, a.code())
		}
		if a := s.do("POST", "/certificates/"+c.ID+"/password", m{"old": pass, "new": "a new password"}); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		var again bought
		if a := s.do("POST", "/certificates/"+c.ID+"/enrol", nil); a.Status != 200 || json.Unmarshal(a.Data, &again) != nil || again.CertificateLink == "" {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		if page := s.page(again.CertificateLink, url.Values{"action": {"device"}, "password": {"guess"}}); element(page, "otp-secret") != "" {
			t.Error("a device is enrolled without the password")
		}
		for name, form := range map[string]url.Values{
			"the password alone": {"action": {"device"}, "password": {"a new password"}},
			"a wrong code":       {"action": {"device"}, "password": {"a new password"}, "code": {"000000"}},
		} {
			if page := s.page(again.CertificateLink, form); element(page, "otp-secret") != "" {
				t.Errorf("%s enrols a device", name)
			}
		}
		old, _ := keys.Code(secret, time.Now())
		page = s.page(again.CertificateLink, url.Values{"action": {"device"}, "password": {"a new password"}, "code": {old}})
		fresh := element(page, "otp-secret")
		if fresh == "" || fresh == secret {
			t.Fatalf("%s", page)
		}
		sign := func(secret string) *record {
			code, _ := keys.Code(secret, time.Now())
			return s.record(s.do("POST", "/EU-QES_otp", m{"inputDocuments": b64(samplePDF), "certificateUsername": user, "certificatePassword": "a new password", "certificateOtp": code}))
		}
		if r := sign(secret); r.number() != 116 {
			t.Errorf("the old device: %s %d", r.State, r.number())
		}
		if r := sign(fresh); r.State != "DONE" {
			t.Errorf("the new device: %s", deref(r.ErrorMessage))
		}
	})
}

// Level 3: mutual TLS with a certificate registered for the account.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := selfSigned(t, dir)
	trusting := http.DefaultTransport.(*http.Transport)
	saved := trusting.TLSClientConfig
	defer func() { trusting.TLSClientConfig = saved }()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	trusting.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // a test's own certificate
	s := newSite(t, func(c *Config) { c.TLS = network.TLSConfig{Cert: certFile, Key: keyFile, ClientCA: certFile} })
	c := s.buy("automatic", m{"securityLevel": 3})
	page := s.page(c.CertificateLink, url.Values{"action": {"approve"}})
	body := m{"inputDocuments": b64(samplePDF), "certificateUsername": element(page, "certificate-username"), "certificatePassword": element(page, "certificate-password")}
	present := func() {
		trusting.CloseIdleConnections()
		trusting.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{pair}} //nolint:gosec // as above
	}
	if a := s.do("POST", "/EU-QES_automatic", body); a.code() != 129 {
		t.Errorf("without a certificate: %d/%d", a.Status, a.code())
	}
	present()
	if a := s.do("POST", "/EU-QES_automatic", body); a.code() != 129 {
		t.Errorf("with one that is not registered: %d/%d", a.Status, a.code())
	}
	text, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	if a := s.do("POST", "/client-certificates", m{"name": "mine", "certificate": string(text)}, "Authorization", s.apiKey()); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Message)
	}
	if r := s.record(s.do("POST", "/EU-QES_automatic", body)); r.State != "DONE" {
		t.Errorf("%s", deref(r.ErrorMessage))
	}
}

// When the audit cannot be written nothing is signed; the rest goes on.
func TestSigningStopsWithoutAudit(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		room, err := Open(context.Background(), s.cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer room.Close()
		exec := func(query string) {
			t.Helper()
			err := room.db.Write(context.Background(), func(tx *store.Tx) error {
				_, err := tx.Exec(context.Background(), query)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		s.sign(b64(samplePDF)) // the key is in memory
		exec(`alter table audit_events rename to audit_gone`)
		a := s.do("POST", "/EU-QES_automatic", s.body(b64(samplePDF)))
		if a.Status != 503 || a.code() != 105 || a.Header.Get("Retry-After") == "" {
			t.Errorf("%d/%d %s", a.Status, a.code(), a.Message)
		}
		if a := s.do("POST", "/verify", m{"inputDocument": b64(samplePDF)}); a.Status != 200 {
			t.Errorf("verification stops too: %d", a.Status)
		}
		exec(`alter table audit_gone rename to audit_events`)
		if r := s.sign(b64(samplePDF)); r.State != "DONE" {
			t.Errorf("afterwards: %s", deref(r.ErrorMessage))
		}
	})
}
