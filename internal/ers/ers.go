// Package ers reads evidence records: RFC 4998 in ASN.1, RFC 6283 in XML. A record is a sequence of
// chains of time-stamps; the first is over the data, each later one over the previous one, and each
// later chain over the data and all previous chains. A time-stamp may be over more than the data: a
// reduced hash tree leads from its digest to the time-stamped digest.
//
// The package computes the trees. Tokens are returned unparsed, for others to read and judge.
package ers

import (
	"bytes"
	"crypto"
	"errors"
	"slices"

	"rogito.dev/rogito/internal/oid"
)

// Bounds on one record.
const (
	maxStamps = 256
	maxHashes = 1 << 16
)

// Record is an evidence record.
type Record struct {
	chains []chain
}

type chain struct {
	stamps []stamp
	// before digests the previous chains; nil for the first.
	before func(crypto.Hash) ([]byte, error)
	// joined: the digests of the data and of the previous chains are siblings in the tree (RFC
	// 6283, 4.2.2); otherwise they are digested together (RFC 4998, 5.2).
	joined bool
	// canonical digests an XML object in its canonical form, or returns nil if it is not one; nil
	// for records in ASN.1.
	canonical func(h crypto.Hash, text []byte) []byte
}

type stamp struct {
	token []byte
	hash  crypto.Hash // 0: that of the token
	tree  [][][]byte  // lists of digests, from the data to the root
	// self digests the time-stamp for the one after it.
	self func(crypto.Hash) ([]byte, error)
}

// First is the token of the oldest time-stamp.
func (r *Record) First() []byte { return r.chains[0].stamps[0].token }

// Object is a piece of data that a record is for.
type Object interface {
	Digest(h crypto.Hash) ([]byte, error)
	// XML is the object if it may be an XML document, else nil: RFC 6283 digests such objects in
	// their canonical form (section 3.2.1).
	XML() ([]byte, error)
}

// Result is one time-stamp of a record and what it should be over.
type Result struct {
	Token []byte
	Hash  crypto.Hash
	// Roots are the digests computed from the data, or from the previous time-stamp, one of which
	// the token must be over; none if the tree does not contain it.
	Roots [][]byte
	// Chain and Place of the time-stamp in the record, from 0.
	Chain, Place int
	Problem      string
}

// Check computes what every time-stamp should be over, from the record's objects. hashOf returns
// the hash of a token's imprint.
func (r *Record) Check(objects []Object, hashOf func(token []byte) crypto.Hash) ([]Result, error) {
	var out []Result
	for i, c := range r.chains {
		for k, s := range c.stamps {
			one := Result{Token: s.token, Hash: s.hash, Chain: i, Place: k}
			if one.Hash == 0 {
				one.Hash = hashOf(s.token)
			}
			if one.Hash == 0 || !one.Hash.Available() {
				one.Problem = "the hash function is not known"
				out = append(out, one)
				continue
			}
			var leaves [][][]byte
			var err error
			if k > 0 {
				var leaf []byte
				leaf, err = c.stamps[k-1].self(one.Hash)
				leaves = [][][]byte{{leaf}}
			} else {
				leaves, err = c.leaves(one.Hash, objects)
			}
			if err != nil {
				return nil, err
			}
			if one.Roots = roots(s.tree, leaves, one.Hash); one.Roots == nil {
				one.Problem = "the hash tree does not hold what the record is for"
			}
			out = append(out, one)
		}
	}
	return out, nil
}

// leaves returns the digests that the first time-stamp of a chain is over, with the possible ones
// for each object.
func (c chain) leaves(h crypto.Hash, objects []Object) ([][][]byte, error) {
	var old []byte
	var err error
	if c.before != nil {
		if old, err = c.before(h); err != nil {
			return nil, err
		}
	}
	var out [][][]byte
	for _, o := range objects {
		digest, err := o.Digest(h)
		if err != nil {
			return nil, err
		}
		forms := [][]byte{digest}
		if c.canonical != nil {
			text, err := o.XML()
			if err != nil {
				return nil, err
			}
			if text != nil {
				if d := c.canonical(h, text); d != nil {
					forms = append(forms, d)
				}
			}
		}
		if old != nil && !c.joined {
			for i, d := range forms {
				forms[i] = oid.Sum(h, d, old)
			}
		}
		out = append(out, forms)
	}
	if old != nil && c.joined {
		out = append(out, [][]byte{old})
	}
	return out, nil
}

// roots follows the lists of a tree (RFC 4998, 4.3): the digest of a list is an element of the
// next. Every leaf must be in the first list, in one of its forms.
func roots(tree [][][]byte, leaves [][][]byte, h crypto.Hash) [][]byte {
	if len(leaves) == 0 {
		return nil
	}
	if len(tree) == 0 {
		var out [][]byte
		for form := range 2 {
			var list [][]byte
			for _, l := range leaves {
				list = append(list, l[min(form, len(l)-1)])
			}
			out = append(out, group(list, h))
		}
		return out
	}
	for _, forms := range leaves {
		held := slices.ContainsFunc(tree[0], func(d []byte) bool {
			return slices.ContainsFunc(forms, func(f []byte) bool { return bytes.Equal(d, f) })
		})
		if !held {
			return nil
		}
	}
	digest := group(tree[0], h)
	for _, list := range tree[1:] {
		digest = group(append(slices.Clone(list), digest), h)
	}
	return [][]byte{digest}
}

// group is the digest of a list in binary ascending order; a single digest is its own.
func group(list [][]byte, h crypto.Hash) []byte {
	if len(list) == 1 {
		return list[0]
	}
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, bytes.Compare)
	return oid.Sum(h, sorted...)
}

// Parse reads a record in either form.
func Parse(raw []byte) (*Record, error) {
	var r *Record
	var err error
	if len(raw) > 0 && raw[0] == 0x30 {
		r, err = parseASN1(raw)
	} else {
		r, err = parseXML(raw)
	}
	if err != nil {
		return nil, err
	}
	n := 0
	for _, c := range r.chains {
		n += len(c.stamps)
		if len(c.stamps) == 0 {
			return nil, errors.New("a chain without time-stamps")
		}
	}
	if n == 0 || n > maxStamps {
		return nil, errors.New("no time-stamps, or too many")
	}
	return r, nil
}
