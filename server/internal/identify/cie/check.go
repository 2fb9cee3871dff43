package cie

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cie/jwt"
	"rogito.dev/rogito/server/internal/sentence"
)

// soon is how long before its end a key or a mark is reported.
const soon = 30 * 24 * time.Hour

// Check walks our keys, the anchors, what they say about us, our trust marks
// and the providers.
func (c *CIE) Check(ctx context.Context) []identify.Finding {
	var out []identify.Finding
	found := func(name string, detail sentence.Sentence, ok bool) {
		out = append(out, identify.Finding{Name: name, Detail: detail, OK: ok})
	}
	for _, k := range []struct {
		name string
		keys []jwt.Private
	}{{"cie federation key", c.federation}, {"cie signing key", c.signing}, {"cie encryption key", c.encryption}} {
		for _, key := range k.keys {
			detail, ok := c.life(key.Until)
			found(k.name, sentence.New("%s: %s", key.KeyID(), detail), ok)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 3*resolving)
	defer cancel()
	w := c.newWalk()
	for _, anchor := range c.config.TrustAnchors {
		s, err := w.configuration(ctx, anchor)
		if err != nil {
			found("cie trust anchor", sentence.New("%v", err), false)
			continue
		}
		found("cie trust anchor", sentence.New("%s: statement until %s", anchor, s.Exp.time().UTC().Format(time.RFC3339)), true)
		about, err := w.subordinate(ctx, s, c.config.ClientID)
		switch {
		case err != nil:
			found("cie registration", sentence.New("%v", err), false)
		case !c.vouched(about):
			found("cie registration", sentence.New("%s does not know our federation key %s", anchor, c.federation[0].KeyID()), false)
		default:
			found("cie registration", sentence.New("%s vouches for %s", anchor, c.config.ClientID), true)
		}
	}
	c.checkMarks(ctx, w, found)
	ids, err := c.providerIDs(ctx, 0)
	if err != nil {
		found("cie providers", sentence.New("%v", err), false)
	} else if len(ids) == 0 {
		found("cie providers", sentence.New("there is none"), false)
	}
	for _, id := range ids {
		p, err := c.resolve(ctx, id)
		if err != nil {
			found("cie provider", sentence.New("%s: %v", id, err), false)
			continue
		}
		found("cie provider", sentence.New("%s: trust chain until %s", id, p.until.UTC().Format(time.RFC3339)), true)
	}
	return out
}

// vouched says that a superior's statement has the key that we sign by.
func (c *CIE) vouched(about *statement) bool {
	own, err := c.Configuration()
	if err != nil {
		return false
	}
	_, err = about.keys.Verify(own, nil)
	return err == nil
}

func (c *CIE) checkMarks(ctx context.Context, w *walk, found func(name string, detail sentence.Sentence, ok bool)) {
	marks, err := c.trustMarks()
	if err != nil {
		found("cie trust mark", sentence.New("%v", err), false)
		return
	}
	if len(marks) == 0 {
		found("cie trust mark", sentence.New("there is none: providers refuse a relying party without"), false)
	}
	for _, m := range marks {
		claims, err := c.ownMark(ctx, w, m)
		if err != nil {
			found("cie trust mark", sentence.New("%s: %v", m.kind(), err), false)
			continue
		}
		if claims.Sub != c.config.ClientID {
			found("cie trust mark", sentence.New("%s: it was issued to %s", m.kind(), claims.Sub), false)
			continue
		}
		until := time.Time{}
		if claims.Exp != 0 {
			until = claims.Exp.time()
		}
		detail, ok := c.life(until)
		found("cie trust mark", sentence.New("%s: %s", m.kind(), detail), ok)
	}
}

// ownMark verifies a mark of ours, where one of the anchors issued it; of other
// issuers, and of a mark of others, only what the mark says is looked at.
func (c *CIE) ownMark(ctx context.Context, w *walk, m trustMark) (*markClaims, error) {
	peeked, err := jwt.Peek(m.Mark)
	if err != nil {
		return nil, err
	}
	var claims markClaims
	if err := json.Unmarshal(peeked, &claims); err != nil {
		return nil, err
	}
	if claims.Sub != c.config.ClientID || !slices.Contains(c.config.TrustAnchors, claims.Iss) {
		return &claims, nil
	}
	anchor, err := w.configuration(ctx, claims.Iss)
	if err != nil {
		return nil, err
	}
	return parseMark(m, anchor.keys, w.now)
}

func (c *CIE) life(until time.Time) (sentence.Sentence, bool) {
	if until.IsZero() {
		return sentence.New("no end"), true
	}
	return sentence.New("until %s", until.UTC().Format(time.DateOnly)), c.deps.Now().Add(soon).Before(until)
}
