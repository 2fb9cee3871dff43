package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/keys"
)

// receiver is a client's endpoint for callbacks.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	got   []delivered
	reply func(n int, w http.ResponseWriter)
}

type delivered struct {
	header http.Header
	body   []byte
}

func newReceiver(t *testing.T, reply func(n int, w http.ResponseWriter)) *receiver {
	r := &receiver{reply: reply}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.got = append(r.got, delivered{req.Header.Clone(), b})
		n := len(r.got)
		r.mu.Unlock()
		if r.reply != nil {
			r.reply(n, w)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) wait(t *testing.T, n int) []delivered {
	t.Helper()
	for range await.Within(await.Limit) {
		r.mu.Lock()
		got := append([]delivered{}, r.got...)
		r.mu.Unlock()
		if len(got) >= n {
			return got
		}
	}
	t.Fatalf("fewer than %d deliveries in three minutes", n)
	return nil
}

func allow(hosts ...string) func(*Config) {
	return func(c *Config) {
		for _, h := range hosts {
			u, err := url.Parse(h)
			if err == nil && u.Host != "" {
				h = u.Host
			}
			c.Network.AllowPrivate = append(c.Network.AllowPrivate, h)
		}
	}
}

func TestCallbacks(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	eachEngine(t, func(t *testing.T, s *site) {
		r.mu.Lock()
		r.got = nil
		r.mu.Unlock()
		cb := m{"url": r.URL + "/hook", "headers": m{"X-Key": "canary-header-value"}, "custom": m{"a": 1}}
		rec := s.sign(b64(samplePDF), m{"callback": cb})
		got := r.wait(t, 1)[0]
		var body struct {
			Data   record
			Custom m
		}
		if err := json.Unmarshal(got.body, &body); err != nil || body.Data.ID != rec.ID || body.Data.State != "DONE" || body.Custom["a"] != 1.0 {
			t.Errorf("%s %v", got.body, err)
		}
		if got.header.Get("X-Key") != "canary-header-value" || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%v", got.header)
		}
		w, err := webhooks.NewWebhook(s.box.WebhookSecret)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Verify(got.body, got.header); err != nil {
			t.Errorf("signature: %v", err)
		}
		if w.Verify(append(got.body, ' '), got.header) == nil {
			t.Error("an altered body verifies")
		}
		s.rotateAndResend(r, w)
		cb["method"], cb["field"] = "POST", "payload"
		s.sign(b64(samplePDF), m{"callback": cb, "options": m{"asyncDocumentsValidation": true}})
		all := r.wait(t, 4)
		form, err := url.ParseQuery(string(all[3].body))
		if err != nil || !strings.Contains(form.Get("payload"), `"state":"DONE"`) || form.Get("custom") != `{"a":1}` {
			t.Errorf("%s", all[3].body)
		}
		if !strings.Contains(string(all[2].body), "WAIT_SIGN") {
			t.Errorf("the state between was not told: %s", all[2].body)
		}
	}, allow(r.URL))
}

// rotateAndResend sends a delivery again under two secrets.
func (s *site) rotateAndResend(r *receiver, old *webhooks.Webhook) {
	s.t.Helper()
	var secret struct{ Secret, Previous string }
	if err := json.Unmarshal(s.do("POST", "/callbacks/secret", nil).Data, &secret); err != nil || secret.Previous != s.box.WebhookSecret {
		s.t.Fatalf("%+v %v", secret, err)
	}
	var list []struct {
		ID, HTTPResponseCode string
		CompletedAt          *string
	}
	for range await.Within(await.Limit) {
		if err := json.Unmarshal(s.do("GET", "/callbacks", nil).Data, &list); err != nil || len(list) != 1 {
			s.t.Fatalf("%v %v", list, err)
		}
		if list[0].CompletedAt != nil {
			break
		}
	}
	if list[0].HTTPResponseCode != "200" {
		s.t.Errorf("%+v", list)
	}
	if a := s.do("POST", "/callbacks/"+list[0].ID+"/resend", nil); a.Status != 200 {
		s.t.Fatalf("%d %s", a.Status, a.Message)
	}
	got := r.wait(s.t, 2)
	fresh, err := webhooks.NewWebhook(secret.Secret)
	if err != nil {
		s.t.Fatal(err)
	}
	if fresh.Verify(got[1].body, got[1].header) != nil || old.Verify(got[1].body, got[1].header) != nil {
		s.t.Error("not signed by both secrets")
	}
	if got[0].header.Get("webhook-id") != got[1].header.Get("webhook-id") {
		s.t.Error("the webhook-id changed")
	}
}

// A receiver that is gone is told nothing more; a redirect is a failure.
func TestCallbackRefusals(t *testing.T) {
	t.Parallel()
	gone := newReceiver(t, func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusGone) })
	moved := newReceiver(t, func(_ int, w http.ResponseWriter) {
		w.Header().Set("Location", gone.URL)
		w.WriteHeader(http.StatusFound)
	})
	s := newSite(t, allow(gone.URL, moved.URL))
	s.sign(b64(samplePDF), m{"callback": m{"url": gone.URL}})
	s.sign(b64(samplePDF), m{"callback": m{"url": moved.URL, "retry": 0}})
	gone.wait(t, 1)
	moved.wait(t, 1)
	await.Until(t, "both callbacks are over", func() bool {
		var list []struct{ CompletedAt *string }
		if err := json.Unmarshal(s.do("GET", "/callbacks", nil).Data, &list); err != nil || len(list) != 2 {
			t.Fatalf("%v %v", list, err)
		}
		return list[0].CompletedAt != nil && list[1].CompletedAt != nil
	})
	if n := len(gone.wait(t, 1)); n != 1 {
		t.Errorf("%d deliveries to a receiver that is gone", n)
	}
}

func TestRemoteDocuments(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/doc.pdf":
			w.Write(samplePDF)
		case "/private":
			if r.Method != "POST" || string(b) != "a=b" || r.Header.Get("Authorization") != "Bearer x" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			w.Write(sampleXML)
		case "/moved":
			http.Redirect(w, r, "/doc.pdf", http.StatusFound)
		}
	}))
	defer web.Close()
	eachEngine(t, func(t *testing.T, s *site) {
		r := s.sign([]any{web.URL + "/doc.pdf"})
		if r.State != "DONE" || deref(r.SignatureType) != "pades" || r.Document.InputDocuments[0].SourceType != "remote" || r.Document.InputDocuments[0].MD5 == "" {
			t.Errorf("%+v %s", r, deref(r.ErrorMessage))
		}
		r = s.sign(m{"sourceType": "remote", "url": web.URL + "/private", "method": "post", "postData": "a=b", "headers": []string{"Authorization: Bearer x"}, "payload": nil})
		if r.State != "DONE" || deref(r.SignatureType) != "xades" {
			t.Errorf("%+v %s", r, deref(r.ErrorMessage))
		}
		for _, p := range []string{"/moved", "/private", "/none"} {
			if r := s.sign(web.URL + p); r.number() != 117 {
				t.Errorf("%s: %s %d", p, r.State, r.number())
			}
		}
		r = s.sign(web.URL+"/doc.pdf", optionsOf(m{"asyncDocumentsValidation": true}))
		if r = s.wait(r.ID, "DONE", "ERROR"); r.State != "DONE" || r.Document.InputDocuments[0].SHA256 == "" {
			t.Errorf("%+v %s", r, deref(r.ErrorMessage))
		}
	}, allow(web.URL))
}

// Security levels: each asks for what it says, and a call that presents less
// is refused and leaves nothing.
func TestSecurityLevels(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		buy := func(kind string, level int) (user, pass, secret string) {
			t.Helper()
			a := s.do("POST", "/certificates/provider-"+kind, m{"certificateOwner": "Dora Prova", "securityLevel": level})
			var c struct{ CertificateLink string }
			if a.Status != 200 || json.Unmarshal(a.Data, &c) != nil {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
			page := s.page(c.CertificateLink, url.Values{"action": {"approve"}})
			return element(page, "certificate-username"), element(page, "certificate-password"), element(page, "otp-secret")
		}
		for _, bad := range []struct {
			kind  string
			level int
		}{{"automatic", 4}, {"otp", 1}, {"eseal", 6}, {"automatic", -1}} {
			if a := s.do("POST", "/certificates/provider-"+bad.kind, m{"certificateOwner": "x", "securityLevel": bad.level}); a.code() != 310 {
				t.Errorf("%v: %d", bad, a.code())
			}
		}
		for _, level := range []int{2, 3} {
			user, pass, _ := buy("automatic", level)
			a := s.do("POST", "/EU-QES_automatic", m{"inputDocuments": b64(samplePDF), "certificateUsername": user, "certificatePassword": pass})
			if a.Status != 403 || a.code() != 129 {
				t.Errorf("level %d: %d/%d", level, a.Status, a.code())
			}
		}
		user, pass, secret := buy("otp", 5)
		code, _ := keys.Code(secret, time.Now())
		r := s.record(s.do("POST", "/EU-QES_otp", m{"inputDocuments": b64(samplePDF), "certificateUsername": user, "certificatePassword": pass, "certificateOtp": code}))
		if r.State != "WAIT_SIGN" {
			t.Fatalf("%+v %s", r, deref(r.ErrorMessage))
		}
		if a := s.do("POST", "/approvals/"+r.ID, nil); a.Status != 403 || a.code() != 129 {
			t.Errorf("the token that asked approves: %d/%d", a.Status, a.code())
		}
		other := s.otherToken()
		if a := s.do("POST", "/approvals/"+r.ID, nil, "Authorization", "Bearer "+other); a.Status != 200 {
			t.Errorf("approval: %d/%d %s", a.Status, a.code(), a.Message)
		}
		if r := s.wait(r.ID, "DONE", "ERROR"); r.State != "DONE" {
			t.Errorf("%s", deref(r.ErrorMessage))
		}
		code, _ = keys.Code(secret, time.Now().Add(30*time.Second))
		r = s.record(s.do("POST", "/EU-QES_otp", m{"inputDocuments": b64(samplePDF), "certificateUsername": user, "certificatePassword": pass, "certificateOtp": code}))
		if a := s.do("DELETE", "/approvals/"+r.ID, nil, "Authorization", "Bearer "+other); a.Status != 200 {
			t.Errorf("refusal: %d/%d %s", a.Status, a.code(), a.Message)
		}
		if r := s.wait(r.ID, "DONE", "ERROR"); r.number() != 120 {
			t.Errorf("refused: %s %d", r.State, r.number())
		}
		if a := s.do("GET", "/approvals", nil); string(a.Data) != "[]" {
			t.Errorf("%s", a.Data)
		}
	})
}

func (s *site) otherToken() string {
	s.t.Helper()
	var made struct{ Token string }
	a := s.do("POST", "/tokens", m{"scopes": []string{"*:*/*"}, "name": "second"}, "Authorization", s.apiKey())
	if a.Status != 200 || json.Unmarshal(a.Data, &made) != nil || made.Token == "" {
		s.t.Fatalf("%d %s %s", a.Status, a.Message, a.Data)
	}
	return made.Token
}

// Nothing of one account can be seen from another: every id is as unknown as
// one that does not exist.
func TestTenantWalls(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		r := s.sign(b64(samplePDF))
		var certs []struct{ ID string }
		if err := json.Unmarshal(s.do("GET", "/certificates", nil).Data, &certs); err != nil || len(certs) != 3 {
			t.Fatalf("%v %v", certs, err)
		}
		stranger := s.stranger()
		unknown := strings.Repeat("f", 24)
		for _, c := range []struct{ method, path, id string }{
			{"GET", "/signatures/%s", r.ID},
			{"GET", "/signatures/%s/detail", r.ID},
			{"GET", "/signatures/%s/signedDocument", r.ID},
			{"GET", "/signatures/%s/validatedDocument", r.ID},
			{"GET", "/signatures/%s/audit", r.ID},
			{"DELETE", "/signatures/%s", r.ID},
			{"POST", "/approvals/%s", r.ID},
			{"DELETE", "/approvals/%s", r.ID},
			{"GET", "/certificates/%s", certs[0].ID},
			{"POST", "/certificates/%s/suspend", certs[0].ID},
			{"POST", "/certificates/%s/resume", certs[0].ID},
			{"POST", "/certificates/%s/revoke", certs[0].ID},
			{"POST", "/certificates/%s/cancel", certs[0].ID},
			{"POST", "/certificates/%s/enrol", certs[0].ID},
		} {
			theirs := s.do(c.method, strings.Replace(c.path, "%s", c.id, 1), nil, "Authorization", "Bearer "+stranger)
			nobodys := s.do(c.method, strings.Replace(c.path, "%s", unknown, 1), nil, "Authorization", "Bearer "+stranger)
			if theirs.Status != 404 || theirs.Status != nobodys.Status || theirs.code() != nobodys.code() || theirs.Message != nobodys.Message {
				t.Errorf("%s %s: %d/%d %q, unknown %d/%d %q", c.method, c.path, theirs.Status, theirs.code(), theirs.Message, nobodys.Status, nobodys.code(), nobodys.Message)
			}
		}
		for _, p := range []string{"/signatures", "/certificates", "/callbacks", "/approvals", "/client-certificates"} {
			if a := s.do("GET", p, nil, "Authorization", "Bearer "+stranger); string(a.Data) != "[]" {
				t.Errorf("%s shows %s", p, a.Data)
			}
		}
		a := s.do("POST", "/EU-QES_automatic", s.body(b64(samplePDF)), "Authorization", "Bearer "+stranger)
		if rec := s.record(a); rec.number() != 110 {
			t.Errorf("another account's credentials: %s %d", rec.State, rec.number())
		}
	})
}

// stranger is a token of another account with some money.
func (s *site) stranger() string {
	s.t.Helper()
	room, err := Open(s.t.Context(), s.cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	defer room.Close()
	made, err := room.CreateAccount(s.t.Context(), "other@example.org", false)
	if err != nil {
		s.t.Fatal(err)
	}
	return made.Token
}

// Secrets that went through the server are nowhere in clear: not in its log,
// not in its files, not in its answers.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newSite(t, func(c *Config) { c.Data = dir; c.Log.Level = "debug" })
	c := s.box.Certificates["otp"]
	canaries := []string{"canary-wrong-password", "canary-tsa-password", "canary-pdf-password", "canary-callback-header", c.Password, c.TOTPSecret, s.box.Certificates["automatic"].Password}
	s.sign(b64(samplePDF), m{"certificatePassword": canaries[0]})
	s.sign(b64(samplePDF), optionsOf(m{"level": "T", "timestampUrl": s.url + "/tsa", "timestampUsername": "u", "timestampPassword": canaries[1]}))
	r := s.sign(b64(samplePDF), optionsOf(m{"encryptInAnyCase": true, "encryptionPassword": canaries[2], "asyncSignature": true}), m{"callback": m{"url": "https://nowhere.invalid/", "headers": m{"X": canaries[3]}, "retry": 0}})
	s.wait(r.ID, "DONE", "ERROR")
	s.record(s.do("POST", "/EU-QES_otp", m{"inputDocuments": b64(samplePDF), "certificateUsername": c.Username, "certificatePassword": c.Password, "certificateOtp": s.otp()}))
	_, trail := s.raw("GET", "/signatures/"+r.ID+"/audit", nil)
	_, list := s.raw("GET", "/callbacks", nil)
	s.run.stop()
	places := map[string][]byte{"log": []byte(s.run.log.String()), "audit": trail, "callbacks": list}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(path) == "sandbox.json" {
			return err
		}
		places[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(places) < 6 {
		t.Errorf("only %d places were searched", len(places))
	}
	for name, b := range places {
		for _, secret := range canaries {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%q is in %s", secret, name)
			}
		}
	}
}

// Time-stamp authorities that are down, slow, or lie: the record is in ERROR
// with 114, and no bad token is ever embedded.
func TestTimestampAuthorityFaults(t *testing.T) {
	t.Parallel()
	var good http.Handler
	tsa := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
		case "/garbage":
			w.Header().Set("Content-Type", "application/timestamp-reply")
			w.Write(bytes.Repeat([]byte{0x30, 0x80}, 1000))
		case "/huge":
			w.Header().Set("Content-Type", "application/timestamp-reply")
			for range 50 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		case "/replay": // a good token over something else
			rec := httptest.NewRecorder()
			good.ServeHTTP(rec, httptest.NewRequest("POST", "/tsa", bytes.NewReader(otherQuery())))
			w.Header().Set("Content-Type", "application/timestamp-reply")
			w.Write(rec.Body.Bytes())
		case "/slow":
			_, _ = io.Copy(io.Discard, r.Body) // so that a client that leaves is noticed
			select {
			case <-r.Context().Done():
			case <-time.After(30 * time.Second):
			}
		}
	}))
	defer tsa.Close()
	s := newSite(t, allow(tsa.URL))
	good = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, err := http.Post(s.url+"/tsa", "application/timestamp-query", r.Body)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		io.Copy(w, resp.Body)
	})
	for _, p := range []string{"/500", "/garbage", "/huge", "/replay", "/slow"} {
		begin := time.Now()
		r := s.sign(b64(samplePDF), optionsOf(m{"level": "T", "timestampUrl": tsa.URL + p}))
		if r.State != "ERROR" || r.number() != 114 {
			t.Errorf("%s: %s %d %s", p, r.State, r.number(), deref(r.ErrorMessage))
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s took %v", p, took)
		}
	}
	s.verifyAudit()
}

// otherQuery is a time-stamp request over a digest of its own, by hand:
// version 1, SHA-256, no nonce, with certificates.
func otherQuery() []byte {
	d := sha256.Sum256([]byte("something else"))
	b, _ := hex.DecodeString("30390201013031300d060960864801650304020105000420")
	b = append(b, d[:]...)
	b = append(b, 0x01, 0x01, 0xff)
	return b
}
