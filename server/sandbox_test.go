package server_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/server"
)

// call sends one authenticated request.
func call(t *testing.T, method, url, token, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%s %s: %v: %s", method, url, err, b)
	}
	return resp.StatusCode, m
}

func TestFirstStartMakesASandboxOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, func(c *server.Config) { c.Data = dir })
	first := server.ReadSandbox(dir)
	if first == nil || first.Token == "" || first.APIKey == "" || first.Email == "" || first.BaseURL != r.URL {
		t.Fatalf("%+v", first)
	}
	assertMode(t, server.SandboxFile(dir), 0o600)
	if strings.Contains(r.Out.String(), first.Token) || !strings.Contains(r.Out.String(), "curl") || !strings.Contains(r.Out.String(), server.SandboxFile(dir)) {
		t.Errorf("the welcome has no curl to copy, or has a secret where there is no terminal: %s", r.Out)
	}
	if strings.Contains(r.Log.String(), first.Token) || strings.Contains(r.Log.String(), first.APIKey) {
		t.Error("a secret is in the log")
	}
	if code, m := call(t, "GET", r.URL+"/IT-omi/publications", first.Token, ""); code != 200 {
		t.Errorf("%d %v", code, m)
	}
	r.Stop()
	again := start(t, func(c *server.Config) { c.Data = dir })
	if second := server.ReadSandbox(dir); second.Token != first.Token {
		t.Error("the second start made another sandbox")
	}
	if code, _ := call(t, "GET", again.URL+"/IT-omi/publications", first.Token, ""); code != 200 {
		t.Errorf("the token is not good any more: %d", code)
	}
}

// TestSandboxIsMended: a first start that was cut off before sandbox.json was written does not
// leave an installation that no one can log in to.
func TestSandboxIsMended(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, func(c *server.Config) { c.Data = dir }).Stop()
	if err := os.Remove(server.SandboxFile(dir)); err != nil {
		t.Fatal(err)
	}
	r := start(t, func(c *server.Config) { c.Data = dir })
	b := server.ReadSandbox(dir)
	if b == nil {
		t.Fatal("no sandbox.json")
	}
	if code, _ := call(t, "GET", r.URL+"/IT-omi/publications", b.Token, ""); code != 200 {
		t.Errorf("%d", code)
	}
}

func TestProductionRefusesASandbox(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, func(c *server.Config) { c.Data = dir }).Stop()
	cfg := testDefaults()
	cfg.Data, cfg.Listen, cfg.Production, cfg.Limits.Reserve = dir, "127.0.0.1:0", true, -1
	err := server.Run(t.Context(), cfg, server.Streams{Out: io.Discard, Err: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "sandbox") {
		t.Errorf("got %v", err)
	}
}

func TestInitThenProduction(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := testDefaults()
	cfg.Data, cfg.Limits.Reserve, cfg.Log.Level = dir, -1, "error"
	s, err := server.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.Init(t.Context(), "admin@example.org")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Init(t.Context(), "other@example.org"); err == nil {
		t.Error("a second init was let through")
	}
	s.Close()
	r := start(t, func(c *server.Config) { c.Data, c.Production = dir, true })
	if code, _ := call(t, "GET", r.URL+"/IT-omi/publications", made.Token, ""); code != 200 {
		t.Errorf("%d", code)
	}
	if code, m := call(t, "GET", r.URL+"/IT-omi?latitude=38.6&longitude=17.6", made.Token, ""); code != 503 || m["error"] != 285.0 {
		t.Errorf("production without an import: %d %v", code, m)
	}
	if server.ReadSandbox(dir) != nil || strings.Contains(r.Out.String(), made.Token) {
		t.Error("production made a sandbox or printed a secret")
	}
	for _, name := range []string{"root", "ca", "tsa"} {
		if cert := fetchCertificate(t, r.URL+"/pki/"+name+".pem"); strings.Contains(cert.Subject.String(), "SANDBOX") ||
			name != "root" && !strings.HasPrefix(cert.CRLDistributionPoints[0], r.URL) {
			t.Errorf("%s of production: %s, revocation at %s", name, cert.Subject, cert.CRLDistributionPoints)
		}
	}
	// Without --production the same installation still is no sandbox.
	r.Stop()
	beside, err := server.Open(t.Context(), cfg)
	if err != nil || beside.IsSandbox() {
		t.Errorf("a command takes it for a sandbox: %v", err)
	}
	beside.Close()
	start(t, func(c *server.Config) { c.Data = dir })
	if server.ReadSandbox(dir) != nil {
		t.Error("a sandbox was made beside a real administrator")
	}
}

func fetchCertificate(t *testing.T, url string) *x509.Certificate {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(body)
	if block == nil {
		t.Fatalf("%s: %s", url, body)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestMasterKeyIsRotatedBesideARunningServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, func(c *server.Config) { c.Data = dir })
	before, err := os.ReadFile(filepath.Join(dir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := testDefaults()
	cfg.Data, cfg.Limits.Reserve = dir, -1
	s, err := server.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.RotateMasterKey(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	s.Close()
	after, _ := os.ReadFile(filepath.Join(dir, "master.key"))
	if bytes.Equal(before, after) {
		t.Error("the key is the same")
	}
	token := server.ReadSandbox(dir).Token
	if code, _ := call(t, "GET", r.URL+"/IT-omi/publications", token, ""); code != 200 {
		t.Errorf("running: %d", code)
	}
	r.Stop()
	r = start(t, func(c *server.Config) { c.Data = dir })
	if code, _ := call(t, "GET", r.URL+"/IT-omi/publications", token, ""); code != 200 {
		t.Errorf("restarted: %d", code)
	}
}

func TestLostMasterKeyIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, func(c *server.Config) { c.Data = dir }).Stop()
	if err := os.Remove(filepath.Join(dir, "master.key")); err != nil {
		t.Fatal(err)
	}
	cfg := testDefaults()
	cfg.Data, cfg.Listen, cfg.Limits.Reserve = dir, "127.0.0.1:0", -1
	if err := server.Run(context.Background(), cfg, server.Streams{Out: io.Discard, Err: io.Discard}); err == nil {
		t.Error("started without the key its data is sealed under")
	}
}
