package xmldsig

import (
	"fmt"
	"slices"

	"rogito.dev/rogito/internal/xmldom"
)

// Region is what a reference covers within its document, after its transforms. Its nodes are those
// that are digested: they are not located a second time.
type Region struct {
	Set NodeSet
	// Text: only the character data is digested (base64).
	Text bool
	// Comments: the comments of the set are digested.
	Comments bool
	// Method of canonicalisation that makes the octets; if there are several, their combined effect
	// on namespaces.
	Method Method
}

// Region determines what a reference covers. It fails with ErrMissing if that is not in the
// document, and with ErrNotEvaluated if it cannot be determined.
func (s *Signature) Region(r *Reference) (*Region, error) {
	if _, _, same, err := s.Target(r); !same || err != nil {
		if err == nil {
			err = fmt.Errorf("%w: %q is outside the document", ErrMissing, clip(r.URI))
		}
		return nil, err
	}
	d, steps, err := s.begin(r, nil)
	if err != nil {
		return nil, err
	}
	g := &Region{Set: *d.set}
	for i, t := range steps {
		m, err := MethodOf(t)
		switch {
		case err == nil && i == 0:
			g.Method, g.Comments = m, g.Set.Comments && m.Comments
		case err == nil:
			g.Method, g.Comments = g.Method.then(m), g.Comments && m.Comments
		case t.Attr("Algorithm") == Base64:
			g.Text = true
		default: // a filter on octets that were parsed again, or something unknown
			return nil, fmt.Errorf("%w: transform %q", ErrNotEvaluated, clip(t.Attr("Algorithm")))
		}
	}
	return g, nil
}

// Top is the single top node of a region: the target of the reference, or the element that a filter
// narrows it down to. It is nil if there is none or several.
func (g *Region) Top() *xmldom.Node {
	switch {
	case g.Set.Keep == nil:
		return g.Set.Apex
	case len(g.Set.Keep) != 1:
		return nil
	case g.Set.Keep[0].Contains(g.Set.Apex):
		return g.Set.Apex
	case g.Set.Apex.Contains(g.Set.Keep[0]):
		return g.Set.Keep[0]
	}
	return nil
}

// Holds reports whether an element itself is digested.
func (g *Region) Holds(n *xmldom.Node) bool {
	holds := func(top *xmldom.Node) bool { return top.Contains(n) }
	return !g.Text && g.Set.Apex.Contains(n) && (g.Set.Keep == nil || slices.ContainsFunc(g.Set.Keep, holds)) && !slices.ContainsFunc(g.Set.Drop, holds)
}

// Complete reports whether nothing below the top is excluded, except possibly one subtree.
func (g *Region) Complete(but *xmldom.Node) bool {
	top := g.Top()
	return top != nil && !g.Text && !slices.ContainsFunc(g.Set.Drop, func(n *xmldom.Node) bool {
		return n.Contains(top) || n != but && top.Contains(n)
	})
}

// Subject is the node that a reference covers completely, except possibly for this signature.
func (s *Signature) Subject(r *Reference) (*xmldom.Node, error) {
	g, err := s.Region(r)
	switch {
	case err != nil:
		return nil, err
	case g.Complete(s.Node):
		return g.Top(), nil
	}
	return nil, fmt.Errorf("%w: not one whole element", ErrMissing)
}

// Element is the element that a reference covers completely, except for this signature. Users of
// signed data must take it from here instead of searching for it: a search by name or Id may find
// another one.
func (s *Signature) Element(r *Reference) (*xmldom.Node, error) {
	g, err := s.Region(r)
	if err != nil {
		return nil, err
	}
	n := g.Top()
	if n == s.Doc.Node && n != nil {
		n = s.Doc.Root()
	}
	if !g.Complete(s.Node) || n == nil || n.Kind != xmldom.Element {
		return nil, fmt.Errorf("%w: the reference does not cover one whole element", ErrMissing)
	}
	return n, nil
}
