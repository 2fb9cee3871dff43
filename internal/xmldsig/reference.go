package xmldsig

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"rogito.dev/rogito/internal/xmldom"
)

// ErrMissing means that the data of a reference was not found: nothing is
// wrong, but nothing can be decided.
var ErrMissing = errors.New("referenced data not found")

// Source is data outside the document.
type Source interface {
	io.ReaderAt
	Size() int64
}

// Resolver finds the data that a URI outside the document stands for, or nil.
// A reference without URI asks for "".
type Resolver func(r *Reference) Source

// data is what travels from transform to transform: a node-set or octets.
type data struct {
	doc    *xmldom.Document
	set    *NodeSet
	octets []byte
	source Source // octets that are not in memory
}

// Write writes the octets that a reference digests. Where the transforms end
// in a node-set, it is canonicalised with m (the zero Method for digests).
func (s *Signature) Write(w io.Writer, r *Reference, ext Resolver, m Method) error {
	d, err := s.dereference(r, ext)
	if err != nil {
		return err
	}
	if err := s.Charge(d.size()); err != nil {
		return err
	}
	steps, err := transforms(r.Node)
	if err != nil {
		return err
	}
	for i, t := range steps {
		if last := i == len(steps)-1; last {
			if method, err := MethodOf(t); err == nil && d.set != nil {
				return Canonicalize(w, *d.set, method) // no need to hold it
			}
		}
		if d, err = s.transform(d, t); err != nil {
			return fmt.Errorf("transform %d: %w", i+1, err)
		}
	}
	return d.write(w, m)
}

func transforms(ref *xmldom.Node) ([]*xmldom.Node, error) {
	steps := ref.Child(Space, "Transforms").Children(Space, "Transform")
	if len(steps) > MaxTransforms {
		return nil, fmt.Errorf("%w: more than %d transforms", xmldom.ErrLimit, MaxTransforms)
	}
	return steps, nil
}

// size is about how much there is to read.
func (d *data) size() int64 {
	if d.source != nil {
		return d.source.Size()
	}
	return int64(d.set.Apex.End - d.set.Apex.Start)
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

// bytes brings octets into memory, or canonicalises the set.
func (d *data) bytes() ([]byte, error) {
	if d.set == nil && d.source == nil {
		return d.octets, nil
	}
	if d.source != nil && d.source.Size() > int64(xmldom.DefaultLimits.Size) {
		return nil, fmt.Errorf("%w: %d bytes to transform", xmldom.ErrLimit, d.source.Size())
	}
	var b bytes.Buffer
	err := d.write(&b, Method{})
	return b.Bytes(), err
}

// nodes makes a node-set of octets by parsing them.
func (d *data) nodes() (*data, error) {
	if d.set != nil {
		return d, nil
	}
	b, err := d.bytes()
	if err != nil {
		return nil, err
	}
	doc, err := xmldom.Parse(b, xmldom.Limits{})
	if err != nil {
		return nil, fmt.Errorf("parse octets: %w", err)
	}
	return &data{doc: doc, set: &NodeSet{Apex: doc.Node, Comments: true}}, nil
}

// dereference finds what a URI stands for.
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

// Target finds the node that a same-document reference points to. same is
// false for references out of the document; comments says whether comments
// below the node are part of what is referenced.
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
	if arg, ok := strings.CutPrefix(id, "xpointer(id("); ok {
		id, comments = strings.Trim(strings.TrimSuffix(arg, "))"), `'"`), true
	}
	if plain, err := url.PathUnescape(id); err == nil && !s.Doc.HasID(id) {
		id = plain
	}
	n, err = s.Doc.ByID(id)
	if errors.Is(err, xmldom.ErrNotFound) {
		err = fmt.Errorf("%w: %q", ErrMissing, clip(r.URI))
	}
	return n, comments, true, err
}

// transform applies one transform.
func (s *Signature) transform(d *data, t *xmldom.Node) (*data, error) {
	alg := t.Attr("Algorithm")
	switch alg {
	case Enveloped:
		return s.enveloped(d)
	case Base64:
		return decodeTransform(d)
	case XPath:
		return s.xpath(d, t)
	case XPathFilter2:
		return s.filter2(d, t)
	}
	m, err := MethodOf(t)
	if err != nil {
		return nil, fmt.Errorf("%q is refused", clip(alg))
	}
	if d, err = d.nodes(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = Canonicalize(&b, *d.set, m)
	return &data{octets: b.Bytes()}, err
}

// enveloped leaves out the signature that holds the reference.
func (s *Signature) enveloped(d *data) (*data, error) {
	if d.set == nil || d.doc != s.Doc || !d.set.Apex.Contains(s.Node) {
		return nil, errors.New("enveloped-signature outside the signed document")
	}
	return d.drop(s.Node), nil
}

func (d *data) drop(nodes ...*xmldom.Node) *data {
	set := *d.set
	set.Drop = append(append([]*xmldom.Node(nil), set.Drop...), nodes...)
	return &data{doc: d.doc, set: &set}
}

// decodeTransform decodes base64 text; of a node-set, its character data.
func decodeTransform(d *data) (*data, error) {
	if d.set == nil {
		b, err := d.bytes()
		if err != nil {
			return nil, err
		}
		out, err := DecodeBase64(string(b))
		return &data{octets: out}, err
	}
	if !d.set.all() {
		return nil, errors.New("base64 of a filtered node-set is refused")
	}
	text := d.set.Apex.Text()
	out, err := base64.StdEncoding.DecodeString(text) // skips line breaks by itself
	if err != nil {
		out, err = DecodeBase64(text)
	}
	return &data{octets: out}, err
}
