package xades

import (
	"slices"
	"strings"

	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

const (
	schemaSpace   = "http://www.w3.org/2001/XMLSchema"
	instanceSpace = "http://www.w3.org/2001/XMLSchema-instance"
)

// types: the prefix in xsi:type="p:name" is part of a value, and exclusive
// canonicalisation writes the declarations of prefixes in names only. Where
// nothing else writes it, p can be bound anew, and the type is not covered.
func (p *partition) types(n *xmldom.Node, by set) {
	prefix, ok := typePrefix(n)
	if !ok || !p.spend(8*len(p.regs)) {
		return
	}
	counts := make([]int, len(p.ids))
	for _, r := range p.regs {
		if r.kept > 0 && r.dropped == 0 && !r.region.Text && declares(r.region, n, prefix) {
			counts[r.sig]++
		}
	}
	if sure := setOf(counts); sure.key != by.key {
		p.content(func() string { return n.Path() + "/@xsi:type" }, sure)
	}
}

// typePrefix is the prefix in the type of an element, if it has one that is
// bound, and not to XML Schema itself.
func typePrefix(n *xmldom.Node) (string, bool) {
	value, ok := n.LookupAttr(instanceSpace, "type")
	if !ok {
		return "", false
	}
	prefix, _, colon := strings.Cut(strings.TrimSpace(value), ":")
	if !colon {
		prefix = ""
	}
	uri, bound := n.Namespace(prefix)
	return prefix, bound && uri != schemaSpace
}

// declares reports whether the octets of a region hold the declaration of a
// prefix at a node.
func declares(g *xmldsig.Region, n *xmldom.Node, prefix string) bool {
	if !g.Method.Exclusive || slices.Contains(g.Method.Prefixes, prefix) {
		return true
	}
	for up := n; up != nil && up.Kind == xmldom.Element; up = up.Parent {
		if up.Name.Prefix == prefix || slices.ContainsFunc(up.Attrs(), func(a xmldom.Attr) bool { return prefix != "" && a.Name.Prefix == prefix }) {
			return true
		}
		bound := slices.ContainsFunc(up.Bindings(), func(b xmldom.Binding) bool { return b.Prefix == prefix })
		if bound || up == g.Set.Apex || slices.Contains(g.Set.Keep, up) {
			break
		}
	}
	return false
}
