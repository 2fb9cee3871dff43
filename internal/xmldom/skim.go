package xmldom

import (
	"context"
	"slices"
)

// Skim is ParseContext for those who want the tree of a signature and of what is
// around it, and the rest to be digested: everything is read and checked alike,
// but elements that are spelled as canonical XML spells them (AsWritten), or as
// <a/>, leave one node for all that stand side by side, of kind Folded. Elements of the
// namespace to keep and all that is in them stay; so does what has an
// identifier, what declares a namespace, what may name one in a value, and all
// that is around those. In what is folded exclusive canonicalisation of the whole
// document would write no declaration.
//
// Whoever needs more of the tree says so by Want, and so do the methods here
// that find themselves in need of it. Then Wanted is true, what was found out is
// worth nothing, and the document is to be parsed.
//
// Of 50 KB that a program wrote the tree is 3,700 nodes, and making it was half
// of all that is done for a signature beside the key's work. Two are left of it.
func Skim(ctx context.Context, b []byte, lim Limits, keep string) (*Document, error) {
	return read(ctx, b, lim, &skimmer{keep: keep})
}

// Want says that somebody needs what is folded in a node.
func (n *Node) Want() { n.Origin().wanted = true }

// Wanted reports whether somebody needed what is folded.
func (d *Document) Wanted() bool { return d.origin.wanted }

// folds reports whether there may be elements of a local name in what is folded.
func (o *Origin) folds(local string) bool {
	return slices.ContainsFunc(o.names, func(n *Name) bool { return n.Local == local && n.Space != o.keep })
}

// FewPrefixes are used in what is folded. Each has to be looked for among the
// declarations in force where it is canonicalised, of which a hostile document
// has many.
const FewPrefixes = 4

// skimmer is what the parser knows when it skims.
type skimmer struct {
	keep    string
	kept    int      // open elements of that namespace
	visible uint32   // prefixes that the open elements use since they were declared
	outer   []uint32 // the same around each of them
	// unusual are where elements begin that are known to hold something that
	// cannot be folded: each in the one before.
	unusual []int
	inside  []span // names of the elements that are open within what is looked at
	// What names mean, if what has them can be folded, where these prefixes are
	// usable and since a namespace was declared last, or went out of force.
	elements, attrs [32]*Name
	usable          uint32
	stale           bool
	// A document that is written otherwise is not looked at twice throughout.
	gained, lost int
}

// span is a part of the text.
type span struct{ from, to int }

func (k *skimmer) enter(p *parser, n *Node) {
	k.outer = append(k.outer, k.visible)
	if p.cur == p.d.Node { // what means no namespace needs no declaration
		k.visible = p.bit("") | p.bit("xml")
	}
	for _, b := range n.Bindings() {
		k.visible &^= p.bit(b.Prefix)
		k.stale = true
	}
	own := n.Name.bit
	for _, a := range n.Attrs() {
		if a.Name.Prefix != "" {
			own |= a.Name.bit
		}
	}
	if k.visible |= own; n.Name.Space == k.keep {
		k.kept++
	}
}

func (k *skimmer) leave(n *Node) {
	k.visible, k.outer = k.outer[len(k.outer)-1], k.outer[:len(k.outer)-1]
	if n.Name.Space == k.keep {
		k.kept--
	}
	if len(n.Bindings()) > 0 {
		k.stale = true
	}
}

// fold steps over elements that can be folded, and over white space between and
// behind them. It reports whether there were any.
func (p *parser) fold() bool {
	k := p.skim
	if k.passes(p.i) {
		return false
	}
	if p.cur == p.d.Node || k.kept > 0 || p.ctx.Err() != nil {
		return false
	}
	if k.lost > k.gained+4096 {
		p.skim = nil
		return false
	}
	g := glance{p: p, s: p.s, at: p.i, stop: len(p.s), inside: k.inside[:0], usable: k.visible}
	g.done.end = p.i
	if uri, _ := p.lookup(""); uri != "" {
		// A word may be a name in the default namespace, which is declared where its
		// element is in it.
		g.usable &= p.bit("")
	}
	if k.stale || k.usable != g.usable {
		k.usable, k.elements, k.attrs, k.stale = g.usable, [32]*Name{}, [32]*Name{}, false
	}
	if len(k.unusual) > 0 {
		g.stop = k.unusual[0]
	}
	if !g.elements() {
		k.unusual = append(starts(g.inside), k.unusual...)
	}
	k.inside, k.gained, k.lost = g.inside, k.gained+g.done.end-p.i, k.lost+g.at-g.done.end
	if g.done.end == p.i {
		k.passes(p.i)
		return false
	}
	n, err := p.add(Folded, p.i, g.done.end)
	if err != nil {
		return false // and the next node meets it again
	}
	n.written, n.uses, n.extra = !g.done.empty, g.done.uses, p.d.extra
	p.cur.written, p.cur.uses = p.cur.written && n.written, p.cur.uses|n.uses
	p.i, p.count, p.colons, p.d.folded = g.done.end, p.count+g.done.nodes-1, p.colons+g.done.colons, true
	return true
}

// passes reports whether an element begins here that cannot be folded, and
// forgets it.
func (k *skimmer) passes(at int) bool {
	if len(k.unusual) == 0 || k.unusual[0] != at {
		return false
	}
	k.unusual = k.unusual[1:]
	return true
}

// starts are where elements begin.
func starts(names []span) []int {
	all := make([]int, len(names))
	for i, name := range names {
		all[i] = name.from - 1
	}
	return all
}
