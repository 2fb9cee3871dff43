package ers

import (
	"crypto"
	"errors"

	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
)

var errForm = errors.New("not an EvidenceRecord")

// parseASN1 reads an EvidenceRecord of RFC 4998.
func parseASN1(raw []byte) (*Record, error) {
	e, rest, err := cms.ReadElement(raw)
	if err != nil {
		return nil, err
	}
	fields, err := e.Children()
	if err != nil || e.Tag != cms.TagSequence || len(rest) > 0 || len(fields) < 3 || fields[0].Tag != cms.TagInteger {
		return nil, errForm
	}
	sequence := fields[len(fields)-1]
	if sequence.Tag != cms.TagSequence {
		return nil, errForm
	}
	chains, err := sequence.Children()
	if err != nil {
		return nil, err
	}
	r := &Record{}
	var before [][]byte // the chains so far, in DER
	for i, c := range chains {
		stamps, err := c.Children()
		if err != nil || len(stamps) > maxStamps || i > maxStamps {
			return nil, errForm
		}
		var one chain
		if i > 0 {
			old := cms.TLV(cms.TagSequence, before...)
			one.before = func(h crypto.Hash) ([]byte, error) { return oid.Sum(h, old), nil }
		}
		for _, s := range stamps {
			st, err := parseStamp(s)
			if err != nil {
				return nil, err
			}
			one.stamps = append(one.stamps, st)
		}
		der, err := cms.DER(c.Raw)
		if err != nil {
			return nil, err
		}
		before = append(before, der)
		r.chains = append(r.chains, one)
	}
	return r, nil
}

// parseStamp reads an ArchiveTimeStamp.
func parseStamp(e cms.Element) (stamp, error) {
	var s stamp
	fields, err := e.Children()
	if err != nil || len(fields) == 0 || fields[len(fields)-1].Tag != cms.TagSequence {
		return s, errForm
	}
	s.token = fields[len(fields)-1].Raw
	s.self = func(h crypto.Hash) ([]byte, error) { return oid.Sum(h, s.token), nil }
	seen := byte(0)
	for _, f := range fields[:len(fields)-1] {
		if f.Tag <= seen {
			return s, errForm
		}
		seen = f.Tag
		switch f.Tag {
		case 0xa0: // digestAlgorithm
			parts, err := f.Children()
			if err != nil || len(parts) == 0 || parts[0].Tag != cms.TagOID {
				return s, errForm
			}
			name, err := oid.Parse(parts[0].Body)
			if err != nil {
				return s, err
			}
			h, ok := oid.Hash(name)
			if !ok {
				return s, errors.New("the hash function " + name + " is not known")
			}
			s.hash = h
		case 0xa1: // attributes
		case 0xa2:
			if s.tree, err = parseTree(f); err != nil {
				return s, err
			}
		default:
			return s, errForm
		}
	}
	return s, nil
}

func parseTree(e cms.Element) ([][][]byte, error) {
	lists, err := e.Children()
	if err != nil {
		return nil, err
	}
	var out [][][]byte
	n := 0
	for _, l := range lists {
		hashes, err := l.Children()
		if n += len(hashes); err != nil || l.Tag != cms.TagSequence || len(hashes) == 0 || n > maxHashes {
			return nil, errForm
		}
		var list [][]byte
		for _, h := range hashes {
			if h.Tag != cms.TagOctetString {
				return nil, errForm
			}
			list = append(list, h.Body)
		}
		out = append(out, list)
	}
	return out, nil
}
