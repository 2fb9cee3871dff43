package xades

import (
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// whole reports whether everything in the document that could be taken for
// content is under this signature. Signatures themselves are no content; a
// wrapper element without attributes or text of its own is none either.
func (s *sigReader) whole() bool {
	covered := map[*xmldom.Node]bool{}
	for i, r := range s.x.References {
		if i >= len(s.sig.References) {
			break
		}
		if s.checked(r) != ades.Yes {
			continue
		}
		switch cover, n := s.x.Covers(r); {
		case cover == xmldsig.Whole:
			return true
		case cover == xmldsig.Part && s.x.Complete(r):
			covered[n] = true
		}
	}
	return s.covers(s.doc.Root(), covered)
}

// checked is the verdict on a reference of SignedInfo.
func (s *sigReader) checked(r *xmldsig.Reference) ades.Tri {
	for _, ref := range s.sig.References {
		if ref.Kind != "manifest-entry" && ref.URI == r.URI && string(ref.Value) == string(r.Digest) {
			return ref.Intact
		}
	}
	return ades.Unknown
}

func (s *sigReader) covers(n *xmldom.Node, covered map[*xmldom.Node]bool) bool {
	if covered[n] {
		return true
	}
	if n.Is(ds, "Signature") {
		return n != s.x.Node || s.objectsCovered(covered)
	}
	for _, a := range n.Attrs() {
		if a.Name.Local != "Id" {
			return false
		}
	}
	empty := true
	for c := n.First; c != nil; c = c.Next {
		switch c.Kind {
		case xmldom.Element:
			empty = false
			if !s.covers(c, covered) {
				return false
			}
		case xmldom.Text:
			if strings.TrimSpace(c.Data) != "" {
				return false
			}
		}
	}
	return !empty
}

// objectsCovered reports whether all objects but the properties are signed.
func (s *sigReader) objectsCovered(covered map[*xmldom.Node]bool) bool {
	for _, o := range s.x.Objects {
		if covered[o] || s.signed != nil && s.signed.Parent.Parent == o {
			continue
		}
		for c := range o.Elements() {
			if !covered[c] {
				return false
			}
		}
		if o.First != nil && o.First.Kind == xmldom.Text && strings.TrimSpace(o.Text()) != "" {
			return false
		}
	}
	return true
}
