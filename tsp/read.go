package tsp

import (
	"bytes"
	"crypto"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/oid"
)

// Read states the facts of a token. The imprint function digests what the
// token should be over; it is nil, or returns nil, where that is not at hand.
// More certificates may be given among which the unit's is looked for. A token
// that cannot be parsed comes back with a fatal problem. An error means that
// the imprint function returned one.
func Read(raw []byte, imprint func(crypto.Hash) ([]byte, error), more ...[]byte) (*ades.Timestamp, error) {
	t, err := Parse(raw)
	if err != nil {
		id := ades.FactID(raw)
		return &ades.Timestamp{
			ID: id, Token: raw, Signature: &ades.Signature{ID: id, Format: ades.TST},
			Problems: []ades.Problem{finding.StampUnreadable.Problem("", err)},
		}, nil
	}
	return t.Facts(imprint, more...)
}

// Facts are those that Read states of a token that is not parsed yet.
func (t *Token) Facts(imprint func(crypto.Hash) ([]byte, error), more ...[]byte) (ts *ades.Timestamp, err error) {
	ts = &ades.Timestamp{
		ID: ades.FactID(t.given), Token: t.given, Time: t.Time, Policy: t.Policy, SerialNumber: t.Serial.String(),
		ImprintDigest: oid.DigestName(t.Algorithm), Imprint: t.Imprint,
	}
	if h, ok := t.Hash(); ok && imprint != nil {
		digest, err := imprint(h)
		if err != nil {
			return nil, err
		}
		if digest != nil {
			ts.ImprintIntact = ades.TriOf(bytes.Equal(digest, t.Imprint))
		}
	}
	ts.Signature, err = t.signature(more)
	return ts, err
}

// signature states the facts of the token's own signature.
func (t *Token) signature(more [][]byte) (*ades.Signature, error) {
	si := t.data.SignerInfos[0]
	s, err := cms.Facts(si, cms.Subject{
		ContentType: t.data.ContentType, Digest: cms.OfSource(t.data.Content), Source: t.data.Content,
		Certificates: cms.Candidates(append(t.data.X509(), more...)),
	})
	if err != nil {
		return nil, err
	}
	s.Format, s.Path = ades.TST, "signerInfos[0]"
	s.Evidence = evidence(t.data, si)
	return s, nil
}

// evidence is what a token carries for its own validation: in its SignedData,
// and in the attributes that older profiles put there.
func evidence(sd *cms.SignedData, si *cms.SignerInfo) []ades.Evidence {
	const origin = "TimestampToken"
	var out []ades.Evidence
	add := func(kind ades.EvidenceKind, raw [][]byte) {
		for _, r := range raw {
			out = append(out, ades.Evidence{Kind: kind, Origin: origin, Raw: r})
		}
	}
	add(ades.EvidenceCertificate, sd.X509())
	add(ades.EvidenceCRL, sd.CRLs())
	add(ades.EvidenceOCSP, sd.OCSPs())
	for _, a := range si.UnsignedAttrs {
		for _, v := range a.Values {
			switch a.OID {
			case oid.AttrCertificateValues:
				add(ades.EvidenceCertificate, cms.CertificateValues(v))
			case oid.AttrRevocationValues:
				crls, ocsps := cms.RevocationValues(v)
				add(ades.EvidenceCRL, crls)
				add(ades.EvidenceOCSP, ocsps)
			}
		}
	}
	return out
}
