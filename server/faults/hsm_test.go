//go:build pkcs11

package faults_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/pkcs11"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/hsm/hsmtest"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// tokenSite is a server whose keys are made in a PKCS#11 token, and a
// certificate of it.
func tokenSite(t *testing.T, sessions int) (*site, *hsmtest.Token, m) {
	t.Helper()
	token := hsmtest.New(t)
	pin := filepath.Join(t.TempDir(), "pin")
	if err := os.WriteFile(pin, []byte(token.PIN+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(c *server.Config) {
		c.Signing.PKCS11 = server.PKCS11Config{Module: token.Library, Token: token.Label, PINFile: pin, Sessions: sessions}
	})
	c := s.Buy("automatic", nil)
	page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
	return s, token, m{"certificateUsername": sitetest.Element(page, "certificate-username"), "certificatePassword": sitetest.Element(page, "certificate-password")}
}

// Keys in a token sign; when it is gone the call is told to come back and
// leaves nothing, a record that waits ends in an error with its price given
// back, and when the token is back all goes on.
func TestPKCS11GoneAndBack(t *testing.T) {
	s, token, who := tokenSite(t, 0)
	if r := s.Sign(b64(sitetest.SamplePDF), who); r.State != "DONE" {
		t.Fatalf("%d %s", r.Number(), deref(r.ErrorMessage))
	}
	before := s.Credit()
	token.SignAnswer.Store(pkcs11.CKR_TOKEN_NOT_PRESENT)
	token.OpenAnswer.Store(pkcs11.CKR_TOKEN_NOT_PRESENT)
	if r := s.Sign(b64(sitetest.SamplePDF), who); r.State != "ERROR" || r.Number() != 119 { // lost while the key was in use
		t.Errorf("%s %d", r.State, r.Number())
	}
	logins := token.Inits.Load()
	async := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF), who, optionsOf(m{"asyncSignature": true})))
	if async.Status == 200 {
		if r := s.Wait(s.Record(async).ID, "ERROR"); r.Number() != 119 {
			t.Errorf("in a job: %s %d", r.State, r.Number())
		}
	}
	if tries := token.Inits.Load() - logins; tries > 100 {
		t.Errorf("%d logins while the token was away", tries)
	}
	if got := s.Credit(); got != before {
		t.Errorf("%v of credit, %v before", got, before)
	}
	token.SignAnswer.Store(0)
	token.OpenAnswer.Store(0)
	await.Until(t, "it signs again", func() bool {
		a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF), who))
		return a.Status == 200 && s.Record(a).State == "DONE"
	})
	s.VerifyAudit()
}

// Revoked means erased in the token too. One that does not destroy the key is
// told of in the audit log and by the doctor, and asked again.
func TestPKCS11KeyLeavesWhenRevoked(t *testing.T) {
	s, token, who := tokenSite(t, 0)
	ctx, srv := context.Background(), s.OpenServer()
	label := ""
	revoke := func() string {
		t.Helper()
		r := s.Sign(b64(sitetest.SamplePDF), who)
		if r.State != "DONE" {
			t.Fatalf("%d %s", r.Number(), deref(r.ErrorMessage))
		}
		var id string
		if err := srv.Parts().DB.Read().QueryRow(ctx, `select certificate_id from signatures where id = $1`, r.ID).Scan(&id); err != nil {
			t.Fatal(err)
		}
		if err := srv.Parts().DB.Read().QueryRow(ctx, `select token_key from credentials where id = $1`, id).Scan(&label); err != nil {
			t.Fatal(err)
		}
		if _, err := srv.Parts().Token.Find(label); err != nil {
			t.Fatal(err)
		}
		if a := s.Do("POST", "/certificates/"+id+"/revoke", nil); a.Status != 200 || s.CertificateState(id) != "REVOKED" {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		if r := s.Sign(b64(sitetest.SamplePDF), who); r.State != "ERROR" || r.Number() != 112 {
			t.Errorf("afterwards: %s %d", r.State, r.Number())
		}
		return id
	}
	kept := func() bool {
		_, err := srv.Parts().Token.Find(label)
		return err == nil
	}
	told := func() bool {
		found := s.Examine(true)["signing keys"]
		return strings.Contains(found.Text.String(), "still in the token")
	}
	token.DestroyAnswer.Store(pkcs11.CKR_ACTION_PROHIBITED)
	id := revoke()
	if n := countRows(srv, t, `select count(*) from audit_events where kind = 'certificate-key-kept' and record_id = '`+id+`'`); n != 1 {
		t.Errorf("%d events tell of a key that was kept", n)
	}
	if !told() {
		t.Error("the doctor does not tell of a key that was kept")
	}
	token.DestroyAnswer.Store(0)
	if err := srv.Parts().Enroll.Tidy(ctx); err != nil {
		t.Fatal(err)
	}
	if told() {
		t.Error("the doctor tells of a key that was destroyed when it was asked again")
	}
	if n := countRows(srv, t, `select count(*) from credentials where token_key <> '' and id = '`+id+`'`); n != 0 {
		t.Error("the key still counts as kept")
	}
	if kept() {
		t.Error("the key is still in the token")
	}
	c := s.Buy("automatic", nil)
	page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
	who = m{"certificateUsername": sitetest.Element(page, "certificate-username"), "certificatePassword": sitetest.Element(page, "certificate-password")}
	if revoke(); kept() {
		t.Error("the key of a revoked certificate is in the token")
	}
}

// A token that does not answer holds up signing, and nothing else.
func TestPKCS11SlowReadsGoOn(t *testing.T) {
	const sessions = 4
	s, token, who := tokenSite(t, sessions)
	r := s.Sign(b64(sitetest.SamplePDF), who)
	token.Hold.Store(1)
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			if r := s.Sign(b64(sitetest.SamplePDF), who); r.State != "DONE" {
				t.Errorf("%d %s", r.Number(), deref(r.ErrorMessage))
			}
		})
	}
	token.Await(t, sessions)
	for range 200 {
		if a := s.Do("GET", "/signatures/"+r.ID, nil); a.Status != 200 {
			t.Fatalf("a read while the token signs: %d", a.Status)
		}
	}
	token.Hold.Store(0)
	wg.Wait()
	if most := token.Most.Load(); most != sessions {
		t.Errorf("%d signatures at a time, want %d", most, sessions)
	}
}
