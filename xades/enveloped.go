package xades

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
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
		if p.doc, err = parse(context.Background(), p.files[0].Source); err != nil {
			return err
		}
	}
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
		p.addNode("#"+url.PathEscape(n.ID()), n)
	}
	p.place = p.inserter()
	p.doc.Release()
	return nil
}

// elements are those asked for by Id or XPath; nil means the whole document.
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

// ensureIDs gives an Id to elements that have none, or one that is not unique.
// The document is parsed again if it had to change.
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
	if p.doc, err = xmldom.Parse(changed, xmldom.Limits{}); err != nil {
		return nil, malformed(err)
	}
	for i, id := range ids {
		if elements[i], err = p.doc.ByID(id); err != nil {
			return nil, fmt.Errorf("xades: %w", err)
		}
	}
	return elements, nil
}

// addNode references a part of the document. The new signature is left out of
// it by a transform where it will stand inside.
func (p *preparation) addNode(uri string, n *xmldom.Node) {
	set := xmldsig.NodeSet{Apex: n}
	var transforms []string
	if n.Contains(p.doc.Root()) || n == p.doc.Root() {
		if p.o.KeepSignatures {
			transforms = append(transforms, transformEnveloped)
		} else {
			transforms = append(transforms, transformNoSigs)
			set.Drop = xmldsig.Find(p.doc)
		}
	}
	h := p.o.Digest().New()
	_ = xmldsig.Canonicalize(h, set, exclusive) // a hash does not fail
	mime := p.o.MimeTypes[p.files[0].Name]
	if mime == "" {
		mime = "text/xml"
	}
	p.b.refs = append(p.b.refs, reference{uri: uri, transforms: append(transforms, transformExclusive), digest: h.Sum(nil), mime: mime})
}

// checkEarlier refuses to break signatures that are already there.
func (p *preparation) checkEarlier() error {
	for _, n := range xmldsig.Find(p.doc) {
		s, err := xmldsig.Read(p.doc, n)
		if err != nil {
			continue // it cannot be broken any more
		}
		for _, r := range s.References {
			if s.Includes(r, p.doc.Root()) && s.Check(r, nil) == nil {
				return ErrBreaks
			}
		}
	}
	return nil
}

// inserter writes the document with the signature as last child of its root.
// It needs no more than the place, so that the tree can go.
func (p *preparation) inserter() func(io.Writer, func(io.Writer) error) error {
	const mark = "\x00"
	doc, edit := p.doc, p.doc.Append(p.doc.Root(), mark)
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

// internallyDetached makes a new root for the documents and the signature.
// XML goes in as it is, other data as base64.
func (p *preparation) internallyDetached() error {
	digests, err := p.digestFiles()
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
	d, err := parse(context.Background(), p.files[i].Source)
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
		if d, err = xmldom.Parse(changed, xmldom.Limits{}); err != nil {
			return "", malformed(err)
		}
		root = d.Root()
	}
	h := p.o.Digest().New()
	_ = xmldsig.Canonicalize(h, xmldsig.NodeSet{Apex: root}, exclusive) // a hash does not fail
	p.b.refs = append(p.b.refs, reference{
		uri: "#" + url.PathEscape(id), transforms: []string{transformExclusive}, digest: h.Sum(nil), mime: p.mime(p.files[i]),
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
	p.b.refs = append(p.b.refs, reference{
		uri: "#" + id, transforms: []string{transformBase64}, digest: digest, mime: p.mime(f), encoding: xmldsig.Base64,
	})
	return fmt.Sprintf(`<content Id="%s">%s</content>`, id, base64.StdEncoding.EncodeToString(b)), nil
}

// EscapeName writes a file name as the URI of a reference.
func EscapeName(name string) string {
	parts := strings.Split(name, "/")
	for i, s := range parts {
		parts[i] = url.PathEscape(s)
	}
	return strings.Join(parts, "/")
}
