package tsp

import (
	"bytes"
	"crypto"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/oid"
)

// Read returns the facts of a token. The imprint function digests what the token should be over; it
// is nil, or returns nil, if that is not available. more are certificates to search for the unit's.
// A token that cannot be parsed has a fatal problem. The only errors are those of the imprint
// function.
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

// Facts returns the facts of a parsed token, like Read.
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

// signature returns the facts of the token's own signature.
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

// evidence is a token's data for its own validation: in its SignedData, and in the attributes that
// older profiles use.
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
