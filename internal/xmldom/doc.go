// Package xmldom parses XML 1.0 (fifth edition) with namespaces into a compact tree in which every
// node knows its position in the text.
//
// It is made for signatures: everything that canonicalisation needs is kept (comments, processing
// instructions, prefixes, normalised attribute values), and since positions are known, a signature
// is inserted by splicing, without rewriting any existing byte.
//
// Document type declarations are rejected before anything is expanded, so there are no entities
// beyond the five predefined ones, no external fetches and no attribute defaults. Everything that
// hostile input can inflate is bounded by [Limits].
package xmldom

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/limits"
)

// Limits bound the resources that a document may use. Zero fields mean the values of DefaultLimits.
type Limits struct {
	Size       int // bytes of text
	Depth      int // nested elements
	Nodes      int // with attributes by their weight
	Attributes int // on one element, namespace declarations included
	Bindings   int // namespace declarations in scope at once
}

// DefaultLimits suffice for genuine documents: the largest trusted list has 3 MB, and signed data
// of a hundred megabytes occurs.
var DefaultLimits = Limits{
	Size: limits.XMLSize, Depth: limits.XMLDepth, Nodes: limits.XMLNodes,
	Attributes: limits.XMLAttributes, Bindings: limits.XMLNamespaces,
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits
	for _, f := range []struct{ got, def *int }{
		{&l.Size, &d.Size},
		{&l.Depth, &d.Depth},
		{&l.Nodes, &d.Nodes},
		{&l.Attributes, &d.Attributes},
		{&l.Bindings, &d.Bindings},
	} {
		if *f.got == 0 {
			*f.got = *f.def
		}
	}
	return l
}

// Errors that callers may distinguish.
var (
	ErrDoctype   = errors.New("document type declarations are refused")
	ErrEntity    = errors.New("entity references are refused")
	ErrLimit     = errors.New("limit exceeded")
	ErrDuplicate = errors.New("identifier is not unique")
	ErrNotFound  = errors.New("identifier not found")
)

// SyntaxError is where a document is not well-formed.
type SyntaxError struct {
	Offset int // in the UTF-8 text
	Line   int
	Err    error
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *SyntaxError) Unwrap() error { return e.Err }

// Document is a parsed text. Its tree must not be changed.
type Document struct {
	*Node         // the document node; its children are the root element, comments and PIs
	text   string // UTF-8, without byte order mark
	enc    encoding
	ids    map[string][]*Node
	marked bool // the root contains something other than elements and text
	origin *Origin
	octets string
	budget *limits.Budget
	spent  int64
}

// Descendants returns the elements with that name. If the name does not occur, no walk is needed.
func (d *Document) Descendants(space, local string) []*Node {
	if !d.Uses(space, local) {
		return nil
	}
	return d.Node.Descendants(space, local)
}

// Uses reports whether an element or attribute of that name may occur.
func (d *Document) Uses(space, local string) bool {
	return slices.ContainsFunc(d.origin.names, func(n *Name) bool { return n.Local == local && n.Space == space })
}

// Plain reports whether there are only elements and text inside the root: no comments, processing
// instructions or CDATA sections.
func (d *Document) Plain() bool { return !d.marked }

// Octets returns the input.
func (d *Document) Octets() string { return d.octets }

// Root is the document's top-level element.
func (d *Document) Root() *Node {
	for c := d.First; c != nil; c = c.Next {
		if c.Kind == Element {
			return c
		}
	}
	return nil
}

// Source is the text in UTF-8, to which the offsets of nodes refer.
func (d *Document) Source() string { return d.text }

// Same reports whether the octets of the document are those of its text, that is, UTF-8.
func (d *Document) Same() bool { return d.enc.codec == nil }

// Raw is the original text of one node.
func (d *Document) Raw(n *Node) string { return d.text[n.Start:n.End] }

// ByID finds the element with an identifier (xml:id, wsu:Id, or an attribute named Id, ID or id).
// It fails with ErrDuplicate if several elements have it, which is how signature wrapping works. An
// identifier is anything that some reader takes for one: an attribute of that name in any case and
// any namespace, ignoring surrounding white space.
func (d *Document) ByID(id string) (*Node, error) {
	found := d.ids[id]
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, clip(id))
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%w: %q", ErrDuplicate, clip(id))
	}
	for _, a := range found[0].Attrs() {
		if isID(a.Name) && a.Value == id {
			return found[0], nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrNotFound, clip(id))
}

// HasID reports whether any element has the identifier.
func (d *Document) HasID(id string) bool { return len(d.ids[id]) > 0 }

// clip shortens hostile text for error messages.
func clip(s string) string {
	if len(s) > 64 {
		s = strings.ToValidUTF8(s[:64], "") + "…"
	}
	return s
}

// mayBeID reports whether some reader takes an attribute for an identifier.
func mayBeID(n *Name) bool { return len(n.Local) == 2 && strings.EqualFold(n.Local, "id") || isID(n) }

// IsID reports whether an attribute is an identifier; an element may have several.
func (a Attr) IsID() bool { return isID(a.Name) }

// isID reports whether an attribute is an identifier by convention, since without a DTD there are
// no declarations.
func isID(n *Name) bool {
	switch n.Local {
	case "Id", "ID", "id", "AssertionID", "ResponseID", "RequestID":
		return n.Space == "" || n.Space == xmlSpace && n.Local == "id" || n.Space == wsuSpace
	}
	return false
}

const (
	xmlSpace   = "http://www.w3.org/XML/1998/namespace"
	xmlnsSpace = "http://www.w3.org/2000/xmlns/"
	wsuSpace   = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
)
