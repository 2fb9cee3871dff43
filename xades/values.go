package xades

import (
	"slices"
	"strings"

	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// values: the prefix in a value such as cur:EUR or xsi:type="p:name" is part of
// what it says, and exclusive canonicalisation writes the declarations of
// prefixes in names only. Where nothing else writes it, it can be bound anew:
// the declaration is content that is not covered. Words in the properties of a
// signature, such as a city, are no names.
func (p *partition) values(n *xmldom.Node, by set, words bool) {
	for _, prefix := range p.look.Bound(n, words) {
		if !p.spend(len(p.regs) + len(p.ids)) {
			return
		}
		counts := make([]int, len(p.ids))
		for _, r := range p.regs {
			if r.kept > 0 && r.dropped == 0 && !r.region.Text && p.look.Declared(r.region, n, prefix) {
				counts[r.sig]++
			}
		}
		if sure := setOf(counts); sure.key != by.key {
			p.content(func() string { return declaration(n, prefix) }, sure)
		}
	}
}

// declaration is the path of the declaration that binds a prefix at a node.
func declaration(n *xmldom.Node, prefix string) string {
	for !slices.ContainsFunc(n.Bindings(), func(b xmldom.Binding) bool { return b.Prefix == prefix }) {
		n = n.Parent
	}
	return strings.TrimSuffix(n.Path()+"/@xmlns:"+prefix, ":")
}

// loose reports whether some value uses a prefix whose declaration some region
// leaves out.
func (p *partition) loose(doc *xmldom.Document) bool {
	var exclusive []*xmldsig.Region
	words := false // an element that is not in the default namespace stands where that begins
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
	var bound uint32 // where the last element ends within which some prefix is bound
	for n := range doc.All() {
		if n.Kind != xmldom.Element {
			continue
		}
		if n.End > bound && slices.ContainsFunc(n.Bindings(), func(b xmldom.Binding) bool { return b.Prefix != "" }) {
			bound = n.End
		}
		words = words || n.Name.Prefix != "" && slices.ContainsFunc(n.Bindings(), func(b xmldom.Binding) bool { return b.Prefix == "" })
		if !words && n.Start >= bound {
			continue // nothing to look up: it was 4 % of reading XAdES-B
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
