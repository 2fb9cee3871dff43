package cie

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// Limits of a trust chain. The Italian federations have one intermediate at
// most.
const (
	maxDepth = 5 // superiors above the subject, the anchor included
	maxHints = 8
)

// broken says why there is no trust in an entity. Its text is for the log and
// for doctor.
type broken struct {
	reason string // a short word: statement, chain, trust-mark, policy, metadata
	err    error
}

func (b *broken) Error() string { return b.reason + ": " + b.err.Error() }
func (b *broken) Unwrap() error { return b.err }

// walk is the building of one trust chain, within its limits.
type walk struct {
	c       *CIE
	now     time.Time
	fetches int
	configs map[string]*statement // configurations that were read
}

func (c *CIE) newWalk() *walk {
	return &walk{c: c, now: c.deps.Now(), configs: map[string]*statement{}}
}

func (w *walk) get(ctx context.Context, address string, limit int) ([]byte, error) {
	if w.fetches++; w.fetches > maxFetches {
		return nil, errors.New("too many statements would have to be fetched")
	}
	return w.c.get(ctx, address, limit)
}

// configuration fetches what an entity says about itself.
func (w *walk) configuration(ctx context.Context, entity string) (*statement, error) {
	if s := w.configs[entity]; s != nil {
		return s, nil
	}
	if err := w.c.checkEntity(entity); err != nil {
		return nil, err
	}
	b, err := w.get(ctx, wellKnown(entity), jwt.MaxToken)
	if err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", entity, err)
	}
	s, err := parseStatement(string(b), entity, entity, nil, w.now)
	if err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", entity, err)
	}
	w.configs[entity] = s
	return s, nil
}

// subordinate fetches what a superior says about an entity.
func (w *walk) subordinate(ctx context.Context, superior *statement, entity string) (*statement, error) {
	endpoint := text(superior.Metadata["federation_entity"], "federation_fetch_endpoint")
	u, err := w.c.checkAddress(endpoint)
	if err != nil {
		return nil, fmt.Errorf("federation_fetch_endpoint of %s: %w", superior.Sub, err)
	}
	q := u.Query()
	q.Set("sub", entity)
	u.RawQuery = q.Encode()
	b, err := w.get(ctx, u.String(), jwt.MaxToken)
	if err == nil {
		var s *statement
		if s, err = parseStatement(string(b), superior.Sub, entity, superior.keys, w.now); err == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("statement of %s about %s: %w", superior.Sub, entity, err)
}

// chain is a trust chain: what the subject says about itself, what each
// superior says about the one below, and what the anchor says about itself.
type chain struct {
	subject    *statement
	statements []*statement // from the subject's superior up to the anchor
	anchor     *statement
}

// build finds a chain from an entity to one of the anchors.
func (w *walk) build(ctx context.Context, entity string) (*chain, error) {
	subject, err := w.configuration(ctx, entity)
	if err != nil {
		return nil, &broken{"statement", err}
	}
	statements, anchor, err := w.climb(ctx, subject, []string{entity})
	if err != nil {
		return nil, &broken{"chain", err}
	}
	ch := &chain{subject, statements, anchor}
	if err := ch.verify(w.now); err != nil {
		return nil, &broken{"chain", err}
	}
	return ch, nil
}

// climb follows the hints of an entity, depth first. path has the entities
// from the subject up to this one.
func (w *walk) climb(ctx context.Context, below *statement, path []string) ([]*statement, *statement, error) {
	if len(path) > maxDepth {
		return nil, nil, errors.New("the trust chain is too long")
	}
	if len(below.AuthorityHints) > maxHints {
		return nil, nil, fmt.Errorf("%s names too many superiors", below.Sub)
	}
	var failed error
	fail := func(err error) {
		var no *unreachable
		if failed == nil || errors.As(err, &no) { // nothing is known of who did not answer
			failed = err
		}
	}
	for _, hint := range below.AuthorityHints {
		if slices.Contains(path, hint) {
			fail(fmt.Errorf("the trust chain comes back to %s", hint))
			continue
		}
		superior, err := w.configuration(ctx, hint)
		if err != nil {
			fail(err)
			continue
		}
		about, err := w.subordinate(ctx, superior, below.Sub)
		if err != nil {
			fail(err)
			continue
		}
		if slices.Contains(w.c.config.TrustAnchors, hint) {
			return []*statement{about}, superior, nil
		}
		above, anchor, err := w.climb(ctx, superior, append(slices.Clone(path), hint))
		if err != nil {
			fail(err)
			continue
		}
		return append([]*statement{about}, above...), anchor, nil
	}
	if failed == nil {
		failed = fmt.Errorf("%s is no trust anchor of ours, and names no superior", below.Sub)
	}
	return nil, nil, failed
}

// verify judges a chain from the anchor down (section 10.2): each statement is
// signed by a key that the one above vouches for, and within its constraints.
func (ch *chain) verify(now time.Time) error {
	keys := ch.anchor.keys
	for i := len(ch.statements) - 1; i >= 0; i-- {
		s := ch.statements[i]
		if _, err := parseStatement(s.raw, s.Iss, s.Sub, keys, now); err != nil {
			return fmt.Errorf("statement of %s about %s: %w", s.Iss, s.Sub, err)
		}
		if err := s.Constraints.check(i, ch.subject); err != nil {
			return fmt.Errorf("constraints of %s: %w", s.Iss, err)
		}
		keys = s.keys
	}
	if _, err := parseStatement(ch.subject.raw, ch.subject.Sub, ch.subject.Sub, keys, now); err != nil {
		return fmt.Errorf("configuration of %s: %w", ch.subject.Sub, err)
	}
	// The Italian rules set the anchor's constraints in its configuration.
	if err := ch.anchor.Constraints.check(len(ch.statements)-1, ch.subject); err != nil {
		return fmt.Errorf("constraints of %s: %w", ch.anchor.Sub, err)
	}
	return nil
}

// check judges constraints that an entity sets which has so many intermediates
// between itself and the subject.
func (c constraints) check(intermediates int, subject *statement) error {
	if c.MaxPathLength != nil && intermediates > *c.MaxPathLength {
		return fmt.Errorf("max_path_length is %d, and there are %d intermediates", *c.MaxPathLength, intermediates)
	}
	if n := c.Naming; n != nil {
		u, err := url.Parse(subject.Sub)
		if err != nil {
			return err
		}
		within := func(names []string) bool {
			return slices.ContainsFunc(names, func(name string) bool {
				if p, err := url.Parse(name); err == nil && p.Host != "" {
					name = p.Hostname()
				}
				host := strings.ToLower(u.Hostname())
				name = strings.ToLower(name)
				return host == name || strings.HasPrefix(name, ".") && strings.HasSuffix(host, name)
			})
		}
		if len(n.Permitted) > 0 && !within(n.Permitted) || within(n.Excluded) {
			return errors.New("naming_constraints do not permit the entity")
		}
	}
	if c.AllowedEntityTypes != nil && subject.Metadata["openid_provider"] != nil && !slices.Contains(c.AllowedEntityTypes, "openid_provider") {
		return errors.New("allowed_entity_types does not permit providers")
	}
	return nil
}

// metadata is what the subject says of itself as an entity of a type, after
// what its superiors say of it and their policies.
func (ch *chain) metadata(entityType string) (object, error) {
	own := ch.subject.Metadata[entityType]
	if own == nil {
		return nil, fmt.Errorf("%s is no %s", ch.subject.Sub, entityType)
	}
	merged := maps.Clone(own)
	maps.Copy(merged, ch.statements[0].Metadata[entityType]) // section 3.1.3: of the immediate superior
	var policies []map[string]object
	for i := len(ch.statements) - 1; i >= 0; i-- {
		policies = append(policies, ch.statements[i].MetadataPolicy[entityType])
	}
	policy, err := mergePolicies(policies)
	if err != nil {
		return nil, err
	}
	return applyPolicy(merged, policy)
}

// until is when the first statement of the chain expires.
func (ch *chain) until() time.Time {
	t := ch.subject.Exp.time()
	for _, s := range append([]*statement{ch.anchor}, ch.statements...) {
		if e := s.Exp.time(); e.Before(t) {
			t = e
		}
	}
	return t
}

// raw are the statements of the chain, in the order of section 4.
func (ch *chain) raw() []string {
	out := []string{ch.subject.raw}
	for _, s := range ch.statements {
		out = append(out, s.raw)
	}
	return append(out, ch.anchor.raw)
}

// listed asks an anchor for the providers below it (section 8.2): those directly
// below, and those below intermediates. An intermediate that cannot be asked
// hides its own providers only.
func (w *walk) listed(ctx context.Context, anchor string) ([]string, error) {
	all, err := w.list(ctx, anchor, url.Values{"entity_type": {"openid_provider"}})
	if err != nil {
		return nil, err
	}
	seen := append(slices.Clone(all), anchor)
	level := []string{anchor}
	for range maxDepth - 1 {
		var below []string
		for _, entity := range level {
			some, err := w.list(ctx, entity, url.Values{"entity_type": {"federation_entity"}, "intermediate": {"true"}})
			if err != nil {
				continue
			}
			for _, id := range some {
				if slices.Contains(seen, id) || len(seen) >= maxProviders {
					continue
				}
				seen = append(seen, id)
				providers, err := w.list(ctx, id, url.Values{"entity_type": {"openid_provider"}})
				if err != nil { // a leaf that an anchor lists which does not know the parameter, for one
					continue
				}
				below = append(below, id)
				all = append(all, providers...)
			}
		}
		level = below
	}
	if len(all) > maxProviders {
		return nil, fmt.Errorf("the federation lists %d providers, more than %d", len(all), maxProviders)
	}
	return all, nil
}

// list asks an entity for those directly below it.
func (w *walk) list(ctx context.Context, entity string, which url.Values) ([]string, error) {
	s, err := w.configuration(ctx, entity)
	if err != nil {
		return nil, err
	}
	u, err := w.c.checkAddress(text(s.Metadata["federation_entity"], "federation_list_endpoint"))
	if err != nil {
		return nil, fmt.Errorf("federation_list_endpoint of %s: %w", entity, err)
	}
	q := u.Query()
	maps.Copy(q, which)
	u.RawQuery = q.Encode()
	b, err := w.get(ctx, u.String(), maxList)
	if err != nil {
		return nil, err
	}
	var all []string
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("the list of %s cannot be read", entity)
	}
	if len(all) > maxProviders {
		return nil, fmt.Errorf("%s lists %d entities, more than %d", entity, len(all), maxProviders)
	}
	return slices.DeleteFunc(all, func(id string) bool { return w.c.checkEntity(id) != nil }), nil
}
