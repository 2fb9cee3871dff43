package jades

import (
	"bytes"
	"crypto"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/jsontree"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// certRef is a signed reference to a certificate.
type certRef struct {
	attribute string
	name      string // of the digest, unchanged
	hash      crypto.Hash
	digest    []byte
}

func (r certRef) matches(c *pkix.Certificate) ades.Tri {
	if !r.hash.Available() {
		return ades.Unknown
	}
	return ades.TriOf(bytes.Equal(oid.Sum(r.hash, c.Raw), r.digest))
}

// certRefs returns the references in the protected header, the signer's first.
func (s *sigReader) certRefs() []certRef {
	var refs []certRef
	thumb := func(name string, h crypto.Hash) {
		v := s.head.Get(name)
		if v == nil {
			return
		}
		text, _ := v.Bytes()
		digest, ok := base64url(text)
		if !ok {
			s.problem(finding.JWSBase64, "protected", name)
		}
		refs = append(refs, certRef{name, pkix.HashName(h), h, digest})
	}
	other := func(attribute string, v *jsontree.Value) {
		name, _ := v.Get("digAlg").Text()
		text, _ := v.Get("digVal").Bytes()
		digest, ok := base64url(text)
		if !ok || len(digest) == 0 {
			s.problem(finding.JWSBase64, "protected", attribute)
		}
		h, known := hashByName(name)
		if known {
			name = pkix.HashName(h)
		}
		refs = append(refs, certRef{attribute, name, h, digest})
	}
	thumb("x5t#S256", crypto.SHA256)
	if v := s.head.Get("x5t#o"); v != nil {
		other("x5t#o", v)
	}
	list := s.head.Get("sigX5ts").List()
	for _, item := range list[:min(len(list), 32)] {
		other("sigX5ts", item)
	}
	thumb("x5t", crypto.SHA1)
	return refs
}

// identify finds the signing certificate: the one in the signed reference, or, if there is none,
// the first of x5c (RFC 7515, 4.1.6).
func (s *sigReader) identify() {
	refs := s.certRefs()
	var signer *pkix.Certificate
	if len(refs) > 0 {
		signer = s.lookup(refs[0])
	}
	if signer == nil && s.inHeader > 0 {
		signer = s.certs[0]
	}
	if signer == nil {
		signer = s.amongKnown(refs)
	}
	for i, ref := range refs {
		fact := ades.CertRef{Attribute: ref.attribute, Digest: ref.name}
		if signer != nil && (i == 0 || ref.attribute != refs[0].attribute) {
			fact.DigestMatch = ref.matches(signer)
		} else if c := s.lookup(ref); c != nil { // references to issuers may follow
			fact.DigestMatch = ref.matches(c)
		}
		s.sig.CertificateRefs = append(s.sig.CertificateRefs, fact)
	}
	if signer != nil {
		s.signer, s.sig.SigningCertificate = signer, signer.Raw
		s.onlySigner(signer)
	}
}

func (s *sigReader) lookup(ref certRef) *pkix.Certificate {
	for _, c := range s.certs {
		if ref.matches(c) == ades.Yes {
			return c
		}
	}
	return nil
}

// amongKnown looks for the signer among the caller's certificates by the signed reference, if the
// file does not contain it.
func (s *sigReader) amongKnown(refs []certRef) *pkix.Certificate {
	if len(refs) == 0 {
		return nil
	}
	for _, der := range s.known {
		if c, err := pkix.ParseCertificate(der); err == nil && refs[0].matches(c) == ades.Yes {
			return c
		}
	}
	return nil
}

// onlySigner rejects an x5c with another person's certificate instead of the signer's, which must
// be first, or beside it: programs that rely on x5c would name the wrong person. Certificates of
// authorities above the signer are allowed.
func (s *sigReader) onlySigner(signer *pkix.Certificate) {
	for i, c := range s.certs[:s.inHeader] {
		if i == 0 && c.Equal(signer) || i > 0 && authority(c, signer, s.certs) {
			continue
		}
		s.problem(finding.JWSOtherCert, "x5c")
		return
	}
}

// authority reports whether the certificate is an authority's, or has issued one that is present.
func authority(c, signer *pkix.Certificate, certs []*pkix.Certificate) bool {
	return c.BasicConstraints != nil && c.BasicConstraints.IsCA || pkix.EqualNames(c.RawSubject, signer.RawIssuer) ||
		slices.ContainsFunc(certs, func(x *pkix.Certificate) bool { return x != c && pkix.EqualNames(c.RawSubject, x.RawIssuer) })
}
