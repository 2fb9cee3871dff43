package xades

import (
	"crypto"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/carried"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
	"rogito.dev/rogito/tsp"
)

// tokenCost is what reading a token is charged.
const tokenCost = 512 << 10

// timestampKinds by the local names of the properties.
var timestampKinds = map[string]ades.TimestampKind{
	"AllDataObjectsTimeStamp":        ades.ContentTimestamp,
	"IndividualDataObjectsTimeStamp": ades.ContentTimestamp,
	"SignatureTimeStamp":             ades.SignatureTimestamp,
	"SigAndRefsTimeStamp":            ades.SigAndRefs,
	"SigAndRefsTimeStampV2":          ades.SigAndRefs,
	"RefsOnlyTimeStamp":              ades.RefsOnly,
	"RefsOnlyTimeStampV2":            ades.RefsOnly,
	"ArchiveTimeStamp":               ades.ArchiveTimestamp,
}

// timestamps reads every time-stamp, signed ones first.
func (s *sigReader) timestamps() {
	covers := carried.BySignatureTimestamp(s.sig)
	for p := range s.signed.Child(s.space, "SignedDataObjectProperties").Elements() {
		if kind, ok := timestampKinds[p.Name.Local]; ok && kind == ades.ContentTimestamp {
			for _, ts := range s.property(p, kind, nil) {
				covers = append(covers, carried.InTimestamp(ts)...)
			}
		}
	}
	seen := covers // what an archive time-stamp would cover at this point
	for _, e := range s.sig.Evidence {
		if e.Origin == "KeyInfo" {
			seen = append(seen, e.ID())
		}
	}
	for p := range s.unsigned.Elements() {
		kind, ok := timestampKinds[p.Name.Local]
		if !ok || kind == ades.ContentTimestamp {
			seen = append(seen, s.propertyCovers(p)...)
			continue
		}
		over := covers
		switch {
		case kind == ades.RefsOnly:
			over = nil // the signature is not under it
		case kind == ades.ArchiveTimestamp && len(includes(p)) == 0:
			over = seen
		}
		for _, ts := range s.property(p, kind, over) {
			seen = append(seen, carried.InTimestamp(ts)...)
		}
	}
}

// propertyCovers lists the facts in an unsigned property other than a time-stamp.
func (s *sigReader) propertyCovers(p *xmldom.Node) []string {
	var covers []string
	for _, e := range propertyEvidence(p) {
		covers = append(covers, e.ID())
	}
	if p.Name.Local == "CounterSignature" {
		inside := p.Path() + "/"
		for _, c := range s.sig.CounterSignatures {
			if strings.HasPrefix(c.Path, inside) {
				covers = append(covers, c.ID)
			}
		}
	}
	return covers
}

// property reads the tokens of one time-stamp property.
func (s *sigReader) property(p *xmldom.Node, kind ades.TimestampKind, covers []string) []*ades.Timestamp {
	var found []*ades.Timestamp
	for c := range p.Elements() {
		if c.Name.Local != "EncapsulatedTimeStamp" || !isXAdES(c.Name.Space) {
			continue
		}
		if len(s.sig.Timestamps) >= limits.XMLTimestamps {
			s.problem(finding.StampsBeyondLimit, p)
			break
		}
		ts, err := s.token(p, c, kind)
		if err != nil {
			s.problem(finding.StampUnreadable, c, err)
			continue
		}
		ts.Kind, ts.Path, ts.Covers = kind, c.Path(), append([]string(nil), covers...)
		found = append(found, ts)
		s.sig.Timestamps = append(s.sig.Timestamps, ts)
	}
	if len(found) == 0 && p.Child(s.space, "EncapsulatedTimeStamp") == nil {
		s.problem(finding.StampWithoutToken, p)
	}
	return found
}

func (s *sigReader) token(p, c *xmldom.Node, kind ades.TimestampKind) (*ades.Timestamp, error) {
	raw, err := xmldsig.DecodeBase64(c.Text())
	if err != nil {
		return nil, err
	}
	if err := s.x.Charge(tokenCost); err != nil {
		return nil, err
	}
	var trouble error
	imprint := func(h crypto.Hash) ([]byte, error) {
		if !h.Available() {
			return nil, nil
		}
		m, err := timestampMethod(p)
		if err != nil {
			trouble = err
			return nil, nil
		}
		w := h.New()
		t := &stamped{x: s.x, unsigned: s.unsigned, outside: s.resolve, m: m}
		if err := t.write(w, kind, p); err != nil {
			trouble = err
			return nil, nil // the time-stamped data is not available
		}
		return w.Sum(nil), nil
	}
	ts, err := tsp.Read(raw, imprint, carried.Raw(s.certs)...)
	if err != nil {
		return nil, err
	}
	if trouble != nil {
		ts.Problems = append(ts.Problems, finding.StampImprintUnknown.Problem(c.Path(), trouble))
	}
	return ts, nil
}
