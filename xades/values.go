package xades

import (
	"slices"
	"strings"

	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// values handles prefixes in values: the prefix in cur:EUR or xsi:type="p:name" is part of the
// meaning, but exclusive canonicalisation only includes declarations of prefixes in names. Unless
// something else includes it, it can be bound to another namespace, so the declaration is uncovered
// content. Words in the properties of a signature, such as a city, are not names.
func (p *partition) values(n *xmldom.Node, by set, words bool) {
	for _, prefix := range p.look.Bound(n, words) {
		p.declared(n, prefix, by)
	}
}

// sentences handles namespace declarations with white space, which are names of nothing but can be
// read. Exclusive canonicalisation leaves out those that no name uses.
func (p *partition) sentences(n *xmldom.Node, by set) {
	for _, b := range n.Bindings() {
		if !isWord(b.URI) && (len(by.sigs) == 0 || !p.names(n, b.URI)) {
			p.declared(n, b.Prefix, by)
		}
	}
}

// names reports whether something in an element has a name in a namespace.
func (p *partition) names(n *xmldom.Node, space string) bool {
	for c := range n.All() {
		if !p.spend(1) || c.Kind == xmldom.Element && (c.Name.Space == space || slices.ContainsFunc(c.Attrs(), func(a xmldom.Attr) bool { return a.Name.Space == space })) {
			return true
		}
	}
	return false
}

// declared records the declaration of a prefix if not all of the signatures, or none, digest it.
func (p *partition) declared(n *xmldom.Node, prefix string, by set) {
	if !p.spend(len(p.regs) + len(p.ids)) {
		return
	}
	counts := make([]int, len(p.ids))
	for _, r := range p.regs {
		if r.kept > 0 && r.dropped == 0 && !r.region.Text && p.look.Declared(r.region, n, prefix) {
			counts[r.sig]++
		}
	}
	if sure := setOf(counts); len(by.sigs) == 0 || sure.key != by.key {
		p.content(func() string { return declaration(n, prefix) }, sure)
	}
}

// declaration is the path of the declaration that binds a prefix at a node.
func declaration(n *xmldom.Node, prefix string) string {
	for !slices.ContainsFunc(n.Bindings(), func(b xmldom.Binding) bool { return b.Prefix == prefix }) {
		n = n.Parent
	}
	return strings.TrimSuffix(n.Path()+"/@xmlns:"+prefix, ":")
}

// loose reports whether a value uses a prefix whose declaration a region leaves out, or a
// declaration may be a sentence.
func (p *partition) loose(doc *xmldom.Document) bool {
	var exclusive []*xmldsig.Region
	words := false // a prefixed element is at the top of a region, or declares the default namespace
	for _, r := range p.regs {
		if r.region.Method.Exclusive && !r.region.Text {
			exclusive = append(exclusive, r.region)
			apex := r.region.Set.Apex
			words = words || r.region.Set.Keep != nil || apex.Kind == xmldom.Element && apex.Name.Prefix != "" && !isXAdES(apex.Name.Space)
		}
	}
	if len(exclusive) == 0 {
		return false
	}
	var bound uint32 // end of the last element within which a prefix is bound
	for n := range doc.All() {
		if n.Kind != xmldom.Element {
			continue
		}
		if slices.ContainsFunc(n.Bindings(), func(b xmldom.Binding) bool { return !isWord(b.URI) }) {
			return true
		}
		if n.End > bound && slices.ContainsFunc(n.Bindings(), func(b xmldom.Binding) bool { return b.Prefix != "" }) {
			bound = n.End
		}
		words = words || n.Name.Prefix != "" && slices.ContainsFunc(n.Bindings(), func(b xmldom.Binding) bool { return b.Prefix == "" })
		if !words && n.Start >= bound {
			continue // nothing to look up; this was 4 % of reading XAdES-B
		}
		for _, prefix := range p.look.Bound(n, words) {
			for _, g := range exclusive {
				if apex := g.Set.Apex; (apex.Kind != xmldom.Element || apex.Start <= n.Start && n.End <= apex.End) && !p.look.Declared(g, n, prefix) {
					return true
				}
			}
		}
	}
	return false
}
