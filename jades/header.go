package jades

import (
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/foreign"
	"rogito.dev/rogito/internal/jsontree"
	"rogito.dev/rogito/internal/limits"
)

// defined are the names of RFC 7515 and RFC 7518, which are not allowed in crit.
var defined = []string{
	"alg", "jku", "jwk", "kid", "x5u", "x5c", "x5t", "x5t#S256", "typ", "cty", "crit",
	"epk", "apu", "apv", "iv", "tag", "p2s", "p2c", "enc", "zip",
}

// understood are the supported names in crit.
var understood = []string{
	"b64", "sigT", "iat", "exp", "x5t#o", "sigX5ts", "srCms", "sigPl", "srAts", "adoTst", "sigPId", "sigD", "etsiU",
}

// hints are allowed in the unprotected header: they help to find a key and need not be signed (RFC
// 7515, section 4.1).
var hints = []string{"kid", "jku", "jwk", "x5u", "x5c", "x5t", "x5t#S256"}

// shapes are the JSON types of header parameters.
var shapes = map[string]jsontree.Kind{
	"alg": jsontree.String, "kid": jsontree.String, "x5u": jsontree.String, "x5c": jsontree.Array, "x5t": jsontree.String,
	"x5t#S256": jsontree.String, "typ": jsontree.String, "cty": jsontree.String, "crit": jsontree.Array, "iat": jsontree.Number,
	"sigT": jsontree.String, "x5t#o": jsontree.Object, "sigX5ts": jsontree.Array, "srCms": jsontree.Array, "sigPl": jsontree.Object,
	"srAts": jsontree.Object, "adoTst": jsontree.Object, "sigPId": jsontree.Object, "sigD": jsontree.Object,
}

// readHeader parses the protected header and compares the two headers.
func (s *sigReader) readHeader() bool {
	if len(s.jws.protected) > limits.JWSHeader {
		s.problem(finding.JWSHeaderUnreadable, "protected", "too large")
		return false
	}
	if len(s.jws.protected) == 0 {
		s.head = new(jsontree.Value)
		s.outside()
		return true
	}
	text, ok := base64url(s.jws.protected)
	if !ok {
		s.problem(finding.JWSBase64, "protected", "protected")
		return false
	}
	head, err := jsontree.Parse(text)
	if err != nil {
		s.sig.Problems = append(s.sig.Problems, finding.Of(s.where("protected"), err))
		return false
	}
	if !head.Is(jsontree.Object) {
		s.problem(finding.JWSHeaderUnreadable, "protected", "another value")
		return false
	}
	s.head = head
	s.outside()
	for _, m := range head.Members {
		if k, ok := shapes[m.Name]; ok && m.Value.Kind != k && m.Name != "crit" {
			s.problem(finding.JWSHeaderForm, "protected", m.Name)
		}
		s.count(m.Name, true)
	}
	if head.Get("etsiU") != nil { // it is added after signing
		s.problem(finding.JWSHeaderForm, "protected", "etsiU")
	}
	s.critical()
	s.readEncoding()
	s.readClaims()
	return true
}

// outside checks the unprotected header: it must not contain parameters that must be signed, nor
// duplicates, nor what a program shows that takes the file for another format.
func (s *sigReader) outside() {
	if s.jws.header == nil {
		return
	}
	if foreign.InBinary(string(s.jws.header.Written())) {
		s.problem(finding.HoldsOtherDocument, "header")
	}
	for _, m := range s.jws.header.Members {
		switch {
		case s.head.Get(m.Name) != nil:
			s.problem(finding.JWSHeaderInBoth, "header", m.Name)
		case m.Name == "etsiU":
		case slices.Contains(hints, m.Name):
		case slices.Contains(defined, m.Name), slices.Contains(understood, m.Name):
			s.problem(finding.JWSHeaderOutside, "header", m.Name)
		default:
			s.problem(finding.JWSHeaderIgnored, "header", m.Name)
		}
	}
}

// critical checks crit (RFC 7515, 4.1.11; TS 119 182-1, 5.1.9).
func (s *sigReader) critical() {
	crit := s.head.Get("crit")
	names, ok := crit.Texts()
	if crit != nil && (!ok || len(names) == 0) {
		s.problem(finding.JWSCritForm, "protected")
		return
	}
	for i, name := range names {
		switch {
		case slices.Contains(names[:i], name):
			s.problem(finding.JWSCritForm, "protected")
		case slices.Contains(defined, name):
			s.problem(finding.JWSCritDefined, "protected", name)
		case !slices.Contains(understood, name):
			s.problem(finding.JWSCritUnknown, "protected", name)
		case s.head.Get(name) == nil && s.jws.header.Get(name) == nil:
			s.problem(finding.JWSCritAbsent, "protected", name)
		}
	}
	for _, name := range []string{"b64", "sigD"} {
		if s.head.Get(name) != nil && !slices.Contains(names, name) {
			s.problem(finding.JWSCritMissing, "protected", name)
		}
	}
}

// readEncoding reads b64 (RFC 7797).
func (s *sigReader) readEncoding() {
	v := s.head.Get("b64")
	if v == nil {
		return
	}
	encoded, ok := v.Bool()
	if !ok {
		s.problem(finding.JWSHeaderForm, "protected", "b64")
		return
	}
	s.unencoded = !encoded
}

// readClaims reads the signer's claims: time and policy.
func (s *sigReader) readClaims() {
	iat, sigT := s.head.Get("iat"), s.head.Get("sigT")
	switch {
	case iat != nil && sigT != nil:
		s.problem(finding.JAdESTime, "protected")
	case iat != nil:
		seconds, ok := iat.Integer()
		if ok = ok && seconds >= 0 && seconds < maxSeconds; !ok {
			s.problem(finding.JAdESTime, "protected")
			break
		}
		s.sig.ClaimedTime = time.Unix(seconds, 0).UTC()
	case sigT != nil:
		text, _ := sigT.Text()
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			s.problem(finding.JAdESTime, "protected")
			break
		}
		s.sig.ClaimedTime = when.UTC()
	}
	if seconds, ok := s.head.Get("exp").Integer(); ok && seconds >= 0 && seconds < maxSeconds {
		s.problem(finding.JWSExpired, "protected", time.Unix(seconds, 0).UTC())
	}
	if p := s.head.Get("sigPId"); p != nil {
		id, _ := p.Get("id").Get("id").Text()
		s.sig.Policy = &ades.SignaturePolicy{ID: id}
	}
	for _, c := range s.head.Get("srCms").List() {
		if id, ok := c.Get("commId").Get("id").Text(); ok {
			s.sig.Commitments = append(s.sig.Commitments, id)
		}
	}
	var lines []string
	place := s.head.Get("sigPl")
	for _, name := range []string{"streetAddress", "postalCode", "addressLocality", "addressRegion", "addressCountry"} {
		if text, ok := place.Get(name).Text(); ok && text != "" {
			lines = append(lines, text)
		}
	}
	s.sig.Location = strings.Join(lines, ", ")
}

// maxSeconds is the end of the year 9999.
const maxSeconds = 253402300800
