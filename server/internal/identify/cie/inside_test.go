package cie

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// Which addresses an entity may have: what would lead its well-known address
// elsewhere is none.
func TestEntityAddresses(t *testing.T) {
	c := &CIE{deps: Deps{Plain: func(u *url.URL) bool { return u.Host == "127.0.0.1:8000" }}}
	for _, good := range []string{
		"https://registry.example", "https://registry.example/", "https://registry.example:8443/oidc/op", "https://registry.example/oidc/op/",
		"http://127.0.0.1:8000", "http://127.0.0.1:8000/oidc/op",
	} {
		if err := c.checkEntity(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "registry.example", "http://registry.example", "http://127.0.0.1:8001", "http://127.0.0.1:8000@evil.example", "https://u:p@registry.example",
		"https://u@registry.example", "https://registry.example/a/../b", "https://registry.example/..", "https://registry.example/./b", "https://registry.example//b", "https://registry.example/b//",
		"https://registry.example/%2e%2e/b", "https://registry.example/b?x=1", "https://registry.example/b?", "https://registry.example/b#x", "https://registry.example/b#",
		"https://registry.example\\b", "https://registry.example/ b", "https://registry.example/\x00", "https://registry.example/è", "https:///b", "https:b",
		"ftp://registry.example", "file:///etc/passwd", "javascript:alert(1)", "HTTPS://\nregistry.example", "https://" + strings.Repeat("a", 2000),
	} {
		if err := c.checkEntity(bad); err == nil {
			t.Errorf("%q may be an entity", bad)
		}
	}
}

// The operators of metadata policies, as OpenID Federation 1.0 has them.
func TestPolicies(t *testing.T) {
	for _, c := range []struct {
		name              string
		policies          []string // the anchor's first
		metadata, outcome string   // an empty outcome is an error
	}{
		{"value sets", []string{`{"a":{"value":["x"]}}`}, `{}`, `{"a":["x"]}`},
		{"value overwrites", []string{`{"a":{"value":"x"}}`}, `{"a":"y"}`, `{"a":"x"}`},
		{"value removes", []string{`{"a":{"value":null}}`}, `{"a":"y"}`, `{}`},
		{"value twice", []string{`{"a":{"value":"x"}}`, `{"a":{"value":"x"}}`}, `{}`, `{"a":"x"}`},
		{"values differ", []string{`{"a":{"value":"x"}}`, `{"a":{"value":"y"}}`}, `{}`, ``},
		{"add creates", []string{`{"a":{"add":["x"]}}`}, `{}`, `{"a":["x"]}`},
		{"add adds once", []string{`{"a":{"add":["x","y"]}}`}, `{"a":["x"]}`, `{"a":["x","y"]}`},
		{"adds unite", []string{`{"a":{"add":["x"]}}`, `{"a":{"add":["y"]}}`}, `{}`, `{"a":["x","y"]}`},
		{"default fills", []string{`{"a":{"default":"x"}}`}, `{}`, `{"a":"x"}`},
		{"default stands back", []string{`{"a":{"default":"x"}}`}, `{"a":"y"}`, `{"a":"y"}`},
		{"defaults differ", []string{`{"a":{"default":"x"}}`, `{"a":{"default":"y"}}`}, `{}`, ``},
		{"null is no default", []string{`{"a":{"default":null}}`}, `{}`, ``},
		{"one_of", []string{`{"a":{"one_of":["x","y"]}}`}, `{"a":"y"}`, `{"a":"y"}`},
		{"not one_of", []string{`{"a":{"one_of":["x"]}}`}, `{"a":"y"}`, ``},
		{"one_of of nothing", []string{`{"a":{"one_of":["x"]}}`}, `{}`, `{}`},
		{"one_of narrows", []string{`{"a":{"one_of":["x","y"]}}`, `{"a":{"one_of":["y","z"]}}`}, `{"a":"x"}`, ``},
		{"one_of excludes itself", []string{`{"a":{"one_of":["x"]}}`, `{"a":{"one_of":["y"]}}`}, `{"a":"x"}`, ``},
		{"subset_of narrows", []string{`{"a":{"subset_of":["x","y"]}}`}, `{"a":["y","z"]}`, `{"a":["y"]}`},
		{"subset_of leaves nothing", []string{`{"a":{"subset_of":["x"]}}`}, `{"a":["z"]}`, `{}`},
		{"subset_of leaves nothing of an essential one", []string{`{"a":{"subset_of":["x"],"essential":true}}`}, `{"a":["z"]}`, ``},
		{"subsets meet", []string{`{"a":{"subset_of":["x","y"]}}`, `{"a":{"subset_of":["y","z"]}}`}, `{"a":["x","y","z"]}`, `{"a":["y"]}`},
		{"a subordinate cannot widen", []string{`{"a":{"subset_of":["x"]}}`, `{"a":{"subset_of":["x","z"]}}`}, `{"a":["z","x"]}`, `{"a":["x"]}`},
		{"superset_of", []string{`{"a":{"superset_of":["x"]}}`}, `{"a":["y","x"]}`, `{"a":["y","x"]}`},
		{"not superset_of", []string{`{"a":{"superset_of":["x"]}}`}, `{"a":["y"]}`, ``},
		{"essential", []string{`{"a":{"essential":true}}`}, `{}`, ``},
		{"essential stays", []string{`{"a":{"essential":true}}`, `{"a":{"essential":false}}`}, `{}`, ``},
		{"essential by a subordinate", []string{`{"a":{"essential":false}}`, `{"a":{"essential":true}}`}, `{}`, ``},
		{"an essential one is filled", []string{`{"a":{"essential":true,"default":"x"}}`}, `{}`, `{"a":"x"}`},
		{"an essential one is removed", []string{`{"a":{"essential":true,"value":null}}`}, `{"a":"x"}`, ``},
		{"one_of beside subset_of", []string{`{"a":{"one_of":["x"],"subset_of":["x"]}}`}, `{"a":"x"}`, ``},
		{"one_of above subset_of", []string{`{"a":{"one_of":["x"]}}`, `{"a":{"subset_of":["x"]}}`}, `{"a":"x"}`, ``},
		{"add beyond subset_of", []string{`{"a":{"subset_of":["x"]}}`, `{"a":{"add":["y"]}}`}, `{"a":["x"]}`, ``},
		{"superset_of beyond subset_of", []string{`{"a":{"subset_of":["x"],"superset_of":["y"]}}`}, `{"a":["x"]}`, ``},
		{"value beyond one_of", []string{`{"a":{"one_of":["x"]}}`, `{"a":{"value":"y"}}`}, `{}`, ``},
		{"value beyond subset_of", []string{`{"a":{"subset_of":["x"]}}`, `{"a":{"value":["x","y"]}}`}, `{}`, ``},
		{"value short of superset_of", []string{`{"a":{"superset_of":["x"]}}`, `{"a":{"value":["y"]}}`}, `{}`, ``},
		{"scope is a list of words", []string{`{"scope":{"subset_of":["openid","email"],"superset_of":["openid"]}}`}, `{"scope":"openid email profile"}`, `{"scope":"openid email"}`},
		{"an unknown operator", []string{`{"a":{"regexp":"^x$"}}`}, `{"a":"y"}`, `{"a":"y"}`},
		{"no list", []string{`{"a":{"subset_of":"x"}}`}, `{"a":["x"]}`, ``},
		{"no boolean", []string{`{"a":{"essential":"yes"}}`}, `{"a":["x"]}`, ``},
	} {
		var policies []map[string]object
		for _, p := range c.policies {
			var m map[string]object
			if err := json.Unmarshal([]byte(p), &m); err != nil {
				t.Fatal(err)
			}
			policies = append(policies, m)
		}
		var metadata, want object
		if err := json.Unmarshal([]byte(c.metadata), &metadata); err != nil {
			t.Fatal(err)
		}
		merged, err := mergePolicies(policies)
		var got object
		if err == nil {
			got, err = applyPolicy(metadata, merged)
		}
		if c.outcome == "" {
			if err == nil {
				t.Errorf("%s: %v", c.name, got)
			}
			continue
		}
		if err := json.Unmarshal([]byte(c.outcome), &want); err != nil {
			t.Fatal(err)
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, want)
		}
	}
}

// Every reason that the code refuses for has its sentences.
func TestSentences(t *testing.T) {
	for reason, s := range sentences {
		if !strings.HasSuffix(s[0], ".") || !strings.HasSuffix(s[1], ".") || s[0] == s[1] {
			t.Errorf("%s: %q, %q", reason, s[0], s[1])
		}
	}
	for _, reason := range []string{"statement", "chain", "trust-mark", "policy", "metadata", "id-token", "userinfo", "claims"} {
		if sentences[reason][0] == "" {
			t.Errorf("%s has no sentence", reason)
		}
	}
}

func testKey(tb testing.TB) (jwt.Private, jwt.Keys) {
	tb.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := jwt.NewPrivate(k, "k", "sig")
	if err != nil {
		tb.Fatal(err)
	}
	b, err := json.Marshal(map[string]any{"keys": []any{p.Public()}})
	if err != nil {
		tb.Fatal(err)
	}
	keys, err := jwt.ParseKeySet(b)
	if err != nil {
		tb.Fatal(err)
	}
	return *p, keys
}

// raw is signed as it is.
type raw []byte

func (r raw) MarshalJSON() ([]byte, error) { return r, nil }

// FuzzTokens: whatever a provider signs, or sends unsigned, is judged without a
// panic, and believed only for this relying party and this request.
func FuzzTokens(f *testing.F) {
	key, keys := testKey(f)
	now := time.Unix(1_800_000_000, 0)
	p := &provider{id: "https://op.example", keys: keys}
	check := idTokenCheck{clientID: "https://rp.example", request: pending{Nonce: "n", Level: levels[2], At: now}, accessToken: "at", now: now}
	good := `{"iss":"https://op.example","sub":"s","aud":"https://rp.example","nonce":"n","acr":"https://www.spid.gov.it/SpidL3","at_hash":"` + leftHash("ES256", "at") + `","iat":1800000000,"exp":1800000100,"jti":"j"`
	for _, s := range []string{
		good + `}`, good + `,"azp":7}`, good + `,"aud":[]}`, `{}`, `[]`, `null`, `{"aud":[1]}`, `{"exp":1e400}`, `{"iat":-1}`, `{"sub":"s","given_name":"A","family_name":"B","fiscal_number":"RSSMRA80A01H501U"}`,
		`{"sub":"s","given_name":["A"]}`, `{"sub":{}}`, "\xff", `{"sub":"s","email_verified":false,"email":"x"}`,
	} {
		f.Add([]byte(s), true)
	}
	f.Add([]byte("a.b.c"), false)
	f.Add([]byte("eyJhbGciOiJub25lIn0.e30."), false)
	f.Fuzz(func(t *testing.T, b []byte, signed bool) {
		token := string(b)
		if signed {
			var err error
			if token, err = key.Sign("JWT", raw(b)); err != nil {
				return
			}
		}
		id, err := check.judge(token, p)
		if err == nil && (!signed || id.Nonce != "n" || id.Iss != p.id || len(id.Aud) != 1 || id.Aud[0] != check.clientID || id.Acr != levels[2]) {
			t.Fatalf("believed: %s", b)
		}
		info, err := judgeUserInfo(token, p, "s", check.clientID, now)
		if err != nil {
			return
		}
		if !signed || info.Sub != "s" {
			t.Fatalf("believed: %s", b)
		}
		if a, err := attributes(nil, info.all); err == nil && (!identify.FiscalCode(a.FiscalCode) || !clean(a.GivenName) || !clean(a.Surname) || !clean(a.Email)) {
			t.Fatalf("attributes %+v", a)
		}
	})
}

// FuzzStatements: whatever an entity signs is read, its policy merged and
// applied, without a panic.
func FuzzStatements(f *testing.F) {
	key, keys := testKey(f)
	now := time.Unix(1_800_000_000, 0)
	public, err := json.Marshal(key.Public())
	if err != nil {
		f.Fatal(err)
	}
	head := `{"iss":"https://a.example","sub":"https://b.example","iat":1800000000,"exp":1800000100,"jwks":{"keys":[` + string(public) + `]}`
	for _, s := range []string{
		head + `}`, head + `,"metadata_policy":{"openid_provider":{"a":{"value":null,"add":["x"],"one_of":[1],"subset_of":[],"superset_of":[{}],"essential":true}}}}`,
		head + `,"metadata":{"openid_provider":{"a":"b c","issuer":7}},"constraints":{"max_path_length":-1,"naming_constraints":{"permitted":[".x"]}}}`,
		head + `,"trust_marks":[{"id":"x","trust_mark":"y"}],"trust_mark_issuers":{"x":["y"]}}`, `{}`, `[]`, `{"jwks":{"keys":[{}]}}`, `{"exp":"x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		token, err := key.Sign("entity-statement+jwt", raw(b))
		if err != nil {
			return
		}
		_, _ = parseStatement(token, "https://a.example", "https://a.example", nil, now)
		s, err := parseStatement(token, "https://a.example", "https://b.example", keys, now)
		if err != nil {
			return
		}
		if s.Iss != "https://a.example" || s.Sub != "https://b.example" || !now.Before(s.Exp.time()) {
			t.Fatalf("believed: %s", b)
		}
		ch := &chain{subject: s, statements: []*statement{s}, anchor: s}
		_, _ = ch.metadata("openid_provider")
		_ = s.Constraints.check(1, s)
		for _, m := range s.TrustMarks {
			_, _ = parseMark(m, keys, now)
		}
	})
}

// Only the word true says that an address is verified.
func TestVerifiedIsTrue(t *testing.T) {
	base := map[string]any{"given_name": "Mario", "family_name": "Rossi", "fiscal_number": "RSSMRA80A01H501U", "email": "a@example.org"}
	for name, c := range map[string]struct {
		info, id any
		good     bool
	}{
		"absent": {nil, nil, false}, "true": {true, nil, true}, "true in the token": {nil, true, true}, "false": {false, nil, false},
		"a string": {"true", nil, false}, "the string false": {"false", nil, false}, "one": {1.0, nil, false}, "contradicted": {true, false, false},
	} {
		info, id := maps.Clone(base), map[string]any{}
		if c.info != nil {
			info["email_verified"] = c.info
		}
		if c.id != nil {
			id["email_verified"] = c.id
		}
		a, err := attributes(id, info)
		if err != nil || (a.Email != "") != c.good {
			t.Errorf("%s: %+v %v", name, a, err)
		}
	}
}
