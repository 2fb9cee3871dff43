package xmldsig

import (
	"regexp"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/xmldom"
)

const (
	schemaSpace   = "http://www.w3.org/2001/XMLSchema"
	instanceSpace = "http://www.w3.org/2001/XMLSchema-instance"
)

// Bound are the prefixes that the values of an element use as QNames do and
// that are bound there: in its attributes, its text and its instructions. What
// such a value means hangs on the binding. The prefix "" is the default
// namespace, which a name without a colon may be in; words says whether those
// are asked for.
//
// The types of XML Schema itself, which SAML writes everywhere, are left out.
func Bound(n *xmldom.Node, words bool) []string {
	var list []string
	note := func(prefix string) {
		if uri, bound := n.Namespace(prefix); bound && prefix != "xml" && uri != "" && !slices.Contains(list, prefix) {
			list = append(list, prefix)
		}
	}
	for _, a := range n.Attrs() {
		if a.IsID() {
			continue
		}
		if a.Name.Space == instanceSpace && a.Name.Local == "type" {
			prefix, local, colon := strings.Cut(strings.TrimSpace(a.Value), ":")
			if uri, _ := n.Namespace(prefix); colon && uri == schemaSpace && schemaTypes.MatchString(local) {
				continue
			}
		}
		prefixesIn(a.Value, words, note)
	}
	for c := n.First; c != nil; c = c.Next {
		if c.Kind == xmldom.Text || c.Kind == xmldom.ProcInst {
			prefixesIn(c.Data, words, note)
		}
	}
	return list
}

// schemaTypes are the types that XML Schema part 2 defines.
var schemaTypes = regexp.MustCompile(`^(?:any(?:Type|SimpleType|AtomicType|URI)|string|boolean|decimal|float|double|(?:dayTime|yearMonth)?[dD]uration|` +
	`dateTime(?:Stamp)?|time|date|g(?:Year(?:Month)?|Month(?:Day)?|Day)|hexBinary|base64Binary|QName|NOTATION|normalizedString|token|language|` +
	`NMTOKENS?|Name|NCName|ID|IDREFS?|ENTIT(?:Y|IES)|(?:non(?:Positive|Negative)|positive|negative)?[iI]nteger|(?:unsigned(?:Long|Int|Short|Byte))|long|int|short|byte)$`)

// prefixesIn finds what may be QNames in a value: an expression, a list, or one
// alone. A word without a colon is one in the default namespace.
func prefixesIn(value string, words bool, note func(string)) {
	if words {
		if word := strings.Trim(value, " \t\r\n"); word != "" && nameEnd(word) == len(word) && isNameStart(word[0]) {
			note("")
			return
		}
	}
	for from := 0; ; {
		i := strings.IndexByte(value[from:], ':')
		if i < 0 {
			return
		}
		i += from
		from = i + 1
		if from == len(value) || !isNameStart(value[from]) && value[from] != '*' {
			continue
		}
		start := i
		for start > 0 && isNameByte(value[start-1]) {
			start--
		}
		if start > 1 && value[start-1] == ':' && value[start-2] != ':' {
			continue // the second colon of a:b:c, which is no QName
		}
		if prefix := strings.TrimLeft(value[start:i], "-.0123456789"); prefix != "" {
			note(prefix)
		}
	}
}

func nameEnd(s string) int {
	i := 0
	for i < len(s) && isNameByte(s[i]) {
		i++
	}
	return i
}

func isNameStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func isNameByte(c byte) bool { return isNameStart(c) || c >= '0' && c <= '9' || c == '-' || c == '.' }

// Declares reports whether the octets of a region hold the declaration of a
// prefix that is in force at a node. Exclusive canonicalisation writes those of
// prefixes in names, and of those that it lists (clause 3).
func (g *Region) Declares(n *xmldom.Node, prefix string) bool {
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

// Loose reports whether a value of an element uses a prefix whose declaration
// is not in the octets of the region.
func (g *Region) Loose(n *xmldom.Node) bool {
	return g.Method.Exclusive && slices.ContainsFunc(Bound(n, true), func(p string) bool { return !g.Declares(n, p) })
}

// then is what remains of the namespaces after a second canonicalisation.
func (m Method) then(next Method) Method {
	switch {
	case !next.Exclusive:
		return m
	case !m.Exclusive:
		m.Prefixes = next.Prefixes
	default:
		m.Prefixes = slices.DeleteFunc(slices.Clone(m.Prefixes), func(p string) bool { return !slices.Contains(next.Prefixes, p) })
	}
	m.Exclusive = true
	return m
}
