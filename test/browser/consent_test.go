package browser

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"rogito.dev/rogito/server/servertest"
)

// The page on which a holder lets an application see a certificate, or sign with
// it: who asks, for what, where the answer goes; wrong passwords are said, a refusal
// is one, and a consent brings a code, once.
func TestConsent(t *testing.T) {
	s := startServer(t)
	redirect := s.URL + "/check" // an application of the same origin: no request goes elsewhere
	var client struct {
		ID string `json:"client_id"`
	}
	out, err := exec.Command(servertest.Binary(t), "csc", "client", "add", `Contratti <b>srl</b>`, "--redirect", redirect, "--json", "--data", s.Data).Output()
	if err != nil || json.Unmarshal(out, &client) != nil || client.ID == "" {
		t.Fatalf("%s %v", out, err)
	}
	challenge := sha256.Sum256([]byte(strings.Repeat("verifier", 8)))
	digest := sha256.Sum256([]byte("a document"))
	asked := func(scope string) string {
		q := url.Values{
			"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {redirect}, "scope": {scope}, "state": {"a state"},
			"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
		}
		if scope == "credential" {
			q.Set("numSignatures", "1")
			q.Set("hashes", base64.RawURLEncoding.EncodeToString(digest[:]))
			q.Set("hashAlgorithmOID", "2.16.840.1.101.3.4.2.1")
			q.Set("credentialID", s.credential(t))
		}
		return "/csc/oauth2/authorize?" + q.Encode()
	}
	cert := s.Sandbox.Certificates["automatic"]
	for _, h := range ways {
		b := open(t, s, h)
		b.goTo("/csc/oauth2/authorize?client_id=nobody")
		b.wait("[role=alert]")
		b.sound("consent-refused")
		b.goTo(asked("credential"))
		if got := b.text("#client"); got != "Contratti <b>srl</b>" || b.text("#signatures") != "1" || b.count("#digests li") != "1" || !strings.Contains(s.URL, b.text("#host")) {
			t.Errorf("%+v: %q asks for %s documents", h, got, b.text("#signatures"))
		}
		b.sound("consent-sign")
		b.goTo(asked("service"))
		b.sound("consent")
		b.typeIn("#username", cert.Username)
		b.typeIn("#password", "sbagliata")
		b.loading(func() { b.click("#consent button[value=allow]") })
		if got := b.text("[role=alert]"); got == "" || b.eval("document.querySelector('#password').value") != "" || b.eval("document.querySelector('#username').value") != cert.Username {
			t.Errorf("%+v: after a wrong password: %q", h, got)
		}
		b.sound("consent-wrong")
		if h.NoScripts { // by keyboard
			b.typeIn("#password", cert.Password)
			b.tabTo("#consent button[value=allow]")
			b.loading(func() { b.key("Enter") })
		} else {
			b.typeIn("#password", cert.Password)
			b.loading(func() { b.click("#consent button[value=allow]") })
		}
		if got := b.path(); !strings.HasPrefix(got, "/check?code=") || !strings.Contains(got, "state=a+state") {
			t.Errorf("%+v: consent leads to %s", h, got)
		}
		b.goTo(asked("service"))
		b.loading(func() { b.click("#consent button[value=deny]") })
		if got := b.path(); !strings.Contains(got, "error=access_denied") {
			t.Errorf("%+v: a refusal leads to %s", h, got)
		}
	}
}

// credential is the id of the sandbox's automatic certificate.
func (s *server) credential(t testing.TB) string {
	t.Helper()
	var list struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(s.api(t, "GET", "/certificates?certificateType=EU-QES_automatic", nil), &list); err != nil || len(list.Data) == 0 {
		t.Fatalf("%+v %v", list, err)
	}
	return list.Data[0].ID
}
