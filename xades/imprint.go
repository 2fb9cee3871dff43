package xades

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// stamped writes the input of a time-stamp over a signature.
type stamped struct {
	x        *xmldsig.Signature
	unsigned *xmldom.Node // UnsignedSignatureProperties; may be nil
	outside  xmldsig.Resolver
	m        xmldsig.Method
}

// timestampMethod is the canonicalisation of a time-stamp property; inclusive without comments by
// default.
func timestampMethod(p *xmldom.Node) (xmldsig.Method, error) {
	if c := p.Child(ds, "CanonicalizationMethod"); c != nil && c.Attr("Algorithm") != "" {
		return xmldsig.MethodOf(c)
	}
	return xmldsig.Method{}, nil
}

func (t *stamped) node(w io.Writer, n *xmldom.Node) error {
	if n == nil {
		return nil
	}
	if err := t.x.Charge(int64(n.End - n.Start)); err != nil {
		return err
	}
	return xmldsig.Canonicalize(w, xmldsig.NodeSet{Apex: n, Comments: true}, t.m)
}

// write writes the input of a time-stamp property; p is the property itself, or nil for one that is
// yet to be appended.
func (t *stamped) write(w io.Writer, kind ades.TimestampKind, p *xmldom.Node) error {
	if includes := includes(p); len(includes) > 0 && kind != ades.ContentTimestamp {
		return t.included(w, kind, includes)
	}
	switch kind {
	case ades.ContentTimestamp:
		return t.content(w, p)
	case ades.SignatureTimestamp:
		return t.node(w, t.x.ValueNode)
	case ades.SigAndRefs:
		if err := t.node(w, t.x.ValueNode); err != nil {
			return err
		}
		return t.refs(w, p, "SignatureTimeStamp")
	case ades.RefsOnly:
		return t.refs(w, p)
	case ades.ArchiveTimestamp:
		return t.archive(w, p)
	}
	return fmt.Errorf("no imprint for %s time-stamps", kind)
}

// includes are the explicit reference lists of older time-stamps.
func includes(p *xmldom.Node) []*xmldom.Node {
	var found []*xmldom.Node
	for c := range p.Elements() {
		if c.Name.Local == "Include" || c.Name.Local == "HashDataInfo" {
			found = append(found, c)
		}
	}
	return found
}

// included writes what Include elements (HashDataInfo in 1.1.1) refer to. The signature value must
// be among it: a token over anything else does not say when the signature was made.
func (t *stamped) included(w io.Writer, kind ades.TimestampKind, list []*xmldom.Node) error {
	value := kind == ades.RefsOnly
	for _, inc := range list {
		uri := inc.Attr("URI")
		if uri == "" {
			uri = inc.Attr("uri")
		}
		n, err := t.x.Doc.ByID(strings.TrimPrefix(uri, "#"))
		if err != nil {
			return err
		}
		if err := t.node(w, n); err != nil {
			return err
		}
		value = value || n == t.x.ValueNode
	}
	if !value {
		return errors.New("the signature value is not under it")
	}
	return nil
}

// content is for AllDataObjectsTimeStamp and IndividualDataObjectsTimeStamp.
func (t *stamped) content(w io.Writer, p *xmldom.Node) error {
	if p != nil && p.Name.Local == "IndividualDataObjectsTimeStamp" {
		return t.individual(w, p)
	}
	for _, r := range t.x.References {
		if isSignedProperties(r.Type) {
			continue
		}
		if err := t.x.Write(w, r, t.outside, t.m); err != nil {
			return err
		}
	}
	return nil
}

func (t *stamped) individual(w io.Writer, p *xmldom.Node) error {
	for _, inc := range includes(p) {
		id := strings.TrimPrefix(inc.Attr("URI"), "#")
		i := slices.IndexFunc(t.x.References, func(r *xmldsig.Reference) bool { return r.ID != "" && r.ID == id })
		if i < 0 {
			return fmt.Errorf("%w: #%s", xmldsig.ErrMissing, id)
		}
		if err := t.x.Write(w, t.x.References[i], t.outside, t.m); err != nil {
			return err
		}
	}
	return nil
}

// refs writes the references to validation data before a time-stamp. The second version of the
// time-stamp covers the second version of the references.
func (t *stamped) refs(w io.Writer, p *xmldom.Node, more ...string) error {
	want := append(more, "CompleteRevocationRefs", "AttributeRevocationRefs")
	if p != nil && strings.HasSuffix(p.Name.Local, "V2") {
		want = append(want, "CompleteCertificateRefsV2", "AttributeCertificateRefsV2")
	} else {
		want = append(want, "CompleteCertificateRefs", "AttributeCertificateRefs")
	}
	for u := range t.unsigned.Elements() {
		if u == p {
			return nil
		}
		if slices.Contains(want, u.Name.Local) {
			if err := t.node(w, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// archive is EN 319 132-1, 5.5.2.2: the data of all references, SignedInfo,
// SignatureValue, KeyInfo, the unsigned properties so far, and the objects.
func (t *stamped) archive(w io.Writer, p *xmldom.Node) error {
	for _, r := range t.x.References {
		if err := t.x.Write(w, r, t.outside, t.m); err != nil {
			return err
		}
	}
	for _, n := range []*xmldom.Node{t.x.SignedInfo, t.x.ValueNode, t.x.KeyInfo} {
		if err := t.node(w, n); err != nil {
			return err
		}
	}
	for u := range t.unsigned.Elements() {
		if u == p {
			break
		}
		if err := t.node(w, u); err != nil {
			return err
		}
	}
	return t.objects(w, p != nil && p.Name.Space != ns141)
}

// objects writes the objects without qualifying properties. The time-stamps of 1.3.2 leave out
// those already included by a reference.
func (t *stamped) objects(w io.Writer, old bool) error {
	for _, o := range t.x.Objects {
		qualifying := slices.ContainsFunc(slices.Collect(o.Elements()), func(n *xmldom.Node) bool {
			return n.Name.Local == "QualifyingProperties" && isXAdES(n.Name.Space)
		})
		if qualifying || old && t.referenced(o) {
			continue
		}
		if err := t.node(w, o); err != nil {
			return err
		}
	}
	return nil
}

func (t *stamped) referenced(o *xmldom.Node) bool {
	id := o.Attr("Id")
	return id != "" && slices.ContainsFunc(t.x.References, func(r *xmldsig.Reference) bool { return r.URI == "#"+id })
}
