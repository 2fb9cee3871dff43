package cie_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cie"
)

func TestJourney(t *testing.T) {
	w := newWorld(t)
	all := w.Providers(context.Background())
	if len(all) != 1 || all[0].ID != w.demo.ProviderID() || all[0].Name != "DEMO CIE" {
		t.Fatalf("providers %v", all)
	}
	d, back, a, err := w.journey()
	if err != nil {
		t.Fatal(err)
	}
	if r, err := w.Request(back); err != nil || r != d.Request {
		t.Errorf("the answer belongs to %q, %v", r, err)
	}
	want := identify.Attributes{GivenName: "Mario", Surname: "Rossi", FiscalCode: "RSSMRA80A01H501U", DateOfBirth: "1980-01-01", Email: "mario.rossi@rogito.example"}
	if a.Proof.Proven != want {
		t.Errorf("proven %+v", a.Proof.Proven)
	}
	if a.Proof.Method != "cie" || a.Proof.Issuer != w.demo.ProviderID() || a.Proof.Level != "https://www.spid.gov.it/SpidL3" || a.Proof.Request != d.Request {
		t.Errorf("proof %+v", a.Proof)
	}
	if !strings.HasPrefix(a.ID, w.demo.ProviderID()+" ") || !a.Until.After(w.now) {
		t.Errorf("id %q until %v", a.ID, a.Until)
	}
	names := ""
	for _, f := range a.Files {
		names += f.Name + " "
		if len(f.Content) < 100 {
			t.Errorf("%s has %d bytes", f.Name, len(f.Content))
		}
	}
	if names != "trust-chain.json id-token.jwt userinfo.jwt " {
		t.Errorf("evidence %s", names)
	}
}

// The request that a person carries is signed, bound and asks for enough.
func TestRequestObject(t *testing.T) {
	w := newWorld(t, func(c *cie.Config) { c.Level = 2 })
	d, err := w.Start(context.Background(), w.demo.ProviderID())
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	claims := payload(t, u.Query().Get("request"))
	for name, want := range map[string]any{
		"client_id": w.base, "iss": w.base, "response_type": "code", "scope": "openid", "code_challenge_method": "S256", "redirect_uri": w.base + "/cie/callback",
		"acr_values": "https://www.spid.gov.it/SpidL2", "prompt": "consent login", "state": d.Request, "code_challenge": u.Query().Get("code_challenge"),
	} {
		if claims[name] != want {
			t.Errorf("%s is %v, want %v", name, claims[name], want)
		}
	}
	if claims["sub"] != nil {
		t.Error("a request object with sub could serve as a client assertion")
	}
	if n, _ := claims["nonce"].(string); len(n) < 32 || n == d.Request {
		t.Errorf("nonce %q", n)
	}
	asked := claims["claims"].(map[string]any)["userinfo"].(map[string]any)
	for _, name := range []string{"https://attributes.eid.gov.it/fiscal_number", "fiscal_number", "given_name", "family_name", "birthdate", "email"} {
		if asked[name] == nil {
			t.Errorf("%s is not asked for", name)
		}
	}
	if d.Form != nil || !d.Until.After(w.now) {
		t.Errorf("departure %+v", d)
	}
}

func TestEntityConfiguration(t *testing.T) {
	w := newWorld(t)
	s, err := w.Configuration()
	if err != nil {
		t.Fatal(err)
	}
	claims := payload(t, s)
	if claims["iss"] != w.base || claims["sub"] != w.base || len(claims["trust_marks"].([]any)) != 1 || claims["authority_hints"].([]any)[0] != w.demo.AnchorID() {
		t.Errorf("claims %v", claims)
	}
	client := claims["metadata"].(map[string]any)["openid_relying_party"].(map[string]any)
	if client["client_registration_types"].([]any)[0] != "automatic" || client["redirect_uris"].([]any)[0] != w.base+"/cie/callback" || client["client_id"] != w.base {
		t.Errorf("client %v", client)
	}
	use := ""
	for _, k := range client["jwks"].(map[string]any)["keys"].([]any) {
		key := k.(map[string]any)
		if key["d"] != nil || key["kid"] == "" {
			t.Error("a key with its secret or without kid is published")
		}
		use += key["use"].(string) + " "
	}
	if use != "sig enc " {
		t.Errorf("keys for %s", use)
	}
	for _, k := range claims["jwks"].(map[string]any)["keys"].([]any) {
		if k.(map[string]any)["d"] != nil {
			t.Error("the secret federation key is published")
		}
	}
}

// What we know of a provider can be asked for, and nothing is fetched for that.
func TestResolve(t *testing.T) {
	w := newWorld(t)
	ask := func(query string) (int, string) {
		resp, err := http.Get(w.base + cie.ResolvePath + query)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	about := "?sub=" + url.QueryEscape(w.demo.ProviderID())
	if status, _ := ask(about); status != http.StatusNotFound {
		t.Errorf("before anybody asked for the provider: %d", status)
	}
	if _, _, _, err := w.journey(); err != nil {
		t.Fatal(err)
	}
	status, body := ask(about + "&trust_anchor=" + url.QueryEscape(w.demo.AnchorID()))
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	claims := payload(t, body)
	if claims["sub"] != w.demo.ProviderID() || claims["iss"] != w.base || len(claims["trust_chain"].([]any)) != 3 || claims["metadata"].(map[string]any)["openid_provider"] == nil {
		t.Errorf("claims %v", claims)
	}
	for _, query := range []string{"", "?sub=https://evil.example", about + "&trust_anchor=https://evil.example"} {
		if status, _ := ask(query); status != http.StatusNotFound {
			t.Errorf("%s: %d", query, status)
		}
	}
}

// A trust mark is published when its file is written.
func TestNewTrustMark(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Configuration(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.config.TrustMarks, []byte(`[{"id":"a","trust_mark":"x"},{"id":"b","trust_mark":"y"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(w.config.TrustMarks, w.now, w.now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	s, err := w.Configuration()
	if err != nil {
		t.Fatal(err)
	}
	if marks := payload(t, s)["trust_marks"].([]any); len(marks) != 2 {
		t.Errorf("%d trust marks", len(marks))
	}
}

// A person can be picked, typed, and every page says what it is.
func TestDemoPages(t *testing.T) {
	w := newWorld(t)
	d, err := w.Start(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{d.URL, w.demo.ProviderID() + "/authorize", w.demo.ProviderID() + "/authorize?request=x"} {
		resp, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(b), "DEMO") || strings.Contains(string(b), "<script") {
			t.Errorf("status %d, %v: %.80s", resp.StatusCode, err, b)
		}
	}
	back := w.login(d, url.Values{"do": {"identify"}, "person": {"other"}, "given_name": {"Ada"}, "family_name": {"D'Amico"}, "fiscal_number": {"dmcdaa80a41h501x"}})
	a, err := w.Finish(context.Background(), d.State, back)
	if err != nil || a.Proof.Proven != (identify.Attributes{GivenName: "Ada", Surname: "D'Amico", FiscalCode: "DMCDAA80A41H501X"}) {
		t.Errorf("%v, %+v", err, a)
	}
	d, err = w.Start(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Finish(context.Background(), d.State, w.login(d, url.Values{"do": {"identify"}, "person": {"other"}}))
	refused(t, "nobody", err, "claims")
}

// Every error that a provider may answer with is a sentence, with or without iss.
func TestErrors(t *testing.T) {
	w := newWorld(t)
	d, err := w.Start(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	back := w.login(d, url.Values{"do": {"fail"}, "error": {"access_denied"}})
	_, err = w.Finish(context.Background(), d.State, back)
	refused(t, "access_denied", err, "access_denied")
	for _, code := range []string{"rejected_by_user", "consent_required", "login_required", "server_error", "temporarily_unavailable", "invalid_request", "unauthorized_client"} {
		_, err := w.Finish(context.Background(), d.State, url.Values{"state": {d.Request}, "error": {code}, "error_description": {"<script>"}})
		refused(t, code, err, code)
	}
	_, err = w.Finish(context.Background(), d.State, url.Values{"state": {d.Request}, "error": {"<script>alert(1)</script>"}})
	refused(t, "an invented error", err, "undefined")
	if strings.Contains(err.Error(), "script") {
		t.Error("the sentence repeats what the provider wrote")
	}
}

// A provider that changed its keys after we read them is read again, once.
func TestKeyRollOver(t *testing.T) {
	w := newWorld(t)
	d, err := w.Start(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	other := newWorld(t)
	w.demo.Tokens = renamed(t, other.demo.Tokens, "demo-provider-2")
	if _, err := w.Finish(context.Background(), d.State, w.login(d, mario())); err != nil {
		t.Errorf("after the roll-over: %v", err)
	}
	// The same with a key that the provider's configuration does not have.
	d, err = w.Start(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	back := w.login(d, mario())
	hidden := renamed(t, other.demo.Tokens, "demo-provider-3")
	published := w.demo.Tokens
	w.demo.Change = func(what string, claims map[string]any) {
		if what == "id-token" {
			w.demo.Tokens = published
		}
	}
	w.demo.Tokens = hidden
	before := w.hits["/demo/cie/provider/.well-known/openid-federation"]
	_, err = w.Finish(context.Background(), d.State, back)
	refused(t, "a key of nobody", err, "id-token")
	if n := w.hits["/demo/cie/provider/.well-known/openid-federation"] - before; n != 1 {
		t.Errorf("the configuration was read %d times", n)
	}
}

// A chain that is known serves answers while its statements last, and no longer.
func TestCache(t *testing.T) {
	w := newWorld(t)
	d, err := w.Start(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	back := w.login(d, mario())
	before := w.hits["/demo/cie/anchor/fetch"]
	if _, err := w.Finish(context.Background(), d.State, back); err != nil {
		t.Fatal(err)
	}
	if n := w.hits["/demo/cie/anchor/fetch"] - before; n != 0 {
		t.Errorf("the anchor was asked %d times", n)
	}
	w.now = w.now.Add(2 * time.Hour)
	if _, _, _, err := w.journey(); err != nil {
		t.Errorf("after the statements expired: %v", err)
	}
}

func TestCheck(t *testing.T) {
	w := newWorld(t)
	for _, f := range w.Check(context.Background()) {
		if !f.OK {
			t.Errorf("%s: %s", f.Name, f.Detail)
		}
	}
	other := newWorld(t)
	w.demo.Change = func(what string, claims map[string]any) {
		if what == "about-client" {
			claims["jwks"] = map[string]any{"keys": []any{other.demo.Federation.Public()}}
		}
	}
	bad := ""
	for _, f := range w.Check(context.Background()) {
		if !f.OK {
			bad += f.Name + ";"
		}
	}
	if bad != "cie registration;" {
		t.Errorf("the anchor knows another key: %s", bad)
	}
	w.demo.Change = nil
	w.now = w.now.Add(350 * 24 * time.Hour)
	bad = ""
	for _, f := range w.Check(context.Background()) {
		if !f.OK {
			bad += f.Name + ";"
		}
	}
	if bad != "cie trust mark;" {
		t.Errorf("two weeks before the trust mark ends: %s", bad)
	}
	w.rewrite = func(path string, _ int, _ string) (int, string) { return 503, "" }
	bad = ""
	for _, f := range w.Check(context.Background()) {
		if !f.OK {
			bad += f.Name + ";"
		}
	}
	if bad != "cie trust anchor;cie trust mark;cie provider;" {
		t.Errorf("without a federation: %s", bad)
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	w := newWorld(t)
	for what, change := range map[string]func(*cie.Config){
		"level is 1":             func(c *cie.Config) { c.Level = 1 },
		"level is 4":             func(c *cie.Config) { c.Level = 4 },
		"must not end":           func(c *cie.Config) { c.ClientID += "/" },
		"client_id: the address": func(c *cie.Config) { c.ClientID = "http://elsewhere.example" },
		"trust_anchors is empty": func(c *cie.Config) { c.TrustAnchors = nil },
		"signing_key":            func(c *cie.Config) { c.SigningKey = c.EncryptionKey },
		"another purpose":        func(c *cie.Config) { c.SigningKey = c.FederationKey },
		"trust_marks":            func(c *cie.Config) { c.TrustMarks = c.SigningKey },
	} {
		config := w.config
		change(&config)
		plain := func(u *url.URL) bool { return "http://"+u.Host == w.base }
		if _, err := cie.New(config, cie.Deps{Plain: plain}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
