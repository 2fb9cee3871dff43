package xmldsig

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/xmldom"
)

const xmlSpace = "http://www.w3.org/XML/1998/namespace"

// NodeSet is a part of a document: a subtree except for excluded parts.
type NodeSet struct {
	Apex *xmldom.Node // an element or the document node
	// Comments reports whether comments are in the set: a reference to the whole document by "" or
	// to an element by its bare Id excludes them.
	Comments bool
	// Keep, if not nil, limits the set to these subtrees.
	Keep []*xmldom.Node
	// Drop are excluded subtrees.
	Drop []*xmldom.Node
}

// all reports whether the set is the plain subtree.
func (s *NodeSet) all() bool { return s.Keep == nil && len(s.Drop) == 0 }

// Canonicalize writes the canonical form of a set of nodes, by Canonical XML 1.0 or 1.1 or
// Exclusive Canonicalization 1.0. It works in the original tree, so that namespaces and xml:
// attributes are those in scope.
func Canonicalize(w io.Writer, set NodeSet, m Method) error {
	c := canonicalizer{w: w, m: m, set: &set, buf: make([]byte, 0, spillAt+1<<10)}
	c.comments = m.Comments && set.Comments
	if len(set.Drop) > 8 { // a hostile document may have thousands
		c.dropped = make(map[*xmldom.Node]bool, len(set.Drop))
		for _, n := range set.Drop {
			c.dropped[n] = true
		}
	}
	if !c.leftOut(set.Apex) {
		c.enterAncestors(set.Apex)
		c.node(set.Apex, c.kept(set.Apex))
		c.flush()
	}
	return c.err
}

// Canonical is the canonical form of a subtree in memory, with or without comments depending on the
// method.
func Canonical(n *xmldom.Node, m Method) []byte {
	var b bytes.Buffer
	_ = Canonicalize(&b, NodeSet{Apex: n, Comments: true}, m) // a Buffer does not fail
	return b.Bytes()
}

type canonicalizer struct {
	w        io.Writer
	err      error
	m        Method
	set      *NodeSet
	comments bool
	dropped  map[*xmldom.Node]bool
	buf      []byte

	scope    []xmldom.Binding // all declarations in scope, innermost last
	rendered []xmldom.Binding // those written by open elements
	out      []xmldom.Binding // scratch: to be written by this element
	attrs    []xmldom.Attr    // scratch
	extra    []xmldom.Attr    // scratch: attributes inherited by an orphan
}

// enterAncestors brings the declarations above the apex into scope.
func (c *canonicalizer) enterAncestors(apex *xmldom.Node) {
	var up []*xmldom.Node
	for n := apex.Parent; n != nil; n = n.Parent {
		up = append(up, n)
	}
	for _, n := range slices.Backward(up) {
		c.scope = append(c.scope, n.Bindings()...)
	}
}

// kept reports whether the apex is in one of the kept subtrees.
func (c *canonicalizer) kept(n *xmldom.Node) bool {
	if c.set.Keep == nil {
		return true
	}
	for _, k := range c.set.Keep {
		if k.Contains(n) {
			return true
		}
	}
	return false
}

// leftOut reports whether the apex is in a dropped subtree.
func (c *canonicalizer) leftOut(n *xmldom.Node) bool {
	for ; n != nil && len(c.set.Drop) > 0; n = n.Parent {
		if c.drops(n) {
			return true
		}
	}
	return false
}

func (c *canonicalizer) flush() {
	if c.err == nil && len(c.buf) > 0 {
		_, c.err = c.w.Write(c.buf)
	}
	c.buf = c.buf[:0]
}

// node walks down; in reports whether the parent is in the set.
func (c *canonicalizer) node(n *xmldom.Node, in bool) {
	if c.err != nil {
		return
	}
	if !c.set.all() {
		if c.drops(n) {
			return
		}
		in = in || slices.Contains(c.set.Keep, n)
	}
	switch n.Kind {
	case xmldom.DocumentNode:
		c.document(n, in)
	case xmldom.Element:
		c.element(n, in)
	case xmldom.Text:
		if in {
			c.buf = textEscapes.append(c.buf, n.Data)
			c.spill()
		}
	case xmldom.Comment:
		if in && c.comments {
			c.buf = append(append(append(c.buf, "<!--"...), n.Data...), "-->"...)
		}
	case xmldom.ProcInst:
		if in {
			c.procInst(n)
		}
	}
}

func (c *canonicalizer) drops(n *xmldom.Node) bool {
	if c.dropped != nil {
		return c.dropped[n]
	}
	return slices.Contains(c.set.Drop, n)
}

// spillAt is how much is written at once.
const spillAt = 4 << 10

func (c *canonicalizer) spill() {
	if len(c.buf) > spillAt {
		c.flush()
	}
}

// document separates comments and instructions from the root by line feeds.
func (c *canonicalizer) document(n *xmldom.Node, in bool) {
	before := true
	for ch := n.First; ch != nil; ch = ch.Next {
		if ch.Kind == xmldom.Element {
			c.node(ch, in)
			before = false
			continue
		}
		if ch.Kind == xmldom.Comment && !c.comments || !in {
			continue
		}
		if !before {
			c.buf = append(c.buf, '\n')
		}
		c.node(ch, in)
		if before {
			c.buf = append(c.buf, '\n')
		}
	}
}

func (c *canonicalizer) procInst(n *xmldom.Node) {
	c.buf = append(append(c.buf, "<?"...), n.Name.QName...)
	if n.Data != "" {
		c.buf = append(append(c.buf, ' '), n.Data...)
	}
	c.buf = append(c.buf, "?>"...)
}

func (c *canonicalizer) element(n *xmldom.Node, in bool) {
	scope, rendered := len(c.scope), len(c.rendered)
	if bindings := n.Bindings(); len(bindings) > 0 {
		c.scope = append(c.scope, bindings...)
	}
	if in {
		c.startTag(n)
	}
	for ch := n.First; ch != nil; ch = ch.Next {
		c.node(ch, in)
	}
	if in {
		c.buf = append(append(append(c.buf, "</"...), n.Name.QName...), '>')
		c.spill()
	}
	if len(c.scope) > scope || len(c.rendered) > rendered {
		c.scope, c.rendered = c.scope[:scope], c.rendered[:rendered]
	}
}

// orphan reports whether the element is in the set and its parent is not.
func (c *canonicalizer) orphan(n *xmldom.Node) bool {
	return n == c.set.Apex || c.set.Keep != nil && slices.Contains(c.set.Keep, n)
}

func (c *canonicalizer) startTag(n *xmldom.Node) {
	c.buf = append(append(c.buf, '<'), n.Name.QName...)
	c.out = c.out[:0]
	orphan := c.orphan(n)
	if c.m.Exclusive {
		c.exclusive(n, orphan)
	} else {
		c.inclusive(n, orphan)
	}
	if len(c.out) > 0 {
		slices.SortFunc(c.out, func(a, b xmldom.Binding) int { return strings.Compare(a.Prefix, b.Prefix) })
		for _, b := range c.out {
			c.binding(b)
		}
		c.rendered = append(c.rendered, c.out...)
	}
	c.attributes(n, orphan)
	c.buf = append(c.buf, '>')
}

func (c *canonicalizer) binding(b xmldom.Binding) {
	c.buf = append(c.buf, " xmlns"...)
	if b.Prefix != "" {
		c.buf = append(append(c.buf, ':'), b.Prefix...)
	}
	c.buf = append(attrEscapes.append(append(c.buf, `="`...), b.URI), '"')
}

// inclusive writes every declaration in scope that no output ancestor has written.
func (c *canonicalizer) inclusive(n *xmldom.Node, orphan bool) {
	for _, b := range c.declared(n, orphan) {
		c.want(b)
	}
}

// declared returns the declarations of an element, or, if its parent is not in the set, those in
// scope: of a prefix the innermost, even if it undoes another.
func (c *canonicalizer) declared(n *xmldom.Node, orphan bool) []xmldom.Binding {
	if !orphan {
		return n.Bindings()
	}
	var own []xmldom.Binding
	for _, b := range slices.Backward(c.scope) {
		if !slices.ContainsFunc(own, func(o xmldom.Binding) bool { return o.Prefix == b.Prefix }) {
			own = append(own, b)
		}
	}
	return own
}

// exclusive writes the declarations of prefixes that the element uses, and of those listed in the
// transform.
func (c *canonicalizer) exclusive(n *xmldom.Node, orphan bool) {
	c.use(n.Name)
	for _, a := range n.Attrs() {
		if a.Name.Prefix != "" {
			c.use(a.Name)
		}
	}
	if len(c.m.Prefixes) == 0 {
		return
	}
	for _, b := range c.declared(n, orphan) {
		if slices.Contains(c.m.Prefixes, b.Prefix) {
			c.want(b)
		}
	}
}

func (c *canonicalizer) use(n *xmldom.Name) {
	c.want(xmldom.Binding{Prefix: n.Prefix, URI: n.Space})
}

// want writes a declaration unless an output ancestor, or this element, already has it.
func (c *canonicalizer) want(b xmldom.Binding) {
	if b.Prefix == "xml" {
		return
	}
	for _, o := range c.out {
		if o.Prefix == b.Prefix {
			return
		}
	}
	for _, r := range slices.Backward(c.rendered) {
		if r.Prefix == b.Prefix {
			if r.URI != b.URI {
				c.out = append(c.out, b)
			}
			return
		}
	}
	if b.URI != "" { // xmlns="" is only written to undo another
		c.out = append(c.out, b)
	}
}

func (c *canonicalizer) attributes(n *xmldom.Node, orphan bool) {
	attrs := n.Attrs()
	if orphan && !c.m.Exclusive && n.Parent != nil {
		if c.extra = c.inherit(n, c.extra[:0]); len(c.extra) > 0 {
			attrs = c.merge(attrs)
		}
	}
	switch len(attrs) {
	case 0:
		return
	case 1:
		c.attribute(attrs[0])
		return
	}
	c.attrs = append(c.attrs[:0], attrs...)
	slices.SortFunc(c.attrs, func(a, b xmldom.Attr) int {
		if o := strings.Compare(a.Name.Space, b.Name.Space); o != 0 {
			return o
		}
		return strings.Compare(a.Name.Local, b.Name.Local)
	})
	for _, a := range c.attrs {
		c.attribute(a)
	}
}

// merge joins inherited attributes with the element's own; an inherited one replaces the own one of
// the same name (xml:base, fixed up).
func (c *canonicalizer) merge(own []xmldom.Attr) []xmldom.Attr {
	all := slices.Clone(c.extra)
	for _, a := range own {
		if !slices.ContainsFunc(c.extra, func(x xmldom.Attr) bool {
			return x.Name.Space == a.Name.Space && x.Name.Local == a.Name.Local
		}) {
			all = append(all, a)
		}
	}
	return all
}

func (c *canonicalizer) attribute(a xmldom.Attr) {
	c.buf = append(append(append(c.buf, ' '), a.Name.QName...), `="`...)
	c.buf = append(attrEscapes.append(c.buf, a.Value), '"')
}

// escapes are the replacements of characters in canonical XML.
type escapes [256]string

var (
	textEscapes = escapes{'&': "&amp;", '<': "&lt;", '>': "&gt;", '\r': "&#xD;"}
	attrEscapes = escapes{'&': "&amp;", '<': "&lt;", '"': "&quot;", '\t': "&#x9;", '\n': "&#xA;", '\r': "&#xD;"}
)

func (e *escapes) append(buf []byte, s string) []byte {
	last := 0
	for i := range len(s) {
		if with := e[s[i]]; with != "" {
			buf = append(append(buf, s[last:i]...), with...)
			last = i + 1
		}
	}
	return append(buf, s[last:]...)
}
