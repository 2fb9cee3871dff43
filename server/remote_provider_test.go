package server

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/adestest"
)

// farKey is a credential at the provider of these tests.
type farKey struct {
	actor     *adestest.Actor
	pin, otp  string // empty: none is asked for
	status    string
	algo      []string
	multisign int
	raw       bool // ECDSA as r and s
}

// farProvider speaks the Cloud Signature Consortium API, as far as these tests
// need it. It remembers what was sent to be signed.
type farProvider struct {
	*httptest.Server
	t       testing.TB
	pki     *adestest.PKI
	version string // 1 or 2
	keys    map[string]*farKey

	mu      sync.Mutex
	access  []string // tokens that are good
	refresh string
	codes   map[string]string // code: challenge
	sads    map[string][]string
	hashes  []string // sent to be signed
	calls   map[string]int
	// odd, where set, may answer a call in place of the provider.
	odd func(w http.ResponseWriter, method string, n int, body map[string]any) bool
}

func newProvider(t testing.TB, version string) *farProvider {
	return newProviderOf(t, version, adestest.Start(t, time.Now))
}

func newProviderOf(t testing.TB, version string, pki *adestest.PKI) *farProvider {
	p := &farProvider{
		t: t, version: version, keys: map[string]*farKey{}, access: []string{"token-0"}, refresh: "refresh-0", codes: map[string]string{}, sads: map[string][]string{},
		calls: map[string]int{},
	}
	p.pki = pki
	for name, k := range map[string]*farKey{
		"rsa": {actor: pki.Actor(t, "good"), pin: "1234"}, "p256": {actor: pki.Actor(t, "p256"), pin: "1234"}, "seal": {actor: pki.Actor(t, "eseal"), raw: true},
		"otp": {actor: pki.Actor(t, "second"), pin: "1234", otp: "000111"}, "pss": {actor: pki.Actor(t, "both-usages"), algo: []string{"1.2.840.113549.1.1.10"}},
		"third": {actor: pki.Actor(t, "third")},
	} {
		k.multisign, p.keys[name] = 100, k
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/oauth2/authorize", p.authorizePage)
	mux.HandleFunc("POST /oauth2/token", p.token)
	mux.HandleFunc("POST /csc/", p.api)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// configure adds the provider to a server's configuration.
func (p *farProvider) configure(flow string) func(*Config) {
	dir := p.t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
		return path
	}
	return func(c *Config) {
		c.Signing.Providers = map[string]Provider{"far": {
			Kind: "csc", URL: p.URL + "/csc", Flow: flow, ClientID: "rogito", ClientSecretFile: write("secret", "s3cret\n"), TokenFile: write("token", "token-0\n"), Timeout: 2 * time.Second,
		}}
		c.Trust.Anchors = []string{write("root.pem", string(p.pki.RootPEM()))}
		c.Network.AllowPrivate = append(c.Network.AllowPrivate, "127.0.0.1")
	}
}

func (p *farProvider) authorizePage(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("scope") != "service" || q.Get("state") == "" || q.Get("client_id") != "rogito" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = q.Get("code_challenge")
	p.mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (p *farProvider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls["token"]++
	good := r.FormValue("client_secret") == "s3cret"
	switch r.FormValue("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		challenge, ok := p.codes[r.FormValue("code")]
		delete(p.codes, r.FormValue("code"))
		good = good && ok && challenge == base64.RawURLEncoding.EncodeToString(sum[:])
	case "refresh_token":
		good = good && r.FormValue("refresh_token") == p.refresh
	case "client_credentials":
	default:
		good = false
	}
	if !good {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	p.access, p.refresh = append(p.access, "token-"+rand.Text()), "refresh-"+rand.Text()
	_ = json.NewEncoder(w).Encode(m{"access_token": p.access[len(p.access)-1], "refresh_token": p.refresh, "token_type": "Bearer", "expires_in": 3600})
}

func (p *farProvider) api(w http.ResponseWriter, r *http.Request) {
	method := strings.TrimPrefix(r.URL.Path, "/csc/")
	body := map[string]any{}
	_ = json.NewDecoder(r.Body).Decode(&body)
	p.mu.Lock()
	p.calls[method]++
	n, odd := p.calls[method], p.odd
	known := slices.Contains(p.access, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if method == "signatures/signHash" {
		p.hashes = append(p.hashes, p.list(body)...)
	}
	p.mu.Unlock()
	switch {
	case odd != nil && odd(w, method, n, body):
		return
	case method == "info":
		_ = json.NewEncoder(w).Encode(m{"specs": map[string]string{"1": "1.0.4.0", "2": "2.0.0.2"}[p.version], "name": "Far", "oauth2": p.URL, "methods": []string{
			"credentials/list", "credentials/info", "credentials/authorize", "signatures/signHash",
		}})
		return
	case !known:
		no(w, http.StatusUnauthorized, "invalid_token")
		return
	}
	p.answer(w, method, body)
}

func no(w http.ResponseWriter, status int, word string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(m{"error": word, "error_description": "the provider's words"})
}

// list are the hashes of a call, in the words of the version.
func (p *farProvider) list(body map[string]any) (all []string) {
	list, _ := body[map[string]string{"1": "hash", "2": "hashes"}[p.version]].([]any)
	for _, h := range list {
		s, _ := h.(string)
		all = append(all, s)
	}
	return all
}

func (p *farProvider) answer(w http.ResponseWriter, method string, body map[string]any) {
	id, _ := body["credentialID"].(string)
	k := p.keys[id]
	switch {
	case method == "credentials/list":
		_ = json.NewEncoder(w).Encode(m{"credentialIDs": slices.Sorted(func(yield func(string) bool) {
			for id := range p.keys {
				if !yield(id) {
					return
				}
			}
		})})
		return
	case k == nil:
		no(w, http.StatusBadRequest, "invalid_request")
		return
	}
	switch method {
	case "credentials/info":
		_ = json.NewEncoder(w).Encode(p.describe(k))
	case "credentials/authorize":
		pin, otp := body["PIN"], body["OTP"]
		if p.version == "2" {
			pin, otp = nil, nil
			data, _ := body["authData"].([]any)
			for _, d := range data {
				o := d.(map[string]any)
				if o["id"] == "PIN" {
					pin = o["value"]
				} else {
					otp = o["value"]
				}
			}
		}
		if k.pin != "" && pin != k.pin {
			no(w, http.StatusBadRequest, "invalid_pin")
			return
		}
		if k.otp != "" && otp != k.otp {
			no(w, http.StatusBadRequest, "invalid_otp")
			return
		}
		sad := rand.Text()
		p.mu.Lock()
		p.sads[sad] = p.list(body)
		p.mu.Unlock()
		_ = json.NewEncoder(w).Encode(m{"SAD": sad, "expiresIn": 300})
	case "signatures/signHash":
		p.sign(w, k, body)
	default:
		no(w, http.StatusNotFound, "unknown")
	}
}

func (p *farProvider) describe(k *farKey) m {
	status := k.status
	if status == "" {
		status = "valid"
	}
	algo := k.algo
	if algo == nil {
		algo = []string{"1.2.840.113549.1.1.1"}
		if _, ec := k.actor.Key.Public().(*ecdsa.PublicKey); ec {
			algo = []string{"1.2.840.10045.4.3.2", "1.2.840.10045.4.3.3", "1.2.840.10045.4.3.4"}
		}
	}
	list := []string{} // in the wrong order, without the root
	for _, c := range []*x509.Certificate{k.actor.Chain[0], k.actor.Certificate} {
		list = append(list, base64.StdEncoding.EncodeToString(c.Raw))
	}
	out := m{"key": m{"status": "enabled", "algo": algo}, "cert": m{"status": status, "certificates": list}, "SCAL": "2", "multisign": k.multisign}
	if p.version == "1" {
		out["authMode"], out["PIN"], out["OTP"] = "explicit", m{"presence": k.pin != ""}, m{"presence": k.otp != ""}
		return out
	}
	objects := []m{}
	if k.pin != "" {
		objects = append(objects, m{"type": "Password", "id": "PIN", "format": "N"})
	}
	if k.otp != "" {
		objects = append(objects, m{"type": "Password", "id": "OTP", "format": "N", "generator": "totp"})
	}
	out["auth"] = m{"mode": "explicit", "objects": objects}
	return out
}

func (p *farProvider) sign(w http.ResponseWriter, k *farKey, body map[string]any) {
	sad, _ := body["SAD"].(string)
	hashes := p.list(body)
	p.mu.Lock()
	allowed := slices.Equal(p.sads[sad], hashes) && len(hashes) > 0 && len(hashes) <= k.multisign
	delete(p.sads, sad)
	p.mu.Unlock()
	if !allowed {
		no(w, http.StatusBadRequest, "invalid_sad")
		return
	}
	var out []string
	for _, h := range hashes {
		digest, _ := base64.StdEncoding.DecodeString(h)
		hash := map[int]crypto.Hash{32: crypto.SHA256, 48: crypto.SHA384, 64: crypto.SHA512}[len(digest)]
		var opts crypto.SignerOpts = hash
		if body["signAlgo"] == "1.2.840.113549.1.1.10" {
			opts = &rsa.PSSOptions{SaltLength: hash.Size(), Hash: hash}
		}
		v, err := k.actor.Key.Sign(rand.Reader, digest, opts)
		if err != nil {
			no(w, http.StatusBadRequest, err.Error())
			return
		}
		if k.raw {
			var pair struct{ R, S *big.Int }
			_, _ = asn1.Unmarshal(v, &pair)
			v = append(pair.R.FillBytes(make([]byte, 32)), pair.S.FillBytes(make([]byte, 32))...)
		}
		text := base64.StdEncoding.EncodeToString(v)
		out = append(out, text[:20]+"\r\n"+text[20:])
	}
	_ = json.NewEncoder(w).Encode(m{"signatures": out})
}

// twice are hashes that were sent to be signed more than once.
func (p *farProvider) twice() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[string]bool{}
	for _, h := range p.hashes {
		if seen[h] {
			all = append(all, h)
		}
		seen[h] = true
	}
	return all
}

// count of the calls of a method so far.
func (p *farProvider) count(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[method]
}

// intercept answers calls of a method in place of the provider; nil ends that.
func (p *farProvider) intercept(method string, f func(w http.ResponseWriter, n int, body map[string]any) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.odd, p.calls[method] = nil, 0
	if f != nil {
		p.odd = func(w http.ResponseWriter, called string, n int, body map[string]any) bool {
			return called == method && f(w, n, body)
		}
	}
}

// remote buys a certificate of the provider by naming a credential.
func (s *site) remote(kind, credential, pin string) SandboxCredentials {
	s.t.Helper()
	a := s.do("POST", "/certificates/far-"+kind, m{"certificateOwner": "Elsa Prova"})
	var b bought
	if a.Status != 200 || json.Unmarshal(a.Data, &b) != nil {
		s.t.Fatalf("%d/%d %s", a.Status, a.code(), a.Message)
	}
	page := s.page(b.CertificateLink, url.Values{"action": {"credential"}, "credential": {credential}, "pin": {pin}})
	c := SandboxCredentials{Username: element(page, "certificate-username"), Password: element(page, "certificate-password")}
	if c.Username == "" {
		s.t.Fatalf("no credentials: %s", page)
	}
	return c
}

// signFar signs with a certificate of the provider.
func (s *site) signFar(kind string, c SandboxCredentials, docs any, more ...m) *record {
	s.t.Helper()
	b := m{"inputDocuments": docs, "certificateUsername": c.Username, "certificatePassword": c.Password}
	for _, x := range more {
		for k, v := range x {
			b[k] = v
		}
	}
	return s.record(s.do("POST", "/EU-QES_"+kind, b))
}
