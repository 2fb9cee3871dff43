package cie

import (
	"net/http"
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
	if c.own != "" && now.Before(c.ownUntil) {
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
	c.ownUntil = now.Add(time.Minute)
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

// Handler serves GET /.well-known/openid-federation.
func (c *CIE) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s, err := c.Configuration()
		if err != nil {
			c.deps.Log.Error("sign the entity configuration", "err", err)
			http.Error(w, "the entity configuration cannot be made", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/entity-statement+jwt")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(s))
	})
}
