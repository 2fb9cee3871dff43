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

// Lookup finds the bindings of prefixes in values. Spend is called before every step, since a
// hostile document may have many prefixes, and many elements to examine for each; results are
// cached, since they are the same for neighbours of an element.
type Lookup struct {
	Spend func(steps int) bool
	known map[question]bool
}

// question asks whether a prefix is bound at an element, or, with a region, declared there.
type question struct {
	region *Region
	at     *xmldom.Node
	prefix string
}

// maxKnown bounds the cache of a Lookup.
const maxKnown = 1 << 14

// climb calls step for an element, and then for its ancestors, until done.
func (l *Lookup) climb(q question, step func(n *xmldom.Node) (answer, done bool)) bool {
	answer, done := step(q.at)
	if done || q.at.Parent == nil || !l.Spend(1) {
		return answer
	}
	q.at = q.at.Parent
	if answer, done = l.known[q]; done {
		return answer
	}
	for n := q.at; n != nil && !done; n = n.Parent {
		if !l.Spend(1 + len(n.Attrs()) + len(n.Bindings())) {
			return false
		}
		answer, done = step(n)
	}
	if l.known == nil || len(l.known) >= maxKnown {
		l.known = map[question]bool{}
	}
	l.known[q] = answer
	return answer
}

// Bound returns the prefixes that the values of an element use like QNames and that are bound
// there: in its attributes, its text and its instructions. The meaning of such a value depends on
// the binding. The prefix "" is the default namespace, which may apply to a name without a colon;
// words selects whether those are included.
//
// The types of XML Schema itself, which SAML uses everywhere, are not included.
func (l *Lookup) Bound(n *xmldom.Node, words bool) []string {
	origin := n.Origin()
	words = words && origin.Declares("")
	if !words && !hasColon(n) { // true of most elements
		return nil
	}
	return l.bound(n, words, origin)
}

// hasColon reports whether a value of an element has a colon.
func hasColon(n *xmldom.Node) bool {
	for _, a := range n.Attrs() {
		if strings.IndexByte(a.Value, ':') >= 0 {
			return true
		}
	}
	for c := n.First; c != nil; c = c.Next {
		if (c.Kind == xmldom.Text || c.Kind == xmldom.ProcInst) && strings.IndexByte(c.Data, ':') >= 0 {
			return true
		}
	}
	return false
}

func (l *Lookup) bound(n *xmldom.Node, words bool, origin *xmldom.Origin) (list []string) {
	note := func(prefix string) {
		if prefix == "xml" || !l.Spend(1+len(list)) || slices.Contains(list, prefix) || !origin.Declares(prefix) {
			return
		}
		if l.climb(question{nil, n, prefix}, func(n *xmldom.Node) (bool, bool) {
			b := bindingOf(n, prefix)
			return b != nil && b.URI != "", b != nil
		}) {
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

func bindingOf(n *xmldom.Node, prefix string) *xmldom.Binding {
	for i, b := range n.Bindings() {
		if b.Prefix == prefix {
			return &n.Bindings()[i]
		}
	}
	return nil
}

// schemaTypes are the types defined by XML Schema part 2.
var schemaTypes = regexp.MustCompile(`^(?:any(?:Type|SimpleType|AtomicType|URI)|string|boolean|decimal|float|double|(?:dayTime|yearMonth)?[dD]uration|` +
	`dateTime(?:Stamp)?|time|date|g(?:Year(?:Month)?|Month(?:Day)?|Day)|hexBinary|base64Binary|QName|NOTATION|normalizedString|token|language|` +
	`NMTOKENS?|Name|NCName|ID|IDREFS?|ENTIT(?:Y|IES)|(?:non(?:Positive|Negative)|positive|negative)?[iI]nteger|(?:unsigned(?:Long|Int|Short|Byte))|long|int|short|byte)$`)

// prefixesIn finds possible QNames in a value: an expression, a list, or a single one. A word
// without a colon is one in the default namespace.
func prefixesIn(value string, words bool, note func(string)) {
	if words {
		if word := trim(value); word != "" && isNameStart(word[0]) && nameEnd(word) == len(word) {
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
			continue // the second colon of a:b:c, which is not a QName
		}
		if prefix := strings.TrimLeft(value[start:i], "-.0123456789"); prefix != "" {
			note(prefix)
		}
	}
}

// trim removes the white space of XML.
func trim(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

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

// Declared reports whether the octets of a region include the declaration of a prefix that is in
// scope at a node. Exclusive canonicalisation includes those of prefixes in names, and those that
// it lists (clause 3).
func (l *Lookup) Declared(g *Region, n *xmldom.Node, prefix string) bool {
	if !g.Method.Exclusive || l.Spend(len(g.Method.Prefixes)) && slices.Contains(g.Method.Prefixes, prefix) {
		return true
	}
	return l.climb(question{g, n, prefix}, func(n *xmldom.Node) (bool, bool) {
		if n.Kind == xmldom.Element && (n.Name.Prefix == prefix || slices.ContainsFunc(n.Attrs(), func(a xmldom.Attr) bool { return prefix != "" && a.Name.Prefix == prefix })) {
			return true, true
		}
		return false, n == g.Set.Apex || bindingOf(n, prefix) != nil || slices.Contains(g.Set.Keep, n)
	})
}

// then combines two canonicalisations with respect to namespaces.
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
