package pdf

import "bytes"

// Lenient parsing of objects with broken syntax, like other readers do: unexpected tokens are
// skipped. It is for documents that are rewritten, and never for a verdict.

// lenient reports whether the parser is in that mode.
func (p *parser) lenient() bool { return p.work != nil && p.work.lenient }

// closing reports whether a word ends an object even if it is incomplete.
func closing(w []byte) bool {
	switch string(w) {
	case "endobj", "stream", "endstream", "obj", "xref", "trailer", "startxref":
		return true
	}
	return false
}

// ended reports whether the object ends here although it is incomplete. err is that of reading
// more.
func (p *parser) ended(err error) bool {
	if err != nil {
		return err != errShort && p.last && p.pos >= len(p.buf)
	}
	if c := p.buf[p.pos]; c != 'e' && c != 's' && c != 'o' && c != 'x' && c != 't' {
		return false
	}
	at := p.pos
	w, err := p.word()
	p.pos = at
	return err == nil && closing(w)
}

// outOfPlace reports whether c begins neither a key nor the end of a dictionary.
func (p *parser) outOfPlace(c byte) bool {
	if c == '>' {
		return p.pos+1 < len(p.buf) && p.buf[p.pos+1] != '>'
	}
	return c != '/'
}

// skipObject skips one object, or a character that begins none.
func (p *parser) skipObject() error {
	at := p.pos
	_, err := p.object()
	if err == nil && p.pos == at {
		p.pos++
	}
	return err
}

// lenientHex parses a hexadecimal string, ignoring invalid characters.
func (p *parser) lenientHex() (String, error) {
	n := bytes.IndexByte(p.buf[p.pos+1:], '>')
	if n < 0 {
		return String{}, p.end()
	}
	var digits []byte
	for _, c := range p.buf[p.pos+1 : p.pos+1+n] {
		if hexValue[c] >= 0 {
			digits = append(digits, c)
		}
	}
	out, err := p.hexRest(nil, digits, 0)
	p.pos += n + 2
	return String{Bytes: out, Hex: true}, err
}
