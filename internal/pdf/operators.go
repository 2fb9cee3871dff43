package pdf

import "bytes"

// mostOperators bounds the operators read from a content stream.
const mostOperators = 2_000_000

// Operators calls do for each operator of a content stream with its operands, until it returns
// false (ISO 32000-2, 7.8.2). Inline images and anything not understood are skipped; whole is then
// false.
func Operators(b []byte, do func(op string, args []Object) bool) (whole bool) {
	b = append(bytes.Clone(b), '\n')
	p := &parser{lexer: lexer{buf: b, base: -1}}
	var args []Object
	whole = true
	for range mostOperators {
		if p.space(); p.pos >= len(b) {
			return whole && len(args) == 0
		}
		at := p.pos
		var op []byte
		if class[b[at]] == classRegular && bytes.IndexByte([]byte("+-.0123456789"), b[at]) < 0 {
			op, _ = p.word()
		}
		switch string(op) {
		case "", "true", "false", "null":
			p.pos, p.depth, p.items, p.entries = at, 0, p.items[:0], p.entries[:0]
			o, err := p.object()
			if err == errShort {
				return false // unclosed at the end of the stream
			}
			if err != nil {
				whole, args = false, nil
				p.pos = max(p.pos, at+1)
				continue
			}
			args = append(args, o)
			continue
		case "BI":
			whole = false
			end := bytes.Index(b[p.pos:], []byte("EI"))
			if end < 0 {
				return false
			}
			p.pos += end + 2
		default:
			if !do(string(op), args) {
				return false
			}
		}
		args = nil
	}
	return false
}
