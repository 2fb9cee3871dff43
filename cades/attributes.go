package cades

import (
	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
)

// signedAttributes encodes the SET OF signed attributes. Without a content type they are those of a
// counter-signature.
func signedAttributes(o settings, contentType string, digest, token []byte) ([]byte, error) {
	attrs := [][]byte{
		cms.NewAttribute(oid.AttrMessageDigest, cms.TLV(cms.TagOctetString, digest)),
		cms.NewAttribute(oid.AttrSigningCertificateV2, cms.SigningCertificateV2(o.Certificate, cms.HashFor(o.SignParams))),
	}
	if contentType != "" {
		attrs = append(attrs, cms.NewAttribute(oid.AttrContentType, cms.TLV(cms.TagOID, oid.Content(contentType))))
	}
	if !o.Embedded {
		t, err := cms.EncodeTime(o.Time)
		if err != nil {
			return nil, err
		}
		attrs = append(attrs, cms.NewAttribute(oid.AttrSigningTime, t))
	}
	if o.MediaType != "" && contentType != "" {
		attrs = append(attrs, cms.NewAttribute(oid.AttrMimeType, cms.TLV(cms.TagUTF8String, []byte(o.MediaType))))
	}
	if o.Policy != nil {
		attrs = append(attrs, cms.NewAttribute(oid.AttrPolicyID, encodePolicy(o.Policy)))
	}
	for _, c := range o.Commitments {
		v := cms.TLV(cms.TagSequence, cms.TLV(cms.TagOID, oid.Content(c)))
		attrs = append(attrs, cms.NewAttribute(oid.AttrCommitmentType, v))
	}
	if token != nil {
		attrs = append(attrs, cms.NewAttribute(oid.AttrContentTimestamp, token))
	}
	return cms.SetOf(cms.TagSet, attrs), nil
}

// encodePolicy encodes the SignaturePolicyId.
func encodePolicy(p *ades.SignaturePolicy) []byte {
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
