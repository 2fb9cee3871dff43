package xmldsig

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
)

// ErrDigest means that the data of a reference was found and is not what was
// signed.
var ErrDigest = errors.New("digest does not match")

// Check computes the digest of a reference and compares it. It returns nil,
// ErrDigest, an error wrapping ErrMissing, or why it cannot be computed.
func (s *Signature) Check(r *Reference, ext Resolver) error {
	h, ok := HashByURI(r.DigestURI)
	if !ok {
		return fmt.Errorf("%w: digest method %q", pkix.ErrUnsupported, clip(r.DigestURI))
	}
	w := h.New()
	if err := s.Write(w, r, ext, Method{}); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(w.Sum(nil), r.Digest) != 1 {
		return ErrDigest
	}
	return nil
}

// Coverage says how much of the document a reference signs.
type Coverage int

const (
	Outside Coverage = iota // nothing of it: data elsewhere
	Part                    // an element, or the document less something
	Whole                   // the document less this signature
)

// Covers finds out from URI and transforms what a reference is over. A
// reference to the root element is whole: nothing but comments and
// instructions can stand beside it.
func (s *Signature) Covers(r *Reference) (Coverage, *xmldom.Node) {
	set, err := s.nodeSet(r)
	if err != nil {
		return Outside, nil
	}
	n := set.Apex
	if len(set.Keep) == 1 {
		n = set.Keep[0]
	}
	if n != s.Doc.Node && n != s.Doc.Root() || len(set.Keep) > 1 {
		return Part, n
	}
	for _, x := range set.Drop {
		if !x.Is(Space, "Signature") {
			return Part, n
		}
	}
	return Whole, n
}

// Subject is the one node that a reference within the document is about: its
// target, or the element that a filter narrows it down to.
func (s *Signature) Subject(r *Reference) (*xmldom.Node, error) {
	set, err := s.nodeSet(r)
	switch {
	case err != nil:
		return nil, err
	case len(set.Keep) == 1:
		return set.Keep[0], nil
	case set.Keep != nil:
		return nil, fmt.Errorf("%w: several elements", ErrMissing)
	}
	return set.Apex, nil
}

// nodeSet is the target of a reference, filtered but not canonicalised.
func (s *Signature) nodeSet(r *Reference) (*NodeSet, error) {
	n, _, same, err := s.Target(r)
	if !same || err != nil {
		return nil, errors.Join(ErrMissing, err)
	}
	d := &data{doc: s.Doc, set: &NodeSet{Apex: n}}
	steps, _ := transforms(r.Node)
	for _, t := range steps {
		switch t.Attr("Algorithm") {
		case Enveloped, XPath, XPathFilter2:
			if d, err = s.transform(d, t); err != nil {
				return nil, err
			}
		}
	}
	return d.set, nil
}

// VerifyEnveloped checks a document that carries one enveloped signature as a
// child of its root (a trusted list, metadata): the signature is over the
// whole document, every reference holds, and the value verifies with one of
// the given certificates, which is returned. When the signature names its
// certificate in KeyInfo, it must be that one.
func VerifyEnveloped(d *xmldom.Document, certs []*pkix.Certificate) (*pkix.Certificate, error) {
	found := d.Root().Children(Space, "Signature")
	if len(found) != 1 {
		return nil, fmt.Errorf("%d signatures in the root element, want 1", len(found))
	}
	s, err := Read(d, found[0])
	if err != nil {
		return nil, err
	}
	whole := false
	for i, r := range s.References {
		if err := s.Check(r, nil); err != nil {
			return nil, fmt.Errorf("reference %d: %w", i+1, err)
		}
		if c, _ := s.Covers(r); c == Whole {
			whole = true
		}
	}
	if !whole {
		return nil, errors.New("the signature does not cover the document")
	}
	return s.verifyWith(certs)
}

func (s *Signature) verifyWith(certs []*pkix.Certificate) (*pkix.Certificate, error) {
	named := Certificates(s.KeyInfo)
	err := errors.New("the signer's certificate is not among those given")
	for _, c := range certs {
		if len(named) > 0 && !contains(named, c.Raw) {
			continue
		}
		if err = s.CheckValue(c.PublicKey); err == nil {
			return c, nil
		}
	}
	return nil, err
}

func contains(list [][]byte, b []byte) bool {
	for _, x := range list {
		if bytes.Equal(x, b) {
			return true
		}
	}
	return false
}

// Includes reports whether something new inside node would change what a
// reference digests, other signatures being left out by it or not.
func (s *Signature) Includes(r *Reference, node *xmldom.Node) bool {
	apex, _, same, err := s.Target(r)
	if !same || err != nil || !apex.Contains(node) {
		return false
	}
	steps, _ := transforms(r.Node)
	for _, t := range steps {
		switch t.Attr("Algorithm") {
		case XPath:
			if n := t.Child(Space, "XPath"); n != nil && notSignature.MatchString(expression(n)) {
				return false
			}
		case XPathFilter2:
			for _, x := range t.Children(FilterNS, "XPath") {
				if x.Attr("Filter") == "subtract" && allSignature.MatchString(expression(x)) {
					return false
				}
			}
		}
	}
	return true
}

// Complete reports whether a reference takes in all of its subject: nothing
// is filtered out of it but signatures.
func (s *Signature) Complete(r *Reference) bool {
	set, err := s.nodeSet(r)
	if err != nil || len(set.Keep) > 1 {
		return false
	}
	for _, n := range set.Drop {
		if !n.Is(Space, "Signature") {
			return false
		}
	}
	return true
}

// WholeFile reports whether a reference out of the document takes in all of
// the file that it is to. Canonicalisation does, but for comments: one that
// splits a text may change how it is read.
func (s *Signature) WholeFile(r *Reference, src Source) bool {
	steps, err := transforms(r.Node)
	if err != nil {
		return false
	}
	comments := true
	for _, t := range steps {
		m, err := MethodOf(t)
		if err != nil {
			return false
		}
		comments = comments && m.Comments
	}
	if comments {
		return true
	}
	d := &data{source: src}
	if d, err = d.nodes(); err != nil {
		return false
	}
	defer d.doc.Release()
	return !splitText(d.doc.Node)
}

// splitText reports whether a comment stands beside text in some element.
func splitText(n *xmldom.Node) bool {
	comment, text := false, false
	for c := n.First; c != nil; c = c.Next {
		switch c.Kind {
		case xmldom.Comment:
			comment = true
		case xmldom.Text:
			text = text || strings.TrimSpace(c.Data) != ""
		case xmldom.Element:
			if splitText(c) {
				return true
			}
		}
	}
	return comment && text
}
