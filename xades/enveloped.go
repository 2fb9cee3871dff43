package xades

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// enveloped puts the signature at the end of the root element.
func (p *preparation) enveloped() error {
	if len(p.files) != 1 {
		return errors.New("xades: an enveloped signature is over one document")
	}
	if p.doc == nil {
		var err error
		if p.doc, err = parse(p.ctx, p.files[0].Source); err != nil {
			return err
		}
	}
	defer func() { p.doc.Release() }() // p.doc may be replaced
	if p.doc.Root().Is(ds, "Signature") {
		return errors.New("xades: the document is a signature; sign it enveloping or detached")
	}
	if err := p.checkEarlier(); err != nil {
		return err
	}
	elements, err := p.elements()
	if err != nil {
		return err
	}
	p.chooseID(fmt.Appendf(nil, "%s %d", p.files[0].Name, len(p.doc.Source())))
	if p.o.SignatureID != "" && p.doc.HasID(p.o.SignatureID) {
		return fmt.Errorf("%w: signature id %q is in use", ErrSelection, p.o.SignatureID)
	}
	if elements, err = p.ensureIDs(elements); err != nil {
		return err
	}
	if elements == nil {
		p.addNode("", p.doc.Node)
	}
	for _, n := range elements {
		p.addNode(n.ID(), n)
	}
	p.place = p.inserter()
	return nil
}

// elements returns those selected by Id or XPath; nil means the whole document.
func (p *preparation) elements() ([]*xmldom.Node, error) {
	switch {
	case p.o.SignElement != "":
		n, err := p.doc.ByID(p.o.SignElement)
		if err != nil {
			return nil, fmt.Errorf("xades: element to sign: %w", errors.Join(ades.ErrNotFound, err))
		}
		return []*xmldom.Node{n}, nil
	case p.o.XPathQuery != "":
		found, err := p.doc.Select(p.o.XPathQuery, p.o.Prefixes)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSelection, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("xades: elements to sign: %w", ades.ErrNotFound)
		}
		if len(found) > xmldsig.MaxReferences-1 {
			return nil, fmt.Errorf("%w: %w: %d of them", ErrSelection, xmldom.ErrLimit, len(found))
		}
		return found, nil
	}
	return nil, nil
}

// ensureIDs gives an Id to elements that have none, or whose Id is not unique. If the document
// changes, it is parsed again.
func (p *preparation) ensureIDs(elements []*xmldom.Node) ([]*xmldom.Node, error) {
	var edits []xmldom.Edit
	ids := make([]string, len(elements))
	for i, n := range elements {
		if ids[i] = n.ID(); ids[i] != "" {
			if _, err := p.doc.ByID(ids[i]); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrSelection, err)
			}
			continue
		}
		if p.signedAlready(n) {
			return nil, ErrBreaks
		}
		ids[i] = fmt.Sprintf("e-%s-%d", p.b.id, i+1)
		edits = append(edits, p.doc.AddAttr(n, "Id", ids[i]))
	}
	if len(edits) == 0 {
		return elements, nil
	}
	changed, err := p.doc.Splice(edits...)
	if err != nil {
		return nil, fmt.Errorf("xades: %w", err)
	}
	doc, err := xmldom.ParseContext(p.ctx, changed, xmldom.Limits{})
	if err != nil {
		return nil, malformed(err)
	}
	p.doc.Release()
	p.doc = doc
	for i, id := range ids {
		if elements[i], err = p.doc.ByID(id); err != nil {
			return nil, fmt.Errorf("xades: %w", err)
		}
	}
	return elements, nil
}

// signedAlready reports whether a signature covers an element, so that it cannot be given an Id.
func (p *preparation) signedAlready(n *xmldom.Node) bool {
	for _, sig := range xmldsig.Find(p.doc) {
		s, err := xmldsig.Read(p.doc, sig)
		if err != nil {
			continue
		}
		for _, r := range s.References {
			if t, _, same, err := s.Target(r); same && err == nil && t.Contains(n) && s.Check(r, nil) == nil {
				return true
			}
		}
	}
	return false
}

// addNode references a part of the document. If the new signature will be inside it, a transform
// leaves it out: enveloped-signature, which all implementations verify, or, if other signatures
// must be left out too, XPath Filter 2.0.
func (p *preparation) addNode(id string, n *xmldom.Node) {
	set := xmldsig.NodeSet{Apex: n}
	var transforms []string
	if n.Contains(p.doc.Root()) {
		others := xmldsig.Find(p.doc)
		if p.o.KeepSignatures || len(others) == 0 {
			transforms = append(transforms, transformEnveloped)
		} else {
			transforms = append(transforms, transformNoSigs)
			set.Drop = others
		}
	}
	method, uri := exclusive, ""
	if id != "" {
		uri = "#" + url.PathEscape(id)
	}
	// Some comments are content (see partition.counts), and a bare reference excludes comments.
	if !p.doc.Plain() && partsText(n) && xmldom.IsName(id+"_") {
		method.Comments, set.Comments = true, true
		uri = "#xpointer(/)"
		if id != "" {
			uri = "#xpointer(id('" + id + "'))"
		}
	}
	method.Prefixes = valuePrefixes(n)
	h := p.o.Digest().New()
	_ = xmldsig.Canonicalize(p.withContentDigest(h), set, method) // writing to a hash cannot fail
	mime := p.o.MediaTypes[p.files[0].Name]
	if mime == "" {
		mime = "text/xml"
	}
	p.b.refs = append(p.b.refs, reference{uri: uri, transforms: append(transforms, transformC14N(method)), digest: h.Sum(nil), mime: mime})
}

func transformC14N(m xmldsig.Method) string {
	if len(m.Prefixes) == 0 {
		return `<ds:Transform Algorithm="` + m.URI() + `"></ds:Transform>`
	}
	list := slices.Clone(m.Prefixes)
	for i, p := range list {
		if p == "" {
			list[i] = "#default"
		}
	}
	return `<ds:Transform Algorithm="` + m.URI() + `"><ec:InclusiveNamespaces xmlns:ec="` + xmldsig.ExcSpace + `" PrefixList="` + strings.Join(list, " ") + `"></ec:InclusiveNamespaces></ds:Transform>`
}

// partsText reports whether a comment is content.
func partsText(top *xmldom.Node) bool {
	p := &partition{ctx: context.Background()}
	found := false
	for n := range top.All() {
		if n.First != nil {
			p.children(n, false, func(c *xmldom.Node) { found = found || c.Kind == xmldom.Comment && p.counts(c) })
		}
	}
	return found
}

// valuePrefixes returns the prefixes in values, which exclusive canonicalisation omits by default.
func valuePrefixes(top *xmldom.Node) []string {
	bare := &xmldsig.Region{Set: xmldsig.NodeSet{Apex: top}, Method: exclusive}
	left := maxSteps
	look := xmldsig.Lookup{Spend: func(steps int) bool { left -= steps; return left > 0 }}
	var list []string
	for n := range top.All() {
		if n.Kind != xmldom.Element {
			continue
		}
		for _, prefix := range look.Bound(n, true) {
			if left -= len(list); !slices.Contains(list, prefix) && !look.Declared(bare, n, prefix) {
				list = append(list, prefix)
			}
		}
	}
	return list
}

// checkEarlier determines how a new signature affects existing ones. A signature over everything
// but itself breaks if anything is put beside it, but not if it is put inside: it becomes the host
// of the new one. Several such signatures must be nested.
func (p *preparation) checkEarlier() error {
	for _, n := range xmldsig.Find(p.doc) {
		s, err := xmldsig.Read(p.doc, n)
		if err != nil {
			continue // it is broken already
		}
		for _, r := range s.References {
			if !s.Includes(r, p.doc.Root()) || s.Check(r, nil) != nil {
				continue
			}
			g, err := s.Region(r)
			out := err == nil && slices.Contains(g.Set.Drop, n)
			if !out || p.host != nil && !p.host.Contains(n) {
				return ErrBreaks
			}
			p.host = n
		}
	}
	return nil
}

// hosted is where a signature inside another one goes: into the Object of its properties, which
// time-stamps do not cover as a whole (EN 319 132-1, 5.5.2.2), or into a new Object.
func (p *preparation) hosted(mark string) xmldom.Edit {
	for _, o := range p.host.Children(ds, "Object") {
		for c := range o.Elements() {
			if c.Name.Local == "QualifyingProperties" && isXAdES(c.Name.Space) {
				return p.doc.Append(o, mark)
			}
		}
	}
	prefix := ""
	if p.host.Name.Prefix != "" {
		prefix = p.host.Name.Prefix + ":"
	}
	return p.doc.Append(p.host, "<"+prefix+"Object>"+mark+"</"+prefix+"Object>")
}

// inserter writes the document with the signature as last child of its root, or in its host. It
// only keeps the position, so that the tree can be released.
func (p *preparation) inserter() func(io.Writer, func(io.Writer) error) error {
	const mark = "\x00"
	doc, edit := p.doc, xmldom.Edit{}
	if p.host != nil {
		edit = p.hosted(mark)
	} else {
		edit = p.doc.Append(p.doc.Root(), mark)
	}
	before, after, _ := strings.Cut(edit.Insert, mark)
	return func(w io.Writer, signature func(io.Writer) error) error {
		var sig strings.Builder
		sig.WriteString(before)
		if err := signature(&sig); err != nil {
			return err
		}
		sig.WriteString(after)
		err := doc.WriteSpliced(w, xmldom.Edit{Offset: edit.Offset, Delete: edit.Delete, Insert: sig.String()})
		if err != nil {
			return fmt.Errorf("xades: %w", err)
		}
		return nil
	}
}

// internallyDetached makes a new root for the documents and the signature. XML is inserted
// unchanged, other data as base64.
func (p *preparation) internallyDetached() error {
	digests, err := p.digestFiles(true)
	if err != nil {
		return err
	}
	p.chooseID(digests...)
	contents := make([]string, len(p.files))
	for i, f := range p.files {
		if LooksLikeXML(f.Source) {
			contents[i], err = p.embedXML(i)
		} else {
			contents[i], err = p.embedBase64(i, digests[i])
		}
		if err != nil {
			return err
		}
	}
	p.place = func(w io.Writer, signature func(io.Writer) error) error {
		if _, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n<internally-detached>"+strings.Join(contents, "")); err != nil {
			return err
		}
		if err := signature(w); err != nil {
			return err
		}
		_, err := io.WriteString(w, "</internally-detached>")
		return err
	}
	return nil
}

func (p *preparation) embedXML(i int) (string, error) {
	d, err := parse(p.ctx, p.files[i].Source)
	if err != nil {
		return "", err
	}
	root := d.Root()
	id := root.ID()
	if id == "" {
		id = fmt.Sprintf("o-%s-%d", p.b.id, i+1)
		changed, err := d.Splice(d.AddAttr(root, "Id", id))
		if err != nil {
			return "", fmt.Errorf("xades: %w", err)
		}
		if d, err = xmldom.ParseContext(p.ctx, changed, xmldom.Limits{}); err != nil {
			return "", malformed(err)
		}
		root = d.Root()
	}
	method, uri := exclusive, "#"+url.PathEscape(id)
	if !d.Plain() && partsText(root) && xmldom.IsName(id) {
		method.Comments, uri = true, "#xpointer(id('"+id+"'))"
	}
	method.Prefixes = valuePrefixes(root)
	h := p.o.Digest().New()
	_ = xmldsig.Canonicalize(p.withContentDigest(h), xmldsig.NodeSet{Apex: root, Comments: method.Comments}, method) // writing to a hash cannot fail
	p.b.refs = append(p.b.refs, reference{
		uri: uri, transforms: []string{transformC14N(method)}, digest: h.Sum(nil), mime: p.mime(p.files[i]),
	})
	return d.Raw(root), nil
}

func (p *preparation) embedBase64(i int, digest []byte) (string, error) {
	f := p.files[i]
	id := fmt.Sprintf("o-%s-%d", p.b.id, i+1)
	b := make([]byte, f.Source.Size())
	if _, err := io.ReadFull(io.NewSectionReader(f.Source, 0, f.Source.Size()), b); err != nil {
		return "", fmt.Errorf("xades: read document: %w", err)
	}
	if p.all != nil {
		p.all.Write(b)
	}
	p.b.refs = append(p.b.refs, reference{
		uri: "#" + id, transforms: []string{transformBase64}, digest: digest, mime: p.mime(f), encoding: xmldsig.Base64,
	})
	return fmt.Sprintf(`<content Id="%s">%s</content>`, id, base64.StdEncoding.EncodeToString(b)), nil
}
