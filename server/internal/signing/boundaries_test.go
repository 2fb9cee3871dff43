package signing_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/servertest/sitetest"
)

func TestCallbacks(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, nil)
	eachEngine(t, func(t *testing.T, s *site) {
		r.Mu.Lock()
		r.Got = nil
		r.Mu.Unlock()
		cb := m{"url": r.URL + "/hook", "headers": m{"X-Key": "canary-header-value"}, "custom": m{"a": 1}}
		rec := s.Sign(b64(sitetest.SamplePDF), m{"callback": cb})
		got := r.Wait(t, 1)[0]
		var body struct {
			Data   record
			Custom m
		}
		if err := json.Unmarshal(got.Body, &body); err != nil || body.Data.ID != rec.ID || body.Data.State != "DONE" || body.Custom["a"] != 1.0 {
			t.Errorf("%s %v", got.Body, err)
		}
		if got.Header.Get("X-Key") != "canary-header-value" || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v", got.Header)
		}
		w, err := webhooks.NewWebhook(s.Box.WebhookSecret)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Verify(got.Body, got.Header); err != nil {
			t.Errorf("signature: %v", err)
		}
		if w.Verify(append(got.Body, ' '), got.Header) == nil {
			t.Error("an altered body verifies")
		}
		rotateAndResend(s, r, w)
		cb["method"], cb["field"] = "POST", "payload"
		s.Sign(b64(sitetest.SamplePDF), m{"callback": cb, "options": m{"asyncDocumentsValidation": true}})
		all := r.Wait(t, 4)
		form, err := url.ParseQuery(string(all[3].Body))
		if err != nil || !strings.Contains(form.Get("payload"), `"state":"DONE"`) || form.Get("custom") != `{"a":1}` {
			t.Errorf("%s", all[3].Body)
		}
		if !strings.Contains(string(all[2].Body), "WAIT_SIGN") {
			t.Errorf("the state between was not told: %s", all[2].Body)
		}
	}, allow(r.URL))
}

// rotateAndResend sends a delivery again under two secrets.
func rotateAndResend(s *site, r *receiver, old *webhooks.Webhook) {
	s.T.Helper()
	var secret struct{ Secret, Previous string }
	if err := json.Unmarshal(s.Do("POST", "/callbacks/secret", nil).Data, &secret); err != nil || secret.Previous != s.Box.WebhookSecret {
		s.T.Fatalf("%+v %v", secret, err)
	}
	var list []struct {
		ID, HTTPResponseCode string
		CompletedAt          *string
	}
	for range await.Within(await.Limit) {
		if err := json.Unmarshal(s.Do("GET", "/callbacks", nil).Data, &list); err != nil || len(list) != 1 {
			s.T.Fatalf("%v %v", list, err)
		}
		if list[0].CompletedAt != nil {
			break
		}
	}
	if list[0].HTTPResponseCode != "200" {
		s.T.Errorf("%+v", list)
	}
	if a := s.Do("POST", "/callbacks/"+list[0].ID+"/resend", nil); a.Status != 200 {
		s.T.Fatalf("%d %s", a.Status, a.Message)
	}
	got := r.Wait(s.T, 2)
	fresh, err := webhooks.NewWebhook(secret.Secret)
	if err != nil {
		s.T.Fatal(err)
	}
	if fresh.Verify(got[1].Body, got[1].Header) != nil || old.Verify(got[1].Body, got[1].Header) != nil {
		s.T.Error("not signed by both secrets")
	}
	if got[0].Header.Get("webhook-id") != got[1].Header.Get("webhook-id") {
		s.T.Error("the webhook-id changed")
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
	s.Sign(b64(sitetest.SamplePDF), m{"callback": m{"url": gone.URL}})
	s.Sign(b64(sitetest.SamplePDF), m{"callback": m{"url": moved.URL, "retry": 0}})
	gone.Wait(t, 1)
	moved.Wait(t, 1)
	await.Until(t, "both callbacks are over", func() bool {
		var list []struct{ CompletedAt *string }
		if err := json.Unmarshal(s.Do("GET", "/callbacks", nil).Data, &list); err != nil || len(list) != 2 {
			t.Fatalf("%v %v", list, err)
		}
		return list[0].CompletedAt != nil && list[1].CompletedAt != nil
	})
	if n := len(gone.Wait(t, 1)); n != 1 {
		t.Errorf("%d deliveries to a receiver that is gone", n)
	}
}

func TestRemoteDocuments(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/doc.pdf":
			w.Write(sitetest.SamplePDF)
		case "/private":
			if r.Method != "POST" || string(b) != "a=b" || r.Header.Get("Authorization") != "Bearer x" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			w.Write(sitetest.SampleXML)
		case "/moved":
			http.Redirect(w, r, "/doc.pdf", http.StatusFound)
		}
	}))
	defer web.Close()
	eachEngine(t, func(t *testing.T, s *site) {
		r := s.Sign([]any{web.URL + "/doc.pdf"})
		if r.State != "DONE" || deref(r.SignatureType) != "pades" || r.Document.InputDocuments[0].SourceType != "remote" || r.Document.InputDocuments[0].MD5 == "" {
			t.Errorf("%+v %s", r, deref(r.ErrorMessage))
		}
		r = s.Sign(m{"sourceType": "remote", "url": web.URL + "/private", "method": "post", "postData": "a=b", "headers": []string{"Authorization: Bearer x"}, "payload": nil})
		if r.State != "DONE" || deref(r.SignatureType) != "xades" {
			t.Errorf("%+v %s", r, deref(r.ErrorMessage))
		}
		for _, p := range []string{"/moved", "/private", "/none"} {
			if r := s.Sign(web.URL + p); r.Number() != 117 {
				t.Errorf("%s: %s %d", p, r.State, r.Number())
			}
		}
		r = s.Sign(web.URL+"/doc.pdf", optionsOf(m{"asyncDocumentsValidation": true}))
		if r = s.Wait(r.ID, "DONE", "ERROR"); r.State != "DONE" || r.Document.InputDocuments[0].SHA256 == "" {
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
			a := s.Do("POST", "/certificates/provider-"+kind, m{"certificateOwner": "Dora Prova", "securityLevel": level})
			var c struct{ CertificateLink string }
			if a.Status != 200 || json.Unmarshal(a.Data, &c) != nil {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
			page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
			return element(page, "certificate-username"), element(page, "certificate-password"), element(page, "otp-secret")
		}
		for _, bad := range []struct {
			kind  string
			level int
		}{{"automatic", 4}, {"otp", 1}, {"eseal", 6}, {"automatic", -1}} {
			if a := s.Do("POST", "/certificates/provider-"+bad.kind, m{"certificateOwner": "x", "securityLevel": bad.level}); a.Code() != 310 {
				t.Errorf("%v: %d", bad, a.Code())
			}
		}
		for _, level := range []int{2, 3} {
			user, pass, _ := buy("automatic", level)
			a := s.Do("POST", "/EU-QES_automatic", m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": user, "certificatePassword": pass})
			if a.Status != 403 || a.Code() != 129 {
				t.Errorf("level %d: %d/%d", level, a.Status, a.Code())
			}
		}
		user, pass, secret := buy("otp", 5)
		code, _ := keys.Code(secret, time.Now())
		r := s.Record(s.Do("POST", "/EU-QES_otp", m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": user, "certificatePassword": pass, "certificateOtp": code}))
		if r.State != "WAIT_SIGN" {
			t.Fatalf("%+v %s", r, deref(r.ErrorMessage))
		}
		if a := s.Do("POST", "/approvals/"+r.ID, nil); a.Status != 403 || a.Code() != 129 {
			t.Errorf("the token that asked approves: %d/%d", a.Status, a.Code())
		}
		other := s.OtherToken()
		if a := s.Do("POST", "/approvals/"+r.ID, nil, "Authorization", "Bearer "+other); a.Status != 200 {
			t.Errorf("approval: %d/%d %s", a.Status, a.Code(), a.Message)
		}
		if r := s.Wait(r.ID, "DONE", "ERROR"); r.State != "DONE" {
			t.Errorf("%s", deref(r.ErrorMessage))
		}
		code, _ = keys.Code(secret, time.Now().Add(30*time.Second))
		r = s.Record(s.Do("POST", "/EU-QES_otp", m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": user, "certificatePassword": pass, "certificateOtp": code}))
		if a := s.Do("DELETE", "/approvals/"+r.ID, nil, "Authorization", "Bearer "+other); a.Status != 200 {
			t.Errorf("refusal: %d/%d %s", a.Status, a.Code(), a.Message)
		}
		if r := s.Wait(r.ID, "DONE", "ERROR"); r.Number() != 120 {
			t.Errorf("refused: %s %d", r.State, r.Number())
		}
		if a := s.Do("GET", "/approvals", nil); string(a.Data) != "[]" {
			t.Errorf("%s", a.Data)
		}
	})
}

// Nothing of one account can be seen from another: every id is as unknown as
// one that does not exist.
func TestTenantWalls(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		r := s.Sign(b64(sitetest.SamplePDF))
		var certs []struct{ ID string }
		if err := json.Unmarshal(s.Do("GET", "/certificates", nil).Data, &certs); err != nil || len(certs) != 3 {
			t.Fatalf("%v %v", certs, err)
		}
		stranger := s.Stranger()
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
			theirs := s.Do(c.method, strings.Replace(c.path, "%s", c.id, 1), nil, "Authorization", "Bearer "+stranger)
			nobodys := s.Do(c.method, strings.Replace(c.path, "%s", unknown, 1), nil, "Authorization", "Bearer "+stranger)
			if theirs.Status != 404 || theirs.Status != nobodys.Status || theirs.Code() != nobodys.Code() || theirs.Message != nobodys.Message {
				t.Errorf("%s %s: %d/%d %q, unknown %d/%d %q", c.method, c.path, theirs.Status, theirs.Code(), theirs.Message, nobodys.Status, nobodys.Code(), nobodys.Message)
			}
		}
		for _, p := range []string{"/signatures", "/certificates", "/callbacks", "/approvals", "/client-certificates"} {
			if a := s.Do("GET", p, nil, "Authorization", "Bearer "+stranger); string(a.Data) != "[]" {
				t.Errorf("%s shows %s", p, a.Data)
			}
		}
		a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF)), "Authorization", "Bearer "+stranger)
		if rec := s.Record(a); rec.Number() != 110 {
			t.Errorf("another account's credentials: %s %d", rec.State, rec.Number())
		}
	})
}

// Secrets that went through the server are nowhere in clear: not in its log,
// not in its files, not in its answers.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newSite(t, func(c *server.Config) { c.Data = dir; c.Log.Level = "debug" })
	c := s.Box.Certificates["otp"]
	canaries := []string{"canary-wrong-password", "canary-tsa-password", "canary-pdf-password", "canary-callback-header", c.Password, c.TOTPSecret, s.Box.Certificates["automatic"].Password}
	s.Sign(b64(sitetest.SamplePDF), m{"certificatePassword": canaries[0]})
	s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"level": "T", "timestampUrl": s.URL + "/tsa", "timestampUsername": "u", "timestampPassword": canaries[1]}))
	r := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"encryptInAnyCase": true, "encryptionPassword": canaries[2], "asyncSignature": true}), m{"callback": m{"url": "https://nowhere.invalid/", "headers": m{"X": canaries[3]}, "retry": 0}})
	s.Wait(r.ID, "DONE", "ERROR")
	s.Record(s.Do("POST", "/EU-QES_otp", m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": c.Username, "certificatePassword": c.Password, "certificateOtp": s.OTP()}))
	_, trail := s.Raw("GET", "/signatures/"+r.ID+"/audit", nil)
	_, list := s.Raw("GET", "/callbacks", nil)
	s.Run.Stop()
	places := map[string][]byte{"log": []byte(s.Run.Log.String()), "audit": trail, "callbacks": list}
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
		resp, err := http.Post(s.URL+"/tsa", "application/timestamp-query", r.Body)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		io.Copy(w, resp.Body)
	})
	for _, p := range []string{"/500", "/garbage", "/huge", "/replay", "/slow"} {
		begin := time.Now()
		r := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"level": "T", "timestampUrl": tsa.URL + p}))
		if r.State != "ERROR" || r.Number() != 114 {
			t.Errorf("%s: %s %d %s", p, r.State, r.Number(), deref(r.ErrorMessage))
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s took %v", p, took)
		}
	}
	s.VerifyAudit()
}
