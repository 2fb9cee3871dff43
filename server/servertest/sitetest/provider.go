package sitetest

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
	"rogito.dev/rogito/server"
)

// FarKey is a credential at the provider of these tests.
type FarKey struct {
	Actor     *adestest.Actor
	PIN, otp  string // empty: none is asked for
	status    string
	algo      []string
	Multisign int
	raw       bool // ECDSA as r and s
}

// FarProvider speaks the Cloud Signature Consortium API, as far as these tests
// need it. It remembers what was sent to be signed.
type FarProvider struct {
	*httptest.Server
	t       testing.TB
	PKI     *adestest.PKI
	version string // 1 or 2
	Keys    map[string]*FarKey

	Mu      sync.Mutex
	Access  []string // tokens that are good
	Refresh string
	codes   map[string]string // code: challenge
	sads    map[string][]string
	hashes  []string // sent to be signed
	Calls   map[string]int
	// odd, where set, may answer a call in place of the provider.
	Odd func(w http.ResponseWriter, method string, n int, body map[string]any) bool
}

func NewProvider(t testing.TB, version string) *FarProvider {
	return NewProviderOf(t, version, adestest.Start(t, time.Now))
}

func NewProviderOf(t testing.TB, version string, pki *adestest.PKI) *FarProvider {
	p := &FarProvider{
		t: t, version: version, Keys: map[string]*FarKey{}, Access: []string{"token-0"}, Refresh: "refresh-0", codes: map[string]string{}, sads: map[string][]string{},
		Calls: map[string]int{},
	}
	p.PKI = pki
	for name, k := range map[string]*FarKey{
		"rsa": {Actor: pki.Actor(t, "good"), PIN: "1234"}, "p256": {Actor: pki.Actor(t, "p256"), PIN: "1234"}, "seal": {Actor: pki.Actor(t, "eseal"), raw: true},
		"otp": {Actor: pki.Actor(t, "second"), PIN: "1234", otp: "000111"}, "pss": {Actor: pki.Actor(t, "both-usages"), algo: []string{"1.2.840.113549.1.1.10"}},
		"third": {Actor: pki.Actor(t, "third")},
	} {
		k.Multisign, p.Keys[name] = 100, k
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/oauth2/authorize", p.authorizePage)
	mux.HandleFunc("POST /oauth2/token", p.token)
	mux.HandleFunc("POST /csc/", p.api)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// Configure adds the provider to a server's configuration.
func (p *FarProvider) Configure(flow string) func(*server.Config) {
	dir := p.t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
		return path
	}
	return func(c *server.Config) {
		c.Signing.Providers = map[string]server.Provider{"far": {
			Kind: "csc", URL: p.URL + "/csc", Flow: flow, ClientID: "rogito", ClientSecretFile: write("secret", "s3cret\n"), TokenFile: write("token", "token-0\n"), Timeout: 2 * time.Second,
		}}
		c.Trust.Anchors = []string{write("root.pem", string(p.PKI.RootPEM()))}
		c.Network.AllowPrivate = append(c.Network.AllowPrivate, "127.0.0.1")
	}
}

func (p *FarProvider) authorizePage(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("scope") != "service" || q.Get("state") == "" || q.Get("client_id") != "rogito" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.Mu.Lock()
	p.codes[code] = q.Get("code_challenge")
	p.Mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (p *FarProvider) token(w http.ResponseWriter, r *http.Request) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.Calls["token"]++
	good := r.FormValue("client_secret") == "s3cret"
	switch r.FormValue("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		challenge, ok := p.codes[r.FormValue("code")]
		delete(p.codes, r.FormValue("code"))
		good = good && ok && challenge == base64.RawURLEncoding.EncodeToString(sum[:])
	case "refresh_token":
		good = good && r.FormValue("refresh_token") == p.Refresh
	case "client_credentials":
	default:
		good = false
	}
	if !good {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	p.Access, p.Refresh = append(p.Access, "token-"+rand.Text()), "refresh-"+rand.Text()
	_ = json.NewEncoder(w).Encode(M{"access_token": p.Access[len(p.Access)-1], "refresh_token": p.Refresh, "token_type": "Bearer", "expires_in": 3600})
}

func (p *FarProvider) api(w http.ResponseWriter, r *http.Request) {
	method := strings.TrimPrefix(r.URL.Path, "/csc/")
	body := map[string]any{}
	_ = json.NewDecoder(r.Body).Decode(&body)
	p.Mu.Lock()
	p.Calls[method]++
	n, odd := p.Calls[method], p.Odd
	known := slices.Contains(p.Access, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if method == "signatures/signHash" {
		p.hashes = append(p.hashes, p.list(body)...)
	}
	p.Mu.Unlock()
	switch {
	case odd != nil && odd(w, method, n, body):
		return
	case method == "info":
		_ = json.NewEncoder(w).Encode(M{"specs": map[string]string{"1": "1.0.4.0", "2": "2.0.0.2"}[p.version], "name": "Far", "oauth2": p.URL, "methods": []string{
			"credentials/list", "credentials/info", "credentials/authorize", "signatures/signHash",
		}})
		return
	case !known:
		No(w, http.StatusUnauthorized, "invalid_token")
		return
	}
	p.Answer(w, method, body)
}

func No(w http.ResponseWriter, status int, word string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(M{"error": word, "error_description": "the provider's words"})
}

// list are the hashes of a call, in the words of the version.
func (p *FarProvider) list(body map[string]any) (all []string) {
	list, _ := body[map[string]string{"1": "hash", "2": "hashes"}[p.version]].([]any)
	for _, h := range list {
		s, _ := h.(string)
		all = append(all, s)
	}
	return all
}

func (p *FarProvider) Answer(w http.ResponseWriter, method string, body map[string]any) {
	id, _ := body["credentialID"].(string)
	k := p.Keys[id]
	switch {
	case method == "credentials/list":
		_ = json.NewEncoder(w).Encode(M{"credentialIDs": slices.Sorted(func(yield func(string) bool) {
			for id := range p.Keys {
				if !yield(id) {
					return
				}
			}
		})})
		return
	case k == nil:
		No(w, http.StatusBadRequest, "invalid_request")
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
		if k.PIN != "" && pin != k.PIN {
			No(w, http.StatusBadRequest, "invalid_pin")
			return
		}
		if k.otp != "" && otp != k.otp {
			No(w, http.StatusBadRequest, "invalid_otp")
			return
		}
		sad := rand.Text()
		p.Mu.Lock()
		p.sads[sad] = p.list(body)
		p.Mu.Unlock()
		_ = json.NewEncoder(w).Encode(M{"SAD": sad, "expiresIn": 300})
	case "signatures/signHash":
		p.sign(w, k, body)
	default:
		No(w, http.StatusNotFound, "unknown")
	}
}

func (p *FarProvider) describe(k *FarKey) M {
	status := k.status
	if status == "" {
		status = "valid"
	}
	algo := k.algo
	if algo == nil {
		algo = []string{"1.2.840.113549.1.1.1"}
		if _, ec := k.Actor.Key.Public().(*ecdsa.PublicKey); ec {
			algo = []string{"1.2.840.10045.4.3.2", "1.2.840.10045.4.3.3", "1.2.840.10045.4.3.4"}
		}
	}
	list := []string{} // in the wrong order, without the root
	for _, c := range []*x509.Certificate{k.Actor.Chain[0], k.Actor.Certificate} {
		list = append(list, base64.StdEncoding.EncodeToString(c.Raw))
	}
	out := M{"key": M{"status": "enabled", "algo": algo}, "cert": M{"status": status, "certificates": list}, "SCAL": "2", "multisign": k.Multisign}
	if p.version == "1" {
		out["authMode"], out["PIN"], out["OTP"] = "explicit", M{"presence": k.PIN != ""}, M{"presence": k.otp != ""}
		return out
	}
	objects := []M{}
	if k.PIN != "" {
		objects = append(objects, M{"type": "Password", "id": "PIN", "format": "N"})
	}
	if k.otp != "" {
		objects = append(objects, M{"type": "Password", "id": "OTP", "format": "N", "generator": "totp"})
	}
	out["auth"] = M{"mode": "explicit", "objects": objects}
	return out
}

func (p *FarProvider) sign(w http.ResponseWriter, k *FarKey, body map[string]any) {
	sad, _ := body["SAD"].(string)
	hashes := p.list(body)
	p.Mu.Lock()
	allowed := slices.Equal(p.sads[sad], hashes) && len(hashes) > 0 && len(hashes) <= k.Multisign
	delete(p.sads, sad)
	p.Mu.Unlock()
	if !allowed {
		No(w, http.StatusBadRequest, "invalid_sad")
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
		v, err := k.Actor.Key.Sign(rand.Reader, digest, opts)
		if err != nil {
			No(w, http.StatusBadRequest, err.Error())
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
	_ = json.NewEncoder(w).Encode(M{"signatures": out})
}

// Twice are hashes that were sent to be signed more than once.
func (p *FarProvider) Twice() (all []string) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	seen := map[string]bool{}
	for _, h := range p.hashes {
		if seen[h] {
			all = append(all, h)
		}
		seen[h] = true
	}
	return all
}

// Remote buys a certificate of the provider by naming a credential.
func (s *Site) Remote(kind, credential, pin string) server.SandboxCredentials {
	s.T.Helper()
	a := s.Do("POST", "/certificates/far-"+kind, M{"certificateOwner": "Elsa Prova"})
	var b Bought
	if a.Status != 200 || json.Unmarshal(a.Data, &b) != nil {
		s.T.Fatalf("%d/%d %s", a.Status, a.Code(), a.Message)
	}
	page := s.Page(b.CertificateLink, url.Values{"action": {"credential"}, "credential": {credential}, "pin": {pin}})
	c := server.SandboxCredentials{Username: Element(page, "certificate-username"), Password: Element(page, "certificate-password")}
	if c.Username == "" {
		s.T.Fatalf("no credentials: %s", page)
	}
	return c
}
