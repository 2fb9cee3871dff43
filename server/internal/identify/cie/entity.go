package cie

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// ownLife is how long a configuration of ours is good: providers read it again
// after that, and know new keys by then.
const ownLife = 24 * time.Hour

// Configuration is what we publish about ourselves, signed.
func (c *CIE) Configuration() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.deps.Now()
	var written time.Time // a new trust mark is published at once
	if info, err := os.Stat(c.config.TrustMarks); err == nil {
		written = info.ModTime()
	}
	if c.own != "" && now.Before(c.ownUntil) && written.Equal(c.ownMarks) {
		return c.own, nil
	}
	marks, err := c.trustMarks()
	if err != nil {
		return "", err
	}
	claims := map[string]any{
		"iss": c.config.ClientID, "sub": c.config.ClientID, "iat": now.Unix(), "exp": now.Add(ownLife).Unix(),
		"jwks":            map[string]any{"keys": public(c.federation)},
		"authority_hints": c.config.TrustAnchors,
		"metadata": map[string]any{
			"federation_entity": map[string]any{
				"organization_name": c.config.OrganizationName, "homepage_uri": c.config.ClientID, "policy_uri": c.config.ClientID, "contacts": c.config.Contacts,
				"federation_resolve_endpoint": c.config.ClientID + ResolvePath,
			},
			"openid_relying_party": c.clientMetadata(),
		},
	}
	if len(marks) > 0 {
		claims["trust_marks"] = marks
	}
	if c.own, err = c.federation[0].Sign("entity-statement+jwt", claims); err != nil {
		return "", err
	}
	c.ownUntil, c.ownMarks = now.Add(time.Minute), written
	return c.own, nil
}

func (c *CIE) clientMetadata() map[string]any {
	alg := c.signing[0].SigningAlgorithm()
	return map[string]any{
		"application_type": "web", "client_id": c.config.ClientID, "client_registration_types": []string{"automatic"},
		"client_name": c.config.OrganizationName, "organization_name": c.config.OrganizationName, "contacts": c.config.Contacts,
		"redirect_uris": []string{c.callback()}, "response_types": []string{"code"}, "grant_types": []string{"authorization_code"},
		"subject_type": "pairwise", "token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_signing_alg": alg, "request_object_signing_alg": alg,
		// RS256 is what every participant of the Italian federations signs by.
		"id_token_signed_response_alg": "RS256", "userinfo_signed_response_alg": "RS256",
		"userinfo_encrypted_response_alg": c.encryption[0].EncryptionAlgorithm(), "userinfo_encrypted_response_enc": "A256CBC-HS512",
		"jwks": map[string]any{"keys": append(public(c.signing), public(c.encryption)...)},
	}
}

func public(keys []jwt.Private) []any {
	var out []any
	for _, k := range keys {
		out = append(out, k.Public())
	}
	return out
}

// ResolvePath is where Handler answers what we know of a provider: the rules
// want a relying party to have such an address.
const ResolvePath = "/cie/resolve"

// Handler serves GET /.well-known/openid-federation and GET /cie/resolve.
func (c *CIE) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		media, sign := "application/entity-statement+jwt", c.Configuration
		if strings.HasSuffix(r.URL.Path, ResolvePath) {
			p := c.resolved(r.URL.Query().Get("sub"), r.URL.Query()["trust_anchor"])
			if p == nil {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(`{"error":"not_found","error_description":"no trust chain of this entity is known here"}`))
				return
			}
			media, sign = "application/resolve-response+jwt", func() (string, error) { return c.resolution(p) }
		}
		s, err := sign()
		if err != nil {
			c.deps.Log.Error("sign a statement of the federation", "err", err)
			http.Error(w, "the statement cannot be made", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", media)
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(s))
	})
}

// resolved is a provider whose chain to one of the anchors is in memory: nobody
// makes us fetch anything by asking.
func (c *CIE) resolved(id string, anchors []string) *provider {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.providers[id]
	if p == nil || !c.deps.Now().Before(p.until) || len(anchors) > 0 && !slices.Contains(anchors, p.anchor) {
		return nil
	}
	return p
}

// resolution is a resolve response (OpenID Federation 1.0, section 8.3.2).
func (c *CIE) resolution(p *provider) (string, error) {
	return c.federation[0].Sign("resolve-response+jwt", map[string]any{
		"iss": c.config.ClientID, "sub": p.id, "iat": c.deps.Now().Unix(), "exp": p.until.Unix(),
		"metadata": map[string]any{"openid_provider": p.metadata}, "trust_chain": p.evidence.TrustChain,
	})
}
