package cades

import (
	"bytes"
	"crypto"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/tsp"
)

// timestampAttrs are the attributes that contain tokens.
var timestampAttrs = map[string]ades.TimestampKind{
	oid.AttrContentTimestamp:   ades.ContentTimestamp,
	oid.AttrSignatureTimestamp: ades.SignatureTimestamp,
	oid.AttrEntrustTimestamp:   ades.SignatureTimestamp,
	oid.AttrEscTimestamp:       ades.SigAndRefs,
	oid.AttrCertCRLTimestamp:   ades.RefsOnly,
	oid.AttrArchiveTimestamp:   ades.ArchiveTimestamp,
	oid.AttrArchiveTimestampV2: ades.ArchiveTimestamp,
	oid.AttrArchiveTimestampV3: ades.ArchiveTimestamp,
}

// stamp is a token in an attribute of a signer.
type stamp struct {
	attr   cms.Attribute
	token  []byte
	parsed *tsp.Token // nil if it cannot be parsed
	fact   *ades.Timestamp
}

// facts of a token, which is parsed only once: parsing it twice took 5 % of judging a CAdES-LT
// again.
func (st *stamp) facts(imprint func(crypto.Hash) ([]byte, error), more [][]byte) (*ades.Timestamp, error) {
	if st.parsed == nil {
		return tsp.Read(st.token, imprint, more...)
	}
	return st.parsed.Facts(imprint, more...)
}

// timestamps reads the tokens of a signer. Archive time-stamps come last, oldest first, since each
// covers the earlier ones.
func (r *reader) timestamps(s *ades.Signature, si *cms.SignerInfo) error {
	stamps := collect(si)
	for _, st := range stamps {
		st.fact = &ades.Timestamp{}
		if t, err := tsp.Parse(st.token); err == nil {
			st.parsed, st.fact.Time = t, t.Time
		}
	}
	slices.SortStableFunc(stamps, func(a, b *stamp) int {
		if ka, kb := rank(a.attr.OID), rank(b.attr.OID); ka != kb {
			return ka - kb
		}
		return a.fact.Time.Compare(b.fact.Time)
	})
	for i, st := range stamps {
		if r.in.cancelled != nil && r.in.cancelled() != nil {
			return r.in.cancelled()
		}
		fact, err := r.read(st, stamps[:i], si)
		if err != nil {
			return err
		}
		fact.Kind = timestampAttrs[st.attr.OID]
		fact.Path = fmt.Sprintf("%s/%s", s.Path, oid.AttributeName(st.attr.OID))
		st.fact = fact
		if fact.ImprintIntact == ades.Yes {
			fact.Covers = r.covers(s, si, st, stamps[:i])
		}
		s.Timestamps = append(s.Timestamps, fact)
	}
	return nil
}

// collect returns the tokens of a signer. Time-stamps are over the content in signed attributes, and
// over the signature in unsigned ones; anything else is no time-stamp.
func collect(si *cms.SignerInfo) []*stamp {
	var out []*stamp
	for i, attrs := range [][]cms.Attribute{si.SignedAttrs, si.UnsignedAttrs} {
		for _, a := range attrs {
			if kind, ok := timestampAttrs[a.OID]; !ok || (kind == ades.ContentTimestamp) != (i == 0) {
				continue
			}
			for _, v := range a.Values {
				out = append(out, &stamp{attr: a, token: v})
			}
		}
	}
	return out
}

// rank is the order in which the kinds of time-stamps build on each other; 3 is an archive
// time-stamp, 4 is no time-stamp.
func rank(id string) int {
	switch timestampAttrs[id] {
	case "":
		return 4
	case ades.ContentTimestamp:
		return 0
	case ades.SignatureTimestamp:
		return 1
	case ades.SigAndRefs, ades.RefsOnly:
		return 2
	}
	return 3
}

// read returns the facts of one token, given the earlier ones.
func (r *reader) read(st *stamp, before []*stamp, si *cms.SignerInfo) (*ades.Timestamp, error) {
	switch st.attr.OID {
	case oid.AttrContentTimestamp:
		return st.facts(r.in.digest, r.certs)
	case oid.AttrSignatureTimestamp, oid.AttrEntrustTimestamp:
		return st.facts(digestOf(si.Signature), r.certs)
	case oid.AttrEscTimestamp:
		parts := append([][]byte{si.Signature}, attributeFields(si, oid.AttrSignatureTimestamp)...)
		return st.facts(digestOf(append(parts, references(si)...)...), r.certs)
	case oid.AttrCertCRLTimestamp:
		return st.facts(digestOf(references(si)...), r.certs)
	case oid.AttrArchiveTimestampV3:
		return r.readV3(st, si)
	}
	return r.readV2(st, before, si)
}

// attributeFields returns attrType and attrValues of the attributes of a type, the input of the
// time-stamps of the C and X forms.
func attributeFields(si *cms.SignerInfo, id string) [][]byte {
	var out [][]byte
	for _, a := range si.Unsigned(id) {
		out = append(out, a.Type, a.Set)
	}
	return out
}

func references(si *cms.SignerInfo) [][]byte {
	return append(attributeFields(si, oid.AttrCertificateRefs), attributeFields(si, oid.AttrRevocationRefs)...)
}

// covers lists what must have existed when a token was made.
func (r *reader) covers(s *ades.Signature, si *cms.SignerInfo, st *stamp, before []*stamp) []string {
	var out []string
	kind := timestampAttrs[st.attr.OID]
	if kind != ades.ContentTimestamp && kind != ades.RefsOnly {
		out = append(out, s.ID)
		if len(s.CertificateRefs) > 0 && s.CertificateRefs[0].DigestMatch == ades.Yes {
			out = append(out, ades.FactID(s.SigningCertificate))
		}
		for _, b := range before {
			if timestampAttrs[b.attr.OID] == ades.ContentTimestamp {
				out = append(out, stamped(b)...)
			}
		}
	}
	switch kind {
	case ades.SigAndRefs, ades.RefsOnly:
		out = append(out, referenced(s, references(si))...)
		for _, b := range before {
			if kind == ades.SigAndRefs && b.attr.OID == oid.AttrSignatureTimestamp {
				out = append(out, stamped(b)...)
			}
		}
	case ades.ArchiveTimestamp:
		if st.attr.OID == oid.AttrArchiveTimestampV3 {
			return append(out, r.coversV3(s, si, st, before)...)
		}
		return append(out, coversV2(s, before)...)
	}
	return out
}

// stamped returns the ids of a token and of the facts in it.
func stamped(st *stamp) []string {
	out := []string{st.fact.ID}
	if st.fact.Signature != nil {
		out = append(out, st.fact.Signature.ID)
		for _, e := range st.fact.Signature.Evidence {
			out = append(out, e.ID())
		}
	}
	return out
}

// referenced returns the evidence whose digest is in the references, which proves that it existed
// when the references were time-stamped. Evidence beyond a gigabyte of searching does not count.
func referenced(s *ades.Signature, refs [][]byte) []string {
	all := bytes.Join(refs, nil)
	left := 1 << 30
	var out []string
	for _, e := range s.Evidence {
		if left -= 4 * len(all); left < 0 {
			break
		}
		raws := [][]byte{e.Raw}
		if e.Kind == ades.EvidenceOCSP {
			if basic, err := cms.BasicOCSP(e.Raw); err == nil {
				raws = append(raws, basic)
			}
		}
		for _, raw := range raws {
			h1, h2 := sha1.Sum(raw), sha256.Sum256(raw)
			if bytes.Contains(all, h1[:]) || bytes.Contains(all, h2[:]) {
				out = append(out, e.ID())
				break
			}
		}
	}
	return out
}

// coversV2 lists everything in the SignedData and the signer at that time.
func coversV2(s *ades.Signature, before []*stamp) []string {
	var out []string
	for _, e := range s.Evidence {
		out = append(out, e.ID())
	}
	for _, c := range s.CounterSignatures {
		out = append(out, counterIDs(c)...)
	}
	for _, b := range before {
		out = append(out, stamped(b)...)
	}
	return out
}

func counterIDs(c *ades.Signature) []string {
	out := []string{c.ID}
	for _, ts := range c.Timestamps {
		out = append(out, stamped(&stamp{fact: ts})...)
	}
	for _, inner := range c.CounterSignatures {
		out = append(out, counterIDs(inner)...)
	}
	return out
}

// contentDigest is the digest of the content, or nil if it is not available.
func (r *reader) contentDigest(h crypto.Hash) ([]byte, error) {
	if r.in.digest == nil {
		return nil, nil
	}
	return r.in.digest(h)
}
