// Package cietest starts a provider of CIE that others wrote: trust anchor,
// onboarding and provider of the PyPI package spid-cie-oidc, on loopback.
package cietest

import (
	"bufio"
	"crypto/rand"
	"crypto/rsa"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/identify/cie"
	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// release is the one that is asked.
const release = "spid-cie-oidc==1.6.3"

//go:embed provider.py
var script []byte

// Provider runs until the test ends.
type Provider struct {
	t   testing.TB
	URL string // of the anchor, which is its entity
}

// Entity is that of the provider.
func (p *Provider) Entity() string { return p.URL + "/oidc/op" }

// Host is for network.allow_private.
func (p *Provider) Host() string { return strings.TrimPrefix(p.URL, "http://") }

// Start starts it, or skips the test where it cannot be installed.
func Start(t testing.TB) *Provider {
	t.Helper()
	bin, dir := python(t), t.TempDir()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	file := filepath.Join(dir, "provider.py")
	if err := os.WriteFile(file, script, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, file, fmt.Sprint(port), dir)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
		if t.Failed() {
			b, _ := os.ReadFile(log.Name())
			t.Logf("the provider says:\n%s", b)
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the provider does not start: %q %v", line, err)
	}
	return &Provider{t, fmt.Sprintf("http://127.0.0.1:%d", port)}
}

// python is the interpreter of a virtual environment that has the release. It
// is made once and kept.
func python(t testing.TB) string {
	t.Helper()
	if os.Getenv("ROGITO_IDENTIFY") == "" {
		t.Skip("SKIPPED: the Django provider is asked by `make identify` (ROGITO_IDENTIFY=1)")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "rogito-identify", release)
	bin := filepath.Join(dir, "bin", "python")
	if exec.Command(bin, "-c", "import spid_cie_oidc").Run() == nil {
		return bin
	}
	for _, args := range [][]string{{"python3", "-m", "venv", "--clear", dir}, {bin, "-m", "pip", "install", "-q", "--disable-pip-version-check", release}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: %s cannot be installed: %v: %s", release, err, out)
		}
	}
	return bin
}

// Settings are those of a relying party under the anchor, with new RSA keys and
// no trust mark yet.
func (p *Provider) Settings(clientID string) cie.Config {
	p.t.Helper()
	dir := p.t.TempDir()
	config := cie.Config{
		ClientID: clientID, TrustAnchors: []string{p.URL}, OrganizationName: "Relying party", Contacts: []string{"rp@example.test"},
		TrustMarks: filepath.Join(dir, "trust-marks.json"),
	}
	p.write(config.TrustMarks, []byte("[]"))
	for _, k := range []struct {
		name, use string
		file      *string
	}{{"federation", "sig", &config.FederationKey}, {"signing", "sig", &config.SigningKey}, {"encryption", "enc", &config.EncryptionKey}} {
		secret, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			p.t.Fatal(err)
		}
		key, err := jwt.NewPrivate(secret, "rp-"+k.name, k.use)
		if err != nil {
			p.t.Fatal(err)
		}
		b, err := key.JSON()
		if err != nil {
			p.t.Fatal(err)
		}
		*k.file = filepath.Join(dir, k.name+".jwk")
		p.write(*k.file, b)
	}
	return config
}

func (p *Provider) write(file string, b []byte) {
	p.t.Helper()
	if err := os.WriteFile(file, b, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// Onboard has the registrar read the configuration that the relying party
// publishes, and writes the trust mark that it answers with.
func (p *Provider) Onboard(config cie.Config) {
	p.t.Helper()
	p.write(config.TrustMarks, []byte(p.ask("/control/onboard?sub="+url.QueryEscape(config.ClientID))))
}

// Tamper has the provider do something wrong from now on: name=value. Nothing:
// all is well again.
func (p *Provider) Tamper(what string) {
	p.t.Helper()
	p.ask("/control/tamper?" + what)
}

func (p *Provider) ask(path string) string {
	p.t.Helper()
	resp, err := http.Get(p.URL + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: status %d, %v", path, resp.StatusCode, err)
	}
	return string(b)
}

// Login goes through the provider's pages in a browser that follows no
// redirect, and returns the address of the callback with the answer.
func (p *Provider) Login(browser *http.Client, departure string) *url.URL {
	p.t.Helper()
	step := func(address string, form url.Values) (int, string) {
		p.t.Helper()
		r, err := http.NewRequest(http.MethodGet, address, http.NoBody)
		if form != nil {
			r, err = http.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode()))
		}
		if err != nil {
			p.t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := browser.Do(r)
		if err != nil {
			p.t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Location")
	}
	if status, to := step(departure, nil); status != http.StatusOK {
		p.t.Fatalf("the login page: status %d to %s", status, to)
	}
	u, err := url.Parse(departure)
	if err != nil {
		p.t.Fatal(err)
	}
	form := url.Values{"username": {"mario"}, "password": {"mario"}, "authz_request_object": {u.Query().Get("request")}}
	u.RawQuery = ""
	_, consent := step(u.String(), form)
	if status, _ := step(p.URL+consent, nil); status != http.StatusOK {
		p.t.Fatalf("the page of consent %s: status %d", consent, status)
	}
	status, to := step(p.URL+consent, url.Values{"agree": {"on"}})
	back, err := url.Parse(to)
	if err != nil || !strings.HasSuffix(back.Path, "/cie/callback") {
		p.t.Fatalf("status %d to %s", status, back)
	}
	return back
}
