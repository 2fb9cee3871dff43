package cie

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

const maxMarks = 16

// trustMark is a member of the claim trust_marks, and has the names that its
// type had in the drafts: the Italian rules say id.
type trustMark struct {
	ID    string `json:"id,omitempty"`
	OldID string `json:"trust_mark_id,omitempty"`
	Type  string `json:"trust_mark_type,omitempty"`
	Mark  string `json:"trust_mark"`
}

func (t trustMark) kind() string {
	return cmp.Or(t.Type, t.OldID, t.ID)
}

// markClaims are what the issuer of a mark says.
type markClaims struct {
	trustMark
	Iss string  `json:"iss"`
	Sub string  `json:"sub"`
	Iat seconds `json:"iat"`
	Exp seconds `json:"exp"` // zero: none
}

// marked says whether the subject of a chain carries a trust mark for
// providers that holds, and until when. It returns the statements by which the
// mark's issuer is known, where they are not in the chain.
func (w *walk) marked(ctx context.Context, ch *chain) (time.Time, []string, error) {
	if len(ch.subject.TrustMarks) == 0 {
		return time.Time{}, nil, errors.New("the provider has no trust mark")
	}
	if len(ch.subject.TrustMarks) > maxMarks {
		return time.Time{}, nil, errors.New("the provider has too many trust marks")
	}
	var failed error
	for _, m := range ch.subject.TrustMarks {
		until, statements, err := w.mark(ctx, ch, m)
		if err == nil {
			return until, statements, nil
		}
		var no *unreachable
		if failed == nil || errors.As(err, &no) {
			failed = err
		}
	}
	return time.Time{}, nil, failed
}

func (w *walk) mark(ctx context.Context, ch *chain, m trustMark) (time.Time, []string, error) {
	none := time.Time{}
	peeked, err := jwt.Peek(m.Mark)
	if err != nil {
		return none, nil, fmt.Errorf("trust mark: %w", err)
	}
	var named struct {
		Iss string `json:"iss"`
	}
	if err := json.Unmarshal(peeked, &named); err != nil {
		return none, nil, errors.New("trust mark: the claims cannot be read")
	}
	kind := m.kind()
	switch issuers, listed := ch.anchor.issuers(kind); {
	case kind == "":
		return none, nil, errors.New("trust mark: it has no type")
	case otherType(kind):
		return none, nil, errors.New("trust mark: it is not one of a provider")
	case listed && !slices.Contains(issuers, named.Iss), !listed && named.Iss != ch.anchor.Sub:
		return none, nil, errors.New("trust mark: the anchor does not list its issuer for this type")
	}
	keys, statements, until, err := w.issuerKeys(ctx, ch, named.Iss)
	if err != nil {
		return none, nil, fmt.Errorf("issuer of the trust mark: %w", err)
	}
	claims, err := parseMark(m, keys, w.now)
	switch {
	case err != nil:
		return none, nil, err
	case claims.Sub != ch.subject.Sub:
		return none, nil, errors.New("trust mark: it was issued to another entity")
	}
	if e := claims.Exp.time(); claims.Exp != 0 && e.Before(until) {
		until = e
	}
	return until, statements, nil
}

// parseMark verifies a trust mark by its issuer's keys (section 7.3).
func parseMark(m trustMark, keys jwt.Keys, now time.Time) (*markClaims, error) {
	token, err := keys.Verify(m.Mark, nil)
	if err != nil {
		return nil, fmt.Errorf("trust mark: %w", err)
	}
	var c markClaims
	if err := json.Unmarshal(token.Claims, &c); err != nil {
		return nil, errors.New("trust mark: the claims cannot be read")
	}
	switch {
	// Marks by early drafts have no typ of their own.
	case token.Type != "trust-mark+jwt" && token.Type != "" && !strings.EqualFold(token.Type, "JWT"):
		return nil, errors.New("trust mark: typ is not trust-mark+jwt")
	case m.kind() == "" || c.kind() != m.kind():
		return nil, errors.New("trust mark: it is of another type than stands beside it")
	case c.Iat == 0 || c.Iat.time().After(now.Add(skew)):
		return nil, errors.New("trust mark: iat is missing or in the future")
	case c.Exp != 0 && !now.Before(c.Exp.time()):
		return nil, errors.New("trust mark: it has expired")
	}
	return &c, nil
}

// issuers are those that the anchor lets issue marks of a type.
func (s *statement) issuers(kind string) ([]string, bool) {
	issuers := s.TrustMarkIssuers
	if issuers == nil {
		issuers = s.TrustMarksIssuers
	}
	who, listed := issuers[kind]
	return who, listed
}

// otherType says that a mark names in its type the kind of entity that it is
// for, as the Italian ones do (<anchor>/<entity type>/<profile>), and that it is
// not a provider: a relying party must not turn into one.
func otherType(kind string) bool {
	for _, other := range []string{"openid_relying_party", "oauth_resource", "federation_entity"} {
		if slices.Contains(strings.Split(kind, "/"), other) {
			return true
		}
	}
	return false
}

// issuerKeys are the keys of an issuer of marks: the anchor, an intermediate of
// the chain, or an entity with a trust chain to the same anchor.
func (w *walk) issuerKeys(ctx context.Context, ch *chain, issuer string) (jwt.Keys, []string, time.Time, error) {
	if issuer == ch.anchor.Sub {
		return ch.anchor.keys, nil, ch.until(), nil
	}
	for _, s := range ch.statements[1:] {
		if s.Sub == issuer {
			return s.keys, nil, ch.until(), nil
		}
	}
	other, err := w.build(ctx, issuer)
	if err != nil {
		return nil, nil, time.Time{}, err
	}
	if other.anchor.Sub != ch.anchor.Sub {
		return nil, nil, time.Time{}, errors.New("it stands under another anchor")
	}
	until := ch.until()
	if u := other.until(); u.Before(until) {
		until = u
	}
	return other.statements[0].keys, other.raw(), until, nil
}
