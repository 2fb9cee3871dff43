package cms

import (
	"bytes"
	"crypto"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// certRef is the first ESSCertID of a signing-certificate attribute, which identifies the signer's
// certificate.
type certRef struct {
	attribute string
	digestOID string
	hash      crypto.Hash
	digest    []byte
	issuer    []byte // Name; nil if there is no issuerSerial
	serial    *big.Int

	asked *pkix.Certificate // the last certificate that it was compared with
	match ades.Tri
}

func certRefs(si *SignerInfo) []certRef {
	var out []certRef
	for _, a := range si.SignedAttrs {
		fallback := ""
		switch a.OID {
		case oid.AttrSigningCertificate, oid.AttrOtherSigCert:
			fallback = oid.SHA1
		case oid.AttrSigningCertificateV2:
			fallback = oid.SHA256
		default:
			continue
		}
		for _, v := range a.Values {
			r := certRef{attribute: oid.AttributeName(a.OID), digestOID: fallback}
			r.parse(v, a.OID == oid.AttrOtherSigCert)
			r.hash, _ = pkix.HashOf(r.digestOID)
			out = append(out, r)
		}
	}
	return out
}

// parse reads SigningCertificate, SigningCertificateV2 or OtherSigningCertificate as far as they
// are valid: the sequence of certificates, the first of them, its hash, issuer and serial number.
func (r *certRef) parse(raw []byte, other bool) {
	e, ok := descend(raw, 0, 0)
	if !ok {
		return
	}
	parts, err := e.Children()
	if err != nil {
		return
	}
	for _, p := range parts {
		switch {
		case p.Tag == TagOctetString && r.digest == nil:
			r.digest = p.Body
		case p.Tag == TagSequence && r.digest == nil && other: // OtherHashAlgAndValue
			r.otherHash(p)
		case p.Tag == TagSequence && r.digest == nil:
			if a, err := parseAlgorithm(p); err == nil {
				r.digestOID = a.OID
			}
		case p.Tag == TagSequence:
			r.issuerSerial(p)
		}
	}
}

func (r *certRef) otherHash(e Element) {
	parts, err := e.Children()
	if err != nil || len(parts) != 2 {
		return
	}
	if a, err := parseAlgorithm(parts[0]); err == nil {
		r.digestOID, r.digest = a.OID, parts[1].Body
	}
}

func (r *certRef) issuerSerial(e Element) {
	parts, err := e.Children()
	if err != nil || len(parts) < 2 || parts[1].Tag != TagInteger {
		return
	}
	r.serial = pkix.Integer(parts[1].Body)
	names, err := parts[0].Children()
	if err != nil {
		return
	}
	for _, n := range names {
		if n.Tag == 0xa4 {
			r.issuer = n.Body
		}
	}
}

// descend follows child indexes into an encoded value.
func descend(raw []byte, path ...int) (Element, bool) {
	e, _, err := ReadElement(raw)
	if err != nil {
		return e, false
	}
	for _, i := range path {
		parts, err := e.Children()
		if err != nil || i >= len(parts) {
			return e, false
		}
		e = parts[i]
	}
	return e, true
}

// matches reports whether the digest is that of a certificate. It caches the last answer, since the
// signer's certificate is compared twice.
func (r *certRef) matches(c *pkix.Certificate) ades.Tri {
	if r.hash == 0 || r.digest == nil {
		return ades.Unknown
	}
	if r.asked != c {
		r.asked, r.match = c, ades.TriOf(bytes.Equal(oid.Sum(r.hash, c.Raw), r.digest))
	}
	return r.match
}

func (r *certRef) fact(c *pkix.Certificate) ades.CertRef {
	f := ades.CertRef{Attribute: r.attribute, Digest: oid.DigestName(r.digestOID)}
	if c == nil {
		return f
	}
	f.DigestMatch = r.matches(c)
	if r.serial != nil {
		f.IssuerSerial = ades.TriOf(r.serial.Cmp(c.SerialNumber) == 0 &&
			(r.issuer == nil || pkix.EqualNames(r.issuer, c.RawIssuer)))
	}
	return f
}

// single are the attributes that must have exactly one value if present.
var single = []string{
	oid.AttrContentType, oid.AttrMessageDigest, oid.AttrSigningTime, oid.AttrAlgorithmProtection,
}

// checkAttributes reports violations of RFC 5652, 11 and RFC 6211.
func checkAttributes(s *ades.Signature, si *SignerInfo, contentType string) {
	note := func(k *finding.Kind, name string) {
		s.Problems = append(s.Problems, k.Problem("signedAttrs/"+name, name))
	}
	if si.RawSignedAttrs == nil {
		return
	}
	for _, id := range single {
		if a := si.Signed(id); len(a) > 1 || len(a) == 1 && len(a[0].Values) != 1 {
			note(finding.AttributeNotOnce, oid.AttributeName(id))
		}
	}
	if len(si.Signed(oid.AttrMessageDigest)) == 0 {
		note(finding.AttributeMissing, "message-digest")
	}
	types := si.Signed(oid.AttrContentType)
	switch {
	case contentType == "":
		if len(types) > 0 {
			note(finding.AttributeInCounterSignature, "content-type")
		}
	case len(types) == 0:
		note(finding.AttributeMissing, "content-type")
	case len(types[0].Values) == 1 && !isOID(types[0].Values[0], contentType):
		note(finding.ContentTypeWrong, "content-type")
	}
	for _, id := range []string{oid.AttrCounterSignature, oid.AttrSignatureTimestamp} {
		if len(si.Signed(id)) > 0 {
			note(finding.AttributeMustNotBeSigned, oid.AttributeName(id))
		}
	}
	if !protected(si) {
		note(finding.AlgorithmProtection, "cms-algorithm-protection")
	}
	if !si.StoredInOrder() {
		s.Problems = append(s.Problems, finding.AttributesNotDER.Problem("signedAttrs"))
	}
}

func isOID(raw []byte, want string) bool {
	e, _, err := ReadElement(raw)
	if err != nil || e.Tag != TagOID {
		return false
	}
	id, err := oid.Parse(e.Body)
	return err == nil && id == want
}

// protected compares CMSAlgorithmProtection, if present, with the algorithms of the signer info.
func protected(si *SignerInfo) bool {
	attrs := si.Signed(oid.AttrAlgorithmProtection)
	if len(attrs) != 1 || len(attrs[0].Values) != 1 {
		return true
	}
	e, ok := descend(attrs[0].Values[0])
	if !ok {
		return false
	}
	parts, err := e.Children()
	if err != nil || len(parts) < 2 {
		return false
	}
	digest, err := parseAlgorithm(parts[0])
	if err != nil || digest.OID != si.DigestAlgorithm.OID || parts[1].Tag != 0xa1 {
		return false
	}
	parts[1].Tag = TagSequence
	sig, err := parseAlgorithm(parts[1])
	return err == nil && sig.OID == si.SignatureAlgorithm.OID && pkix.SameParams(sig.Params, si.SignatureAlgorithm.Params)
}

// readClaims reads the signer's claims: time and policy.
func readClaims(s *ades.Signature, si *SignerInfo) {
	if a := si.Signed(oid.AttrSigningTime); len(a) > 0 && len(a[0].Values) > 0 {
		t, err := ParseTime(a[0].Values[0])
		if err != nil {
			s.Problems = append(s.Problems, finding.SigningTimeUnreadable.Problem("signedAttrs/signing-time", err))
		}
		s.ClaimedTime = t
	}
	if a := si.Signed(oid.AttrPolicyID); len(a) > 0 && len(a[0].Values) > 0 {
		s.Policy = &ades.SignaturePolicy{Implied: true}
		if e, ok := descend(a[0].Values[0], 0); ok && e.Tag == TagOID {
			id, _ := oid.Parse(e.Body)
			s.Policy = &ades.SignaturePolicy{ID: id}
		}
	}
	for _, a := range si.Signed(oid.AttrCommitmentType) {
		for _, v := range a.Values {
			if e, ok := descend(v, 0); ok && e.Tag == TagOID {
				if id, err := oid.Parse(e.Body); err == nil {
					s.Commitments = append(s.Commitments, id)
				}
			}
		}
	}
	if a := si.Signed(oid.AttrSignerLocation); len(a) > 0 && len(a[0].Values) > 0 {
		s.Location = location(a[0].Values[0])
	}
}

// location is a SignerLocation (RFC 5126, 5.11.2) on one line: the locality, the lines of the
// address, the country.
func location(raw []byte) string {
	e, _, err := ReadElement(raw)
	if err != nil {
		return ""
	}
	parts, err := e.Children()
	if err != nil {
		return ""
	}
	var lines [3][]string
	for _, p := range parts {
		inner, err := p.Children()
		if err != nil || p.Tag < 0xa0 || p.Tag > 0xa2 {
			return ""
		}
		if p.Tag == 0xa2 && len(inner) == 1 && inner[0].Constructed() { // explicit tag
			if inner, err = inner[0].Children(); err != nil {
				return ""
			}
		}
		for _, text := range inner {
			if t := text.Tag; (t == TagUTF8String || t == 0x13 || t == 0x14) && utf8.Valid(text.Body) {
				at := map[byte]int{0xa0: 2, 0xa1: 0, 0xa2: 1}[p.Tag]
				lines[at] = append(lines[at], string(text.Body))
			}
		}
	}
	return strings.Join(slices.Concat(lines[0], lines[1], lines[2]), ", ")
}
