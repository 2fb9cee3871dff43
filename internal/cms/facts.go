package cms

import (
	"bytes"
	"crypto"
	"crypto/sha3"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// Subject is what a SignerInfo signs, with candidates for its certificate.
type Subject struct {
	// ContentType of the content; empty for a counter-signature.
	ContentType string
	// Digest of the content; a nil function or a nil digest means that the content is not
	// available.
	Digest func(crypto.Hash) ([]byte, error)
	// Source of the content, for signatures directly over the content by algorithms without a
	// digest; may be nil.
	Source ades.Source
	// Certificates to search for the signer's.
	Certificates []*pkix.Certificate
	// Effort bounds the checks of all signers of a document; nil means no bound.
	Effort *pkix.Effort
}

// OfSource returns a Digest function for src. Each digest is computed once.
func OfSource(src ades.Source) func(crypto.Hash) ([]byte, error) {
	if src == nil {
		return nil
	}
	known := map[crypto.Hash][]byte{}
	return func(h crypto.Hash) ([]byte, error) {
		if d, ok := known[h]; ok {
			return d, nil
		}
		d, err := Digest(h, src)
		if err == nil {
			known[h] = d
		}
		return d, err
	}
}

// Candidates parses certificates, skipping invalid ones.
func Candidates(raw [][]byte) []*pkix.Certificate {
	out := make([]*pkix.Certificate, 0, len(raw))
	for _, r := range raw {
		if c, err := pkix.ParseCertificate(r); err == nil {
			out = append(out, c)
		}
	}
	return out
}

// Facts checks one signer: the digest of the content, the signature value, the references to the
// certificate. It is an error only if the content cannot be read.
func Facts(si *SignerInfo, in Subject) (*ades.Signature, error) {
	s := &ades.Signature{ID: SignerID(si), Format: ades.PKCS7, Value: si.Signature, ToBeSigned: si.ToBeSigned()}
	for _, a := range si.SignedAttrs {
		s.Attributes = append(s.Attributes, ades.Attribute{Name: oid.AttributeName(a.OID), Signed: true, Values: len(a.Values)})
	}
	for _, a := range si.UnsignedAttrs {
		s.Attributes = append(s.Attributes, ades.Attribute{Name: oid.AttributeName(a.OID), Values: len(a.Values)})
	}
	refs := certRefs(si)
	if len(refs) > 0 {
		s.Format = ades.CAdES
	}
	cert := signerCertificate(si, refs, in.Certificates)
	if cert != nil {
		s.SigningCertificate = cert.Raw
	}
	for i := range refs {
		s.CertificateRefs = append(s.CertificateRefs, refs[i].fact(cert))
	}
	checkAttributes(s, si, in.ContentType)
	readClaims(s, si)
	content, err := contentDigest(si, in)
	if err != nil {
		return nil, err
	}
	reference(s, si, content)
	if si.RawSignedAttrs == nil && looksLikeAttributes(in.Source) {
		s.Problems = append(s.Problems, finding.CMSContentIsAttributes.Problem("encapContentInfo"))
	}
	return s, value(s, si, in, content, cert)
}

// looksLikeAttributes reports whether content is an encoding of signed attributes: a signature with
// signed attributes is also valid, without any, over their encoding. Such content is not signed on
// purpose; a signature was taken and given another meaning.
func looksLikeAttributes(src ades.Source) bool {
	if src == nil || src.Size() > 1<<20 || src.Size() < 2 {
		return false
	}
	b := make([]byte, src.Size())
	if n, _ := src.ReadAt(b[:1], 0); n != 1 || b[0] != TagSet {
		return false
	}
	if _, err := src.ReadAt(b, 0); err != nil && err != io.EOF {
		return false
	}
	e, _, err := ReadElement(b)
	if err != nil {
		return false
	}
	attrs, err := parseAttributes(e)
	return err == nil && len(ofType(attrs, oid.AttrMessageDigest)) > 0
}

// contentDigest is nil if the content is not available or the algorithm unknown.
func contentDigest(si *SignerInfo, in Subject) ([]byte, error) {
	h, ok := pkix.HashOf(si.DigestAlgorithm.OID)
	if shake256(si) && in.Source != nil {
		sum := sha3.NewSHAKE256()
		if err := Copy(sum, in.Source); err != nil {
			return nil, fmt.Errorf("digest content: %w", err)
		}
		out := make([]byte, 64)
		_, err := sum.Read(out)
		return out, err
	}
	if !ok || in.Digest == nil {
		return nil, nil
	}
	d, err := in.Digest(h)
	if err != nil {
		return nil, fmt.Errorf("digest content: %w", err)
	}
	return d, nil
}

// shake256 reports whether the hash is that of Ed448, with 512 bits of output (RFC 8419, 2.3).
func shake256(si *SignerInfo) bool {
	return si.DigestAlgorithm.OID == oid.SHAKE256 || si.DigestAlgorithm.OID == oid.SHAKE256Len
}

// reference compares message-digest with the content.
func reference(s *ades.Signature, si *SignerInfo, content []byte) {
	r := ades.Reference{Kind: "message-digest", Digest: oid.DigestName(si.DigestAlgorithm.OID), Found: content != nil}
	if si.RawSignedAttrs == nil {
		r.Kind, r.Value = "content", content
		s.References = append(s.References, r) // the value alone decides
		return
	}
	attrs := si.Signed(oid.AttrMessageDigest)
	if len(attrs) == 1 && len(attrs[0].Values) == 1 {
		if e, _, err := ReadElement(attrs[0].Values[0]); err == nil && e.Tag&^constructed == TagOctetString {
			r.Value, _ = e.Octets()
		}
	}
	switch {
	case r.Value == nil:
		r.Found, r.Detail = true, "no message-digest attribute with one value"
	case content != nil:
		r.Intact = ades.TriOf(bytes.Equal(content, r.Value))
	case r.Digest == si.DigestAlgorithm.OID:
		r.Detail = "digest algorithm not known"
	}
	s.References = append(s.References, r)
}

// value checks the signature value.
func value(s *ades.Signature, si *SignerInfo, in Subject, content []byte, cert *pkix.Certificate) error {
	digest, _ := pkix.HashOf(si.DigestAlgorithm.OID)
	alg := pkix.AlgorithmIdentifier(si.SignatureAlgorithm)
	var key any
	if cert != nil {
		key = cert.PublicKey
	}
	s.Algorithm = pkix.Algorithm(alg, digest, key)
	s.Algorithm.Content = oid.DigestName(si.DigestAlgorithm.OID)
	scheme, err := pkix.SchemeOf(alg, digest)
	if err != nil {
		s.Problems = append(s.Problems, finding.CMSAlgorithmUnknown.Problem("signatureAlgorithm", err))
		return nil
	}
	if scheme.Hash != 0 && scheme.Kind != pkix.PSS && digest != 0 && scheme.Hash != digest {
		s.ValueIntact = ades.No // no value matches two digests
		s.Problems = append(s.Problems, finding.CMSHashMismatch.Problem("signatureAlgorithm"))
		return nil
	}
	if scheme.Kind == pkix.Ed448 && !shake256(si) {
		s.ValueIntact = ades.No
		s.Problems = append(s.Problems, finding.CMSEd448Hash.Problem("digestAlgorithm"))
		return nil
	}
	if key == nil {
		return nil
	}
	if !in.Effort.Spend(key) {
		s.Problems = append(s.Problems, finding.TooManyChecks.Problem("signature"))
		return nil
	}
	if si.RawSignedAttrs != nil {
		s.ValueIntact = decided(scheme.Verify(key, s.ToBeSigned, si.Signature))
		return nil
	}
	return valueOverContent(s, scheme, key, in, content)
}

// valueOverContent checks a signature without signed attributes.
func valueOverContent(s *ades.Signature, scheme pkix.Scheme, key any, in Subject, content []byte) error {
	switch {
	case content == nil:
		return nil
	case scheme.Hash != 0:
		s.ValueIntact = decided(scheme.VerifyDigest(key, content, s.Value))
	case in.Source != nil && in.Source.Size() <= 64<<20:
		message, err := io.ReadAll(io.NewSectionReader(in.Source, 0, in.Source.Size()))
		if err != nil {
			return fmt.Errorf("read content: %w", err)
		}
		s.ValueIntact = decided(scheme.Verify(key, message, s.Value))
	}
	s.References[0].Intact = s.ValueIntact
	return nil
}

func decided(err error) ades.Tri {
	if errors.Is(err, pkix.ErrUnsupported) {
		return ades.Unknown
	}
	return ades.TriOf(err == nil)
}

// signerCertificate finds the certificate of the signer identifier; of several, the one in the
// signed reference. If the identifier matches none, the signed reference suffices.
func signerCertificate(si *SignerInfo, refs []certRef, candidates []*pkix.Certificate) *pkix.Certificate {
	var found *pkix.Certificate
	for _, c := range candidates {
		if !names(si, c) {
			continue
		}
		if len(refs) > 0 && refs[0].matches(c) == ades.Yes {
			return c
		}
		if found == nil {
			found = c
		}
	}
	if found != nil || len(refs) == 0 {
		return found
	}
	for _, c := range candidates {
		if refs[0].matches(c) == ades.Yes {
			return c
		}
	}
	return nil
}

func names(si *SignerInfo, c *pkix.Certificate) bool {
	if si.Serial != nil {
		return si.Serial.Cmp(c.SerialNumber) == 0 && pkix.EqualNames(si.Issuer, c.RawIssuer)
	}
	return len(si.SubjectKeyID) > 0 && bytes.Equal(si.SubjectKeyID, c.SubjectKeyID)
}
