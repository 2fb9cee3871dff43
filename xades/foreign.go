package xades

import (
	"iter"
	"slices"

	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/foreign"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// rejectForeign rejects a document with an unsigned place where a PDF may begin or continue:
// comments, the text of KeyInfo and unsigned properties may contain anything, and PDF readers
// search a file for its parts. Such a mark in signed content was written by the signer. If the
// octets differ from the parsed text, none is allowed anywhere.
func (r *reader) rejectForeign() {
	octets := r.doc.Octets()
	if !foreign.PDFIn(octets) {
		return
	}
	if r.doc.Same() {
		octets = octets[len(octets)-len(r.doc.Source()):] // nodes are counted from behind the byte order mark
		next, stop := iter.Pull(foreign.Marks(octets))
		defer stop()
		m := &marks{reader: r, next: next}
		if m.advance(); m.signed(r.doc.Node) {
			return
		}
	}
	p := finding.HoldsOtherDocument.Problem("")
	r.out.Problems = append(r.out.Problems, p)
	for _, s := range r.out.Signatures {
		s.Problems = append(s.Problems, p)
	}
}

// marks walks through a document from mark to mark.
type marks struct {
	*reader
	next  func() (int, bool)
	at    uint32 // position of the next mark
	more  bool
	steps int
}

func (m *marks) advance() {
	at, ok := m.next()
	m.at, m.more = uint32(at), ok
}

// signed reports whether all marks in a node are covered by a signature.
func (m *marks) signed(n *xmldom.Node) bool {
	for c := n.First; c != nil && m.more; c = c.Next {
		if !m.covered(n, c.Start) || m.more && m.at < c.End && !m.signed(c) {
			return false
		}
	}
	if n.Kind == xmldom.DocumentNode {
		return !m.more
	}
	return m.covered(n, n.End)
}

// covered reports whether the node itself is covered if there are marks up to its end, and
// continues behind it.
func (m *marks) covered(n *xmldom.Node, end uint32) bool {
	if !m.more || m.at >= end {
		return true
	}
	found := slices.ContainsFunc(m.tops, func(s *sigReader) bool {
		return slices.ContainsFunc(s.regions, func(g signedRegion) bool {
			m.steps++
			return holds(g.region, n)
		})
	})
	for m.more && m.at < end {
		m.advance()
	}
	return found && m.steps < maxSteps>>8 && m.ctx.Err() == nil
}

// holds reports whether the octets of a region contain a node itself.
func holds(g *xmldsig.Region, n *xmldom.Node) bool {
	contains := func(top *xmldom.Node) bool { return top.Contains(n) }
	switch {
	case n.Kind == xmldom.DocumentNode, n.Kind == xmldom.Comment && !g.Comments, g.Text && n.Kind != xmldom.Text:
		return false
	case !g.Set.Apex.Contains(n), slices.ContainsFunc(g.Set.Drop, contains):
		return false
	}
	return g.Set.Keep == nil || slices.ContainsFunc(g.Set.Keep, contains)
}
