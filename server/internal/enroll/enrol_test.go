package enroll_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/network"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/servertest/sitetest"
)

func TestIdentificationByVideo(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		c := s.Buy("automatic", nil)
		if a := s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": true}); a.Status != 409 || a.Code() != 145 {
			t.Errorf("review before anything was handed in: %d/%d", a.Status, a.Code())
		}
		if code, _ := s.Upload(c.CertificateLink, "video", map[string][]byte{"video": filmtest.MP4("vide", 4200)}); code != 422 {
			t.Errorf("without a photo: %d", code)
		}
		if code, page := s.Upload(c.CertificateLink, "video", map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()}); code != 200 || s.CertificateState(c.ID) != "REGISTERING" {
			t.Fatalf("%d %s", code, page)
		}
		if a := s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": true, "reason": "same face"}); a.Status != 200 || s.CertificateState(c.ID) != "DONE" {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		if page := s.Page(c.CertificateLink, nil); element(page, "certificate-password") != "" || !strings.Contains(page, `id="reveal"`) {
			t.Error("a mere visit shows the credentials")
		}
		if page := s.Page(c.CertificateLink, url.Values{"action": {"reveal"}}); element(page, "certificate-password") == "" {
			t.Errorf("no credentials: %s", page)
		}
		c = s.Buy("automatic", nil)
		s.Upload(c.CertificateLink, "video", map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()})
		if a := s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": false}); a.Status != 200 || s.CertificateState(c.ID) != "CANCELLED" {
			t.Errorf("refused: %d %s", a.Status, s.CertificateState(c.ID))
		}
	})
}

// The statement of an order, signed by its applicant, identifies; no other signature of the
// applicant does, and no one else's.
func TestIdentificationBySignature(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		person := m{"givenName": "Mario", "surname": "Rossi", "fiscalCode": "RSSMRA80A01H501U"}
		own := s.Outside.Person("Mario", "Rossi", "RSSMRA80A01H501U")
		mario := func(doc []byte, p7m bool) []byte {
			if p7m {
				return own.P7M(doc)
			}
			return own.Sign("", nil, doc)
		}
		ada := s.Outside.Person("Ada", "Prova", "PRVDAA80A41H501X").PDF
		order := func(more m) bought {
			body := m{"identification": "signature", "certificateOwner": "Mario Rossi", "subject": person}
			for k, v := range more {
				body[k] = v
			}
			return s.Buy("automatic", body)
		}
		other := order(nil)
		otherStatement := s.Statement(other.CertificateLink)
		for _, bad := range []struct {
			name string
			more m
			make func(statement []byte) []byte
			code string
		}{
			{"an old contract", nil, func([]byte) []byte { return mario(sitetest.SamplePDF, false) }, "310"},
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
			code, page := s.Upload(o.CertificateLink, "signature", map[string][]byte{"document": bad.make(s.Statement(o.CertificateLink))})
			if code != 422 || s.CertificateState(o.ID) != "NEW" || !strings.Contains(page, `data-code="`+bad.code+`"`) {
				t.Errorf("%s: %d, %s, %s", bad.name, code, s.CertificateState(o.ID), element(page, "problem"))
			}
		}
		for name, p7m := range map[string]bool{"pades": false, "p7m": true} {
			o := order(m{"subject": m{"fiscalCode": "rssmra80a01h501u", "email": "mario@bank.example"}})
			body := s.Statement(o.CertificateLink)
			if string(body) != string(s.Statement(o.CertificateLink)) {
				t.Error("the statement changes from one download to the next")
			}
			signed := mario(body, p7m)
			code, page := s.Upload(o.CertificateLink, "signature", map[string][]byte{"document": signed})
			if code != 200 || element(page, "certificate-username") == "" || s.CertificateState(o.ID) != "DONE" {
				t.Fatalf("%s: %d %s", name, code, page)
			}
			var d struct{ SubjectDN string }
			if err := json.Unmarshal(s.Do("GET", "/certificates/"+o.ID, nil).Data, &d); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(d.SubjectDN, "Mario Rossi") || !strings.Contains(d.SubjectDN, "RSSMRA80A01H501U") || strings.Contains(d.SubjectDN, "bank.example") {
				t.Errorf("%s: certified %s", name, d.SubjectDN)
			}
			again := order(nil)
			if code, _ := s.Upload(again.CertificateLink, "signature", map[string][]byte{"document": signed}); code != 422 {
				t.Errorf("%s: a used statement identifies again: %d", name, code)
			}
		}
	})
}

// The link alone, which the buyer has, is worth nothing once credentials wait
// behind it, and no answer shows it any more.
func TestCredentialsReachTheHolderAlone(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		files := map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()}
		c := s.Buy("automatic", m{"identification": "video"})
		s.Upload(c.CertificateLink, "video", files)
		a := s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": true})
		for name, answer := range map[string]string{
			"review": string(a.Data), "detail": string(s.Do("GET", "/certificates/"+c.ID, nil).Data), "list": string(s.Do("GET", "/certificates", nil).Data),
		} {
			if a.Status != 200 || strings.Contains(answer, c.CertificateLink) {
				t.Errorf("%s shows the link of credentials that wait: %s", name, answer)
			}
		}
		holder := s.Browser()
		s.Holder = nil // the buyer's browser
		for _, form := range []url.Values{nil, {"action": {"reveal"}}, {"action": {"device"}, "password": {"x"}}} {
			if page := s.Page(c.CertificateLink, form); element(page, "certificate-password") != "" || strings.Contains(page, `id="reveal"`) {
				t.Errorf("another browser sees the credentials after %v", form)
			}
		}
		s.Upload(c.CertificateLink, "video", files)
		if page := s.Page(c.CertificateLink, url.Values{"action": {"reveal"}}); element(page, "certificate-password") != "" {
			t.Error("an identification that nobody has looked at reveals the credentials")
		}
		if a := s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": false, "reason": "another face"}); a.Status != 200 || s.CertificateState(c.ID) != "DONE" {
			t.Errorf("refused: %d %s", a.Status, s.CertificateState(c.ID))
		}
		s.Holder = holder
		if page := s.Page(c.CertificateLink, url.Values{"action": {"reveal"}}); element(page, "certificate-password") == "" {
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
			if a := s.Do("POST", "/certificates/"+c.path, c.body); a.Code() != c.want {
				t.Errorf("%s %v: %d/%d %s, want %d", c.path, c.body, a.Status, a.Code(), a.Message, c.want)
			}
		}
		c := s.Buy("eseal", nil)
		if a := s.Do("POST", "/certificates/"+c.ID+"/cancel", nil); a.Status != 200 || s.CertificateState(c.ID) != "CANCELLED" {
			t.Errorf("cancel: %d", a.Status)
		}
		if a := s.Do("POST", "/certificates/"+c.ID+"/cancel", nil); a.Code() != 145 {
			t.Errorf("cancel again: %d", a.Code())
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
		c := s.Buy("otp", nil)
		page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
		user, pass, secret := element(page, "certificate-username"), element(page, "certificate-password"), element(page, "otp-secret")
		if a := s.Do("POST", "/certificates/"+c.ID+"/password", m{"old": "wrong-one", "new": "a new password"}); a.Code() != 310 {
			t.Errorf("wrong old password: %d/%d", a.Status, a.Code())
		}
		if a := s.Do("POST", "/certificates/"+c.ID+"/password", m{"old": pass, "new": "a new password"}); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		var again bought
		if a := s.Do("POST", "/certificates/"+c.ID+"/enrol", nil); a.Status != 200 || json.Unmarshal(a.Data, &again) != nil || again.CertificateLink == "" {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		if page := s.Page(again.CertificateLink, url.Values{"action": {"device"}, "password": {"guess"}}); element(page, "otp-secret") != "" {
			t.Error("a device is enrolled without the password")
		}
		for name, form := range map[string]url.Values{
			"the password alone": {"action": {"device"}, "password": {"a new password"}},
			"a wrong code":       {"action": {"device"}, "password": {"a new password"}, "code": {"000000"}},
		} {
			if page := s.Page(again.CertificateLink, form); element(page, "otp-secret") != "" {
				t.Errorf("%s enrols a device", name)
			}
		}
		old, _ := keys.Code(secret, time.Now())
		page = s.Page(again.CertificateLink, url.Values{"action": {"device"}, "password": {"a new password"}, "code": {old}})
		fresh := element(page, "otp-secret")
		if fresh == "" || fresh == secret {
			t.Fatalf("%s", page)
		}
		sign := func(secret string) *record {
			code, _ := keys.Code(secret, time.Now())
			return s.Record(s.Do("POST", "/EU-QES_otp", m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": user, "certificatePassword": "a new password", "certificateOtp": code}))
		}
		if r := sign(secret); r.Number() != 116 {
			t.Errorf("the old device: %s %d", r.State, r.Number())
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
	s := newSite(t, func(c *server.Config) { c.TLS = network.TLSConfig{Cert: certFile, Key: keyFile, ClientCA: certFile} })
	c := s.Buy("automatic", m{"securityLevel": 3})
	page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
	body := m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": element(page, "certificate-username"), "certificatePassword": element(page, "certificate-password")}
	present := func() {
		trusting.CloseIdleConnections()
		trusting.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{pair}} //nolint:gosec // as above
	}
	if a := s.Do("POST", "/EU-QES_automatic", body); a.Code() != 129 {
		t.Errorf("without a certificate: %d/%d", a.Status, a.Code())
	}
	present()
	if a := s.Do("POST", "/EU-QES_automatic", body); a.Code() != 129 {
		t.Errorf("with one that is not registered: %d/%d", a.Status, a.Code())
	}
	text, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	if a := s.Do("POST", "/client-certificates", m{"name": "mine", "certificate": string(text)}, "Authorization", s.ApiKey()); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Message)
	}
	if r := s.Record(s.Do("POST", "/EU-QES_automatic", body)); r.State != "DONE" {
		t.Errorf("%s", deref(r.ErrorMessage))
	}
}

// When the audit cannot be written nothing is signed; the rest goes on.
func TestSigningStopsWithoutAudit(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv, err := server.Open(context.Background(), s.Config)
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		exec := func(query string) {
			t.Helper()
			err := srv.Parts().DB.Write(context.Background(), func(tx *store.Tx) error {
				_, err := tx.Exec(context.Background(), query)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		s.Sign(b64(sitetest.SamplePDF)) // the key is in memory
		exec(`alter table audit_events rename to audit_gone`)
		a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF)))
		if a.Status != 503 || a.Code() != 105 || a.Header.Get("Retry-After") == "" {
			t.Errorf("%d/%d %s", a.Status, a.Code(), a.Message)
		}
		if a := s.Do("POST", "/verify", m{"inputDocument": b64(sitetest.SamplePDF)}); a.Status != 200 {
			t.Errorf("verification stops too: %d", a.Status)
		}
		exec(`alter table audit_gone rename to audit_events`)
		if r := s.Sign(b64(sitetest.SamplePDF)); r.State != "DONE" {
			t.Errorf("afterwards: %s", deref(r.ErrorMessage))
		}
	})
}
