package xmldom

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unsafe"
)

// glance looks at elements that may be folded, without making nodes of them:
// those that are spelled as canonical XML spells them, but for <a/>, hold elements
// and text only, and no identifier, no declaration and no value that may use a
// prefix.
// What is anything else it leaves to the parser, which decides whether it is
// well-formed.
type glance struct {
	p      *parser
	s      string
	at     int
	stop   int    // where an element begins that cannot be folded
	inside []span // names of the elements that are open
	usable uint32 // prefixes that need no declaration

	done  found // what can be folded
	begun found // and what was found since
}

// found is what there is in a part of the text.
type found struct {
	end    int
	nodes  int
	colons int // in names
	uses   uint32
	empty  bool // there is an element that is written as <a/>
}

// elements looks at one element after the other, until there is something else
// beside them. It is false where one cannot be folded: that is open, then.
func (g *glance) elements() bool {
	for g.at < g.stop && g.at+1 < len(g.s) {
		switch c := g.s[g.at+1]; {
		case c == '/' && len(g.inside) > 0:
			if !g.endTag() {
				return false
			}
			if len(g.inside) == 0 && !g.complete() {
				return true
			}
		case class[c]&nameStart != 0:
			if !g.startTag() {
				return false
			}
			if len(g.inside) == 0 && !g.complete() {
				return true
			}
		default:
			return len(g.inside) == 0
		}
		if !g.text() {
			break
		}
	}
	return len(g.inside) == 0
}

// maxGlance is about how much is looked at before the parser looks again whether
// anybody still wants it.
const maxGlance = 1 << 20

// complete takes an element in that has ended.
func (g *glance) complete() bool {
	if !few(g.done.uses|g.begun.uses) || !g.allowed(g.begun.nodes) {
		return false
	}
	if g.at-g.p.i > maxGlance {
		g.stop = g.at
	}
	g.done = found{g.at, g.done.nodes + g.begun.nodes, g.done.colons + g.begun.colons, g.done.uses | g.begun.uses, g.done.empty || g.begun.empty}
	g.begun = found{}
	return true
}

// allowed reports whether there may be so many nodes more.
func (g *glance) allowed(nodes int) bool { return g.p.count+g.done.nodes+nodes <= g.p.lim.Nodes }

func few(prefixes uint32) bool { return bits.OnesCount32(prefixes) <= FewPrefixes }

// text steps over text in an element, or white space between elements.
func (g *glance) text() bool {
	from := g.at
	for g.at = endOfText(g.s, g.at); g.at < len(g.s) && g.s[g.at] != '<'; g.at = endOfText(g.s, g.at) {
		if !g.colon() {
			return false
		}
	}
	switch {
	case from == g.at:
	case len(g.inside) > 0:
		g.begun.nodes++
	case isBlank(g.s[from:g.at]) && g.allowed(1):
		g.done.nodes++
		g.done.end = g.at
	default:
		return false
	}
	return true
}

// colon steps over a colon with no name behind it, as in 12:30 or https://.
func (g *glance) colon() bool {
	if g.s[g.at] != ':' || g.at+1 == len(g.s) || g.s[g.at+1] == '*' || class[g.s[g.at+1]]&nameStart != 0 {
		return false
	}
	g.at++
	return true
}

// name steps over a name of ASCII characters, which need no further look, and
// finds what it means; nil if what has that name cannot be folded.
func (g *glance) name(element bool) (span, *Name) {
	s, from, at := g.s, g.at, g.at
	for at < len(s) && class[s[at]]&asciiName != 0 {
		at++
	}
	g.at = at
	if from == at {
		return span{from, at}, nil
	}
	qname := s[from:at]
	names := &g.p.skim.elements
	if !element {
		names = &g.p.skim.attrs
	}
	known := &names[slotOf(qname)%len(names)]
	if *known == nil || (*known).QName != qname {
		*known = g.foldable(qname, element)
	}
	return span{from, at}, *known
}

// foldable finds out what a name means and whether it can be folded.
func (g *glance) foldable(qname string, element bool) *Name {
	if class[qname[0]]&nameStart == 0 || !element && isXMLNS(qname) {
		return nil
	}
	n, err := g.p.resolve(qname, element)
	switch {
	case err != nil, n.bit == 0, (element || n.Prefix != "") && n.bit&^g.usable != 0:
		return nil
	case element && n.Space == g.p.skim.keep, !element && mayBeID(n):
		return nil
	}
	return n
}

func (g *glance) startTag() bool {
	g.at++
	name, n := g.name(true)
	g.inside = append(g.inside, name)
	if n == nil || g.p.depth+len(g.inside) > g.p.lim.Depth {
		return false
	}
	g.begun.nodes++
	g.begun.uses |= n.bit
	g.begun.colons += 2 * colons(n)
	if g.at < len(g.s) && g.s[g.at] == ' ' && !g.attributes() || g.at == len(g.s) || !few(g.begun.uses) {
		return false
	}
	if strings.HasPrefix(g.s[g.at:], "/>") { // it ends where it begins
		g.begun.colons -= colons(n)
		g.begun.empty = true
		g.inside = g.inside[:len(g.inside)-1]
		g.at += 2
		return true
	}
	g.at++
	return g.s[g.at-1] == '>'
}

func (g *glance) attributes() bool {
	count, last, prefixed := 0, "", false
	for g.at < len(g.s) && g.s[g.at] == ' ' {
		g.at++
		if g.at < len(g.s) && g.s[g.at] == '/' {
			break
		}
		name, n := g.name(false)
		qname := g.s[name.from:name.to]
		if n == nil || count > 0 && qname <= last || !g.value() {
			return false
		}
		if n.Prefix != "" {
			prefixed = true
			g.begun.uses |= n.bit
			g.begun.colons++
		}
		last = qname
		count++
	}
	if count > 0 {
		g.begun.nodes += 1 + count/3 // as open counts them
	}
	return count <= g.p.lim.Attributes && (!prefixed || count == 1) // the place of one hangs on its namespace
}

// value steps over ="value".
func (g *glance) value() bool {
	if g.at+2 > len(g.s) || g.s[g.at] != '=' || g.s[g.at+1] != '"' {
		return false
	}
	for g.at = endOfValue(g.s, g.at+2); g.at < len(g.s) && g.s[g.at] != '"'; g.at = endOfValue(g.s, g.at) {
		if !g.colon() {
			return false
		}
	}
	g.at++
	return g.at <= len(g.s)
}

func (g *glance) endTag() bool {
	name := g.inside[len(g.inside)-1]
	from := g.at + 2
	to := from + name.to - name.from
	if to >= len(g.s) || g.s[from:to] != g.s[name.from:name.to] || g.s[to] != '>' {
		return false
	}
	g.inside = g.inside[:len(g.inside)-1]
	g.at = to + 1
	return true
}

// isBlank reports whether a text is nothing but white space.
func isBlank(text string) bool {
	for i := range len(text) {
		if class[text[i]]&space == 0 {
			return false
		}
	}
	return true
}

const ones, high = 0x0101010101010101, 0x8080808080808080

// zero marks the first byte of eight that is zero, and perhaps some behind it.
func zero(x uint64) uint64 { return (x - ones) &^ x & high }

// endOfText is where the next of < > & : stands. Eight bytes are looked at at
// once: one by one took twice as long.
func endOfText(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		x := eight(s, i)
		if hit := zero(x&^(2*ones)^'<'*ones) | zero(x^'&'*ones) | zero(x^':'*ones); hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(s) && strings.IndexByte("<>&:", s[i]) < 0 {
		i++
	}
	return i
}

// endOfValue is where the next of " & < > : or of a control character stands.
// Without > there is only one way to read />.
func endOfValue(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		x := eight(s, i)
		if hit := zero(x&^(4*ones)^'"'*ones) | zero(x&^(2*ones)^'<'*ones) | zero(x^':'*ones) | (x-' '*ones)&^x&high; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(s) && s[i] >= ' ' && strings.IndexByte("\"&<>:", s[i]) < 0 {
		i++
	}
	return i
}

func eight(s string, i int) uint64 {
	return binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s), len(s))[i:])
}
