package cie

import (
	"crypto"
	"crypto/sha256"
	_ "crypto/sha512" // SHA-384 and SHA-512, for at_hash
	"encoding/base64"
	"encoding/hex"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/identify"
)

// audience is aud: one string or a list.
type audience []string

func (a *audience) UnmarshalJSON(b []byte) error {
	if jsontext.Value(b).Kind() == '"' {
		*a = make(audience, 1)
		return json.Unmarshal(b, &(*a)[0])
	}
	return json.Unmarshal(b, (*[]string)(a))
}

// idToken is one that was judged.
type idToken struct {
	raw    string
	all    map[string]any
	Iss    string   `json:"iss"`
	Sub    string   `json:"sub"`
	Aud    audience `json:"aud"`
	Azp    string   `json:"azp"`
	Nonce  string   `json:"nonce"`
	Acr    string   `json:"acr"`
	AtHash string   `json:"at_hash"`
	Jti    string   `json:"jti"`
	Iat    seconds  `json:"iat"`
	Nbf    seconds  `json:"nbf"`
	Exp    seconds  `json:"exp"`
}

// idTokenCheck is what an ID token is checked against.
type idTokenCheck struct {
	clientID    string
	request     pending
	accessToken string
	now         time.Time
}

// judge believes an ID token or says why not (OpenID Connect Core 1.0, section
// 3.1.3.7, and the rules of CIE, which make acr, at_hash and nonce mandatory).
func (k idTokenCheck) judge(raw string, p *provider) (*idToken, error) {
	token, err := p.keys.Verify(raw, p.idTokenAlgorithms)
	if err != nil {
		return nil, err
	}
	if strings.Contains(token.Type, "+") { // at+jwt, logout+jwt …: of the same issuer, for another purpose
		return nil, errors.New("the token is of another kind")
	}
	t := &idToken{raw: raw}
	if json.Unmarshal(token.Claims, t) != nil || json.Unmarshal(token.Claims, &t.all) != nil {
		return nil, errors.New("the claims cannot be read")
	}
	switch {
	case t.Iss != p.id:
		return nil, refuse("issuer")
	case len(t.Aud) != 1 || t.Aud[0] != k.clientID, t.Azp != "" && t.Azp != k.clientID:
		return nil, refuse("audience")
	case t.Nonce == "" || t.Nonce != k.request.Nonce:
		return nil, refuse("nonce")
	case t.Sub == "" || len(t.Sub) > 255:
		return nil, refuse("subject")
	case t.AtHash == "" || t.AtHash != leftHash(token.Algorithm, k.accessToken):
		return nil, refuse("at_hash")
	case !k.now.Before(t.Exp.time().Add(skew)):
		return nil, refuse("expired")
	case t.Iat.time().After(k.now.Add(skew)), t.Iat.time().Before(k.request.At.Add(-skew)), t.Nbf.time().After(k.now.Add(skew)):
		return nil, refuse("time") // in the future, or older than the request
	case slices.Index(levels, t.Acr) < slices.Index(levels, k.request.Level):
		return nil, refuse("level")
	}
	return t, nil
}

// leftHash is the left half of a digest, of the size of the signature's
// (section 3.1.3.6).
func leftHash(algorithm, value string) string {
	h := map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}[strings.TrimLeft(algorithm, "RPES")]
	if h == 0 {
		return ""
	}
	d := h.New()
	d.Write([]byte(value))
	sum := d.Sum(nil)
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}

// unique is an id of the token that no other has: its jti, or its digest.
func (t *idToken) unique(issuer string) string {
	if printable(t.Jti, 255) {
		return issuer + " " + t.Jti
	}
	sum := sha256.Sum256([]byte(t.raw))
	return issuer + " sha256:" + hex.EncodeToString(sum[:])
}

// userInfo is one that was judged.
type userInfo struct {
	raw string
	all map[string]any
	Iss string   `json:"iss"`
	Sub string   `json:"sub"`
	Aud audience `json:"aud"`
	Exp seconds  `json:"exp"`
}

// judgeUserInfo believes what the UserInfo endpoint answered or says why not
// (section 5.3.4): it must be signed, and about the person of the ID token. iss
// and aud may be missing (section 5.3.2: SHOULD), and may not be others.
func judgeUserInfo(raw string, p *provider, subject, clientID string, now time.Time) (*userInfo, error) {
	if strings.Count(raw, ".") != 2 || strings.HasPrefix(raw, "{") {
		return nil, refuse("unsigned")
	}
	token, err := p.keys.Verify(raw, p.userinfoAlgorithms)
	if err != nil {
		return nil, err
	}
	if strings.Contains(token.Type, "+") {
		return nil, errors.New("the token is of another kind")
	}
	u := &userInfo{raw: raw}
	if json.Unmarshal(token.Claims, u) != nil || json.Unmarshal(token.Claims, &u.all) != nil {
		return nil, errors.New("the claims cannot be read")
	}
	_, isIDToken := u.all["nonce"]
	switch {
	case u.Sub == "" || u.Sub != subject:
		return nil, refuse("subject")
	case u.Iss != "" && u.Iss != p.id:
		return nil, refuse("issuer")
	case len(u.Aud) > 0 && (len(u.Aud) != 1 || u.Aud[0] != clientID):
		return nil, refuse("audience")
	case u.Exp != 0 && !now.Before(u.Exp.time().Add(skew)):
		return nil, refuse("expired")
	case isIDToken:
		return nil, errors.New("an ID token stands in the place of UserInfo")
	}
	return u, nil
}

var day = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// attributes are what both tokens say of the person. Where they contradict each
// other nothing is believed. Without a tax code and names there is no proof.
func attributes(id, info map[string]any) (*identify.Attributes, error) {
	value := func(normal func(string) string, names ...string) (string, error) {
		var found string
		for _, claims := range []map[string]any{info, id} {
			for _, name := range names {
				v, there := claims[name]
				if !there || v == nil {
					continue
				}
				s, ok := v.(string)
				if s = normal(strings.TrimSpace(s)); !ok || s != "" && !clean(s) || found != "" && s != "" && !strings.EqualFold(s, found) {
					return "", refuse("claims")
				}
				if found == "" {
					found = s
				}
			}
		}
		return found, nil
	}
	same := func(s string) string { return s }
	// true, and nothing that is read as such: an address that is not said to be
	// verified is not.
	verified := func(name string) bool {
		some := false
		for _, claims := range []map[string]any{info, id} {
			if v, there := claims[name]; there && v != true {
				return false
			} else if there {
				some = true
			}
		}
		return some
	}
	var a identify.Attributes
	var err error
	for _, f := range []struct {
		into   *string
		normal func(string) string
		names  []string
	}{
		{&a.FiscalCode, func(s string) string { return strings.TrimPrefix(strings.ToUpper(s), "TINIT-") }, fiscalNumbers},
		{&a.GivenName, same, []string{"given_name"}},
		{&a.Surname, same, []string{"family_name"}},
		{&a.DateOfBirth, same, []string{"birthdate"}},
		{&a.Email, same, []string{"email"}},
		{&a.Mobile, same, []string{"phone_number"}},
	} {
		if *f.into, err = value(f.normal, f.names...); err != nil {
			return nil, err
		}
	}
	if !identify.FiscalCode(a.FiscalCode) || a.GivenName == "" || a.Surname == "" {
		return nil, refuse("claims")
	}
	if !day.MatchString(a.DateOfBirth) {
		a.DateOfBirth = ""
	}
	if !verified("email_verified") {
		a.Email = ""
	}
	if !verified("phone_number_verified") {
		a.Mobile = ""
	}
	return &a, nil
}

// clean says that a value is one line of text of a sensible length, without
// what changes how the rest is read (directions, joiners).
func clean(s string) bool {
	return len(s) <= 256 && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
	})
}

// printable says that a word has printable ASCII only, and not too much.
func printable(s string, limit int) bool {
	return s != "" && len(s) <= limit && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

func bearer(s string) bool { return strings.EqualFold(s, "Bearer") }
