package pdf

import (
	"strconv"

	"rogito.dev/rogito/internal/limits"
)

// parser builds objects from tokens.
type parser struct {
	lexer
	depth int

	// Members of the open dictionaries and arrays, innermost last, so that each is allocated once,
	// with its final size, when it is closed.
	entries []Entry
	items   []Object

	work  *work
	built int64 // estimated bytes of the objects built
	limit int64 // where the budget is charged again
	spent int64 // bytes charged to the budget
}

// build accounts for n bytes of objects.
func (p *parser) build(n int) error {
	if p.built += int64(n); p.built < p.limit || p.work == nil {
		return nil
	}
	if !p.work.budget.Try(parserStep) {
		p.work.dropCaches()
		if err := p.work.budget.Spend(parserStep); err != nil {
			return err
		}
	}
	if p.work.built += parserStep; p.work.built > limits.PDFBuilt {
		return errMalformed("", "too many objects")
	}
	p.spent += parserStep
	p.limit = p.built + parserStep
	return p.work.ctx.Err()
}

// object parses one direct object or reference.
func (p *parser) object() (Object, error) {
	c, err := p.peek()
	if err != nil {
		return nil, err
	}
	if err := p.build(40); err != nil {
		return nil, err
	}
	switch c {
	case '/':
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		return name, nil
	case '(':
		s, err := p.literal()
		if err == nil {
			err = p.build(len(s.Bytes))
		}
		return s, err
	case '[':
		return p.array()
	case '<':
		if p.pos+1 >= len(p.buf) {
			return nil, p.end()
		}
		if p.buf[p.pos+1] == '<' {
			return p.dict()
		}
		at := p.pos
		s, err := p.hex()
		if err != nil && err != errShort && p.lenient() {
			p.pos = at
			s, err = p.lenientHex()
		}
		if err == nil {
			err = p.build(len(s.Bytes))
		}
		return s, err
	}
	if class[c] == classDelim {
		if p.lenient() {
			p.pos++
			return nil, nil
		}
		return nil, p.errorf("unexpected %q", c)
	}
	return p.scalar()
}

// scalar parses a number, a reference or a keyword.
func (p *parser) scalar() (Object, error) {
	at := p.pos
	w, err := p.word()
	if err != nil {
		return nil, err
	}
	// Some producers omit the space before endobj after a number.
	if n := len(w) - len("endobj"); n > 0 && string(w[n:]) == "endobj" {
		w, p.pos = w[:n], at+n
	}
	switch string(w) {
	case "true":
		return Bool(true), nil
	case "false":
		return Bool(false), nil
	case "null":
		return nil, nil
	}
	if n, ok := parseUint(w); ok {
		end := p.pos
		gen, isRef, err := p.generation()
		if isRef && gen <= 65535 && n <= limits.PDFObjects {
			return Ref{Num: int(n), Gen: int(gen)}, nil
		}
		p.pos = end
		return Integer(n), err
	}
	if isWhole(w) {
		if n, err := strconv.ParseInt(string(w), 10, 64); err == nil {
			return Integer(n), nil
		}
	}
	for _, c := range w {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' {
			if p.lenient() {
				if closing(w) {
					p.pos = at
				}
				return nil, nil
			}
			p.pos = at
			return nil, p.errorf("unknown keyword %.20q", w)
		}
	}
	return Real(w), nil
}

// isWhole reports whether a word is digits with or without a sign.
func isWhole(w []byte) bool {
	if len(w) > 1 && (w[0] == '-' || w[0] == '+') {
		w = w[1:]
	}
	for _, c := range w {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func (p *parser) enter() error {
	if p.depth++; p.depth > limits.PDFDepth {
		return p.errorf("objects nested deeper than %d", limits.PDFDepth)
	}
	return nil
}

func (p *parser) array() (Object, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	p.pos++
	first := len(p.items)
	for {
		c, err := p.peek()
		over := p.lenient() && p.ended(err)
		if err != nil && !over {
			return nil, err
		}
		if c == ']' || over {
			if !over {
				p.pos++
			}
			a := make(Array, len(p.items)-first)
			copy(a, p.items[first:])
			p.items = p.items[:first]
			return a, nil
		}
		o, err := p.object()
		if err != nil {
			return nil, err
		}
		p.items = append(p.items, o)
	}
}

func (p *parser) dict() (Object, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	p.pos += 2
	if err := p.build(400); err != nil {
		return nil, err
	}
	first := len(p.entries)
	for {
		c, err := p.peek()
		over := p.lenient() && p.ended(err)
		if err != nil && !over {
			return nil, err
		}
		if !over && p.lenient() && p.outOfPlace(c) {
			if err := p.skipObject(); err != nil {
				return nil, err
			}
			continue
		}
		if c == '>' || over {
			if !over && p.pos+1 >= len(p.buf) {
				return nil, p.end()
			}
			if !over && p.buf[p.pos+1] != '>' {
				return nil, p.errorf("unexpected '>' in a dictionary")
			}
			if !over {
				p.pos += 2
			}
			d := &Dict{Entries: make([]Entry, len(p.entries)-first)}
			copy(d.Entries, p.entries[first:])
			p.entries = p.entries[:first]
			return d, nil
		}
		if err := p.entry(c); err != nil {
			return nil, err
		}
	}
}

func (p *parser) entry(c byte) error {
	if c != '/' {
		return p.errorf("name expected as key, found %q", c)
	}
	key, err := p.name()
	if err != nil {
		return err
	}
	if err := p.build(64); err != nil {
		return err
	}
	c, err = p.peek()
	if err != nil {
		return err
	}
	// "/Key >>": some producers omit the value; it reads as null.
	if c == '>' {
		p.entries = append(p.entries, Entry{Key: key})
		return nil
	}
	start := p.pos
	value, err := p.object()
	if err != nil {
		return err
	}
	e := Entry{Key: key, Value: value}
	if p.base >= 0 {
		e.Span = Span{p.base + int64(start), p.base + int64(p.pos)}
	}
	p.entries = append(p.entries, e)
	return nil
}

// header parses "num gen obj".
func (p *parser) header() (Ref, error) {
	num, err := p.integer()
	if err != nil {
		return Ref{}, err
	}
	gen, err := p.integer()
	if err != nil {
		return Ref{}, err
	}
	if num > limits.PDFObjects || gen > 65535 {
		return Ref{}, p.errorf("object number %d %d out of bounds", num, gen)
	}
	if _, err := p.peek(); err != nil {
		return Ref{}, err
	}
	// "obj" may be followed by its object without white space.
	if len(p.buf)-p.pos < 3 {
		return Ref{}, p.end()
	}
	if string(p.buf[p.pos:p.pos+3]) != "obj" {
		return Ref{}, p.errorf("\"obj\" expected, found %.10q", p.buf[p.pos:])
	}
	p.pos += 3
	return Ref{Num: int(num), Gen: int(gen)}, nil
}
