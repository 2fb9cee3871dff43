package xades

import (
	"bytes"
	"encoding/asn1"
	"math/big"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// certRef is a Cert element of SigningCertificate or SigningCertificateV2.
type certRef struct {
	attribute string
	digestURI string
	digest    []byte
	issuer    []byte // DER name, from IssuerSerialV2
	serial    *big.Int
	hasSerial bool
}

// identify finds the signing certificate: the one in the signed reference, or, if there is none,
// the one in KeyInfo whose key verifies.
func (s *sigReader) identify() {
	refs := s.certRefs()
	signer := s.named(refs)
	if signer == nil {
		signer = s.byKey()
	}
	if signer == nil {
		signer = s.amongKnown(refs)
	}
	for i, ref := range refs {
		fact := ades.CertRef{Attribute: ref.attribute, Digest: ref.digestURI}
		if h, ok := xmldsig.HashByURI(ref.digestURI); ok {
			fact.Digest = pkix.HashName(h)
		}
		if signer != nil && i == 0 {
			fact.DigestMatch, fact.IssuerSerial = ref.matches(signer)
		} else if c := s.lookup(ref); c != nil { // references to issuers may follow
			fact.DigestMatch, fact.IssuerSerial = ref.matches(c)
		}
		s.sig.CertificateRefs = append(s.sig.CertificateRefs, fact)
	}
	if signer != nil {
		s.signer, s.sig.SigningCertificate = signer, signer.Raw
		s.onlySigner(signer)
	}
}

// amongKnown looks for the signer among the caller's certificates if the document does not contain
// it: by the signed reference, or by the key that verifies the value.
func (s *sigReader) amongKnown(refs []certRef) *pkix.Certificate {
	for _, der := range s.known {
		c, err := pkix.ParseCertificate(der)
		if err != nil {
			continue
		}
		named := len(refs) == 0
		if !named {
			m, _ := refs[0].matches(c)
			named = m == ades.Yes
		}
		if named && s.x.CheckValue(c.PublicKey) == nil {
			return c
		}
	}
	return nil
}

// onlySigner rejects a KeyInfo with another person's certificate instead of the signer's, or beside
// it: programs that rely on KeyInfo would name the wrong person. Authorities and services are
// allowed. If a signed property identifies the signer and the signer's certificate is first, more
// certificates of the same person or authority are only noted.
func (s *sigReader) onlySigner(signer *pkix.Certificate) {
	shown := s.certs[:s.inKeyInfo]
	named := len(s.sig.CertificateRefs) > 0 && s.sig.CertificateRefs[0].DigestMatch == ades.Yes
	first := len(shown) > 0 && shown[0].Equal(signer)
	for _, c := range shown {
		issues := func(x *pkix.Certificate) bool { return x != c && pkix.EqualNames(c.RawSubject, x.RawIssuer) }
		if c.Equal(signer) || c.BasicConstraints != nil && c.BasicConstraints.IsCA || len(c.ExtKeyUsage) > 0 && service(c) || slices.ContainsFunc(shown, issues) || issues(signer) {
			continue
		}
		kin := pkix.EqualNames(c.RawSubject, signer.RawSubject) || pkix.EqualNames(c.RawIssuer, signer.RawIssuer)
		p := finding.XMLForeignCert.Problem(s.x.KeyInfo.Path())
		p.Fatal = !(named && first && kin)
		s.sig.Problems = append(s.sig.Problems, p)
		return
	}
}

// service reports whether a certificate is of a time-stamping or OCSP service.
func service(c *pkix.Certificate) bool {
	return c.HasExtUsage("1.3.6.1.5.5.7.3.8") || c.HasExtUsage("1.3.6.1.5.5.7.3.9")
}

// named finds the certificate of the first reference.
func (s *sigReader) named(refs []certRef) *pkix.Certificate {
	if len(refs) == 0 {
		return nil
	}
	return s.lookup(refs[0])
}

func (s *sigReader) lookup(ref certRef) *pkix.Certificate {
	for _, c := range s.certs {
		if m, _ := ref.matches(c); m == ades.Yes {
			return c
		}
	}
	return nil
}

// byKey tries the certificates of KeyInfo on the signature value. If none verifies it returns the
// first, so that the report can name the claimed signer.
func (s *sigReader) byKey() *pkix.Certificate {
	for _, c := range s.certs[:min(s.inKeyInfo, 8)] {
		if s.x.CheckValue(c.PublicKey) == nil {
			return c
		}
	}
	if s.inKeyInfo > 0 {
		return s.certs[0]
	}
	for _, c := range s.certs[:min(len(s.certs), 8)] {
		if s.x.CheckValue(c.PublicKey) == nil {
			return c
		}
	}
	return nil
}

func (s *sigReader) certRefs() []certRef {
	var refs []certRef
	ssp := s.signed.Child(s.space, "SignedSignatureProperties")
	for _, name := range []string{"SigningCertificateV2", "SigningCertificate"} {
		for _, p := range ssp.Children(s.space, name) {
			for i, c := range p.Children(s.space, "Cert") {
				if i >= 32 {
					break
				}
				refs = append(refs, s.certRef(name, c))
			}
		}
	}
	return refs
}

func (s *sigReader) certRef(attribute string, c *xmldom.Node) certRef {
	ref := certRef{attribute: attribute}
	d := c.Child(s.space, "CertDigest")
	for m := range d.Elements() { // 1.1.1 has the digest in its own namespace
		switch m.Name.Local {
		case "DigestMethod":
			ref.digestURI = m.Attr("Algorithm")
		case "DigestValue":
			ref.digest, _ = xmldsig.DecodeBase64(m.Text())
		}
	}
	if v2 := c.Child(s.space, "IssuerSerialV2"); v2 != nil {
		ref.hasSerial = true
		if der, err := xmldsig.DecodeBase64(v2.Text()); err == nil {
			ref.issuer, ref.serial = parseIssuerSerial(der)
		}
	} else if is := c.Child(s.space, "IssuerSerial"); is != nil {
		ref.hasSerial = true
		ref.serial, _ = new(big.Int).SetString(strings.TrimSpace(is.Child(ds, "X509SerialNumber").Text()), 10)
	}
	return ref
}

// parseIssuerSerial reads the DER IssuerSerial of RFC 5035.
func parseIssuerSerial(der []byte) (name []byte, serial *big.Int) {
	var v struct {
		Issuer []asn1.RawValue
		Serial *big.Int
		UID    asn1.BitString `asn1:"optional"`
	}
	if _, err := asn1.Unmarshal(der, &v); err != nil {
		return nil, nil
	}
	for _, n := range v.Issuer {
		if n.Class == asn1.ClassContextSpecific && n.Tag == 4 {
			name = n.Bytes
		}
	}
	return name, v.Serial
}

// matches compares a reference with a certificate. Names in text form are ignored: their spelling
// varies, and the digest is sufficient.
func (r certRef) matches(c *pkix.Certificate) (digestMatch, issuerSerial ades.Tri) {
	if h, ok := xmldsig.HashByURI(r.digestURI); ok {
		digestMatch = ades.TriOf(bytes.Equal(oid.Sum(h, c.Raw), r.digest))
	}
	if r.hasSerial {
		ok := r.serial != nil && c.SerialNumber != nil && r.serial.Cmp(c.SerialNumber) == 0
		if r.issuer != nil {
			ok = ok && pkix.EqualNames(r.issuer, c.RawIssuer)
		}
		issuerSerial = ades.TriOf(ok)
	}
	return digestMatch, issuerSerial
}
