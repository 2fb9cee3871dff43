package cie_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cie"
	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// Claims that a provider, or whoever holds one of its keys, may sign: each is
// refused for its own reason.
func TestClaimsOfTokens(t *testing.T) {
	w := newWorld(t)
	if _, _, _, err := w.journey(); err != nil {
		t.Fatalf("untampered: %v", err)
	}
	set := func(name string, v any) func(map[string]any) { return func(c map[string]any) { c[name] = v } }
	drop := func(name string) func(map[string]any) { return func(c map[string]any) { delete(c, name) } }
	hour := time.Hour
	for _, c := range []struct {
		name, what, reason string
		change             func(map[string]any)
	}{
		{"another audience", "id-token", "audience", set("aud", "https://other.example")},
		{"us among others", "id-token", "audience", set("aud", []string{w.base, "https://other.example"})},
		{"an empty audience", "id-token", "audience", set("aud", []string{})},
		{"no audience", "id-token", "audience", drop("aud")},
		{"us with a slash", "id-token", "audience", set("aud", w.base+"/")},
		{"another party is authorised", "id-token", "audience", set("azp", "https://other.example")},
		{"another issuer", "id-token", "issuer", set("iss", "https://other.example")},
		{"no issuer", "id-token", "issuer", drop("iss")},
		{"another nonce", "id-token", "nonce", set("nonce", "x")},
		{"no nonce", "id-token", "nonce", drop("nonce")},
		{"another access token", "id-token", "at_hash", set("at_hash", base64.RawURLEncoding.EncodeToString(make([]byte, 16)))},
		{"no at_hash", "id-token", "at_hash", drop("at_hash")},
		{"expired", "id-token", "expired", set("exp", w.now.Add(-hour).Unix())},
		{"no end", "id-token", "expired", drop("exp")},
		{"an end beyond all time", "id-token", "expired", set("exp", 1e300)},
		{"of the future", "id-token", "time", set("iat", w.now.Add(hour).Unix())},
		{"older than the request", "id-token", "time", set("iat", w.now.Add(-hour).Unix())},
		{"no date", "id-token", "time", drop("iat")},
		{"not yet valid", "id-token", "time", set("nbf", w.now.Add(hour).Unix())},
		{"a weaker level", "id-token", "level", set("acr", "https://www.spid.gov.it/SpidL2")},
		{"an invented level", "id-token", "level", set("acr", "https://www.spid.gov.it/SpidL4")},
		{"no level", "id-token", "level", drop("acr")},
		{"nobody", "id-token", "subject", drop("sub")},
		{"claims of other kinds", "id-token", "id-token", set("nonce", 7)},

		{"somebody else's data", "userinfo", "subject", set("sub", "somebody else")},
		{"nobody's data", "userinfo", "subject", drop("sub")},
		{"data for another service", "userinfo", "audience", set("aud", "https://other.example")},
		{"data of another issuer", "userinfo", "issuer", set("iss", "https://other.example")},
		{"data that have expired", "userinfo", "expired", set("exp", w.now.Add(-hour).Unix())},
		{"an ID token for data", "userinfo", "userinfo", set("nonce", "x")},
		{"no tax code", "userinfo", "claims", drop("https://attributes.eid.gov.it/fiscal_number")},
		{"two tax codes", "userinfo", "claims", set("fiscal_number", "BNCGRG80A41H501E")},
		{"a foreign tax code", "userinfo", "claims", set("https://attributes.eid.gov.it/fiscal_number", "TINDE-RSSMRA80A01H501U")},
		{"a tax code with a tail", "userinfo", "claims", set("https://attributes.eid.gov.it/fiscal_number", "RSSMRA80A01H501U\n")},
		{"a tax code that is a list", "userinfo", "claims", set("https://attributes.eid.gov.it/fiscal_number", []string{"RSSMRA80A01H501U"})},
		{"a name of two lines", "userinfo", "claims", set("given_name", "Mario\nAdmin")},
		{"a name that is read backwards", "userinfo", "claims", set("given_name", "Mario\u202e")},
		{"no surname", "userinfo", "claims", drop("family_name")},
		{"a name that the ID token denies", "id-token", "claims", set("family_name", "Bianchi")},
	} {
		w.demo.Change = func(what string, claims map[string]any) {
			if what == c.what {
				c.change(claims)
			}
		}
		_, _, a, err := w.journey()
		if c.name == "a tax code with a tail" { // white space around a value is no part of it
			if err != nil || a.Proof.Proven.FiscalCode != "RSSMRA80A01H501U" {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		refused(t, c.name, err, c.reason)
	}
}

// Signatures that are none, or another's.
func TestSignaturesOfTokens(t *testing.T) {
	w := newWorld(t)
	attacker, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(secret(t, w.demo.Tokens).Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	jwk, err := json.Marshal(w.demo.Tokens.Public())
	if err != nil {
		t.Fatal(err)
	}
	es256 := func(k *ecdsa.PrivateKey) func(string) []byte {
		return func(input string) []byte {
			sum := sha256.Sum256([]byte(input))
			r, s, err := ecdsa.Sign(rand.Reader, k, sum[:])
			if err != nil {
				t.Fatal(err)
			}
			return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	}
	own := secret(t, w.demo.Tokens)
	header := func(more map[string]any) map[string]any {
		h := map[string]any{"alg": "ES256", "kid": "demo-provider", "typ": "JWT"}
		for k, v := range more {
			h[k] = v
		}
		return h
	}
	injected, err := jwt.NewPrivate(attacker, "demo-provider", "sig")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		forge func(token string) string
	}{
		{"alg none", func(s string) string { return reheaded(s, header(map[string]any{"alg": "none"}), unsigned) }},
		{"alg None", func(s string) string { return reheaded(s, header(map[string]any{"alg": "None"}), unsigned) }},
		{"no alg", func(s string) string { return reheaded(s, map[string]any{"kid": "demo-provider"}, unsigned) }},
		{"no signature", func(s string) string { return s[:strings.LastIndex(s, ".")+1] }},
		{"two parts", func(s string) string { return s[:strings.LastIndex(s, ".")] }},
		{"HS256 with the public key in PEM", func(s string) string { return reheaded(s, header(map[string]any{"alg": "HS256"}), hs256(public)) }},
		{"HS256 with the public key in DER", func(s string) string { return reheaded(s, header(map[string]any{"alg": "HS256"}), hs256(der)) }},
		{"HS256 with the public JWK", func(s string) string { return reheaded(s, header(map[string]any{"alg": "HS256"}), hs256(jwk)) }},
		{"another's key under the right kid", func(s string) string { return reheaded(s, header(nil), es256(attacker)) }},
		{"another's key in the header jwk", func(s string) string {
			return reheaded(s, header(map[string]any{"jwk": injected.Public()}), es256(attacker))
		}},
		{"another's key behind jku", func(s string) string {
			return reheaded(s, header(map[string]any{"jku": w.base + "/keys", "x5u": w.base + "/keys"}), es256(attacker))
		}},
		{"a kid that is not known", func(s string) string { return reheaded(s, header(map[string]any{"kid": "x"}), es256(own)) }},
		{"a kid that is a path", func(s string) string { return reheaded(s, header(map[string]any{"kid": "../../dev/null"}), es256(own)) }},
		{"no kid", func(s string) string { return reheaded(s, map[string]any{"alg": "ES256"}, es256(own)) }},
		{"the federation's key", func(s string) string {
			return reheaded(s, header(map[string]any{"kid": "demo-provider-federation"}), es256(secret(t, w.demo.Federation)))
		}},
		{"critical headers", func(s string) string {
			return reheaded(s, header(map[string]any{"crit": []string{"x"}, "x": 1}), es256(own))
		}},
		{"payload not encoded", func(s string) string {
			return reheaded(s, header(map[string]any{"crit": []string{"b64"}, "b64": false}), es256(own))
		}},
		{"an access token's type", func(s string) string { return reheaded(s, header(map[string]any{"typ": "at+jwt"}), es256(own)) }},
		{"an algorithm that is not announced", func(s string) string { return reheaded(s, header(map[string]any{"alg": "ES384"}), es256(own)) }},
		{"a signature of zeros", func(s string) string {
			return reheaded(s, header(nil), func(string) []byte { return make([]byte, 64) })
		}},
		{"another payload", func(s string) string {
			parts := strings.Split(s, ".")
			return parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"x"}`)) + "." + parts[2]
		}},
		{"names twice", func(s string) string {
			claims := payload(t, s)
			b, _ := json.Marshal(claims)
			twice := strings.Replace(string(b), "{", `{"sub":"x",`, 1)
			return reheaded("."+base64.RawURLEncoding.EncodeToString([]byte(twice))+".", header(nil), es256(own))
		}},
		{"oversized", func(s string) string { return s + strings.Repeat("A", 1<<20) }},
		{"nothing", func(string) string { return "x.y.z" }},
	} {
		for _, what := range []string{"id-token", "userinfo"} {
			w.rewrite = func(path string, status int, body string) (int, string) {
				switch {
				case path == "/provider/token" && what == "id-token":
					var answer map[string]any
					if err := json.Unmarshal([]byte(body), &answer); err != nil {
						t.Error(err)
					}
					answer["id_token"] = c.forge(answer["id_token"].(string))
					b, _ := json.Marshal(answer)
					return status, string(b)
				case path == "/provider/userinfo" && what == "userinfo":
					return status, c.forge(inner(t, w, body))
				}
				return status, body
			}
			_, _, a, err := w.journey()
			if err == nil {
				t.Errorf("%s as %s: identifies %s", c.name, what, a.Proof.Issuer)
				continue
			}
			reason := what
			switch {
			case what == "userinfo" && c.name == "two parts":
				reason = "unsigned"
			case what == "id-token" && c.name == "oversized":
				reason = "chain" // the answer of the token endpoint is cut off before it is read
			}
			refused(t, c.name+" as "+what, err, reason)
		}
	}
}

// inner is the signed token within UserInfo.
func inner(t *testing.T, w *world, encrypted string) string {
	t.Helper()
	keys, err := jwt.ReadPrivate(w.config.EncryptionKey, "enc")
	if err != nil {
		t.Fatal(err)
	}
	s, err := jwt.Decrypt(encrypted, keys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Personal data that are not signed do not count, whatever they are wrapped in.
func TestUnsignedUserInfo(t *testing.T) {
	w := newWorld(t)
	keys, err := jwt.ReadPrivate(w.config.EncryptionKey, "enc")
	if err != nil {
		t.Fatal(err)
	}
	for name, forge := range map[string]func(signed string) string{
		"JSON": func(s string) string { b, _ := json.Marshal(payload(t, s)); return string(b) },
		"encrypted JSON": func(s string) string {
			b, _ := json.Marshal(payload(t, s))
			e, err := jwt.Encrypt(string(b), keys[0])
			if err != nil {
				t.Fatal(err)
			}
			return e
		},
		"nothing": func(string) string { return "" },
	} {
		w.rewrite = func(path string, status int, body string) (int, string) {
			if path == "/provider/userinfo" {
				body = forge(inner(t, w, body))
			}
			return status, body
		}
		_, _, _, err := w.journey()
		refused(t, name, err, "unsigned")
	}
	// Signed and not encrypted is well: the signature proves it.
	w.rewrite = func(path string, status int, body string) (int, string) {
		if path == "/provider/userinfo" {
			body = inner(t, w, body)
		}
		return status, body
	}
	if _, _, _, err := w.journey(); err != nil {
		t.Errorf("signed only: %v", err)
	}
	// So is an encrypted ID token.
	w.rewrite = func(path string, status int, body string) (int, string) {
		if path == "/provider/token" {
			var answer map[string]any
			_ = json.Unmarshal([]byte(body), &answer)
			answer["id_token"], _ = jwt.Encrypt(answer["id_token"].(string), keys[0])
			b, _ := json.Marshal(answer)
			body = string(b)
		}
		return status, body
	}
	if _, _, _, err := w.journey(); err != nil {
		t.Errorf("an encrypted ID token: %v", err)
	}
	// What is encrypted to somebody else is not.
	other := newWorld(t)
	foreign, err := jwt.ReadPrivate(other.config.EncryptionKey, "enc")
	if err != nil {
		t.Fatal(err)
	}
	w.rewrite = func(path string, status int, body string) (int, string) {
		if path == "/provider/userinfo" {
			body, _ = jwt.Encrypt(inner(t, w, body), foreign[0])
		}
		return status, body
	}
	_, _, _, err = w.journey()
	refused(t, "encrypted to another", err, "userinfo")
}

// What comes to the callback: only a code of the provider that was asked, for
// this request, in time, counts; and a code counts once.
func TestCallback(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	start := func() *identify.Departure {
		d, err := w.Start(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := start()
	good := w.login(d, mario())
	for _, c := range []struct {
		name, reason string
		change       func(url.Values)
	}{
		{"no iss (mix-up)", "issuer", func(v url.Values) { v.Del("iss") }},
		{"another iss (mix-up)", "issuer", func(v url.Values) { v.Set("iss", "https://other.example") }},
		{"iss with a slash", "issuer", func(v url.Values) { v.Set("iss", v.Get("iss")+"/") }},
		{"iss twice", "answer", func(v url.Values) { v.Add("iss", "https://other.example") }},
		{"another state", "state", func(v url.Values) { v.Set("state", start().Request) }},
		{"no state", "state", func(v url.Values) { v.Del("state") }},
		{"state twice", "answer", func(v url.Values) { v.Add("state", "x") }},
		{"no code", "answer", func(v url.Values) { v.Del("code") }},
		{"an endless code", "answer", func(v url.Values) { v.Set("code", strings.Repeat("x", 1<<20)) }},
		{"an error of another provider", "issuer", func(v url.Values) { v.Set("error", "access_denied"); v.Set("iss", "https://other.example") }},
		{"an error beside the code", "access_denied", func(v url.Values) { v.Set("error", "access_denied") }},
		{"an invented code", "code", func(v url.Values) { v.Set("code", "x") }},
	} {
		v := url.Values{}
		for k, values := range good {
			v[k] = append([]string(nil), values...)
		}
		c.change(v)
		_, err := w.Finish(ctx, d.State, v)
		refused(t, c.name, err, c.reason)
	}
	other := start()
	_, err := w.Finish(ctx, other.State, url.Values{"state": {other.Request}, "iss": good["iss"], "code": good["code"]})
	refused(t, "a code of another request", err, "code")

	d = start()
	good = w.login(d, mario())
	if _, err := w.Finish(ctx, d.State, good); err != nil {
		t.Fatal(err)
	}
	_, err = w.Finish(ctx, d.State, good)
	refused(t, "a replayed code", err, "code")

	d = start()
	good = w.login(d, mario())
	w.now = d.Until
	_, err = w.Finish(ctx, d.State, good)
	refused(t, "too late", err, "late")

	for _, v := range []url.Values{{}, {"state": {"x"}}, {"state": {d.Request, d.Request}}, {"state": {strings.Repeat("x", 1<<20)}}} {
		if _, err := w.Request(v); err == nil {
			t.Errorf("%d states name a request", len(v["state"]))
		}
	}
	if _, err := w.Finish(ctx, []byte("{}"), good); err == nil {
		t.Error("a request without state is finished")
	}
}

// Nobody is sent to a provider that was not listed or configured, and nothing is
// fetched for such a one.
func TestUnknownProviders(t *testing.T) {
	w := newWorld(t)
	w.Providers(context.Background())
	before := 0
	for _, n := range w.hits {
		before += n
	}
	for _, id := range []string{
		"https://evil.example", w.demo.ProviderID() + "/", w.demo.ProviderID() + "/../provider", w.demo.AnchorID(), w.base,
		"http://169.254.169.254/latest", "file:///etc/passwd", "https://evil.example/%2e%2e", w.demo.ProviderID() + "?x", w.demo.ProviderID() + "#x",
	} {
		_, err := w.Start(context.Background(), id)
		refused(t, id, err, "provider")
	}
	after := 0
	for _, n := range w.hits {
		after += n
	}
	if after != before {
		t.Errorf("%d fetches", after-before)
	}
}

// An outage is no refusal: it may pass.
func TestOutage(t *testing.T) {
	w := newWorld(t)
	d, err := w.Start(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	back := w.login(d, mario())
	w.rewrite = func(string, int, string) (int, string) { return 502, "" }
	if _, err := w.Finish(context.Background(), d.State, back); !errors.Is(err, fault.Unavailable) {
		t.Errorf("finish: %v", err)
	}
	if _, err := w.Start(context.Background(), ""); !errors.Is(err, fault.Unavailable) {
		t.Errorf("start: %v", err)
	}
	w.rewrite = nil
	if _, _, _, err := w.journey(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	config := w.config
	config.Providers = []string{"https://provider.invalid"}
	c, err := cie.New(config, cie.Deps{Client: w.client(), Plain: w.plain})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Start(context.Background(), ""); !errors.Is(err, fault.Unavailable) {
		t.Errorf("a host that does not exist: %v", err)
	}
}
