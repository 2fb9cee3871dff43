// Package cie identifies people by their electronic identity card: it is a
// relying party of OpenID Connect in a federation (OpenID Connect Core 1.0,
// OpenID Federation 1.0), by the rules of the Ministry of the Interior.
//
// Nobody is sent to a provider whose trust chain does not hold. What a provider
// answers is believed when it is signed by a key that this chain vouches for,
// and made for this relying party and this request.
package cie

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// Config are the keys of identify.cie.
type Config struct {
	ClientID         string   `yaml:"client_id" doc:"CIE: this relying party's entity, an https address without a slash at the end; empty: CIE is not offered"`
	TrustAnchors     []string `yaml:"trust_anchors" doc:"CIE: entities of the federation's trust anchors"`
	FederationKey    string   `yaml:"federation_key" doc:"CIE: file with the private JWK (kid, use sig) that signs the entity statement; several (a JWK set) while keys change"`
	SigningKey       string   `yaml:"signing_key" doc:"CIE: file with the private JWK (kid, use sig) that signs requests"`
	EncryptionKey    string   `yaml:"encryption_key" doc:"CIE: file with the private JWK (kid, use enc) that answers are encrypted for"`
	TrustMarks       string   `yaml:"trust_marks" doc:"CIE: file with the trust marks, a JSON list as in the claim"`
	Providers        []string `yaml:"providers" doc:"CIE: entities of identity providers; empty: those that the anchors list"`
	Level            int      `yaml:"level" doc:"CIE: level asked for, 2 or 3"`
	Button           string   `yaml:"button" doc:"CIE: file with the operator's copy of the official logo for the button Entra con CIE (PNG or SVG, at most 256 kB); empty: the button has the words only"`
	OrganizationName string   `yaml:"organization_name" doc:"CIE: name of the organisation, as people are shown"`
	Contacts         []string `yaml:"contacts" doc:"CIE: e-mail addresses for the federation"`
}

// Deps are what the method needs of the server.
type Deps struct {
	Client *http.Client // guarded: follows no redirect, reaches nothing private
	// Plain says whether an http address may be used: network.allow_private
	// names it. Nil: none may.
	Plain func(*url.URL) bool
	Now   func() time.Time
	Log   *slog.Logger
}

// CIE is the method.
type CIE struct {
	config     Config
	deps       Deps
	level      string        // the URI
	federation []jwt.Private // the first is in use
	signing    []jwt.Private
	encryption []jwt.Private

	mu         sync.Mutex
	providers  map[string]*provider // resolved
	failed     map[string]time.Time // no name is looked for before
	list       []string             // of the anchors
	listAt     time.Time
	listFailed error
	own        string // our configuration, signed
	ownUntil   time.Time
	ownMarks   time.Time // of the file that they came from
}

var _ identify.Method = (*CIE)(nil)

// maxProviders limits the list of an anchor.
const maxProviders = 100

// levels of assurance, as acr has them, from the weakest.
var levels = []string{"https://www.spid.gov.it/SpidL1", "https://www.spid.gov.it/SpidL2", "https://www.spid.gov.it/SpidL3"}

// New reads keys and marks.
func New(config Config, deps Deps) (*CIE, error) {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	c := &CIE{config: config, deps: deps, providers: map[string]*provider{}, failed: map[string]time.Time{}}
	if c.config.Level == 0 {
		c.config.Level = 3
	}
	if c.config.Level != 2 && c.config.Level != 3 {
		return nil, fmt.Errorf("identify.cie.level is %d, and must be 2 or 3", config.Level)
	}
	c.level = levels[c.config.Level-1]
	if err := c.checkEntity(config.ClientID); err != nil {
		return nil, fmt.Errorf("identify.cie.client_id: %w", err)
	}
	if strings.HasSuffix(config.ClientID, "/") {
		return nil, errors.New("identify.cie.client_id must not end in a slash")
	}
	if len(config.TrustAnchors) == 0 {
		return nil, errors.New("identify.cie.trust_anchors is empty")
	}
	for _, a := range config.TrustAnchors {
		if err := c.checkEntity(a); err != nil {
			return nil, fmt.Errorf("identify.cie.trust_anchors: %s: %w", a, err)
		}
	}
	for _, p := range config.Providers {
		if err := c.checkEntity(p); err != nil {
			return nil, fmt.Errorf("identify.cie.providers: %s: %w", p, err)
		}
	}
	if err := c.readKeys(); err != nil {
		return nil, err
	}
	if _, err := c.trustMarks(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *CIE) readKeys() error {
	var all []jwt.Private
	for _, k := range []struct {
		name, file, use string
		into            *[]jwt.Private
	}{
		{"federation_key", c.config.FederationKey, "sig", &c.federation},
		{"signing_key", c.config.SigningKey, "sig", &c.signing},
		{"encryption_key", c.config.EncryptionKey, "enc", &c.encryption},
	} {
		keys, err := jwt.ReadPrivate(k.file, k.use)
		if err != nil {
			return fmt.Errorf("identify.cie.%s: %w", k.name, err)
		}
		for _, key := range keys {
			if slices.ContainsFunc(all, key.Same) {
				return fmt.Errorf("identify.cie.%s: the key %s has another purpose already", k.name, key.KeyID())
			}
		}
		*k.into, all = keys, append(all, keys...)
	}
	return nil
}

// trustMarks reads the file of our own marks. It is read again whenever our
// configuration is signed, so a new mark needs no restart.
func (c *CIE) trustMarks() ([]trustMark, error) {
	if c.config.TrustMarks == "" {
		return nil, nil
	}
	b, err := os.ReadFile(c.config.TrustMarks)
	if err != nil {
		return nil, fmt.Errorf("identify.cie.trust_marks: %w", err)
	}
	var marks []trustMark
	if err := json.Unmarshal(b, &marks); err != nil {
		return nil, fmt.Errorf("identify.cie.trust_marks: %s is no JSON list of trust marks", c.config.TrustMarks)
	}
	for _, m := range marks {
		if m.kind() == "" || m.Mark == "" {
			return nil, fmt.Errorf("identify.cie.trust_marks: a mark in %s has no type or no trust_mark", c.config.TrustMarks)
		}
	}
	return marks, nil
}

// Name is cie.
func (c *CIE) Name() string { return "cie" }

func (c *CIE) callback() string { return c.config.ClientID + "/cie/callback" }

// Providers are those of the configuration, or those that the anchors list.
func (c *CIE) Providers(ctx context.Context) []identify.Provider {
	ids, err := c.providerIDs(ctx, listLife)
	if err != nil {
		c.deps.Log.Warn("no list of CIE providers", "err", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // a page waits for the names
	defer cancel()
	var out []identify.Provider
	for _, id := range ids {
		out = append(out, identify.Provider{ID: id, Name: c.providerName(ctx, id)})
	}
	return out
}

// How long a list of the anchors serves, and how long its failure: pages are
// not to wait for an anchor that does not answer.
const (
	listLife    = 10 * time.Minute
	listFailure = 20 * time.Second
)

// providerIDs are the entities of those who can be asked. A list of the anchors
// that is older than that is fetched again; the old one serves while they do not
// answer, because nobody is sent on without a fresh trust chain.
func (c *CIE) providerIDs(ctx context.Context, age time.Duration) ([]string, error) {
	if len(c.config.Providers) > 0 {
		return c.config.Providers, nil
	}
	now := c.deps.Now()
	c.mu.Lock()
	ids, at, failed := c.list, c.listAt, c.listFailed
	c.mu.Unlock()
	switch {
	case len(ids) > 0 && now.Before(at.Add(age)):
		return ids, nil
	case failed != nil && now.Before(at.Add(min(age, listFailure))):
		return ids, failed
	}
	ctx, cancel := context.WithTimeout(ctx, resolving/2)
	defer cancel()
	var fresh []string
	failed = nil
	for _, anchor := range c.config.TrustAnchors {
		all, err := c.newWalk().listed(ctx, anchor)
		if err != nil {
			failed = err
		}
		fresh = append(fresh, all...)
	}
	slices.Sort(fresh)
	fresh = slices.Compact(fresh)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listAt = now; len(fresh) > 0 {
		c.list, failed = fresh, nil
	}
	c.listFailed = failed
	if len(c.list) > 0 {
		return c.list, nil
	}
	return nil, failed
}

// providerName is what the provider calls itself, where that can be had, or
// the host of its entity. Who cannot be reached is not asked again for a minute.
func (c *CIE) providerName(ctx context.Context, id string) string {
	c.mu.Lock()
	p, wait := c.providers[id], c.failed[id]
	c.mu.Unlock()
	if p == nil && c.deps.Now().After(wait) {
		var err error
		if p, err = c.resolve(ctx, id); err != nil {
			c.mu.Lock()
			c.failed[id] = c.deps.Now().Add(time.Minute)
			c.mu.Unlock()
		}
	}
	if p != nil && p.name != "" {
		return p.name
	}
	if u, err := url.Parse(id); err == nil {
		return u.Host
	}
	return id
}
