package xmldom

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Kind is the kind of a node.
type Kind uint8

const (
	DocumentNode Kind = iota
	Element
	Text // character data or a CDATA section; adjacent ones are not merged
	Comment
	ProcInst
)

// Name is an element's or attribute's name with its namespace. Names are shared between nodes.
type Name struct {
	Space  string // namespace URI, "" for none
	Prefix string
	Local  string
	QName  string // as written
}

// Attr is an attribute other than a namespace declaration, with its value normalised like a CDATA
// attribute's.
type Attr struct {
	Name  *Name
	Value string
}

// Binding is a namespace declaration; an empty URI undeclares the default.
type Binding struct {
	Prefix string
	URI    string
}

// Node is a node of the tree.
type Node struct {
	Parent, First, Next *Node
	// Name of an element; for a processing instruction QName is its target.
	Name *Name
	// Data of a text (unescaped, line ends normalised), comment or PI.
	Data string

	extra *extra
	// Start and End delimit the node's text; Inner and InnerEnd the content of an element, which
	// for <a/> is empty and before the slash.
	Start, Inner, InnerEnd, End uint32
	Kind                        Kind
	// Mark can be used by one walk over the tree.
	Mark bool
}

// extra is what only some elements, and the document node, have.
type extra struct {
	attrs    []Attr
	bindings []Binding
	origin   *Origin // of the document node
}

// Origin is what a tree was read from.
type Origin struct {
	Text     string
	declared []string // prefixes declared by some element,
	more     bool     // and too many to list
	names    []*Name  // every one in use, some more than once
}

// maxDeclared bounds the list of declared prefixes, which is searched linearly.
const maxDeclared = 64

// Declares reports whether some element may declare a prefix.
func (o *Origin) Declares(prefix string) bool {
	return o.more || slices.Contains(o.declared, prefix)
}

// Origin is that of the tree that contains the node.
func (n *Node) Origin() *Origin {
	for n.extra == nil || n.extra.origin == nil {
		n = n.Parent
	}
	return n.extra.origin
}

// Attrs returns the attributes in text order.
func (n *Node) Attrs() []Attr {
	if n.extra == nil {
		return nil
	}
	return n.extra.attrs
}

// Bindings returns the namespace declarations of this element itself.
func (n *Node) Bindings() []Binding {
	if n.extra == nil {
		return nil
	}
	return n.extra.bindings
}

// Is reports whether the node is an element of that name.
func (n *Node) Is(space, local string) bool {
	return n != nil && n.Kind == Element && n.Name.Local == local && n.Name.Space == space
}

// Attr is the value of the attribute without namespace, or "".
func (n *Node) Attr(local string) string {
	v, _ := n.LookupAttr("", local)
	return v
}

// LookupAttr is the value of an attribute, and whether there is one.
func (n *Node) LookupAttr(space, local string) (string, bool) {
	for _, a := range n.Attrs() {
		if a.Name.Local == local && a.Name.Space == space {
			return a.Value, true
		}
	}
	return "", false
}

// ID is the element's identifier, or "".
func (n *Node) ID() string {
	for _, a := range n.Attrs() {
		if isID(a.Name) {
			return a.Value
		}
	}
	return ""
}

// Elements are the child elements in order.
func (n *Node) Elements() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		if n == nil {
			return
		}
		for c := n.First; c != nil; c = c.Next {
			if c.Kind == Element && !yield(c) {
				return
			}
		}
	}
}

// Child is the first child element of that name, or nil. It may be called on nil.
func (n *Node) Child(space, local string) *Node {
	for c := range n.Elements() {
		if c.Is(space, local) {
			return c
		}
	}
	return nil
}

// Find descends by child names in one namespace; nil if a step fails.
func (n *Node) Find(space string, locals ...string) *Node {
	for _, l := range locals {
		n = n.Child(space, l)
	}
	return n
}

// Children are the child elements of that name.
func (n *Node) Children(space, local string) []*Node {
	var found []*Node
	for c := range n.Elements() {
		if c.Is(space, local) {
			found = append(found, c)
		}
	}
	return found
}

// All walks the node and everything below it in document order.
func (n *Node) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for c := n; c != nil; c = c.after(n) {
			if !yield(c) {
				return
			}
		}
	}
}

// after is the next node in document order within top.
func (n *Node) after(top *Node) *Node {
	if n.First != nil {
		return n.First
	}
	for ; n != top; n = n.Parent {
		if n.Next != nil {
			return n.Next
		}
	}
	return nil
}

// Descendants are the elements of that name below the node.
func (n *Node) Descendants(space, local string) []*Node {
	var found []*Node
	for c := range n.All() {
		if c != n && c.Is(space, local) {
			found = append(found, c)
		}
	}
	return found
}

// Text is the concatenated character data of the node and its descendants, without comments.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	if n.Kind != Element && n.Kind != DocumentNode {
		return n.Data
	}
	if n.First != nil && n.First.Next == nil && n.First.Kind == Text {
		return n.First.Data
	}
	var b strings.Builder
	for c := range n.All() {
		if c.Kind == Text {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// Contains reports whether other is the node or a descendant.
func (n *Node) Contains(other *Node) bool {
	for ; other != nil; other = other.Parent {
		if other == n {
			return true
		}
	}
	return false
}

// Namespace is the URI that a prefix is bound to at this element.
func (n *Node) Namespace(prefix string) (string, bool) {
	if prefix == "xml" {
		return xmlSpace, true
	}
	for ; n != nil; n = n.Parent {
		for _, b := range n.Bindings() {
			if b.Prefix == prefix {
				return b.URI, b.URI != ""
			}
		}
	}
	return "", false
}

// Path is an XPath to the node, by local names and positions.
func (n *Node) Path() string {
	if n == nil || n.Parent == nil {
		return "/"
	}
	var steps []string
	for ; n.Parent != nil; n = n.Parent {
		steps = append(steps, n.step())
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		b.WriteString("/" + steps[i])
	}
	return b.String()
}

func (n *Node) step() string {
	if n.Kind != Element {
		return "node()"
	}
	pos, more := 1, false
	for c := n.Parent.First; c != nil; c = c.Next {
		switch {
		case c == n:
			more = true
		case c.Kind == Element && c.Name.Local == n.Name.Local && more:
			return fmt.Sprintf("%s[%d]", n.Name.Local, pos)
		case c.Kind == Element && c.Name.Local == n.Name.Local:
			pos++
		}
	}
	if pos > 1 {
		return fmt.Sprintf("%s[%d]", n.Name.Local, pos)
	}
	return n.Name.Local
}
