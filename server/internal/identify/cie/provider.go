package cie

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// provider is an OpenID Provider with a trust chain that holds.
type provider struct {
	id, name, anchor               string
	authorization, token, userinfo string
	keys                           jwt.Keys
	idTokenAlgorithms              []string // that it announces; empty: it does not say
	userinfoAlgorithms             []string
	until                          time.Time
	metadata                       object
	evidence                       evidence
}

// evidence is by what the provider's keys were believed.
type evidence struct {
	TrustChain       []string `json:"trust_chain"`
	TrustMarkIssuer  []string `json:"trust_mark_issuer,omitempty"` // chain of the issuer of its trust mark
	ProviderKeys     string   `json:"provider_keys,omitempty"`     // fetched from its jwks_uri
	ProviderKeysFrom string   `json:"provider_keys_from,omitempty"`
}

// known returns a provider from the cache while its chain has not expired, and
// resolves it otherwise.
func (c *CIE) known(ctx context.Context, id string) (*provider, error) {
	c.mu.Lock()
	p := c.providers[id]
	c.mu.Unlock()
	if p != nil && c.deps.Now().Before(p.until) {
		return p, nil
	}
	return c.resolve(ctx, id)
}

// resolve builds the trust chain of a provider and caches the outcome.
func (c *CIE) resolve(ctx context.Context, id string) (*provider, error) {
	ctx, cancel := context.WithTimeout(ctx, resolving)
	defer cancel()
	w := c.newWalk()
	p, err := w.provider(ctx, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		var no *unreachable
		if !errors.As(err, &no) {
			delete(c.providers, id) // what was withdrawn is not believed from memory
		}
		return nil, err
	}
	c.providers[id] = p
	return p, nil
}

func (w *walk) provider(ctx context.Context, id string) (*provider, error) {
	ch, err := w.build(ctx, id)
	if err != nil {
		return nil, err
	}
	until, issuer, err := w.marked(ctx, ch)
	if err != nil {
		return nil, &broken{"trust-mark", err}
	}
	m, err := ch.metadata("openid_provider")
	if err != nil {
		return nil, &broken{"policy", err}
	}
	p := &provider{
		id: id, anchor: ch.anchor.Sub, name: text(m, "organization_name"), until: until, metadata: m,
		authorization: text(m, "authorization_endpoint"), token: text(m, "token_endpoint"), userinfo: text(m, "userinfo_endpoint"),
		idTokenAlgorithms:  list(m, "id_token_signing_alg_values_supported"),
		userinfoAlgorithms: list(m, "userinfo_signing_alg_values_supported"),
		evidence:           evidence{TrustChain: ch.raw(), TrustMarkIssuer: issuer},
	}
	if p.name == "" {
		p.name = text(ch.subject.Metadata["federation_entity"], "organization_name")
	}
	if text(m, "issuer") != id {
		return nil, &broken{"metadata", errors.New("issuer is another than the entity")}
	}
	for name, address := range map[string]string{"authorization_endpoint": p.authorization, "token_endpoint": p.token, "userinfo_endpoint": p.userinfo} {
		if _, err := w.c.checkAddress(address); err != nil {
			return nil, &broken{"metadata", fmt.Errorf("%s: %w", name, err)}
		}
	}
	if types := list(m, "client_registration_types_supported"); len(types) > 0 && !slices.Contains(types, "automatic") {
		return nil, &broken{"metadata", errors.New("the provider does not register automatically")}
	}
	if err := w.providerKeys(ctx, p, m, ch); err != nil {
		return nil, &broken{"metadata", fmt.Errorf("keys of the provider: %w", err)}
	}
	return p, nil
}

// providerKeys are those of the metadata itself, or those behind
// signed_jwks_uri or jwks_uri.
func (w *walk) providerKeys(ctx context.Context, p *provider, m object, ch *chain) (err error) {
	if set, there := m["jwks"]; there {
		b, err := json.Marshal(set)
		if err != nil {
			return err
		}
		p.keys, err = jwt.ParseKeySet(b)
		return err
	}
	from, signed := text(m, "signed_jwks_uri"), true
	if from == "" {
		from, signed = text(m, "jwks_uri"), false
	}
	b, err := w.get(ctx, from, jwt.MaxToken)
	if err != nil {
		return err
	}
	p.evidence.ProviderKeys, p.evidence.ProviderKeysFrom = string(b), from
	if signed {
		token, err := ch.statements[0].keys.Verify(string(b), nil)
		if err != nil {
			return err
		}
		var who struct {
			Iss string `json:"iss"`
		}
		if json.Unmarshal(token.Claims, &who) != nil || who.Iss != "" && who.Iss != p.id {
			return errors.New("signed_jwks_uri holds the keys of another entity")
		}
		b = token.Claims
	}
	p.keys, err = jwt.ParseKeySet(b)
	return err
}
