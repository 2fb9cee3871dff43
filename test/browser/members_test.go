package browser

import (
	"encoding/json"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"rogito.dev/rogito/server/servertest"
)

// invite has the operator invite a person, and returns the path of the link.
func (s *server) invite(t testing.TB, email, role string) string {
	t.Helper()
	cmd := exec.Command(servertest.Binary(t), "console", "invite", email, "--role", role, "--json", "--data", s.Data)
	cmd.Env = append(cmd.Environ(), "ROGITO_TRUST_LISTS=false", "ROGITO_PUBLIC_URL="+s.URL)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var made struct{ URL string }
	if err := json.Unmarshal(out, &made); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(made.URL)
	if err != nil || !strings.HasPrefix(u.Path, "/console/join/") {
		t.Fatalf("the link is %q: %v", made.URL, err)
	}
	return u.Path
}

// passkeys gives a browser an authenticator that knows its user.
func (b *tab) passkeys(transport string) {
	b.t.Helper()
	b.do("WebAuthn.enable", nil, nil)
	b.do("WebAuthn.addVirtualAuthenticator", map[string]any{"options": map[string]any{
		"protocol": "ctap2", "transport": transport, "hasResidentKey": true, "hasUserVerification": true, "isUserVerified": true, "automaticPresenceSimulation": true,
	}}, nil)
}

// A clerk who was invited makes a passkey, logs in with it, invites a colleague, and
// revokes a certificate for a reason, on a phone in Italian.
func TestConsolePeople(t *testing.T) {
	s := startServer(t)
	byName := *s // passkeys are for names, not for addresses
	byName.URL = strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	link := s.invite(t, "clerk@example.org", "owner")

	b := open(t, &byName, how{Lang: "it", Width: 390, Dark: true})
	b.passkeys("internal")
	b.goTo(link)
	b.sound("people-join")
	if got := b.eval("document.querySelector('.qr img').naturalWidth > 100"); got != "true" {
		t.Error("there is no QR code of the key")
	}
	b.loading(func() { b.click("#passkey") })
	b.wait("#waiting")
	if got := b.text("h1"); !strings.Contains(got, "clerk@example.org") {
		t.Errorf("home says %q", got)
	}
	b.sound("people-home")
	b.loading(func() { b.click("header.site form button") })
	b.loading(func() { b.click("#passkey") })
	b.wait("#waiting")

	b.loading(func() { b.click("a#passkeys") }) // a second one, on another device, and the first is given up
	if b.has("#passkeys form") {
		t.Error("the only way in can be removed")
	}
	first := b.attr("#passkeys li", "data-id")
	b.passkeys("usb")
	b.loading(func() { b.click("#passkey") })
	if got := b.count("#passkeys li"); got != "2" {
		t.Fatalf("%s passkeys: %s", got, b.text("main"))
	}
	for _, h := range ways {
		other := openIn(t, b.c, b.context, byName.URL, h)
		other.goTo("/console/passkeys")
		other.sound("people-passkeys")
	}
	b.loading(func() { b.click("#passkeys li[data-id='" + first + "'] button") })
	b.loading(func() { b.click("#confirm button") })
	if got := b.count("#passkeys li"); got != "1" || b.attr("#passkeys li", "data-id") == first {
		t.Errorf("%s passkeys are left", got)
	}

	b.goTo("/console/people")
	b.typeIn("#invite-person [name=email]", "collega@example.org")
	b.set("#invite-person [name=role]", "reader")
	b.loading(func() { b.click("#invite-person button") })
	b.wait(`tr[data-role=reader]`)
	b.sound("people-list")
	b.goTo("/console/account/tokens/new")
	b.typeIn("#token [name=name]", "gestionale")
	b.loading(func() { b.click("#token button") })
	b.wait("#made-token")
	b.shot("people-token")

	b.goTo("/console/certificates")
	b.loading(func() { b.click(`form[action$="/revoke"] button`) })
	b.wait("#confirm")
	b.sound("people-revoke")
	b.eval("document.querySelector('#confirm [name=reason]').removeAttribute('required'); ''")
	b.loading(func() { b.click("#confirm button") })
	if got := b.text("#reason-problem"); !strings.Contains(got, "motivo") {
		t.Errorf("without a reason the page says %q", got)
	}
	b.set("#confirm [name=reason]", "superseded")
	b.loading(func() { b.click("#confirm button") })
	if got := b.text(".alert.good"); !strings.Contains(got, "revocato") {
		t.Errorf("after it the page says %q", got)
	}
}
