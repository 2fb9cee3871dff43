package cades

import (
	"bytes"
	"crypto"
	"errors"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// hashIndex is an ats-hash-index in any of its three versions.
type hashIndex struct {
	value                []byte // as found: it is part of what is time-stamped
	hash                 crypto.Hash
	certs, revs, unsigns map[string]bool // digests
}

// parseIndex finds the hash index in the unsigned attributes of a token.
func parseIndex(token []byte) (*hashIndex, error) {
	sd, err := cms.ParseBytes(token)
	if err != nil {
		return nil, err
	}
	for _, si := range sd.SignerInfos {
		for _, a := range si.UnsignedAttrs {
			switch a.OID {
			case oid.AttrATSHashIndex, oid.AttrATSHashIndexV2, oid.AttrATSHashIndexV3:
				if len(a.Values) != 1 {
					return nil, errors.New("ats-hash-index without one value")
				}
				return decodeIndex(a.Values[0])
			}
		}
	}
	return nil, errors.New("no ats-hash-index")
}

func decodeIndex(value []byte) (*hashIndex, error) {
	bad := errors.New("bad ats-hash-index")
	e, _, err := cms.ReadElement(value)
	if err != nil || e.Tag != cms.TagSequence {
		return nil, bad
	}
	parts, err := e.Children()
	if err != nil {
		return nil, bad
	}
	x := &hashIndex{value: value, hash: crypto.SHA256}
	if len(parts) == 4 {
		alg, err := cms.ParseAlgorithm(parts[0].Raw)
		if err != nil {
			return nil, bad
		}
		h, ok := alg.Hash()
		if !ok {
			return nil, errors.New("hash of the ats-hash-index not known")
		}
		x.hash, parts = h, parts[1:]
	}
	if len(parts) != 3 {
		return nil, bad
	}
	for i, set := range []*map[string]bool{&x.certs, &x.revs, &x.unsigns} {
		items, err := parts[i].Children()
		if err != nil {
			return nil, bad
		}
		*set = make(map[string]bool, len(items))
		for _, item := range items {
			(*set)[string(item.Body)] = true
		}
	}
	return x, nil
}

func (x *hashIndex) sum(parts ...[]byte) []byte { return oid.Sum(x.hash, parts...) }

// covered lists the values of an attribute that the index names. Version 3 (and the published
// version 2) hash each value with its type; version 1, and some writers of version 2, hash the
// attribute as a whole.
func (x *hashIndex) covered(a cms.Attribute) [][]byte {
	if x.unsigns[string(x.sum(a.Raw))] || x.unsigns[string(x.sum(a.Type, a.Set))] {
		return a.Values
	}
	var out [][]byte
	for _, v := range a.Values {
		if x.unsigns[string(x.sum(a.Type, v))] {
			out = append(out, v)
		}
	}
	return out
}

// complete reports whether everything that the index names is still present.
func (x *hashIndex) complete(sd *cms.SignedData, si *cms.SignerInfo) bool {
	have := map[string]bool{}
	for _, items := range [][][]byte{sd.Certificates, sd.Revocations} {
		for _, item := range items {
			have[string(x.sum(item))] = true
		}
	}
	for _, a := range si.UnsignedAttrs {
		have[string(x.sum(a.Raw))] = true
		have[string(x.sum(a.Type, a.Set))] = true
		for _, v := range a.Values {
			have[string(x.sum(a.Type, v))] = true
		}
	}
	for _, set := range []map[string]bool{x.certs, x.revs, x.unsigns} {
		for sum := range set {
			if !have[sum] {
				return false
			}
		}
	}
	return true
}

// imprintV3 is the data under an archive-time-stamp-v3 (EN 319 122-1, 5.5.3).
func imprintV3(h crypto.Hash, sd *cms.SignedData, si *cms.SignerInfo, content, index []byte) []byte {
	d := h.New()
	d.Write(cms.TLV(cms.TagOID, oid.Content(sd.ContentType)))
	d.Write(content)
	for _, f := range si.RawFields {
		d.Write(f)
	}
	d.Write(index)
	return d.Sum(nil)
}

func (r *reader) readV3(st *stamp, si *cms.SignerInfo) (*ades.Timestamp, error) {
	index, err := parseIndex(st.token)
	if err != nil {
		fact, rerr := st.facts(nil, r.certs)
		if rerr == nil {
			fact.ImprintIntact = ades.No
			fact.Problems = append(fact.Problems, finding.ArchiveIndexUnreadable.Problem("ats-hash-index", err))
		}
		return fact, rerr
	}
	fact, err := st.facts(func(h crypto.Hash) ([]byte, error) {
		content, err := r.contentDigest(h)
		if err != nil || content == nil {
			return nil, err
		}
		return imprintV3(h, r.sd, si, content, index.value), nil
	}, r.certs)
	if err == nil {
		fact.Digests = []string{pkix.HashName(index.hash)}
	}
	if err == nil && !index.complete(r.sd, si) {
		fact.Problems = append(fact.Problems, finding.ArchiveIndexUnfounded.Problem("ats-hash-index"))
	}
	return fact, err
}

func (r *reader) coversV3(s *ades.Signature, si *cms.SignerInfo, st *stamp, before []*stamp) []string {
	index, err := parseIndex(st.token)
	if err != nil {
		return nil
	}
	var out []string
	for _, c := range r.sd.X509() {
		if index.certs[string(index.sum(c))] {
			out = append(out, ades.FactID(c))
		}
	}
	out = append(out, r.coveredRevocations(index)...)
	counters := map[string][]string{} // what is in counter-signatures, by their ids
	for _, c := range s.CounterSignatures {
		counters[c.ID] = append(counters[c.ID], counterIDs(c)...)
	}
	for _, a := range si.UnsignedAttrs {
		for _, v := range index.covered(a) {
			out = append(out, coveredValue(counters, a.OID, v, before)...)
		}
	}
	return out
}

func (r *reader) coveredRevocations(x *hashIndex) []string {
	var out []string
	for _, raw := range r.sd.Revocations {
		if !x.revs[string(x.sum(raw))] {
			continue
		}
		one := &cms.SignedData{Revocations: [][]byte{raw}}
		for _, b := range append(one.CRLs(), one.OCSPs()...) {
			out = append(out, ades.FactID(b))
		}
	}
	return out
}

// coveredValue lists the facts in one attribute value.
func coveredValue(counters map[string][]string, id string, v []byte, before []*stamp) []string {
	var out []string
	switch id {
	case oid.AttrCertificateValues:
		for _, c := range cms.CertificateValues(v) {
			out = append(out, ades.FactID(c))
		}
	case oid.AttrRevocationValues:
		crls, ocsps := cms.RevocationValues(v)
		for _, c := range append(crls, ocsps...) {
			out = append(out, ades.FactID(c))
		}
	case oid.AttrCounterSignature:
		if si, err := cms.ParseSignerInfo(v); err == nil {
			id := cms.SignerID(si)
			out = append(out, counters[id]...)
			delete(counters, id) // equal ones are listed once
		}
	default:
		for _, b := range before {
			if bytes.Equal(b.token, v) {
				out = append(out, stamped(b)...)
			}
		}
	}
	return out
}

// readV2 reads an archive-time-stamp or archive-time-stamp-v2. Published versions differ in how the
// unsigned attributes are encoded (TS 101 733, 1.8.3 and 2.2.1), so each encoding is tried.
func (r *reader) readV2(st *stamp, before []*stamp, si *cms.SignerInfo) (*ades.Timestamp, error) {
	var fact *ades.Timestamp
	for _, unsigned := range unsignedForms(before, si) {
		var err error
		fact, err = st.facts(func(h crypto.Hash) ([]byte, error) { return r.imprintV2(h, si, unsigned) }, r.certs)
		if err != nil || fact.ImprintIntact != ades.No {
			return fact, err
		}
	}
	if st.attr.OID == oid.AttrArchiveTimestamp {
		fact.ImprintIntact = ades.Unknown // its first version did not define the input
	}
	return fact, nil
}

// unsignedForms are the possible encodings of the unsigned attributes that existed before a token.
func unsignedForms(before []*stamp, si *cms.SignerInfo) [][]byte {
	var whole, fields [][]byte
	for _, a := range si.UnsignedAttrs {
		earlier := func(b *stamp) bool { return bytes.Equal(b.attr.Raw, a.Raw) }
		if rank(a.OID) == 3 && !slices.ContainsFunc(before, earlier) {
			continue // this time-stamp itself, and later ones
		}
		whole = append(whole, a.Raw)
		fields = append(fields, a.Type, a.Set)
	}
	joined := bytes.Join(whole, nil)
	return [][]byte{joined, cms.TLV(0xa1, joined), cms.TLV(cms.TagSet, joined), bytes.Join(fields, nil)}
}

func (r *reader) imprintV2(h crypto.Hash, si *cms.SignerInfo, unsigned []byte) ([]byte, error) {
	d := h.New()
	if err := cms.Copy(d, r.sd.Encap); err != nil {
		return nil, err
	}
	if r.sd.Content == nil {
		if r.in.content == nil {
			return nil, nil
		}
		if err := cms.Copy(d, r.in.content); err != nil {
			return nil, err
		}
	}
	for _, b := range [][]byte{r.sd.RawCertificates, r.sd.RawCRLs} {
		d.Write(b)
	}
	for _, f := range si.RawFields {
		d.Write(f)
	}
	d.Write(unsigned)
	return d.Sum(nil), nil
}
