package ers

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"

	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

const space = "urn:ietf:params:xml:ns:ers"

// parseXML reads an EvidenceRecord of RFC 6283.
func parseXML(raw []byte) (*Record, error) {
	doc, err := xmldom.Parse(string(raw), xmldom.Limits{})
	if err != nil {
		return nil, err
	}
	root := doc.Root()
	sequence := root.Child(space, "ArchiveTimeStampSequence")
	if !root.Is(space, "EvidenceRecord") || sequence == nil {
		return nil, errForm
	}
	chains, err := ordered(sequence, "ArchiveTimeStampChain")
	if err != nil {
		return nil, err
	}
	r := &Record{}
	for i, c := range chains {
		one := chain{joined: true}
		method := xmldsig.Method{}
		if m := c.Child(space, "CanonicalizationMethod"); m != nil {
			if method, err = xmldsig.MethodOf(m); err != nil {
				return nil, err
			}
		}
		one.canonical = func(h crypto.Hash, text []byte) []byte {
			doc, err := xmldom.Parse(string(text), xmldom.Limits{})
			if err != nil {
				return nil
			}
			defer doc.Release()
			d, err := canonical(doc.Node, method, nil)(h)
			if err != nil {
				return nil
			}
			return d
		}
		if i > 0 {
			one.before = canonical(sequence, method, chains[i:])
		}
		hash := crypto.Hash(0)
		if m := c.Child(space, "DigestMethod"); m != nil {
			h, ok := xmldsig.HashByURI(m.Attr("Algorithm"))
			if !ok {
				return nil, errors.New("the hash function is not known")
			}
			hash = h
		}
		stamps, err := ordered(c, "ArchiveTimeStamp")
		if err != nil {
			return nil, err
		}
		for _, s := range stamps {
			st, err := xmlStamp(s, hash, method)
			if err != nil {
				return nil, err
			}
			one.stamps = append(one.stamps, st)
		}
		r.chains = append(r.chains, one)
	}
	return r, nil
}

// canonical digests an element in its canonical form, less some of its
// children.
func canonical(n *xmldom.Node, m xmldsig.Method, less []*xmldom.Node) func(crypto.Hash) ([]byte, error) {
	return func(h crypto.Hash) ([]byte, error) {
		d := h.New()
		err := xmldsig.Canonicalize(d, xmldsig.NodeSet{Apex: n, Comments: true, Drop: less}, m)
		return d.Sum(nil), err
	}
}

// ordered lists children by their Order attribute, which counts from 1 without
// gaps (RFC 6283, 3.1).
func ordered(n *xmldom.Node, name string) ([]*xmldom.Node, error) {
	list := n.Children(space, name)
	if len(list) > maxStamps {
		return nil, errForm
	}
	out := make([]*xmldom.Node, len(list))
	for _, c := range list {
		at, err := strconv.Atoi(c.Attr("Order"))
		if err != nil || at < 1 || at > len(list) || out[at-1] != nil {
			return nil, errors.New("the Order of " + name + " is wrong")
		}
		out[at-1] = c
	}
	return out, nil
}

func xmlStamp(n *xmldom.Node, hash crypto.Hash, m xmldsig.Method) (stamp, error) {
	s := stamp{hash: hash}
	holder := n.Child(space, "TimeStamp")
	token := holder.Child(space, "TimeStampToken")
	if token == nil {
		return s, errors.New("no time-stamp token")
	}
	var err error
	if s.token, err = decode(token.Text()); err != nil {
		return s, err
	}
	s.self = canonical(holder, m, nil)
	tree := n.Child(space, "HashTree")
	if tree == nil {
		return s, nil
	}
	lists, err := ordered(tree, "Sequence")
	if err != nil {
		return s, err
	}
	total := 0
	for _, l := range lists {
		var list [][]byte
		for _, v := range l.Children(space, "DigestValue") {
			d, err := decode(v.Text())
			if total++; err != nil || total > maxHashes {
				return s, errForm
			}
			list = append(list, d)
		}
		if len(list) == 0 {
			return s, errForm
		}
		s.tree = append(s.tree, list)
	}
	return s, nil
}

func decode(text string) ([]byte, error) {
	text = strings.Join(strings.Fields(text), "")
	b, err := base64.StdEncoding.DecodeString(text)
	return slices.Clip(bytes.Clone(b)), err
}
