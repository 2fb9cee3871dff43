package xmldom

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

func (p *parser) startTag() error {
	start := p.i
	p.i++
	qname, err := p.name()
	if err != nil {
		return err
	}
	if p.cur == p.d.Node && p.d.Root() != nil {
		return errors.New("second root element")
	}
	empty, err := p.attributes()
	if err != nil {
		return err
	}
	n, err := p.add(Element, start, p.i)
	if err != nil {
		return err
	}
	if err := p.open(n, qname); err != nil {
		return err
	}
	n.Inner, n.InnerEnd = uint32(p.i), uint32(p.i)
	if empty {
		n.Inner, n.InnerEnd = uint32(p.i-2), uint32(p.i-2)
		p.leave()
		return nil
	}
	if p.depth++; p.depth > p.lim.Depth {
		return fmt.Errorf("%w: nested deeper than %d", ErrLimit, p.lim.Depth)
	}
	p.cur, p.last = n, nil
	return nil
}

// open resolves the names of an element and its attributes.
func (p *parser) open(n *Node, qname string) error {
	mark := -1
	declared := 0
	for _, a := range p.raw {
		if isXMLNS(a.qname) {
			if mark < 0 {
				mark = len(p.scope)
			}
			if err := p.declare(a); err != nil {
				return err
			}
			declared++
		}
	}
	p.marks = append(p.marks, mark)
	var err error
	if n.Name, err = p.resolve(qname, true); err != nil {
		return err
	}
	if len(p.raw) == 0 {
		return nil
	}
	size := len(p.s) / 256
	n.extra = &fromSlab(&p.extras, 1, size)[0]
	p.count += 1 + len(p.raw)/3 // roughly their weight relative to a node
	if p.weight += extraSize + len(p.raw)*attrSize; p.weight > 1<<16 {
		if err := p.d.spend(p.weight); err != nil {
			return err
		}
		p.weight = 0
	}
	if declared > 0 {
		n.extra.bindings = fromSlab(&p.binds, declared, size)
		copy(n.extra.bindings, p.scope[mark:])
	}
	if rest := len(p.raw) - declared; rest > 0 {
		n.extra.attrs = fromSlab(&p.attrs, rest, size)
		return p.attrNames(n)
	}
	return nil
}

func isXMLNS(qname string) bool {
	return len(qname) >= 5 && qname[:5] == "xmlns" && (len(qname) == 5 || qname[5] == ':')
}

func (p *parser) declare(a rawAttr) error {
	prefix := strings.TrimPrefix(a.qname[5:], ":")
	switch {
	case len(a.qname) == 6, strings.Contains(prefix, ":"), prefix == "xmlns":
		return fmt.Errorf("bad namespace declaration %s", clip(a.qname))
	case prefix != "" && a.value == "":
		return fmt.Errorf("prefix %s cannot be undeclared", clip(prefix))
	case (prefix == "xml") != (a.value == xmlSpace), a.value == xmlnsSpace:
		return errors.New("reserved namespace redeclared")
	}
	if len(p.scope) >= p.lim.Bindings {
		return fmt.Errorf("%w: more than %d namespaces in scope", ErrLimit, p.lim.Bindings)
	}
	p.scope = append(p.scope, Binding{Prefix: prefix, URI: a.value})
	if o := p.origin; !o.Declares(prefix) {
		if o.more = len(o.declared) == maxDeclared; !o.more {
			o.declared = append(o.declared, prefix)
		}
	}
	return nil
}

// attrNames fills in the attributes and indexes identifiers.
func (p *parser) attrNames(n *Node) error {
	k := 0
	for _, a := range p.raw {
		if isXMLNS(a.qname) {
			continue
		}
		name, err := p.resolve(a.qname, false)
		if err != nil {
			return err
		}
		n.extra.attrs[k] = Attr{Name: name, Value: a.value}
		k++
		if mayBeID(name) {
			p.index(strings.Trim(a.value, " \t\r\n"), n)
		}
	}
	return uniqueAttrs(n.extra.attrs)
}

func (p *parser) index(id string, n *Node) {
	found := p.d.ids[id]
	if len(found) > 0 && found[len(found)-1] == n {
		return
	}
	if len(found) < 2 { // two are as ambiguous as a thousand
		p.d.ids[id] = append(found, n)
	}
}

// uniqueAttrs rejects two attributes with the same expanded name. Equal qualified names were
// rejected before.
func uniqueAttrs(attrs []Attr) error {
	prefixed := 0
	for _, a := range attrs {
		if a.Name.Prefix != "" {
			prefixed++
		}
	}
	if prefixed < 2 {
		return nil
	}
	type key struct{ space, local string }
	seen := make(map[key]bool, prefixed)
	for _, a := range attrs {
		k := key{a.Name.Space, a.Name.Local}
		if seen[k] {
			return fmt.Errorf("attribute %s appears twice", clip(a.Name.QName))
		}
		seen[k] = true
	}
	return nil
}

// resolve finds the namespace of a qualified name. Equal names mostly have the same meaning
// throughout a document, so the last one is cached.
func (p *parser) resolve(qname string, element bool) (*Name, error) {
	colon := strings.IndexByte(qname, ':')
	prefix, local := "", qname
	if colon >= 0 {
		prefix, local = qname[:colon], qname[colon+1:]
		if prefix == "" || local == "" || strings.IndexByte(local, ':') >= 0 || class[local[0]]&nameStart == 0 {
			return nil, fmt.Errorf("bad qualified name %s", clip(qname))
		}
	}
	uri := ""
	if prefix != "" || element {
		var ok bool
		if uri, ok = p.lookup(prefix); !ok {
			return nil, fmt.Errorf("prefix %s is not declared", clip(prefix))
		}
	}
	n := p.names[qname]
	if n == nil || n.Space != uri {
		n = &Name{Space: uri, Prefix: prefix, Local: local, QName: qname}
		p.names[qname] = n
		p.origin.names = append(p.origin.names, n)
	}
	return n, nil
}

func (p *parser) lookup(prefix string) (string, bool) {
	for i := len(p.scope) - 1; i >= 0; i-- {
		if p.scope[i].Prefix == prefix {
			return p.scope[i].URI, true
		}
	}
	switch prefix {
	case "":
		return "", true
	case "xml":
		return xmlSpace, true
	}
	return "", false
}

func (p *parser) leave() {
	top := len(p.marks) - 1
	if m := p.marks[top]; m >= 0 {
		p.scope = p.scope[:m]
	}
	p.marks = p.marks[:top]
}

func (p *parser) endTag() error {
	if p.cur == p.d.Node {
		return errors.New("end tag without start tag")
	}
	q := p.cur.Name.QName
	at := p.i + 2
	if !strings.HasPrefix(p.s[at:], q) {
		return fmt.Errorf("end tag of %s expected", clip(q))
	}
	start := p.i
	p.i = at + len(q)
	p.skipSpace()
	if p.i >= len(p.s) || p.s[p.i] != '>' {
		return fmt.Errorf("end tag of %s expected", clip(q))
	}
	p.i++
	n, up := p.cur, p.cur.Parent
	n.InnerEnd, n.End = uint32(start), uint32(p.i)
	p.leave()
	p.depth--
	p.last, p.cur = n, up
	return nil
}

// attributes scans up to the end of a start tag into p.raw.
func (p *parser) attributes() (empty bool, err error) {
	p.raw = p.raw[:0]
	for {
		spaced := p.skipSpace()
		if p.i >= len(p.s) {
			return false, errors.New("start tag does not end")
		}
		switch c := p.s[p.i]; {
		case c == '>':
			p.i++
			return false, p.uniqueQNames()
		case c == '/':
			if p.i+1 >= len(p.s) || p.s[p.i+1] != '>' {
				return false, errors.New("malformed start tag")
			}
			p.i += 2
			return true, p.uniqueQNames()
		case !spaced:
			return false, errors.New("white space expected in start tag")
		}
		if err := p.attribute(); err != nil {
			return false, err
		}
	}
}

func (p *parser) attribute() error {
	pos := p.i
	qname, err := p.name()
	if err != nil {
		return err
	}
	p.skipSpace()
	if p.i >= len(p.s) || p.s[p.i] != '=' {
		return fmt.Errorf("attribute %s has no value", clip(qname))
	}
	p.i++
	p.skipSpace()
	if p.i >= len(p.s) || p.s[p.i] != '"' && p.s[p.i] != '\'' {
		return fmt.Errorf("value of attribute %s is not quoted", clip(qname))
	}
	quote := p.s[p.i]
	end := strings.IndexByte(p.s[p.i+1:], quote)
	if end < 0 {
		return fmt.Errorf("value of attribute %s does not end", clip(qname))
	}
	value, err := p.attrValue(p.s[p.i+1 : p.i+1+end])
	if err != nil {
		return err
	}
	p.i += end + 2
	if len(p.raw) >= p.lim.Attributes {
		return fmt.Errorf("%w: more than %d attributes", ErrLimit, p.lim.Attributes)
	}
	p.raw = append(p.raw, rawAttr{qname, value, pos})
	return nil
}

// uniqueQNames rejects an attribute that occurs twice.
func (p *parser) uniqueQNames() error {
	if len(p.raw) <= 8 {
		for i, a := range p.raw {
			for _, b := range p.raw[:i] {
				if a.qname == b.qname {
					return fmt.Errorf("attribute %s appears twice", clip(a.qname))
				}
			}
		}
		return nil
	}
	seen := make(map[string]bool, len(p.raw))
	for _, a := range p.raw {
		if seen[a.qname] {
			return fmt.Errorf("attribute %s appears twice", clip(a.qname))
		}
		seen[a.qname] = true
	}
	return nil
}

// plainValue reports whether a value needs no normalisation.
func plainValue(raw string) bool {
	for i := range len(raw) {
		if c := raw[i]; c < 0x20 || c == '&' || c == '<' {
			return false
		}
	}
	return true
}

// attrValue normalises a value: literal white space becomes a space (CR LF one), then references
// are replaced, whose white space is kept.
func (p *parser) attrValue(raw string) (string, error) {
	if plainValue(raw) {
		return raw, nil
	}
	if strings.IndexByte(raw, '<') >= 0 {
		return "", errors.New("< in attribute value")
	}
	if strings.ContainsAny(raw, "\t\r\n") {
		raw = strings.Map(func(r rune) rune {
			if r == '\t' || r == '\n' || r == '\r' {
				return ' '
			}
			return r
		}, strings.ReplaceAll(raw, "\r\n", "\n"))
	}
	return p.unescape(raw)
}

// unescape replaces character references and the five predefined entities.
func (p *parser) unescape(s string) (string, error) {
	amp := strings.IndexByte(s, '&')
	if amp < 0 {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for amp >= 0 {
		b = append(b, s[:amp]...)
		semi := strings.IndexByte(s[amp:min(len(s), amp+64)], ';')
		if semi < 0 {
			return "", errors.New("malformed reference")
		}
		r, err := reference(s[amp+1 : amp+semi])
		if err != nil {
			return "", err
		}
		b = utf8.AppendRune(b, r)
		s = s[amp+semi+1:]
		amp = strings.IndexByte(s, '&')
	}
	return string(append(b, s...)), nil
}

func reference(name string) (rune, error) {
	switch name {
	case "amp":
		return '&', nil
	case "lt":
		return '<', nil
	case "gt":
		return '>', nil
	case "quot":
		return '"', nil
	case "apos":
		return '\'', nil
	}
	if !strings.HasPrefix(name, "#") {
		return 0, fmt.Errorf("%w: &%s;", ErrEntity, clip(name))
	}
	return charRef(name[1:])
}

func charRef(s string) (rune, error) {
	base := rune(10)
	if strings.HasPrefix(s, "x") {
		base, s = 16, s[1:]
	}
	var r rune
	for i := 0; i < len(s); i++ {
		d := rune(99)
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			d = rune(c - '0')
		case 'a' <= c && c <= 'f':
			d = rune(c-'a') + 10
		case 'A' <= c && c <= 'F':
			d = rune(c-'A') + 10
		}
		if d >= base {
			return 0, errors.New("malformed character reference")
		}
		if r = r*base + d; r > 0x10FFFF {
			return 0, errors.New("character reference out of range")
		}
	}
	if s == "" || !isChar(r) {
		return 0, errors.New("character reference not allowed")
	}
	return r, nil
}
