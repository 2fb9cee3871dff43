package pdf

import "bytes"

// What follows reads objects whose syntax is broken as other readers do: what
// stands where it cannot stand is passed over. It serves documents that are
// written anew, and no verdict.

// lenient says whether the parser reads so.
func (p *parser) lenient() bool { return p.work != nil && p.work.lenient }

// closing are the words that end an object, whatever is open in it.
func closing(w []byte) bool {
	switch string(w) {
	case "endobj", "stream", "endstream", "obj", "xref", "trailer", "startxref":
		return true
	}
	return false
}

// over says whether the object ends here although it is not complete. err is that
// of looking for more.
func (p *parser) over(err error) bool {
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

// outOfPlace says whether what begins with c is neither a key nor the end of a
// dictionary.
func (p *parser) outOfPlace(c byte) bool {
	if c == '>' {
		return p.pos+1 < len(p.buf) && p.buf[p.pos+1] != '>'
	}
	return c != '/'
}

// pass goes over one object, or over a character that begins none.
func (p *parser) pass() error {
	at := p.pos
	_, err := p.object()
	if err == nil && p.pos == at {
		p.pos++
	}
	return err
}

// looseHex reads a hexadecimal string without the characters that are none of its.
func (p *parser) looseHex() (String, error) {
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
