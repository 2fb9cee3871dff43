package xmldsig

import (
	"bytes"
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/xmldom"
)

// Of the Open Packaging Conventions (ISO/IEC 29500-2).
const (
	// RelationshipTransform digests some of the relationships of a part, regardless of their order
	// (clause 10.5.8.3).
	RelationshipTransform = "http://schemas.openxmlformats.org/package/2006/RelationshipTransform"

	relationshipSpace = "http://schemas.openxmlformats.org/package/2006/relationships"
	packageSignature  = "http://schemas.openxmlformats.org/package/2006/digital-signature"
	maxRelationships  = 1 << 16
)

// Relationship is an entry of a relationships part.
type Relationship struct{ ID, Type, Target, Mode string }

// Relationships parses a relationships part. It is strict: anything that a lenient reader might
// take for another relationship, or for a second one with the same id, is an error.
func Relationships(d *xmldom.Document) ([]Relationship, error) {
	root := d.Root()
	if !root.Is(relationshipSpace, "Relationships") || len(root.Attrs()) > 0 {
		return nil, errors.New("not a part of relationships")
	}
	var out []Relationship
	seen := map[string]bool{}
	for n := root.First; n != nil; n = n.Next {
		switch {
		case n.Kind == xmldom.Comment || n.Kind == xmldom.Text && strings.TrimSpace(n.Data) == "":
			continue
		case !n.Is(relationshipSpace, "Relationship") || hasElements(n) || strings.TrimSpace(n.Text()) != "":
			return nil, errors.New("something else than a relationship stands among them")
		}
		r := Relationship{Mode: "Internal"}
		for _, a := range n.Attrs() {
			switch {
			case a.Name.Space != "":
				return nil, fmt.Errorf("a relationship has the attribute %s", clip(a.Name.QName))
			case a.Name.Local == "Id":
				r.ID = a.Value
			case a.Name.Local == "Type":
				r.Type = a.Value
			case a.Name.Local == "Target":
				r.Target = a.Value
			case a.Name.Local == "TargetMode":
				r.Mode = a.Value
			default:
				return nil, fmt.Errorf("a relationship has the attribute %s", clip(a.Name.QName))
			}
		}
		switch {
		case r.ID == "" || r.Type == "" || r.Mode != "Internal" && r.Mode != "External":
			return nil, errors.New("a relationship lacks its id, its type or a known mode")
		case seen[r.ID]:
			return nil, fmt.Errorf("two relationships with the id %q", clip(r.ID))
		case len(out) == maxRelationships:
			return nil, fmt.Errorf("%w: more than %d relationships", xmldom.ErrLimit, maxRelationships)
		}
		seen[r.ID] = true
		out = append(out, r)
	}
	return out, nil
}

// related returns the relationships selected by a transform, in the order in which they are
// digested.
func related(d *xmldom.Document, t *xmldom.Node) ([]Relationship, error) {
	all, err := Relationships(d)
	if err != nil {
		return nil, err
	}
	ids, types := map[string]bool{}, map[string]bool{}
	for c := range t.Elements() {
		switch {
		case c.Is(packageSignature, "RelationshipReference"):
			ids[c.Attr("SourceId")] = true
		case c.Is(packageSignature, "RelationshipsGroupReference"):
			types[c.Attr("SourceType")] = true
		default:
			return nil, fmt.Errorf("%w: %s in a transform of relationships", ErrNotEvaluated, clip(c.Name.QName))
		}
	}
	all = slices.DeleteFunc(all, func(r Relationship) bool { return !ids[r.ID] && !types[r.Type] })
	slices.SortFunc(all, func(a, b Relationship) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// relationships applies the transform. Its output is already canonical.
func (s *Signature) relationships(d *data, t *xmldom.Node) (*data, error) {
	d, err := s.nodes(d)
	if err != nil {
		return nil, err
	}
	list, err := related(d.doc, t)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(`<Relationships xmlns="` + relationshipSpace + `">`)
	for n := d.doc.Root().First; n != nil && s.blankElements; n = n.Next {
		if n.Kind == xmldom.Text {
			b.WriteString("<text></text>")
		}
	}
	for _, r := range list {
		b.WriteString(`<Relationship Id="` + attribute.Replace(r.ID) + `" Target="` + attribute.Replace(r.Target) +
			`" TargetMode="` + r.Mode + `" Type="` + attribute.Replace(r.Type) + `"></Relationship>`)
	}
	b.WriteString(`</Relationships>`)
	return &data{octets: b.Bytes()}, s.reserve(int64(b.Len()))
}

// blanksDigested reports whether a digest of relationships is that of xmlsec, and so of
// LibreOffice, which write an element for every blank between relationships (clause 10.5.8.3
// removes these). The relationships that are digested are the same.
func (s *Signature) blanksDigested(r *Reference, ext Resolver, w hash.Hash) bool {
	steps, err := transforms(r.Node)
	if err != nil || len(steps) == 0 || steps[0].Attr("Algorithm") != RelationshipTransform {
		return false
	}
	s.blankElements = true
	defer func() { s.blankElements = false }()
	w.Reset()
	return s.Write(w, r, ext, Method{}) == nil && subtle.ConstantTimeCompare(w.Sum(nil), r.Digest) == 1
}

var attribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;")

// Related returns the ids of the relationships that a reference to a relationships part covers. ok
// is false for a reference without such a transform, and for one that does anything else but
// canonicalise.
func (s *Signature) Related(r *Reference, src Source) (ids []string, ok bool) {
	steps, err := transforms(r.Node)
	if err != nil || len(steps) == 0 || steps[0].Attr("Algorithm") != RelationshipTransform {
		return nil, false
	}
	for _, t := range steps[1:] {
		if _, err := MethodOf(t); err != nil {
			return nil, false
		}
	}
	defer s.release(s.reserved, len(s.parsed))
	d, err := s.nodes(&data{source: src})
	if err != nil {
		return nil, false
	}
	list, err := related(d.doc, steps[0])
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids, err == nil
}
