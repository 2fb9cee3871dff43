package cms

import (
	"bytes"
	"crypto"
	"errors"

	"rogito.dev/rogito/ades"
)

// Shortened is a ContentInfo as it was before unsigned attributes were added to its signers.
type Shortened struct {
	src        ades.Source
	head, tail []byte
	from, to   int64 // what is between them, unchanged in the source
	known      map[crypto.Hash][]byte
}

// Digest of the ContentInfo, computed once for each hash function.
func (s *Shortened) Digest(h crypto.Hash) ([]byte, error) {
	if d, ok := s.known[h]; ok {
		return d, nil
	}
	d := h.New()
	d.Write(s.head)
	if err := CopyRange(d, s.src, s.from, s.to); err != nil {
		return nil, err
	}
	d.Write(s.tail)
	s.known[h] = d.Sum(nil)
	return s.known[h], nil
}

// WithoutUnsigned is the original ContentInfo without those values of unsigned attributes that drop
// selects. Lengths are adapted; otherwise the encoding does not change (RFC 4998, appendix A). An
// attribute without values is removed, and so is the field without attributes, since neither may be
// empty.
func (sd *SignedData) WithoutUnsigned(drop func(value []byte) bool) (*Shortened, error) {
	s := scanner{src: sd.source}
	outer, explicit, seq, err := s.contentInfo()
	if err != nil {
		return nil, err
	}
	var infos header
	for at := seq.body; ; at = infos.next { // the last field has the signers
		more, err := s.more(&seq, at)
		if err == nil && more {
			if infos, err = s.header(at, seq.end); err == nil {
				err = s.finish(&infos, 0)
			}
		}
		if err != nil {
			return nil, malformed("SignedData", err)
		}
		if !more {
			break
		}
	}
	raw, err := s.load(&infos)
	if err != nil {
		return nil, malformed("SignedData/signerInfos", err)
	}
	tail, err := dropFrom(raw, drop)
	if err != nil {
		return nil, malformed("SignedData/signerInfos", err)
	}
	out := &Shortened{src: sd.source, from: seq.body, to: infos.off, known: map[crypto.Hash][]byte{}}
	typ := make([]byte, explicit.off-outer.body)
	if n, err := sd.source.ReadAt(typ, outer.body); n < len(typ) {
		return nil, err
	}
	inner := out.to - out.from + int64(len(tail))
	for _, h := range []struct {
		header
		before []byte
	}{{seq, nil}, {explicit, typ}, {outer, nil}} {
		if h.indefinite {
			out.head = append(append(append([]byte{}, h.before...), h.tag, 0x80), out.head...)
			tail = append(tail, 0, 0)
		} else {
			out.head = append(append(append([]byte{}, h.before...), appendLength([]byte{h.tag}, inner)...), out.head...)
		}
		inner = int64(len(out.head)) + out.to - out.from + int64(len(tail))
	}
	out.tail = tail
	return out, nil
}

// dropFrom rewrites a SET OF SignerInfo.
func dropFrom(raw []byte, drop func([]byte) bool) ([]byte, error) {
	set, _, err := ReadElement(raw)
	if err != nil {
		return nil, err
	}
	infos, err := set.Children()
	if err != nil || set.Tag != TagSet {
		return nil, orTag(err)
	}
	all := make([][]byte, len(infos))
	for i, info := range infos {
		if all[i], err = dropFromSigner(info, drop); err != nil {
			return nil, err
		}
	}
	return withBody(set, all...), nil
}

// dropFromSigner rewrites one SignerInfo, if there is something to drop.
func dropFromSigner(info Element, drop func([]byte) bool) ([]byte, error) {
	fields, err := info.Children()
	if err != nil || len(fields) == 0 {
		return nil, orTag(err)
	}
	unsigned := fields[len(fields)-1]
	if unsigned.Tag != 0xa1 {
		return info.Raw, nil
	}
	attrs, err := unsigned.Children()
	if err != nil {
		return nil, err
	}
	dropped := false
	var kept [][]byte
	for _, a := range attrs {
		parts, err := a.Children()
		if err != nil || len(parts) != 2 {
			return nil, errors.New("bad Attribute")
		}
		values, err := parts[1].Children()
		if err != nil {
			return nil, err
		}
		var left [][]byte
		for _, v := range values {
			if !drop(v.Raw) {
				left = append(left, v.Raw)
			}
		}
		switch {
		case len(left) == len(values):
			kept = append(kept, a.Raw)
			continue
		case len(left) > 0:
			kept = append(kept, withBody(a, parts[0].Raw, withBody(parts[1], left...)))
		}
		dropped = true
	}
	if !dropped {
		return info.Raw, nil
	}
	var members [][]byte
	for _, f := range fields[:len(fields)-1] {
		members = append(members, f.Raw)
	}
	if len(kept) > 0 {
		members = append(members, withBody(unsigned, kept...))
	}
	return withBody(info, members...), nil
}

// withBody is a value with another body, in the same form of length.
func withBody(e Element, body ...[]byte) []byte {
	if e.Indefinite {
		out := append(bytes.Clone(identifier(e)), 0x80)
		return append(append(out, bytes.Join(body, nil)...), 0, 0)
	}
	return appendTLV(nil, identifier(e), bytes.Join(body, nil))
}
