package cie_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/fetch"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cie"
	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// counterpart is the release of the Django provider that is asked.
const counterpart = "spid-cie-oidc==1.6.3"

// python is the interpreter of a virtual environment that has the counterpart.
// It is made once and kept.
func python(t *testing.T) string {
	t.Helper()
	if os.Getenv("ROGITO_IDENTIFY") == "" {
		t.Skip("SKIPPED: the Django provider is asked by `make identify` (ROGITO_IDENTIFY=1)")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "rogito-identify", counterpart)
	bin := filepath.Join(dir, "bin", "python")
	if exec.Command(bin, "-c", "import spid_cie_oidc").Run() == nil {
		return bin
	}
	for _, args := range [][]string{{"python3", "-m", "venv", "--clear", dir}, {bin, "-m", "pip", "install", "-q", "--disable-pip-version-check", counterpart}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: %s cannot be installed: %v: %s", counterpart, err, out)
		}
	}
	return bin
}

// django is the counterpart and a relying party that it has onboarded.
type django struct {
	*world
	url     string
	browser *http.Client
	serve   *cie.CIE // whose configuration is published
	deps    cie.Deps
}

func newDjango(t *testing.T) *django {
	t.Helper()
	bin := python(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	script, err := filepath.Abs("../../../../test/identify/cie_provider.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(bin, script, fmt.Sprint(port), dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			b, _ := os.ReadFile(log.Name())
			t.Logf("the provider says:\n%s", b)
		}
		log.Close()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the provider does not start: %q %v", line, err)
	}
	d := &django{world: &world{t: t}, url: fmt.Sprintf("http://127.0.0.1:%d", port)}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	d.browser = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.serve.Handler().ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	d.base = server.URL
	guard, err := fetch.New(fetch.Config{AllowPrivate: []string{strings.TrimPrefix(d.url, "http://"), strings.TrimPrefix(d.base, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	d.deps = cie.Deps{Client: guard.Client(30 * time.Second), Plain: guard.Named, Now: time.Now}
	d.config = cie.Config{ClientID: d.base, TrustAnchors: []string{d.url}, OrganizationName: "Relying party", Contacts: []string{"rp@example.test"}}
	for name, file := range map[string]*string{"federation": &d.config.FederationKey, "signing": &d.config.SigningKey, "encryption": &d.config.EncryptionKey} {
		*file = rsaKey(t, dir, name)
	}
	d.serve = d.with(d.config)
	// Onboarding: the registrar reads our configuration, and answers with a
	// trust mark that we publish from then on.
	marks := d.ask("/control/onboard?sub=" + url.QueryEscape(d.base))
	d.config.TrustMarks = filepath.Join(dir, "trust-marks.json")
	if err := os.WriteFile(d.config.TrustMarks, []byte(marks), 0o600); err != nil {
		t.Fatal(err)
	}
	d.serve = d.with(d.config)
	d.CIE = d.serve
	return d
}

func rsaKey(t *testing.T, dir, name string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	use := "sig"
	if name == "encryption" {
		use = "enc"
	}
	p, err := jwt.NewPrivate(key, "rp-"+name, use)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.JSON()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name+".jwk")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (d *django) with(config cie.Config) *cie.CIE {
	d.t.Helper()
	c, err := cie.New(config, d.deps)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

func (d *django) ask(path string) string {
	d.t.Helper()
	resp, err := http.Get(d.url + path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		d.t.Fatalf("%s: status %d, %v", path, resp.StatusCode, err)
	}
	return string(b)
}

// login goes through the provider's pages and returns what comes to the callback.
func (d *django) login(to *identify.Departure) url.Values {
	d.t.Helper()
	step := func(resp *http.Response, err error) *http.Response {
		d.t.Helper()
		if err != nil {
			d.t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	if resp := step(d.browser.Get(to.URL)); resp.StatusCode != http.StatusOK {
		d.t.Fatalf("the login page: status %d to %s", resp.StatusCode, resp.Header.Get("Location"))
	}
	u, err := url.Parse(to.URL)
	if err != nil {
		d.t.Fatal(err)
	}
	form := url.Values{"username": {"mario"}, "password": {"mario"}, "authz_request_object": {u.Query().Get("request")}}
	u.RawQuery = ""
	resp := step(d.browser.PostForm(u.String(), form))
	consent := d.url + resp.Header.Get("Location")
	if resp := step(d.browser.Get(consent)); resp.StatusCode != http.StatusOK {
		d.t.Fatalf("the page of consent %s: status %d", consent, resp.StatusCode)
	}
	resp = step(d.browser.PostForm(consent, url.Values{"agree": {"on"}}))
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || !strings.HasPrefix(back.String(), d.base+"/cie/callback?") {
		d.t.Fatalf("status %d to %s", resp.StatusCode, back)
	}
	return back.Query()
}

// A whole code flow with a provider that others wrote ends in a proof, and each
// tampered variant is refused for its reason.
func TestCounterpart(t *testing.T) {
	d := newDjango(t)
	ctx := context.Background()
	provider := d.url + "/oidc/op"

	for _, f := range d.Check(ctx) {
		if !f.OK {
			t.Errorf("check: %s: %s", f.Name, f.Detail)
		}
	}
	if all := d.Providers(ctx); len(all) != 1 || all[0].ID != provider || all[0].Name != "Test provider" {
		t.Fatalf("providers %v", all)
	}
	to, err := d.Start(ctx, identify.Order{}, provider)
	if err != nil {
		t.Fatal(err)
	}
	back := d.login(to)
	a, err := d.Finish(ctx, to.State, back)
	if err != nil {
		t.Fatal(err)
	}
	want := identify.Attributes{GivenName: "Mario", Surname: "Rossi", FiscalCode: "RSSMRA80A01H501U", DateOfBirth: "1980-01-01", Email: "mario.rossi@example.test"}
	if a.Proof.Proven != want || a.Proof.Issuer != provider || a.Proof.Level != "https://www.spid.gov.it/SpidL3" || len(a.Files) != 3 {
		t.Errorf("proof %+v", a.Proof)
	}

	// A replayed code: this provider hands out its tokens again, so the second
	// answer must have the id of the first, which the store takes once. In
	// another request the code is of no use.
	if again, err := d.Finish(ctx, to.State, back); err != nil || again.ID != a.ID {
		t.Errorf("replay: %v", err)
	}
	other, err := d.Start(ctx, identify.Order{}, provider)
	if err != nil {
		t.Fatal(err)
	}
	stolen := url.Values{"state": {other.Request}, "iss": {provider}, "code": {back.Get("code")}}
	_, err = d.Finish(ctx, other.State, stolen)
	refused(t, "a replayed code", err, "code")

	for _, c := range []struct{ what, tamper, reason string }{
		{"a changed nonce", "id_token_nonce=another", "nonce"},
		{"another audience", "id_token_aud=https://other.example", "audience"},
		{"another issuer", "id_token_iss=https://other.example", "issuer"},
		{"a weaker level", "id_token_acr=https://www.spid.gov.it/SpidL2", "level"},
	} {
		d.ask("/control/tamper?" + c.tamper)
		to, err := d.Start(ctx, identify.Order{}, provider)
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Finish(ctx, to.State, d.login(to))
		refused(t, c.what, err, c.reason)
	}
	for _, c := range []struct{ what, tamper, reason string }{
		{"no trust mark", "no_mark=1", "trust-mark"},
		{"an expired statement", "statement_exp=-60", "chain"},
		{"under another anchor", "hints=" + d.url + "/other", "chain"},
	} {
		d.ask("/control/tamper?" + c.tamper)
		_, err := d.Start(ctx, identify.Order{}, provider)
		refused(t, c.what, err, c.reason)
	}
	d.ask("/control/tamper")

	// The provider stands under an anchor that is not ours.
	config := d.config
	config.TrustAnchors, config.Providers = []string{d.url + "/other"}, []string{provider}
	_, err = d.with(config).Start(ctx, identify.Order{}, provider)
	refused(t, "another anchor", err, "chain")

	if to, err = d.Start(ctx, identify.Order{}, provider); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Finish(ctx, to.State, d.login(to)); err != nil {
		t.Errorf("at last, untampered: %v", err)
	}
}
