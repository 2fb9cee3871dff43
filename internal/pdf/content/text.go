package content

import (
	"math"
	"strings"
	"unicode"

	"rogito.dev/rogito/internal/pdf"
)

// write interprets text operators.
func (f *follower) write(op string, args []pdf.Object) {
	set := func(to *float64) {
		if n, ok := f.numbers(args, 1); ok {
			*to = n[0]
		}
	}
	next := func(x, y float64) {
		f.lm = Matrix{1, 0, 0, 1, x, y}.Times(f.lm)
		f.tm = f.lm
	}
	switch op {
	case "BT":
		f.tm, f.lm = Identity, Identity
	case "Tf":
		if len(args) == 2 {
			f.font = f.Font(f.find(f.fonts, args[0]))
			if n, ok := f.numbers(args[1:], 1); ok {
				f.size = n[0]
			}
		}
	case "Td", "TD":
		if n, ok := f.numbers(args, 2); ok {
			if op == "TD" {
				f.leading = -n[1]
			}
			next(n[0], n[1])
		}
	case "Tm":
		if n, ok := f.numbers(args, 6); ok {
			f.tm, f.lm = Matrix(n), Matrix(n)
		}
	case "T*":
		next(0, -f.leading)
	case "TL":
		set(&f.leading)
	case "Tc":
		set(&f.charSpread)
	case "Tw":
		set(&f.wordSpread)
	case "Tz":
		set(&f.stretch)
		f.stretch /= 100
	case "Ts":
		set(&f.rise)
	case "Tr":
		if n, ok := f.numbers(args, 1); ok {
			f.hidden = n[0] == 3
			f.outlined = n[0] == 1 || n[0] == 2 || n[0] == 5 || n[0] == 6
			f.Intricate = f.Intricate || n[0] != 0
		}
	case "Tj":
		f.show(args)
	case "'":
		next(0, -f.leading)
		f.show(args)
	case "\"":
		if len(args) == 3 {
			f.write("Tw", args[:1])
			f.write("Tc", args[1:2])
			next(0, -f.leading)
			f.show(args[2:])
		}
	case "TJ":
		if len(args) == 1 {
			list, _ := args[0].(pdf.Array)
			f.show(list)
		}
	default:
		f.Intricate = true
	}
}

// show draws strings, and moves by the numbers between them.
func (f *follower) show(list []pdf.Object) {
	for _, o := range list {
		str, isText := o.(pdf.String)
		if !isText {
			if n, ok := f.Source.Number(o); ok {
				f.tm = Matrix{1, 0, 0, 1, -n / 1000 * f.size * f.stretch, 0}.Times(f.tm)
			}
			continue
		}
		if len(str.Bytes) == 0 || !f.pay(len(str.Bytes)) {
			continue
		}
		if f.font == nil {
			f.Odd = true // some readers use another font
			continue
		}
		f.string(str.Bytes)
	}
}

// string draws the glyphs of a string.
func (f *follower) string(b []byte) {
	m := Matrix{f.size * f.stretch, 0, 0, f.size, 0, f.rise}.Times(f.tm).Times(f.ctm)
	var text strings.Builder
	box, core := Nothing, Nothing
	wide := 0.0 // in units of the size
	says := false
	f.font.codes(b, func(code int, s string, advance float64) {
		g, known := f.glyph(f.font, code, advance)
		if f.Odd = f.Odd || !known; !Empty(g) {
			g.LLX, g.URX = g.LLX+wide, g.URX+wide
			box = Union(box, g)
		}
		letter := strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || string(r) == Unknown })
		// If its outline is known, the name of a glyph does not matter.
		if tall := f.font.exact() && g.Height() > 0.35; strings.TrimSpace(s) != "" || tall {
			says = says || letter || tall
			core = Union(core, pdf.Rect{LLX: wide, URX: wide + advance, URY: 0.6})
		}
		if text.Len() < mostPiece {
			text.WriteString(s)
		}
		if f.size != 0 {
			advance += f.charSpread / f.size
			if s == " " || code == ' ' && !f.font.two {
				advance += f.wordSpread / f.size
			}
		}
		wide += advance
	})
	if !f.hidden && !Empty(box) || !f.hidden && f.font.type3 == nil {
		p := Piece{Kind: Text, Text: text.String(), Says: says, Font: f.font, Codes: string(b), Matrix: m, Colour: f.fill.Colour, Size: f.size * math.Hypot(m[2], m[3]) / max(math.Abs(f.size), 1e-9)}
		const apart, together = 2, -0.1
		p.Shifted = f.rise != 0 || max(f.charSpread, f.wordSpread) > apart || min(f.charSpread, f.wordSpread) < max(-apart, together*math.Abs(f.size))
		p.X, p.Y = m.At(0, 0)
		p.ToX, p.ToY = m.At(wide, 0)
		if Empty(box) {
			box = pdf.Rect{}
		}
		if !Empty(core) {
			p.Core = m.Box(core)
		}
		p.Box = m.Box(box)
		if f.outlined {
			p.Box = wider(p.Box, f.wide()*max(1.5, f.limit/2))
		}
		f.ink(p)
	}
	f.tm = Matrix{1, 0, 0, 1, wide * f.size * f.stretch, 0}.Times(f.tm)
}

// glyph is a box around the outline of a glyph, in units of the size; false if it is unknown. The
// meaning of its code according to the font does not matter.
func (f *follower) glyph(font *Font, code int, advance float64) (pdf.Rect, bool) {
	at := glyph{code: code}
	if font.type3 != nil && font.resources == nil {
		at.res = f.res
	}
	if g, ok := font.boxes[at]; ok {
		return g, true
	}
	g, known := pdf.Rect{LLX: -0.1, LLY: -0.3, URX: max(advance, 1) + 0.1, URY: 1}, true
	switch {
	case font.type3 != nil:
		g, known = f.procedure(font, code)
	case font.program != nil:
		g, known = font.program.outline(font, code, f.pay)
	case font.Embedded:
		known = false
	case !font.two && (font.simple[code] == ' ' || font.simple[code] == '\u00a0'):
		g = Nothing
	case !font.two:
		g.URX = max(advance, Usual(font.Family, font.simple[code])/1000) + 0.1
	}
	if known {
		font.boxes[at] = g
	}
	return g, known
}

// procedure runs the glyph procedure of a Type 3 font.
func (f *follower) procedure(font *Font, code int) (pdf.Rect, bool) {
	proc, ok := font.type3[code]
	if !ok {
		return Nothing, true
	}
	out := Nothing
	inner := &Walker{Source: f.Source, Pay: f.Pay, forms: f.forms + 1, See: func(p Piece) bool {
		out = Union(out, p.Box)
		return true
	}}
	if f.depth >= deepest {
		return out, false
	}
	res := font.resources
	if res == nil {
		res = f.res
	}
	far := pdf.Rect{LLX: -1e6, LLY: -1e6, URX: 1e6, URY: 1e6}
	inner.follow(inner.Data(proc), res, font.matrix, far, f.depth+1)
	f.forms = inner.forms
	f.ended = f.ended || inner.ended
	return out, !inner.Odd
}
