package xmldsig

import (
	"bytes"
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/foreign"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
)

// ErrDigest means that the data of a reference was found but does not match its digest.
var ErrDigest = errors.New("digest does not match")

// Check computes the digest of a reference and compares it. It returns nil, ErrDigest, an error
// wrapping ErrMissing, or the reason why it cannot be computed.
func (s *Signature) Check(r *Reference, ext Resolver) error {
	h, ok := HashByURI(r.DigestURI)
	if !ok {
		return fmt.Errorf("%w: digest method %q", pkix.ErrUnsupported, clip(r.DigestURI))
	}
	w := h.New()
	if err := s.Write(w, r, ext, Method{}); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(w.Sum(nil), r.Digest) != 1 && !s.blanksDigested(r, ext, w) {
		return ErrDigest
	}
	return nil
}

// VerifyEnveloped checks a document with one enveloped signature as a child of its root (a trusted
// list, metadata): the signature is over the whole document, every reference matches, and the value
// verifies with one of the given certificates, which is returned. If the signature has a
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
		if n, err := s.Element(r); err == nil && n == d.Root() {
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
		if len(named) > 0 && !slices.ContainsFunc(named, func(b []byte) bool { return bytes.Equal(b, c.Raw) }) {
			continue
		}
		if err = s.CheckValue(c.PublicKey); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// Includes reports whether an addition inside node would change what a reference digests, whether
// or not it excludes other signatures.
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

// WholeFile reports whether a reference outside the document covers all of its file.
func (s *Signature) WholeFile(r *Reference, src Source) bool {
	steps, err := transforms(r.Node)
	if err != nil {
		return false
	}
	comments, method := true, Method{}
	for i, t := range steps {
		m, err := MethodOf(t)
		if err != nil {
			return false
		}
		if comments = comments && m.Comments; i == 0 {
			method = m
		}
		method = method.then(m)
	}
	return len(steps) == 0 || s.WholeXML(src, method, comments)
}

// WholeXML reports whether the canonical form of a file covers all of it. It does, except for
// comments and CDATA sections: one that splits a text may change how it is read, and a comment may
// contain a PDF; and except for namespaces that only values use.
func (s *Signature) WholeXML(src Source, method Method, comments bool) bool {
	d, err := s.nodes(&data{source: src})
	if err != nil {
		return false
	}
	defer d.doc.Release()
	if !d.doc.Same() && foreign.PDFIn(d.doc.Octets()) {
		return false
	}
	g := &Region{Set: *d.set, Method: method}
	look := Lookup{Spend: func(steps int) bool {
		err = cmp.Or(err, s.Charge(int64(steps)))
		return err == nil
	}}
	for n := range d.doc.All() {
		if n.Kind == xmldom.Element && method.Exclusive && slices.ContainsFunc(look.Bound(n, true), func(p string) bool { return !look.Declared(g, n, p) }) || err != nil {
			return false
		}
	}
	return !splitText(d.doc.Node, comments)
}

// splitText reports whether an undigested comment is beside text or contains a PDF or markup, or a
// CDATA section is beside text.
func splitText(n *xmldom.Node, comments bool) bool {
	comment, text := false, false
	var before *xmldom.Node
	for c := n.First; c != nil; c = c.Next {
		switch c.Kind {
		case xmldom.Comment:
			if comment = !comments; comment && (foreign.PDFIn(c.Data) || strings.ContainsAny(c.Data, "<>")) {
				return true
			}
		case xmldom.Text:
			if strings.TrimSpace(c.Data) == "" {
				break
			}
			if before != nil && (!strings.HasSuffix(before.Data, "]]") || !strings.HasPrefix(c.Data, ">")) {
				return true
			}
			text, before = true, c
			continue
		case xmldom.Element:
			if splitText(c, comments) {
				return true
			}
		}
		before = nil
	}
	return comment && text
}
