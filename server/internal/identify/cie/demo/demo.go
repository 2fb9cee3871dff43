// Package demo is a federation of one: a trust anchor and an identity provider
// for CIE with made-up people, so that a developer can walk the journey in a
// browser, and so that tests have a counterpart. Its keys are made at start and
// nobody else trusts them. Every page says DEMO.
package demo

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"rogito.dev/rogito/server/internal/identify/cie"
	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// Demo is the federation. Its addresses are below the base it was made with.
type Demo struct {
	base string // https://sign.example/demo/cie
	now  func() time.Time

	// Keys of the anchor, and of the provider in the federation and for tokens.
	Anchor, Federation, Tokens jwt.Private
	client                     client

	// Change, where a test sets it, alters what is about to be signed: anchor,
	// provider, about-provider, mark, id-token, userinfo.
	Change func(what string, claims map[string]any)

	mu     sync.Mutex
	grants map[string]*grant // by code
	access map[string]*grant // by access token
}

// client is the relying party that the anchor knows.
type client struct {
	id                              string
	federation, signing, encryption jwt.Private
}

// grant is a login that waits to be fetched.
type grant struct {
	request map[string]any
	person  map[string]any
	sub     string
	until   time.Time
}

// New makes a federation whose entities are below base, which is where
// Handler is mounted.
func New(base string, now func() time.Time) (*Demo, error) {
	d := &Demo{base: strings.TrimSuffix(base, "/"), now: now, grants: map[string]*grant{}, access: map[string]*grant{}}
	for kid, into := range map[string]*jwt.Private{"demo-anchor": &d.Anchor, "demo-provider-federation": &d.Federation, "demo-provider": &d.Tokens} {
		k, err := newKey(kid, "sig")
		if err != nil {
			return nil, err
		}
		*into = *k
	}
	return d, nil
}

func newKey(kid, use string) (*jwt.Private, error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return jwt.NewPrivate(k, kid, use)
}

// AnchorID is the entity of the trust anchor.
func (d *Demo) AnchorID() string { return d.base + "/anchor" }

// ProviderID is the entity of the identity provider.
func (d *Demo) ProviderID() string { return d.base + "/provider" }

// Settings registers a relying party: it makes its keys and its trust mark in a
// folder, and returns the configuration that uses them.
func (d *Demo) Settings(dir, clientID string) (cie.Config, error) {
	d.client.id = clientID
	config := cie.Config{
		ClientID: clientID, TrustAnchors: []string{d.AnchorID()}, OrganizationName: "Rogito DEMO", Contacts: []string{"demo@rogito.example"},
	}
	for _, k := range []struct {
		use, name string
		into      *jwt.Private
		file      *string
	}{
		{"sig", "federation", &d.client.federation, &config.FederationKey},
		{"sig", "signing", &d.client.signing, &config.SigningKey},
		{"enc", "encryption", &d.client.encryption, &config.EncryptionKey},
	} {
		key, err := newKey("demo-client-"+k.name, k.use)
		if err != nil {
			return config, err
		}
		b, err := key.JSON()
		if err != nil {
			return config, err
		}
		*k.into, *k.file = *key, filepath.Join(dir, k.name+".jwk")
		if err := os.WriteFile(*k.file, b, 0o600); err != nil {
			return config, err
		}
	}
	mark, err := d.mark("openid_relying_party", clientID)
	if err != nil {
		return config, err
	}
	b, err := json.Marshal([]any{mark})
	if err != nil {
		return config, err
	}
	config.TrustMarks = filepath.Join(dir, "trust-marks.json")
	return config, os.WriteFile(config.TrustMarks, b, 0o600)
}

// sign makes a token of claims, after a test has had its way with them.
func (d *Demo) sign(k jwt.Private, what, typ string, claims map[string]any) (string, error) {
	if d.Change != nil {
		d.Change(what, claims)
	}
	return k.Sign(typ, claims)
}

func (d *Demo) dated(life time.Duration, claims map[string]any) map[string]any {
	claims["iat"], claims["exp"] = d.now().Unix(), d.now().Add(life).Unix()
	return claims
}

func (d *Demo) markType(entityType string) string {
	return d.AnchorID() + "/" + entityType + "/private"
}

func (d *Demo) mark(entityType, sub string) (map[string]any, error) {
	kind := d.markType(entityType)
	token, err := d.sign(d.Anchor, "mark", "trust-mark+jwt", d.dated(365*24*time.Hour, map[string]any{"iss": d.AnchorID(), "sub": sub, "id": kind}))
	return map[string]any{"id": kind, "trust_mark": token}, err
}

func keys(all ...jwt.Private) map[string]any {
	var out []any
	for _, k := range all {
		out = append(out, k.Public())
	}
	return map[string]any{"keys": out}
}

func (d *Demo) anchorConfiguration() (string, error) {
	return d.sign(d.Anchor, "anchor", "entity-statement+jwt", d.dated(time.Hour, map[string]any{
		"iss": d.AnchorID(), "sub": d.AnchorID(), "jwks": keys(d.Anchor),
		"metadata": map[string]any{"federation_entity": map[string]any{
			"organization_name": "DEMO trust anchor", "federation_fetch_endpoint": d.AnchorID() + "/fetch", "federation_list_endpoint": d.AnchorID() + "/list",
		}},
		"constraints": map[string]any{"max_path_length": 1},
		"trust_mark_issuers": map[string]any{
			d.markType("openid_provider"): []string{d.AnchorID()}, d.markType("openid_relying_party"): []string{d.AnchorID()},
		},
	}))
}

func (d *Demo) providerConfiguration() (string, error) {
	mark, err := d.mark("openid_provider", d.ProviderID())
	if err != nil {
		return "", err
	}
	return d.sign(d.Federation, "provider", "entity-statement+jwt", d.dated(time.Hour, map[string]any{
		"iss": d.ProviderID(), "sub": d.ProviderID(), "jwks": keys(d.Federation), "authority_hints": []string{d.AnchorID()}, "trust_marks": []any{mark},
		"metadata": map[string]any{"openid_provider": map[string]any{
			"issuer": d.ProviderID(), "organization_name": "DEMO CIE", "jwks": keys(d.Tokens),
			"authorization_endpoint": d.ProviderID() + "/authorize", "token_endpoint": d.ProviderID() + "/token", "userinfo_endpoint": d.ProviderID() + "/userinfo",
			"client_registration_types_supported": []string{"automatic"}, "response_types_supported": []string{"code"}, "scopes_supported": []string{"openid"},
			"id_token_signing_alg_values_supported": []string{"ES256", "RS256"}, "userinfo_signing_alg_values_supported": []string{"ES256", "RS256"},
			"acr_values_supported": []string{"https://www.spid.gov.it/SpidL2", "https://www.spid.gov.it/SpidL3"}, "subject_types_supported": []string{"pairwise"},
			"token_endpoint_auth_methods_supported": []string{"private_key_jwt"}, "authorization_response_iss_parameter_supported": true,
		}},
	}))
}

// about is what the anchor says of the entities it knows.
func (d *Demo) about(sub string) (string, bool, error) {
	claims := d.dated(time.Hour, map[string]any{"iss": d.AnchorID(), "sub": sub})
	switch sub {
	case d.ProviderID():
		claims["jwks"] = keys(d.Federation)
		claims["metadata_policy"] = map[string]any{"openid_provider": map[string]any{
			"subject_types_supported":               map[string]any{"value": []string{"pairwise"}},
			"id_token_signing_alg_values_supported": map[string]any{"subset_of": []string{"RS256", "ES256"}},
		}}
	case d.client.id:
		claims["jwks"] = keys(d.client.federation)
	default:
		return "", false, nil
	}
	what := "about-provider"
	if sub == d.client.id {
		what = "about-client"
	}
	token, err := d.sign(d.Anchor, what, "entity-statement+jwt", claims)
	return token, true, err
}

// Handler serves everything below the base.
func (d *Demo) Handler() http.Handler {
	statement := func(make func() (string, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			token, err := make()
			d.answer(w, "application/entity-statement+jwt", token, err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /anchor/.well-known/openid-federation", statement(d.anchorConfiguration))
	mux.HandleFunc("GET /provider/.well-known/openid-federation", statement(d.providerConfiguration))
	mux.HandleFunc("GET /anchor/fetch", func(w http.ResponseWriter, r *http.Request) {
		token, known, err := d.about(r.FormValue("sub"))
		if !known {
			http.Error(w, `{"error":"not_found"}`, http.StatusNotFound)
			return
		}
		d.answer(w, "application/entity-statement+jwt", token, err)
	})
	mux.HandleFunc("GET /anchor/list", func(w http.ResponseWriter, r *http.Request) {
		out := []string{}
		if t := r.FormValue("entity_type"); t == "" || t == "openid_provider" {
			out = append(out, d.ProviderID())
		}
		b, err := json.Marshal(out)
		d.answer(w, "application/json", string(b), err)
	})
	mux.HandleFunc("GET /provider/authorize", d.login)
	mux.HandleFunc("POST /provider/authorize", d.chosen)
	mux.HandleFunc("POST /provider/token", d.token)
	mux.HandleFunc("GET /provider/userinfo", d.userinfo)
	return mux
}

func (d *Demo) answer(w http.ResponseWriter, media, body string, err error) {
	if err != nil {
		http.Error(w, "the demonstration has failed", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(body))
}

func random() string {
	b := make([]byte, 24)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}
