package cades

import (
	"crypto"
	"crypto/x509"
	"math/big"
	"time"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
)

// signedAttributes encodes the SET OF that will be signed. Without a content
// type it is that of a counter-signature.
func signedAttributes(o Options, contentType string, digest []byte) ([]byte, error) {
	attrs := [][]byte{
		cms.NewAttribute(oid.AttrMessageDigest, cms.TLV(cms.TagOctetString, digest)),
		cms.NewAttribute(oid.AttrSigningCertificateV2, signingCertificateV2(o.Certificate, Hash(o.Signing))),
	}
	if contentType != "" {
		attrs = append(attrs, cms.NewAttribute(oid.AttrContentType, cms.TLV(cms.TagOID, oid.Content(contentType))))
	}
	if !o.Embedded {
		t, err := encodeTime(o.Time)
		if err != nil {
			return nil, err
		}
		attrs = append(attrs, cms.NewAttribute(oid.AttrSigningTime, t))
	}
	if o.MimeType != "" && contentType != "" {
		attrs = append(attrs, cms.NewAttribute(oid.AttrMimeType, cms.TLV(cms.TagUTF8String, []byte(o.MimeType))))
	}
	if o.Policy != nil {
		attrs = append(attrs, cms.NewAttribute(oid.AttrPolicyID, o.Policy.encode()))
	}
	for _, c := range o.Commitments {
		v := cms.TLV(cms.TagSequence, cms.TLV(cms.TagOID, oid.Content(c)))
		attrs = append(attrs, cms.NewAttribute(oid.AttrCommitmentType, v))
	}
	for _, token := range o.ContentTimestamps {
		attrs = append(attrs, cms.NewAttribute(oid.AttrContentTimestamp, token))
	}
	return cms.SetOf(cms.TagSet, attrs), nil
}

// encodeTime writes UTCTime up to 2049 and GeneralizedTime from 2050 on, as
// RFC 5652, 11.3 demands.
func encodeTime(t time.Time) ([]byte, error) {
	var b cryptobyte.Builder
	t = t.UTC().Truncate(time.Second)
	if y := t.Year(); y >= 1950 && y < 2050 {
		b.AddASN1UTCTime(t)
	} else {
		b.AddASN1GeneralizedTime(t)
	}
	return b.Bytes()
}

// signingCertificateV2 is RFC 5035's reference to the certificate; SHA-256 is
// the default and therefore not named.
func signingCertificateV2(cert *x509.Certificate, h crypto.Hash) []byte {
	d := h.New()
	d.Write(cert.Raw)
	var id [][]byte
	if h != crypto.SHA256 {
		id = append(id, cms.DigestAlgorithm(h))
	}
	id = append(id, cms.TLV(cms.TagOctetString, d.Sum(nil)))
	issuer := cms.TLV(cms.TagSequence, cms.TLV(0xa4, cert.RawIssuer))
	id = append(id, cms.TLV(cms.TagSequence, issuer, encodeInteger(cert.SerialNumber)))
	return cms.TLV(cms.TagSequence, cms.TLV(cms.TagSequence, cms.TLV(cms.TagSequence, id...)))
}

func encodeInteger(v *big.Int) []byte {
	var b cryptobyte.Builder
	b.AddASN1BigInt(v)
	return b.BytesOrPanic()
}

// encode writes the SignaturePolicyId.
func (p *Policy) encode() []byte {
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		oid.Add(b, p.ID)
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddBytes(cms.DigestAlgorithm(p.Hash))
			b.AddASN1OctetString(p.Digest)
		})
		if p.URI == "" {
			return
		}
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
				oid.Add(b, oid.SignaturePolicyURI)
				b.AddASN1(cbasn1.IA5String, func(b *cryptobyte.Builder) { b.AddBytes([]byte(p.URI)) })
			})
		})
	})
	return b.BytesOrPanic()
}
