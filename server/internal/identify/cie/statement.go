package cie

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// skew is how far apart two clocks may be.
const skew = 2 * time.Minute

// seconds is a NumericDate (RFC 7519, section 2).
type seconds float64

func (s seconds) time() time.Time {
	if s < 0 || s > 1e11 { // the year 5138; beyond, conversions overflow
		return time.Time{}
	}
	return time.Unix(int64(s), 0)
}

// object is the metadata of one entity type.
type object = map[string]any

// statement is an entity statement (OpenID Federation 1.0, section 3): the
// configuration that an entity signs about itself, or what a superior signs
// about its subordinate.
type statement struct {
	raw  string
	keys jwt.Keys // of the subject

	Iss                string                       `json:"iss"`
	Sub                string                       `json:"sub"`
	Iat                seconds                      `json:"iat"`
	Exp                seconds                      `json:"exp"`
	JWKS               keySet                       `json:"jwks"`
	AuthorityHints     []string                     `json:"authority_hints"`
	Metadata           map[string]object            `json:"metadata"`
	MetadataPolicy     map[string]map[string]object `json:"metadata_policy"`
	MetadataPolicyCrit []string                     `json:"metadata_policy_crit"`
	Crit               []string                     `json:"crit"`
	Constraints        constraints                  `json:"constraints"`
	TrustMarks         []trustMark                  `json:"trust_marks"`
	TrustMarkIssuers   map[string][]string          `json:"trust_mark_issuers"`
	// The Italian rules kept the name of an early draft.
	TrustMarksIssuers map[string][]string `json:"trust_marks_issuers"`
}

type keySet struct {
	Keys []jsontext.Value `json:"keys"`
}

// constraints limit what may be below a superior (section 6.2).
type constraints struct {
	MaxPathLength *int `json:"max_path_length"`
	Naming        *struct {
		Permitted []string `json:"permitted"`
		Excluded  []string `json:"excluded"`
	} `json:"naming_constraints"`
	AllowedEntityTypes []string `json:"allowed_entity_types"`
}

// parseStatement reads a statement that issuer makes about subject. Nil keys
// mean that it is a configuration, signed by a key that it contains.
func parseStatement(raw, issuer, subject string, keys jwt.Keys, now time.Time) (*statement, error) {
	if keys == nil {
		claims, err := jwt.Peek(raw)
		if err != nil {
			return nil, err
		}
		var self struct {
			JWKS keySet `json:"jwks"`
		}
		if err := json.Unmarshal(claims, &self); err != nil {
			return nil, errors.New("the claims cannot be read")
		}
		if keys, err = jwt.ParseKeys(self.JWKS.Keys); err != nil {
			return nil, err
		}
	}
	token, err := keys.Verify(raw, nil)
	if err != nil {
		return nil, err
	}
	if token.Type != "entity-statement+jwt" {
		return nil, errors.New("typ is not entity-statement+jwt")
	}
	s := &statement{raw: raw}
	if err := json.Unmarshal(token.Claims, s); err != nil {
		return nil, errors.New("the claims cannot be read")
	}
	switch {
	case s.Iss != issuer:
		return nil, errors.New("iss is another entity")
	case s.Sub != subject:
		return nil, errors.New("sub is another entity")
	case s.Iat == 0 || s.Iat.time().After(now.Add(skew)):
		return nil, errors.New("iat is missing or in the future")
	case !now.Before(s.Exp.time()):
		return nil, errors.New("it has expired")
	case len(s.Crit) > 0:
		return nil, fmt.Errorf("crit names %d claims that are not understood", len(s.Crit))
	}
	for _, name := range s.MetadataPolicyCrit {
		if !slices.Contains(operators, name) {
			return nil, errors.New("metadata_policy_crit names an operator that is not understood")
		}
	}
	if s.keys, err = jwt.ParseKeys(s.JWKS.Keys); err != nil {
		return nil, err
	}
	return s, nil
}

// text is a member of an entity's metadata that must be a string.
func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

// list is one that must be a list of strings.
func list(o object, name string) []string {
	var out []string
	values, _ := o[name].([]any)
	for _, v := range values {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
