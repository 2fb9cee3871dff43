package pdf

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
)

// errShort: the window ended before the object did. The caller reads more of the file and tries
// again.
var errShort = errors.New("unexpected end of file")

const (
	classRegular = iota
	classSpace
	classDelim
)

var class = func() (t [256]uint8) {
	for _, c := range []byte{0, '\t', '\n', '\f', '\r', ' '} {
		t[c] = classSpace
	}
	for _, c := range []byte("()<>[]{}/%") {
		t[c] = classDelim
	}
	return t
}()

var hexValue = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i := range 10 {
		t['0'+i] = int8(i)
	}
	for i := range 6 {
		t['a'+i] = int8(10 + i)
		t['A'+i] = int8(10 + i)
	}
	return t
}()

// lexer walks over a window of the file.
type lexer struct {
	buf  []byte
	pos  int
	base int64 // offset of buf in the file; -1 inside an object stream
	last bool  // nothing follows the window
}

func (l *lexer) errorf(format string, args ...any) error {
	if l.base < 0 {
		return fmt.Errorf("object stream at %d: %w", l.pos, fmt.Errorf(format, args...))
	}
	return fmt.Errorf("offset %d: %w", l.base+int64(l.pos), fmt.Errorf(format, args...))
}

// end is the error at the end of the window.
func (l *lexer) end() error {
	if l.last {
		return l.errorf("unexpected end of file")
	}
	return errShort
}

// space skips white space and comments. It may reach the end of a window; unless that is the last,
// callers then read more, so that a token is never split.
func (l *lexer) space() {
	for l.pos < len(l.buf) {
		c := l.buf[l.pos]
		switch {
		case class[c] == classSpace:
			l.pos++
		case c == '%':
			for l.pos < len(l.buf) && l.buf[l.pos] != '\n' && l.buf[l.pos] != '\r' {
				l.pos++
			}
		default:
			return
		}
	}
}

// peek returns the next byte after white space.
func (l *lexer) peek() (byte, error) {
	l.space()
	if l.pos >= len(l.buf) {
		return 0, l.end()
	}
	return l.buf[l.pos], nil
}

// word reads a run of regular characters.
func (l *lexer) word() ([]byte, error) {
	start := l.pos
	for l.pos < len(l.buf) && class[l.buf[l.pos]] == classRegular {
		l.pos++
	}
	if l.pos == len(l.buf) && !l.last {
		return nil, errShort
	}
	return l.buf[start:l.pos], nil
}

// nextWord reads the word after white space.
func (l *lexer) nextWord() ([]byte, error) {
	if _, err := l.peek(); err != nil {
		return nil, err
	}
	return l.word()
}

// keyword reads exactly this word.
func (l *lexer) keyword(want string) error {
	w, err := l.nextWord()
	if err == nil && string(w) != want {
		l.pos -= len(w)
		return l.errorf("%q expected, found %.20q", want, w)
	}
	return err
}

// integer reads an unsigned number.
func (l *lexer) integer() (int64, error) {
	w, err := l.nextWord()
	if err != nil {
		return 0, err
	}
	n, ok := parseUint(w)
	if !ok {
		l.pos -= len(w)
		return 0, l.errorf("number expected, found %.20q", w)
	}
	return n, nil
}

// generation reads "gen R" after a number, if it follows.
func (l *lexer) generation() (gen int64, ok bool, err error) {
	at := l.pos
	l.space()
	if l.pos >= len(l.buf) && !l.last {
		return 0, false, errShort
	}
	if l.pos >= len(l.buf) || l.buf[l.pos] < '0' || l.buf[l.pos] > '9' {
		l.pos = at
		return 0, false, nil
	}
	w, err := l.word()
	if err != nil {
		return 0, false, err
	}
	gen, ok = parseUint(w)
	l.space()
	if l.pos+1 >= len(l.buf) && !l.last {
		return 0, false, errShort
	}
	if !ok || l.pos >= len(l.buf) || l.buf[l.pos] != 'R' || l.pos+1 < len(l.buf) && class[l.buf[l.pos+1]] == classRegular {
		l.pos = at
		return 0, false, nil
	}
	l.pos++
	return gen, true, nil
}

func parseUint(w []byte) (int64, bool) {
	if len(w) == 0 || len(w) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range w {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// name reads a name after its slash.
func (l *lexer) name() (Name, error) {
	l.pos++
	w, err := l.word()
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(w, '#') < 0 {
		return Name(w), nil
	}
	return unescapeName(w), nil
}

func unescapeName(w []byte) Name {
	out := make([]byte, 0, len(w))
	for i := 0; i < len(w); i++ {
		if w[i] == '#' && i+2 < len(w) && hexValue[w[i+1]] >= 0 && hexValue[w[i+2]] >= 0 {
			out = append(out, byte(hexValue[w[i+1]])<<4|byte(hexValue[w[i+2]]))
			i += 2
			continue
		}
		out = append(out, w[i])
	}
	return Name(out)
}

// parenthesised reads a string in parentheses, including them; nil if it does not end.
func (l *lexer) parenthesised() []byte {
	depth := 0
	for i := l.pos; i < len(l.buf); i++ {
		switch l.buf[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				s := l.buf[l.pos : i+1]
				l.pos = i + 1
				return s
			}
		}
	}
	return nil
}

// literal reads a string in parentheses.
func (l *lexer) literal() (String, error) {
	s := l.parenthesised()
	if s == nil {
		return String{}, l.end()
	}
	return String{Bytes: unescapeString(s[1 : len(s)-1])}, nil
}

var escapes = [256]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f', '(': '(', ')': ')', '\\': '\\'}

func unescapeString(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c == '\r' { // any line end in a string is a line feed
			if i+1 < len(body) && body[i+1] == '\n' {
				i++
			}
			out = append(out, '\n')
			continue
		}
		if c != '\\' || i+1 == len(body) {
			out = append(out, c)
			continue
		}
		i++
		switch c = body[i]; {
		case c >= '0' && c <= '7':
			n := 0
			for k := 0; k < 3 && i < len(body) && body[i] >= '0' && body[i] <= '7'; k++ {
				n = n*8 + int(body[i]-'0')
				i++
			}
			i--
			out = append(out, byte(n))
		case c == '\r':
			if i+1 < len(body) && body[i+1] == '\n' {
				i++
			}
		case c == '\n':
		case escapes[c] != 0:
			out = append(out, escapes[c])
		default:
			out = append(out, c)
		}
	}
	return out
}

// hex reads a string in angle brackets.
func (l *lexer) hex() (String, error) {
	n := bytes.IndexByte(l.buf[l.pos+1:], '>')
	if n < 0 {
		return String{}, l.end()
	}
	body := l.buf[l.pos+1 : l.pos+1+n]
	out := make([]byte, (n+1)/2)
	done, _ := hex.Decode(out, body) // up to the first white space; a signature has none
	rest, err := l.hexRest(out[:done], body, 2*done)
	if err != nil {
		return String{}, err
	}
	l.pos += n + 2
	return String{Bytes: rest, Hex: true}, nil
}

// hexRest decodes digits one by one, skipping white space.
func (l *lexer) hexRest(out, body []byte, from int) ([]byte, error) {
	high, half := int8(0), false
	for i, c := range body[from:] {
		v := hexValue[c]
		if v < 0 {
			if class[c] == classSpace {
				continue
			}
			l.pos += 1 + from + i
			return nil, l.errorf("%q in a hexadecimal string", c)
		}
		if half {
			out = append(out, byte(high)<<4|byte(v))
		}
		high, half = v, !half
	}
	if half {
		out = append(out, byte(high)<<4)
	}
	return out, nil
}
