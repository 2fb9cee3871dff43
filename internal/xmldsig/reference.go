package xmldsig

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"

	"rogito.dev/rogito/internal/xmldom"
)

// ErrMissing means that the data of a reference was not found, so it can neither be confirmed nor
// refuted.
var ErrMissing = errors.New("referenced data not found")

// ErrNotEvaluated means that a reference uses something that is not evaluated here, such as XSLT or
// a free XPath, so no digest was computed.
var ErrNotEvaluated = errors.New("not evaluated")

// Source is data outside the document.
type Source interface {
	io.ReaderAt
	Size() int64
}

// Resolver finds the data of a URI outside the document, or returns nil. A reference without URI
// asks for "".
type Resolver func(r *Reference) Source

// data is passed from transform to transform: a node-set or octets.
type data struct {
	doc    *xmldom.Document
	set    *NodeSet
	octets []byte
	source Source // octets that are not in memory
}

// Write writes the octets that a reference digests. If the transforms result in a node-set, it is
// canonicalised with m (the zero Method for digests).
func (s *Signature) Write(w io.Writer, r *Reference, ext Resolver, m Method) error {
	defer s.release(s.reserved, len(s.parsed))
	d, steps, err := s.begin(r, ext)
	if err != nil {
		return err
	}
	if err := s.Charge(d.walk()); err != nil {
		return err
	}
	w = &meter{s: s, w: w}
	for i, t := range steps {
		if last := i == len(steps)-1; last {
			if method, err := MethodOf(t); err == nil && d.set != nil {
				return Canonicalize(w, *d.set, method) // no need to keep it in memory
			}
		}
		if d, err = s.transform(d, t); err != nil {
			return fmt.Errorf("transform %s: %w", clip(t.Attr("Algorithm")), err)
		}
	}
	return d.write(w, m)
}

// begin finds the data of a reference. Within the document it also applies the leading transforms
// that remove nodes. This is done once, so that coverage is determined from the same set that is
// digested.
func (s *Signature) begin(r *Reference, ext Resolver) (*data, []*xmldom.Node, error) {
	steps, err := transforms(r.Node)
	if err != nil {
		return nil, nil, err
	}
	d, err := s.dereference(r, ext)
	if err != nil {
		return nil, nil, err
	}
	if d.set == nil {
		return d, steps, nil
	}
	front := 0
	for front < len(steps) && filters(steps[front]) {
		front++
	}
	if r.filtered == nil && r.filterErr == nil {
		for _, t := range steps[:front] {
			if d, err = s.transform(d, t); err != nil {
				r.filterErr = fmt.Errorf("transform %s: %w", clip(t.Attr("Algorithm")), err)
				break
			}
		}
		r.filtered = d
	}
	return r.filtered, steps[front:], r.filterErr
}

// filters reports whether a transform removes nodes from a node-set.
func filters(t *xmldom.Node) bool {
	switch t.Attr("Algorithm") {
	case Enveloped, XPath, XPathFilter2:
		return true
	}
	return false
}

// meter charges the output: namespaces can make the canonical form of a small document very large.
type meter struct {
	s    *Signature
	w    io.Writer
	hold bool // the output stays in memory
}

func (m *meter) Write(p []byte) (int, error) {
	if err := m.s.Charge(int64(len(p))); err != nil {
		return 0, err
	}
	if m.hold {
		if err := m.s.reserve(int64(len(p))); err != nil {
			return 0, err
		}
	}
	return m.w.Write(p)
}

func transforms(ref *xmldom.Node) ([]*xmldom.Node, error) {
	steps := ref.Child(Space, "Transforms").Children(Space, "Transform")
	if len(steps) > MaxTransforms {
		return nil, fmt.Errorf("%w: more than %d transforms", xmldom.ErrLimit, MaxTransforms)
	}
	return steps, nil
}

// walk is roughly the cost of visiting the nodes, not including the output.
func (d *data) walk() int64 {
	if d.set == nil {
		return 1 << 10
	}
	return 1<<10 + int64(d.set.Apex.End-d.set.Apex.Start)/4
}

func (d *data) write(w io.Writer, m Method) error {
	switch {
	case d.set != nil:
		return Canonicalize(w, *d.set, m)
	case d.source != nil:
		_, err := io.Copy(w, io.NewSectionReader(d.source, 0, d.source.Size()))
		return err
	}
	_, err := w.Write(d.octets)
	return err
}

// text loads octets as a text.
func (s *Signature) text(d *data) (string, error) {
	size := int64(len(d.octets))
	if d.source != nil {
		size = d.source.Size()
	}
	if size > int64(xmldom.DefaultLimits.Size) {
		return "", fmt.Errorf("%w: %d bytes to transform", xmldom.ErrLimit, size)
	}
	if err := s.reserve(size); err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(int(size))
	err := d.write(&meter{s: s, w: &b}, Method{})
	return b.String(), err
}

// nodes parses octets into a node-set.
func (s *Signature) nodes(d *data) (*data, error) {
	if d.set != nil {
		return d, nil
	}
	text, err := s.text(d)
	if err != nil {
		return nil, err
	}
	doc, err := xmldom.ParseContext(s.context(), text, xmldom.Limits{})
	if err != nil {
		return nil, fmt.Errorf("parse octets: %w", err)
	}
	s.parsed = append(s.parsed, doc)
	return &data{doc: doc, set: &NodeSet{Apex: doc.Node, Comments: true}}, nil
}

// dereference finds the data of a URI.
func (s *Signature) dereference(r *Reference, ext Resolver) (*data, error) {
	if n, comments, same, err := s.Target(r); same {
		if err != nil {
			return nil, err
		}
		return &data{doc: s.Doc, set: &NodeSet{Apex: n, Comments: comments}}, nil
	}
	if ext != nil {
		if src := ext(r); src != nil {
			return &data{source: src}, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrMissing, clip(r.URI))
}

// Target finds the node of a same-document reference. same is false for references outside the
// document; comments reports whether comments below the node are included.
func (s *Signature) Target(r *Reference) (n *xmldom.Node, comments, same bool, err error) {
	if !r.HasURI || r.URI != "" && r.URI[0] != '#' {
		return nil, false, false, nil
	}
	switch r.URI {
	case "":
		return s.Doc.Node, false, true, nil
	case "#xpointer(/)":
		return s.Doc.Node, true, true, nil
	}
	id := r.URI[1:]
	if m := pointer.FindStringSubmatch(id); m != nil {
		id, comments = m[1]+m[2], true
	} else if strings.HasPrefix(id, "xpointer(") {
		return nil, false, true, fmt.Errorf("%w: %q", ErrNotEvaluated, clip(r.URI))
	}
	// Some processors decode the fragment and some do not. If both readings name an element, it
	// must be the same one.
	n, err = s.Doc.ByID(id)
	if plain, bad := url.PathUnescape(id); bad == nil && plain != id {
		other, otherErr := s.Doc.ByID(plain)
		switch {
		case errors.Is(err, xmldom.ErrNotFound):
			n, err = other, otherErr
		case !errors.Is(otherErr, xmldom.ErrNotFound) && other != n:
			return nil, false, true, fmt.Errorf("%w: %q", xmldom.ErrDuplicate, clip(r.URI))
		}
	}
	if errors.Is(err, xmldom.ErrNotFound) {
		err = fmt.Errorf("%w: %q", ErrMissing, clip(r.URI))
	}
	return n, comments, true, err
}

// pointer is the only XPointer beside "/" in XML Signature.
var pointer = regexp.MustCompile(`^xpointer\(id\((?:'([^'"]+)'|"([^'"]+)")\)\)$`)

// transform applies one transform.
func (s *Signature) transform(d *data, t *xmldom.Node) (*data, error) {
	alg := t.Attr("Algorithm")
	switch alg {
	case Enveloped:
		return s.enveloped(d)
	case Base64:
		return s.decodeTransform(d)
	case XPath:
		return s.xpath(d, t)
	case XPathFilter2:
		return s.filter2(d, t)
	case RelationshipTransform:
		return s.relationships(d, t)
	}
	m, err := MethodOf(t)
	if err != nil {
		return nil, fmt.Errorf("%w: %q", ErrNotEvaluated, clip(alg))
	}
	if d, err = s.nodes(d); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = Canonicalize(&meter{s: s, w: &b, hold: true}, *d.set, m)
	return &data{octets: b.Bytes()}, err
}

// enveloped excludes the signature that contains the reference. It requires nodes of the document
// itself (XML Signature, 6.6.4).
func (s *Signature) enveloped(d *data) (*data, error) {
	if d.set == nil || d.doc != s.Doc {
		return nil, fmt.Errorf("%w: enveloped-signature on something else than the document", ErrNotEvaluated)
	}
	return d.drop(s.Node), nil
}

func (d *data) drop(nodes ...*xmldom.Node) *data {
	set := *d.set
	set.Drop = append(append([]*xmldom.Node(nil), set.Drop...), nodes...)
	return &data{doc: d.doc, set: &set}
}

// decodeTransform decodes base64 text; for a node-set, its character data.
func (s *Signature) decodeTransform(d *data) (*data, error) {
	if d.set == nil {
		text, err := s.text(d)
		if err != nil {
			return nil, err
		}
		out, err := DecodeBase64(text)
		return &data{octets: out}, err
	}
	if !d.set.all() {
		return nil, fmt.Errorf("%w: base64 of a filtered node-set", ErrNotEvaluated)
	}
	if err := s.reserve(int64(d.set.Apex.End - d.set.Apex.Start)); err != nil {
		return nil, err
	}
	text := d.set.Apex.Text()
	out, err := base64.StdEncoding.DecodeString(text) // ignores line breaks
	if err != nil {
		out, err = DecodeBase64(text)
	}
	return &data{octets: out}, err
}

// EscapeName writes a file name as the URI of a reference.
func EscapeName(name string) string {
	parts := strings.Split(name, "/")
	for i, s := range parts {
		parts[i] = url.PathEscape(s)
	}
	return strings.Join(parts, "/")
}
