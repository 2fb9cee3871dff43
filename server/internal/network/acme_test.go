package network

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"rogito.dev/rogito/internal/await"
)

// acmeServer is an authority as RFC 8555 has it, for one order at a time. It
// looks at what the listener under test shows by TLS-ALPN-01 (RFC 8737), or at what
// is said beside it by HTTP-01 (RFC 8555, 8.3); the signatures of requests it
// believes.
type acmeServer struct {
	*httptest.Server
	kind   string // of the challenge that it offers
	target string // the listener under test
	beside string // the one of HTTP-01
	print  string // thumbprint of the account's key
	key    *ecdsa.PrivateKey
	root   *x509.Certificate
	nonces atomic.Int64
	states atomic.Int64 // of the authorisation, that were asked for
	domain string
	valid  bool
	issued []byte
}

func newACMEServer(t *testing.T, kind string) *acmeServer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &acmeServer{kind: kind, key: key, root: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a root of the tests"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, 90), KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.root, a.root, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	if a.root, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.Server = httptest.NewTLSServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *acmeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Replay-Nonce", fmt.Sprint("nonce-", a.nonces.Add(1)))
	var jws struct{ Protected, Payload string }
	_ = json.NewDecoder(r.Body).Decode(&jws)
	payload, _ := base64.RawURLEncoding.DecodeString(jws.Payload)
	answer := func(status int, location string, v any) {
		if location != "" {
			w.Header().Set("Location", a.URL+location)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	state := map[bool]string{false: "pending", true: "valid"}[a.valid]
	challenge := map[string]any{"type": a.kind, "url": a.URL + "/challenge", "token": "a-token", "status": state}
	order := map[string]any{
		"status": map[bool]string{false: "pending", true: "ready"}[a.valid], "authorizations": []string{a.URL + "/authorization"},
		"identifiers": []any{map[string]string{"type": "dns", "value": a.domain}}, "finalize": a.URL + "/finalize",
	}
	if a.issued != nil {
		order["status"], order["certificate"] = "valid", a.URL+"/certificate"
	}
	switch r.URL.Path {
	case "/directory":
		answer(200, "", map[string]string{"newNonce": a.URL + "/nonce", "newAccount": a.URL + "/account", "newOrder": a.URL + "/orders"})
	case "/nonce":
	case "/account":
		if err := a.know(jws.Protected); err != nil {
			answer(400, "", map[string]string{"type": "urn:ietf:params:acme:error:malformed", "detail": err.Error()})
			return
		}
		answer(201, "/account/1", map[string]string{"status": "valid"})
	case "/orders":
		var asked struct{ Identifiers []struct{ Value string } }
		_ = json.Unmarshal(payload, &asked)
		a.domain, a.valid, a.issued = asked.Identifiers[0].Value, false, nil
		order["identifiers"], order["status"] = asked.Identifiers, "pending"
		delete(order, "certificate")
		answer(201, "/order", order)
	case "/authorization":
		a.states.Add(1)
		answer(200, "", map[string]any{"status": state, "identifier": map[string]string{"type": "dns", "value": a.domain}, "challenges": []any{challenge}})
	case "/challenge":
		if err := a.look(); err != nil {
			answer(403, "", map[string]string{"type": "urn:ietf:params:acme:error:tls", "detail": err.Error()})
			return
		}
		a.valid, challenge["status"] = true, "valid"
		answer(200, "", challenge)
	case "/finalize":
		var asked struct{ CSR string }
		_ = json.Unmarshal(payload, &asked)
		if err := a.issue(asked.CSR); err != nil {
			answer(403, "", map[string]string{"type": "urn:ietf:params:acme:error:badCSR", "detail": err.Error()})
			return
		}
		order["status"], order["certificate"] = "valid", a.URL+"/certificate"
		answer(200, "/order", order)
	case "/order":
		answer(200, "/order", order)
	case "/certificate":
		_, _ = w.Write(a.issued)
	default:
		http.NotFound(w, r)
	}
}

// know takes the account's key down, by its thumbprint (RFC 7638).
func (a *acmeServer) know(protected string) error {
	b, err := base64.RawURLEncoding.DecodeString(protected)
	if err != nil {
		return err
	}
	var head struct{ JWK struct{ Crv, X, Y string } }
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":%q,"kty":"EC","x":%q,"y":%q}`, head.JWK.Crv, head.JWK.X, head.JWK.Y))
	a.print = base64.RawURLEncoding.EncodeToString(sum[:])
	return nil
}

// look asks for the proof of the domain.
func (a *acmeServer) look() error {
	if a.kind == "http-01" {
		resp, err := a.plain("http://" + a.domain + "/.well-known/acme-challenge/a-token")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		said, err := io.ReadAll(resp.Body)
		if want := "a-token." + a.print; err == nil && (resp.StatusCode != http.StatusOK || string(said) != want) {
			err = fmt.Errorf("%d %q, want %q", resp.StatusCode, said, want)
		}
		return err
	}
	conn, err := tls.Dial("tcp", a.target, &tls.Config{ServerName: a.domain, NextProtos: []string{acme.ALPNProto}, InsecureSkipVerify: true}) //nolint:gosec // as RFC 8737 wants it
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, e := range conn.ConnectionState().PeerCertificates[0].Extensions {
		if e.Id.Equal(asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 31}) {
			return nil
		}
	}
	return errors.New("the certificate has no acmeIdentifier")
}

// plain asks the listener of HTTP-01, whatever the name, and follows no redirect.
func (a *acmeServer) plain(url string) (*http.Response, error) {
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", a.beside)
	}}
	c := &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c.Get(url)
}

func (a *acmeServer) issue(encoded string) error {
	der, _ := base64.RawURLEncoding.DecodeString(encoded)
	csr, err := x509.ParseCertificateRequest(der)
	if err != nil || !a.valid {
		return fmt.Errorf("not valid: %v", err)
	}
	cert, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{ // valid for long: a renewal would add requests
		SerialNumber: big.NewInt(2), DNSNames: csr.DNSNames, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, 90),
	}, a.root, csr.PublicKey, a.key)
	a.issued = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	return err
}

// TestACME: a server that knows only its name obtains a certificate for it by either challenge,
// keeps it, and does not show it to clients that ask for another name.
func TestACME(t *testing.T) {
	for _, kind := range []string{"tls-alpn-01", "http-01"} {
		t.Run(kind, func(t *testing.T) { obtains(t, kind) })
	}
}

// freePort is an address that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// backwards is a master key that anybody sees through, but not in a file.
type backwards struct{}

func (backwards) SealFor(_, owner string, b []byte) ([]byte, error) {
	b = append([]byte(owner+"\n"), b...)
	slices.Reverse(b)
	return b, nil
}

func (backwards) UnsealFor(_, owner string, b []byte) ([]byte, error) {
	b = slices.Clone(b)
	slices.Reverse(b)
	plain, ok := bytes.CutPrefix(b, []byte(owner+"\n"))
	if !ok {
		return nil, errors.New("of another")
	}
	return plain, nil
}

// keptSealed looks at all that lies in the folder: certificates in clear, keys not;
// a file that was put in the place of another counts for nothing.
func keptSealed(t *testing.T, folder string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil || len(files) < 3 { // the account's key, the certificate's, the certificate
		t.Errorf("%v %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("PRIVATE KEY")) || bytes.Contains(b, []byte("CERTIFICATE")) != strings.HasSuffix(f.Name(), ".pem") {
			t.Errorf("%s is in clear:\n%s", f.Name(), b)
		}
	}
	cache := NewACMECache(folder)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cache.Get(ctx, "sign.example.org"); !errors.Is(err, context.Canceled) {
		t.Errorf("before the master key: %v", err)
	}
	cache.Open(backwards{})
	if b, err := cache.Get(t.Context(), "sign.example.org"); err != nil || !bytes.Contains(b, []byte("PRIVATE KEY")) {
		t.Errorf("kept: %q %v", b, err)
	}
	if err := os.Rename(filepath.Join(folder, "sign.example.org"), filepath.Join(folder, "other.example.org")); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.Get(t.Context(), "other.example.org"); !errors.Is(err, autocert.ErrCacheMiss) {
		t.Errorf("another's key: %v", err)
	}
}

func obtains(t *testing.T, kind string) {
	a := newACMEServer(t, kind)
	a.beside = freePort(t)
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := &Config{
		Listen: "127.0.0.1:0", Limits: Limits{Connections: 100, PerAddress: 100, Timeout: time.Minute}, ACME: NewACMECache(filepath.Join(dir, "acme")),
		TLS: TLSConfig{ACME: ACMEConfig{Domains: []string{"sign.example.org"}, Directory: a.URL + "/directory", CA: ca, HTTP: a.beside}},
	}
	var said strings.Builder
	cfg.Log = slog.New(slog.NewTextHandler(&said, nil))
	if _, err := cfg.TLS.Certificate(cfg.ACME); err == nil {
		t.Error("there is a certificate before there is one")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ln, err := Listen(ctx, cfg)
	cfg.ACME.Open(backwards{})
	if err != nil {
		t.Fatal(err)
	}
	a.target = ln.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
		_ = Serve(ctx, NewServer(cfg, h, slog.New(slog.DiscardHandler)), ln, func() {}, time.Second)
	}()
	defer func() { cancel(); <-done }()
	roots := x509.NewCertPool()
	roots.AddCert(a.root)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", a.target)
		},
	}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("https://sign.example.org/")
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusTeapot {
		t.Error(resp.StatusCode)
	}
	if c, err := cfg.TLS.Certificate(cfg.ACME); err != nil || c.DNSNames[0] != "sign.example.org" {
		t.Errorf("not kept: %v", err)
	}
	if resp, err = a.plain("http://sign.example.org/docs?x=1"); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if to := resp.Header.Get("Location"); resp.StatusCode != http.StatusFound || to != "https://sign.example.org/docs?x=1" {
		t.Errorf("a browser is sent to %q with %d", to, resp.StatusCode)
	}
	if resp, err = a.plain("http://sign.example.org/.well-known/acme-challenge/another"); err == nil {
		resp.Body.Close()
	}
	if err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("a challenge that nobody set: %v %v", resp, err)
	}
	keptSealed(t, filepath.Join(dir, "acme"))
	// Before the challenge, after it, and a third time in the background, to cancel what is
	// pending.
	for range await.Within(await.Limit) {
		if a.states.Load() >= 3 {
			break
		}
	}
	asked := a.nonces.Load()
	if _, err := client.Get("https://other.example.org/"); err == nil {
		t.Error("another name has a certificate")
	}
	if now := a.nonces.Load(); now != asked {
		t.Errorf("a stranger's name made %d requests to the authority", now-asked)
	}
}

func TestTLSContradictions(t *testing.T) {
	both := TLSConfig{Cert: "c", Key: "k", ACME: ACMEConfig{Domains: []string{"x.example.org"}}}
	for name, c := range map[string]TLSConfig{"half a pair": {Cert: "c"}, "two sources": both, "clients without TLS": {ClientCA: "c"}} {
		if c.Check() == nil {
			t.Errorf("%s is let through", name)
		}
	}
	if err := (TLSConfig{ClientCA: "c", ACME: both.ACME}).Check(); err != nil {
		t.Error(err)
	}
}
