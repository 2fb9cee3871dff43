package xmldsig

import (
	"fmt"
	"slices"

	"rogito.dev/rogito/internal/xmldom"
)

// Region is what a reference covers within its document, after its transforms.
// The nodes are those that are digested: nothing is looked up a second time.
type Region struct {
	Set NodeSet
	// Text: only the character data is digested (base64).
	Text bool
	// Comments: the comments of the set are digested.
	Comments bool
	// Method of canonicalisation that the octets are made with; of several, what
	// they leave of the namespaces.
	Method Method
}

// Region finds out what a reference covers. It fails with ErrMissing where
// that is not in the document, and with ErrNotEvaluated where it cannot be told.
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

// Top is the one node that a region is about: the target of the reference, or
// the element that a filter narrows it down to. It is nil where there are none
// or several.
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

// Complete reports whether nothing of the top is taken away, but perhaps one
// subtree.
func (g *Region) Complete(but *xmldom.Node) bool {
	top := g.Top()
	return top != nil && !g.Text && !slices.ContainsFunc(g.Set.Drop, func(n *xmldom.Node) bool {
		return n.Contains(top) || n != but && top.Contains(n)
	})
}

// Subject is the node that a reference is about, nothing of it taken away but
// perhaps this signature.
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

// Element is the element all of which a reference covers, this signature apart.
// Whoever relies on signed data takes it from here and does not search for it:
// what is found by a name or an Id may be another one.
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
