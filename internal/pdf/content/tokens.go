package content

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"rogito.dev/rogito/internal/pdf"
)

// Instruction is an operator of a content stream with its operands.
type Instruction struct {
	Op   string
	Args []pdf.Object
}

// mostTokens bounds the content streams that are looked into.
const mostTokens = 2_000_000

// Tokens takes a content stream apart (ISO 32000-2, 7.8.2). It is false when
// the stream is no sequence of operators, or has an inline picture.
func Tokens(b []byte) (out []Instruction, ok bool) {
	ok = Each(b, func(in Instruction) bool {
		out = append(out, in)
		return true
	})
	return out, ok
}

// Each calls do for the operators of a content stream in turn, until it returns
// false. What is not understood is left out, pictures within the stream too:
// then it is false.
func Each(b []byte, do func(Instruction) bool) (whole bool) {
	l := &contentLexer{b: b}
	var args []pdf.Object
	whole = true
	for range mostTokens {
		l.space()
		if l.at >= len(l.b) {
			return whole && len(args) == 0
		}
		o, op, ok := l.next(0)
		switch {
		case !ok:
			whole, args = false, nil
			if l.at++; l.at >= len(l.b) {
				return false
			}
		case op == "BI":
			end := bytes.Index(l.b[l.at:], []byte("EI"))
			if whole = false; end < 0 {
				return false
			}
			l.at += end + 2
			args = nil
		case op != "":
			if !do(Instruction{op, args}) {
				return false
			}
			args = nil
		default:
			args = append(args, o)
		}
	}
	return false
}

type contentLexer struct {
	b  []byte
	at int
}

func (l *contentLexer) space() {
	for l.at < len(l.b) {
		switch l.b[l.at] {
		case '%':
			for l.at < len(l.b) && l.b[l.at] != '\n' && l.b[l.at] != '\r' {
				l.at++
			}
		case ' ', '\n', '\r', '\t', '\f', 0:
			l.at++
		default:
			return
		}
	}
}

func regular(c byte) bool { return c > ' ' && !strings.ContainsRune("()<>[]{}/%", rune(c)) }

func (l *contentLexer) word() string {
	from := l.at
	for l.at < len(l.b) && regular(l.b[l.at]) {
		l.at++
	}
	return string(l.b[from:l.at])
}

// next reads an object, or an operator.
func (l *contentLexer) next(depth int) (o pdf.Object, op string, ok bool) {
	if depth > 20 {
		return nil, "", false
	}
	switch c := l.b[l.at]; c {
	case '/':
		l.at++
		return unescape(l.word()), "", true
	case '(':
		return l.literal()
	case '[':
		l.at++
		a := pdf.Array{}
		for {
			l.space()
			if l.at >= len(l.b) {
				return nil, "", false
			}
			if l.b[l.at] == ']' {
				l.at++
				return a, "", true
			}
			e, op, ok := l.next(depth + 1)
			if !ok || op != "" {
				return nil, "", false
			}
			a = append(a, e)
		}
	case '<':
		if l.at+1 < len(l.b) && l.b[l.at+1] == '<' {
			l.at += 2
			return l.dict(depth)
		}
		end := bytes.IndexByte(l.b[l.at:], '>')
		if end < 0 {
			l.at = len(l.b) // nor does any other string end behind it
			return nil, "", false
		}
		text := strings.Join(strings.Fields(string(l.b[l.at+1:l.at+end])), "")
		if len(text)%2 == 1 {
			text += "0"
		}
		l.at += end + 1
		raw, err := hex.DecodeString(text)
		return pdf.String{Bytes: raw}, "", err == nil
	}
	w := l.word()
	if w == "" {
		return nil, "", false
	}
	if c := w[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		// Digits and a point only: 1e3 is a number here and two words to others.
		if f, err := strconv.ParseFloat(w, 64); err != nil || strings.Trim(w, "+-.0123456789") != "" || math.Abs(f) > math.MaxInt32 {
			return nil, "", false
		}
		return pdf.Real(w), "", true
	}
	switch w {
	case "true", "false":
		return pdf.Bool(w == "true"), "", true
	case "null":
		return nil, "", true
	}
	return nil, w, true
}

// mostEntries bounds a dictionary within a content stream: each is looked for
// among those before it.
const mostEntries = 256

func (l *contentLexer) dict(depth int) (pdf.Object, string, bool) {
	d := &pdf.Dict{}
	for len(d.Entries) < mostEntries {
		l.space()
		if l.at+1 >= len(l.b) {
			return nil, "", false
		}
		if l.b[l.at] == '>' && l.b[l.at+1] == '>' {
			l.at += 2
			return d, "", true
		}
		k, op, ok := l.next(depth + 1)
		name, isName := k.(pdf.Name)
		if !ok || op != "" || !isName {
			return nil, "", false
		}
		l.space()
		if l.at >= len(l.b) {
			return nil, "", false
		}
		v, op, ok := l.next(depth + 1)
		if !ok || op != "" {
			return nil, "", false
		}
		d.Set(name, v)
	}
	return nil, "", false
}

func (l *contentLexer) literal() (pdf.Object, string, bool) {
	var out []byte
	depth := 0
	for ; l.at < len(l.b); l.at++ {
		c := l.b[l.at]
		switch {
		case c == '(':
			if depth++; depth == 1 {
				continue
			}
		case c == ')':
			if depth--; depth == 0 {
				l.at++
				return pdf.String{Bytes: out}, "", true
			}
		case c == '\\' && l.at+1 < len(l.b):
			l.at++
			out = l.escape(out)
			continue
		}
		out = append(out, c)
	}
	return nil, "", false
}

// escape reads what follows a backslash (ISO 32000-2, table 3).
func (l *contentLexer) escape(out []byte) []byte {
	c := l.b[l.at]
	if i := strings.IndexByte("nrtbf", c); i >= 0 {
		return append(out, "\n\r\t\b\f"[i])
	}
	switch {
	case c == '\n':
		return out
	case c == '\r':
		if l.at+1 < len(l.b) && l.b[l.at+1] == '\n' {
			l.at++
		}
		return out
	case c >= '0' && c <= '7':
		n := 0
		for i := 0; i < 3 && l.at < len(l.b) && l.b[l.at] >= '0' && l.b[l.at] <= '7'; i++ {
			n = n*8 + int(l.b[l.at]-'0')
			l.at++
		}
		l.at--
		return append(out, byte(n))
	}
	return append(out, c)
}

func unescape(w string) pdf.Name {
	if !strings.Contains(w, "#") {
		return pdf.Name(w)
	}
	var out []byte
	for i := 0; i < len(w); i++ {
		if w[i] == '#' && i+2 < len(w) {
			if v, err := strconv.ParseUint(w[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(v))
				i += 2
				continue
			}
		}
		out = append(out, w[i])
	}
	return pdf.Name(out)
}
