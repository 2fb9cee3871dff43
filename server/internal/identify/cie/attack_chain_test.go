package cie_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/identify/cie"
	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

type claims = map[string]any

// sub is a member of nested objects.
func sub(c claims, names ...string) claims {
	for _, n := range names {
		c = c[n].(claims)
	}
	return c
}

// Statements that the anchor or the provider may sign, or somebody in their
// place: a chain that does not hold sends nobody on.
func TestStatements(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	attacker := newWorld(t)
	set := func(name string, v any) func(claims) { return func(c claims) { c[name] = v } }
	policy := func(parameter string, rules claims) func(claims) {
		return func(c claims) { c["metadata_policy"] = claims{"openid_provider": claims{parameter: rules}} }
	}
	meta := func(name string, v any) func(claims) {
		return func(c claims) { sub(c, "metadata", "openid_provider")[name] = v }
	}
	for _, c := range []struct {
		name, what, reason string
		change             func(claims)
	}{
		{"an expired configuration", "provider", "statement", set("exp", w.now.Add(-time.Hour).Unix())},
		{"an expired statement", "about-provider", "chain", set("exp", w.now.Add(-time.Hour).Unix())},
		{"an expired anchor", "anchor", "chain", set("exp", w.now.Add(-time.Hour).Unix())},
		{"a statement without end", "about-provider", "chain", func(c claims) { delete(c, "exp") }},
		{"a statement of the future", "about-provider", "chain", set("iat", w.now.Add(time.Hour).Unix())},
		{"a configuration of another", "provider", "statement", set("sub", "https://other.example")},
		{"a configuration by another", "provider", "statement", set("iss", "https://other.example")},
		{"a statement about another", "about-provider", "chain", set("sub", "https://other.example")},
		{"a statement by another", "about-provider", "chain", set("iss", "https://other.example")},
		{"a statement that vouches for other keys", "about-provider", "chain", set("jwks", claims{"keys": []any{attacker.demo.Federation.Public()}})},
		{"a statement without keys", "about-provider", "chain", set("jwks", claims{"keys": []any{}})},
		{"a critical claim", "about-provider", "chain", func(c claims) { c["crit"] = []string{"x"}; c["x"] = 1 }},
		{"a critical operator", "about-provider", "chain", set("metadata_policy_crit", []string{"regexp"})},
		{"no superior", "provider", "chain", set("authority_hints", []string{})},
		{"its own superior", "provider", "chain", set("authority_hints", []string{w.demo.ProviderID()})},
		{"another anchor", "provider", "chain", set("authority_hints", []string{attacker.demo.AnchorID()})},
		{"too many superiors", "provider", "chain", set("authority_hints", strings.Fields(strings.Repeat("https://a.invalid ", 100)))},
		{"a superior with a path that climbs", "provider", "chain", set("authority_hints", []string{w.demo.ProviderID() + "/../anchor"})},
		{"a superior with an escaped path", "provider", "chain", set("authority_hints", []string{w.demo.ProviderID() + "/%2e%2e/anchor"})},
		{"a superior on a private address", "provider", "chain", set("authority_hints", []string{"https://127.0.0.1:1/anchor"})},
		{"a superior at the metadata service", "provider", "chain", set("authority_hints", []string{"http://169.254.169.254/latest"})},
		{"a superior that is a file", "provider", "chain", set("authority_hints", []string{"file:///etc/passwd"})},
		{"a superior with a user", "provider", "chain", set("authority_hints", []string{strings.Replace(w.demo.AnchorID(), "http://", "http://u:p@", 1)})},
		{"a fetch endpoint that is private", "anchor", "chain", func(c claims) {
			sub(c, "metadata", "federation_entity")["federation_fetch_endpoint"] = "https://10.0.0.1/fetch"
		}},
		{"no fetch endpoint", "anchor", "chain", func(c claims) { delete(sub(c, "metadata", "federation_entity"), "federation_fetch_endpoint") }},

		{"providers are not allowed", "about-provider", "chain", set("constraints", claims{"allowed_entity_types": []string{"openid_relying_party"}})},
		{"names that are not permitted", "about-provider", "chain", set("constraints", claims{"naming_constraints": claims{"permitted": []string{".gov.it"}}})},
		{"names that are excluded", "about-provider", "chain", set("constraints", claims{"naming_constraints": claims{"excluded": []string{"127.0.0.1"}}})},

		{"value contradicted", "about-provider", "policy", policy("scopes_supported", claims{"value": []string{"openid"}, "subset_of": []string{"email"}})},
		{"one_of violated", "about-provider", "policy", policy("issuer", claims{"one_of": []string{"https://other.example"}})},
		{"superset_of violated", "about-provider", "policy", policy("scopes_supported", claims{"superset_of": []string{"profile"}})},
		{"essential missing", "about-provider", "policy", policy("policy_uri", claims{"essential": true})},
		{"essential within nothing", "about-provider", "policy", policy("scopes_supported", claims{"subset_of": []string{"email"}, "essential": true})},
		{"a policy that is no list", "about-provider", "policy", policy("scopes_supported", claims{"subset_of": "openid"})},
		{"endpoints set elsewhere by policy", "about-provider", "metadata", policy("token_endpoint", claims{"value": "http://10.0.0.1/token"})},
		{"endpoints removed by policy", "about-provider", "metadata", policy("userinfo_endpoint", claims{"value": nil})},

		{"another issuer", "provider", "metadata", meta("issuer", "https://other.example")},
		{"no keys", "provider", "metadata", meta("jwks", claims{"keys": []any{}})},
		{"keys on a private address", "provider", "metadata", func(c claims) {
			delete(sub(c, "metadata", "openid_provider"), "jwks")
			sub(c, "metadata", "openid_provider")["jwks_uri"] = "https://192.168.0.1/jwks"
		}},
		{"a symmetric key", "provider", "metadata", meta("jwks", claims{"keys": []any{claims{"kty": "oct", "k": "AAAA", "kid": "demo-provider"}}})},
		{"registration by hand", "provider", "metadata", meta("client_registration_types_supported", []string{"explicit"})},
		{"a token endpoint without TLS", "provider", "metadata", meta("token_endpoint", "http://provider.example/token")},
		{"a relying party", "provider", "policy", func(c claims) { c["metadata"] = claims{"openid_relying_party": claims{}} }},

		{"no trust mark", "provider", "trust-mark", func(c claims) { delete(c, "trust_marks") }},
		{"a trust mark for another", "mark", "trust-mark", set("sub", "https://other.example")},
		{"an expired trust mark", "mark", "trust-mark", set("exp", w.now.Add(-time.Hour).Unix())},
		{"a trust mark of another type", "mark", "trust-mark", set("id", "https://other.example/openid_provider/x")},
		{"a trust mark by an unlisted issuer", "mark", "trust-mark", set("iss", attacker.demo.AnchorID())},
		{"a trust mark by itself", "mark", "trust-mark", set("iss", w.demo.ProviderID())},
		{"the anchor is not listed for the mark", "anchor", "trust-mark", func(c claims) {
			for kind := range sub(c, "trust_mark_issuers") {
				sub(c, "trust_mark_issuers")[kind] = []string{"https://other.example"}
			}
		}},
		{"the anchor lists nobody for the mark", "anchor", "trust-mark", func(c claims) {
			for kind := range sub(c, "trust_mark_issuers") {
				sub(c, "trust_mark_issuers")[kind] = []string{}
			}
		}},
	} {
		w.demo.Change = func(what string, all claims) {
			if what == c.what {
				c.change(all)
			}
		}
		_, err := w.Start(ctx, w.demo.ProviderID())
		refused(t, c.name, err, c.reason)
	}
	w.demo.Change = nil
	if _, err := w.Start(ctx, ""); err != nil {
		t.Errorf("untampered: %v", err)
	}
}

// Statements that are signed wrongly, by another, or are too large.
func TestSignaturesOfStatements(t *testing.T) {
	w := newWorld(t)
	attacker := newWorld(t)
	const leaf, anchor, about = "/provider/.well-known/openid-federation", "/anchor/.well-known/openid-federation", "/anchor/fetch"
	resign := func(k jwt.Private, typ string) func(string) string {
		return func(s string) string {
			out, err := k.Sign(typ, payload(t, s))
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	const est = "entity-statement+jwt"
	for _, c := range []struct {
		name, path, reason string
		forge              func(string) string
	}{
		{"alg none", leaf, "statement", func(s string) string {
			return reheaded(s, claims{"alg": "none", "typ": est, "kid": "demo-provider-federation"}, unsigned)
		}},
		{"another typ", about, "chain", resign(w.demo.Anchor, "JWT")},
		{"a trust mark's typ", about, "chain", resign(w.demo.Anchor, "trust-mark+jwt")},
		{"another's anchor", about, "chain", resign(attacker.demo.Anchor, est)},
		{"another's anchor under the right kid", about, "chain", resign(renamed(t, attacker.demo.Anchor, "demo-anchor"), est)},
		{"the provider vouches for itself", about, "chain", resign(w.demo.Federation, est)},
		{"a provider with another's key", leaf, "statement", resign(renamed(t, attacker.demo.Federation, "demo-provider-federation"), est)},
		{"the configuration for the statement", about, "chain", func(string) string { return "" }},
		{"not a token", anchor, "chain", func(string) string { return "<html>" }},
		{"oversized", leaf, "statement", func(s string) string { return s + strings.Repeat(" ", 1<<20) }},
		{"oversized by the anchor", about, "chain", func(s string) string { return strings.Repeat("A", 1<<20) }},
	} {
		w.rewrite = func(path string, status int, body string) (int, string) {
			if path == c.path {
				body = c.forge(body)
			}
			return status, body
		}
		_, err := w.Start(context.Background(), w.demo.ProviderID())
		refused(t, c.name, err, c.reason)
	}
	// Redirects and refusals of the anchor.
	for _, status := range []int{http.StatusFound, http.StatusNotFound, http.StatusForbidden} {
		w.rewrite = func(path string, s int, body string) (int, string) {
			if path == about {
				return status, body
			}
			return s, body
		}
		_, err := w.Start(context.Background(), w.demo.ProviderID())
		refused(t, http.StatusText(status), err, "chain")
	}
}

// intermediate puts an intermediate between anchor and provider, which the
// anchor knows by its key, and which signs what it says about the provider by
// another one.
func (w *world) intermediate(key, by jwt.Private, change func(what string, c claims)) {
	id := w.demo.AnchorID() + "/fetch/sa" // below an address that the server has
	sign := func(k jwt.Private, what string, c claims) string {
		c["iat"], c["exp"] = w.now.Unix(), w.now.Add(time.Hour).Unix()
		if change != nil {
			change(what, c)
		}
		s, err := k.Sign("entity-statement+jwt", c)
		if err != nil {
			w.t.Fatal(err)
		}
		return s
	}
	keys := func(all ...jwt.Private) claims {
		out := []any{}
		for _, k := range all {
			out = append(out, k.Public())
		}
		return claims{"keys": out}
	}
	own := keys(key)
	if !by.Same(key) {
		own = keys(key, by)
	}
	w.demo.Change = func(what string, c claims) {
		if what == "provider" {
			c["authority_hints"] = []string{id}
		}
	}
	w.mux.HandleFunc("/demo/cie/anchor/fetch/sa/.well-known/openid-federation", func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = rw.Write([]byte(sign(key, "sa", claims{
			"iss": id, "sub": id, "jwks": own, "authority_hints": []string{w.demo.AnchorID()},
			"metadata": claims{"federation_entity": claims{"federation_fetch_endpoint": id + "/fetch"}},
		})))
	})
	w.mux.HandleFunc("/demo/cie/anchor/fetch/sa/fetch", func(rw http.ResponseWriter, r *http.Request) {
		_, _ = rw.Write([]byte(sign(by, "sa-about-provider", claims{"iss": id, "sub": r.FormValue("sub"), "jwks": keys(w.demo.Federation)})))
	})
	w.rewrite = func(path string, status int, body string) (int, string) {
		if path == "/anchor/fetch" && status == http.StatusNotFound {
			return http.StatusOK, sign(w.demo.Anchor, "about-sa", claims{"iss": w.demo.AnchorID(), "sub": id, "jwks": keys(key)})
		}
		return status, body
	}
}

func TestIntermediates(t *testing.T) {
	stranger := newWorld(t)
	for _, c := range []struct {
		name, reason string
		change       func(what string, all claims)
	}{
		{"a good one", "", nil},
		{"the anchor permits none", "chain", func(what string, all claims) {
			if what == "about-sa" {
				all["constraints"] = claims{"max_path_length": 0}
			}
		}},
		{"it is not vouched for", "chain", func(what string, all claims) {
			if what == "about-sa" {
				all["jwks"] = claims{"keys": []any{stranger.demo.Federation.Public()}}
			}
		}},
		{"it signs by a key that the anchor did not vouch for", "chain", nil},
		{"it comes back to the provider", "chain", func(what string, all claims) {
			if what == "sa" {
				all["authority_hints"] = []string{strings.TrimSuffix(all["iss"].(string), "/anchor/fetch/sa") + "/provider"}
			}
		}},
		{"its policy contradicts the anchor's", "policy", func(what string, all claims) {
			one := func(v string) claims { return claims{"openid_provider": claims{"x": claims{"value": v}}} }
			switch what {
			case "about-sa":
				all["metadata_policy"] = one("a")
			case "sa-about-provider":
				all["metadata_policy"] = one("b")
			}
		}},
	} {
		w := newWorld(t)
		key := renamed(t, stranger.demo.Anchor, "sa")
		by := key
		if strings.HasPrefix(c.name, "it signs by") {
			by = renamed(t, stranger.demo.Tokens, "sa-2")
		}
		w.intermediate(key, by, c.change)
		_, err := w.Start(context.Background(), w.demo.ProviderID())
		switch {
		case c.reason != "":
			refused(t, c.name, err, c.reason)
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// An anchor lists those directly below it: a provider below an intermediate is
// listed by that, and one that nobody lists is refused.
func TestProvidersOfIntermediates(t *testing.T) {
	stranger := newWorld(t)
	for name, reason := range map[string]string{"listed": "", "not listed": "provider", "a list that cannot be read": "provider", "a circle": ""} {
		w := newWorld(t)
		key := renamed(t, stranger.demo.Anchor, "sa")
		sa := w.demo.AnchorID() + "/fetch/sa"
		w.intermediate(key, key, func(what string, all claims) {
			if what == "sa" {
				sub(all, "metadata", "federation_entity")["federation_list_endpoint"] = sa + "/list"
			}
		})
		w.mux.HandleFunc("/demo/cie/anchor/fetch/sa/list", func(rw http.ResponseWriter, r *http.Request) {
			list := `["` + w.demo.ProviderID() + `"]`
			switch {
			case name == "a list that cannot be read":
				list = `{"providers": 1}`
			case r.FormValue("intermediate") == "true" && name == "a circle":
				list = `["` + sa + `", "` + w.demo.AnchorID() + `"]`
			case r.FormValue("intermediate") == "true" || name == "not listed":
				list = "[]"
			}
			_, _ = rw.Write([]byte(list))
		})
		before := w.rewrite
		lists := 0
		w.rewrite = func(path string, status int, body string) (int, string) {
			if path != "/anchor/list" {
				return before(path, status, body)
			}
			if lists++; lists%2 == 1 { // providers are asked for first
				return http.StatusOK, "[]"
			}
			return http.StatusOK, `["` + sa + `", "https://127.0.0.1:1/private"]`
		}
		_, err := w.Start(context.Background(), w.demo.ProviderID())
		switch {
		case reason != "":
			refused(t, name, err, reason)
		case err != nil:
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who issues a mark must be listed for its type, and be known by a trust chain.
func TestIssuersOfMarks(t *testing.T) {
	stranger := newWorld(t)
	w := newWorld(t)
	key := renamed(t, stranger.demo.Anchor, "sa")
	w.intermediate(key, key, nil)
	sa, kind := w.demo.AnchorID()+"/fetch/sa", "https://marks.example/openid_provider/x"
	for _, c := range []struct {
		name, kind, iss string
		key             jwt.Private
		listed          []string
		direct, holds   bool
	}{
		{"by an intermediate of the chain", kind, sa, key, []string{sa}, false, true},
		{"by an intermediate that is not of the chain", kind, sa, key, []string{sa}, true, true},
		{"in the name of the intermediate", kind, sa, renamed(t, stranger.demo.Tokens, "sa"), []string{sa}, true, false},
		{"by an intermediate that is not listed", kind, sa, key, []string{w.demo.AnchorID()}, false, false},
		{"by an intermediate, and the type is unheard of", kind, sa, key, nil, false, false},
		{"by the anchor, and the type is unheard of", kind, w.demo.AnchorID(), w.demo.Anchor, nil, true, true},
		{"by a stranger that is listed", kind, stranger.demo.AnchorID(), stranger.demo.Anchor, []string{stranger.demo.AnchorID()}, true, false},
		{"for a relying party", "https://marks.example/openid_relying_party/x", w.demo.AnchorID(), w.demo.Anchor, nil, true, false},
	} {
		mark, err := c.key.Sign("trust-mark+jwt", claims{"iss": c.iss, "sub": w.demo.ProviderID(), "trust_mark_type": c.kind, "iat": w.now.Unix()})
		if err != nil {
			t.Fatal(err)
		}
		w.demo.Change = func(what string, all claims) {
			switch what {
			case "provider":
				all["trust_marks"] = []any{claims{"trust_mark_type": c.kind, "trust_mark": mark}}
				if !c.direct {
					all["authority_hints"] = []string{sa}
				}
			case "anchor":
				if c.listed != nil {
					sub(all, "trust_mark_issuers")[c.kind] = c.listed
				}
			}
		}
		_, err = w.Start(context.Background(), w.demo.ProviderID())
		if c.holds && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if !c.holds {
			refused(t, c.name, err, "trust-mark")
		}
	}
}

// A provider's keys may stand at an address of their own: signed by its
// federation key, or not.
func TestKeysElsewhere(t *testing.T) {
	w := newWorld(t)
	stranger := newWorld(t)
	set := claims{"keys": []any{w.demo.Tokens.Public()}}
	signed := func(k jwt.Private, more claims) string {
		all := claims{"keys": set["keys"]}
		for name, v := range more {
			all[name] = v
		}
		s, err := k.Sign("jwk-set+jwt", all)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	plain, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	var body string
	w.mux.HandleFunc("/keys", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(body)) })
	for _, c := range []struct {
		name, member, body string
		holds              bool
	}{
		{"plain", "jwks_uri", string(plain), true},
		{"signed", "signed_jwks_uri", signed(w.demo.Federation, claims{"iss": w.demo.ProviderID(), "sub": w.demo.ProviderID()}), true},
		{"signed by a stranger", "signed_jwks_uri", signed(renamed(t, stranger.demo.Federation, "demo-provider-federation"), nil), false},
		{"signed for another", "signed_jwks_uri", signed(w.demo.Federation, claims{"iss": "https://other.example"}), false},
		{"signed by itself", "signed_jwks_uri", signed(w.demo.Tokens, nil), false},
		{"not signed where it must be", "signed_jwks_uri", string(plain), false},
		{"oversized", "jwks_uri", strings.Repeat(" ", 1<<20) + string(plain), false},
		{"nothing", "jwks_uri", "{}", false},
	} {
		body = c.body
		w.demo.Change = func(what string, all claims) {
			if what == "provider" {
				delete(sub(all, "metadata", "openid_provider"), "jwks")
				sub(all, "metadata", "openid_provider")[c.member] = w.base + "/keys"
			}
		}
		_, _, a, err := w.journey()
		if !c.holds {
			refused(t, c.name, err, "metadata")
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var kept struct {
			Keys string `json:"provider_keys"`
		}
		if err := json.Unmarshal(a.Files[0].Content, &kept); err != nil || kept.Keys != c.body {
			t.Errorf("%s: the keys are not kept: %v", c.name, err)
		}
	}
}

// What the immediate superior says about an entity overrides what it says
// itself.
func TestMetadataBySuperior(t *testing.T) {
	w := newWorld(t)
	w.demo.Change = func(what string, all claims) {
		if what == "about-provider" {
			all["metadata"] = claims{"openid_provider": claims{"organization_name": "As the anchor knows it"}}
		}
	}
	if all := w.Providers(context.Background()); len(all) != 1 || all[0].Name != "As the anchor knows it" {
		t.Errorf("%v", all)
	}
}

// The number of fetches for one chain is bounded, whatever hints there are.
func TestEndlessChain(t *testing.T) {
	w := newWorld(t)
	key := renamed(t, newWorld(t).demo.Anchor, "endless")
	fetches := 0
	w.mux.HandleFunc("/endless/", func(rw http.ResponseWriter, r *http.Request) {
		fetches++
		id := strings.TrimSuffix(w.base+r.URL.Path, "/.well-known/openid-federation")
		all := claims{
			"iss": id, "sub": id, "iat": w.now.Unix(), "exp": w.now.Add(time.Hour).Unix(), "jwks": claims{"keys": []any{key.Public()}},
			"metadata": claims{"federation_entity": claims{"federation_fetch_endpoint": id + "/fetch"}},
		}
		if who := r.FormValue("sub"); who != "" {
			all["iss"], all["sub"] = strings.TrimSuffix(id, "/fetch"), who
		}
		var hints []string
		for _, x := range "abcdefgh" {
			hints = append(hints, id+"/"+string(x))
		}
		all["authority_hints"] = hints
		s, _ := key.Sign("entity-statement+jwt", all)
		_, _ = rw.Write([]byte(s))
	})
	config := w.config
	config.Providers = []string{w.base + "/endless"}
	c, err := cie.New(config, cie.Deps{Client: w.client(), Plain: w.plain})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Start(context.Background(), "")
	refused(t, "an endless chain", err, "chain")
	if fetches > 40 {
		t.Errorf("%d fetches", fetches)
	}
}
