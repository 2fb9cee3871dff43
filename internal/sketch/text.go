package sketch

import (
	"math"
	"strings"
	"unicode"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/revision"
)

// writing follows the operators of text; false for another one.
func (a *artist) writing(s *state, op string, args []pdf.Object, n []float64) bool {
	one := func() float64 {
		if len(n) == 1 {
			return n[0]
		}
		return 0
	}
	next := func(x, y float64) {
		s.lm = matrix{1, 0, 0, 1, x, y}.times(s.lm)
		s.tm = s.lm
	}
	switch op {
	case "BT":
		s.tm, s.lm = matrix{1, 0, 0, 1, 0, 0}, matrix{1, 0, 0, 1, 0, 0}
	case "ET":
	case "Td", "TD":
		if len(n) == 2 {
			if op == "TD" {
				s.leading = -n[1]
			}
			next(n[0], n[1])
		}
	case "Tm":
		if len(n) == 6 {
			s.tm, s.lm = matrix(n), matrix(n)
		}
	case "T*":
		next(0, -s.leading)
	case "TL":
		s.leading = one()
	case "Tc":
		s.charSpread = one()
	case "Tw":
		s.wordSpread = one()
	case "Tz":
		s.stretch = one() / 100
	case "Ts":
		s.rise = one()
	case "Tr":
		s.hidden = one() == 3 || one() == 7
	case "Tj":
		a.show(s, args)
	case "'":
		next(0, -s.leading)
		a.show(s, args)
	case "\"":
		next(0, -s.leading)
		if len(args) == 3 {
			a.show(s, args[2:])
		}
	case "TJ":
		if len(args) == 1 {
			list, _ := args[0].(pdf.Array)
			a.show(s, list)
		}
	default:
		return false
	}
	return true
}

// show writes strings, and moves on by the numbers between them.
func (a *artist) show(s *state, list []pdf.Object) {
	for _, o := range list {
		str, isText := o.(pdf.String)
		if !isText {
			if n, ok := a.doc.Number(o); ok {
				s.tm = matrix{1, 0, 0, 1, -n / 1000 * s.size * s.stretch, 0}.times(s.tm)
			}
			continue
		}
		if s.font == nil || len(str.Bytes) == 0 || !a.pay(len(str.Bytes)) {
			continue
		}
		text, wide, codes := s.font.read(str.Bytes)
		step := (wide*s.size + s.charSpread*float64(codes) + s.wordSpread*float64(strings.Count(text, " "))) * s.stretch
		if !s.hidden {
			a.write(s, text, step)
		}
		s.tm = matrix{1, 0, 0, 1, step, 0}.times(s.tm)
	}
}

// write puts a piece of text on the line under way, or on a new one.
func (a *artist) write(s *state, text string, step float64) {
	m := matrix{1, 0, 0, 1, 0, s.rise}.times(s.tm).times(s.ctm)
	x, y := m.at(0, 0)
	ex, ey := m.at(step, 0)
	size := s.size * math.Hypot(m[2], m[3])
	angle := math.Atan2(m[1], m[0]) * 180 / math.Pi
	if s.size < 0 {
		size = -size
	}
	if !(size > 0.5 && size < 2000) || !a.visible(Box{x, y - size, math.Abs(ex-x) + 1, size + 1}) && angle == 0 || !(math.Abs(x)+math.Abs(y)+math.Abs(ex)+math.Abs(ey) < 1e6) {
		return
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	if l := a.line; l != nil && l.Angle == angle && math.Abs(l.Size-size) < 0.01*size {
		gap, off := math.Hypot(x-a.end[0], y-a.end[1]), math.Abs((x-l.X)*math.Sin(angle*math.Pi/180)-(y-l.Y)*math.Cos(angle*math.Pi/180))
		if off < 0.1*size && gap < 1.5*size && len(l.Text) < 400 {
			if gap > 0.18*size && !strings.HasSuffix(l.Text, " ") {
				l.Text += " "
			}
			l.Text += text
			a.end = [2]float64{ex, ey}
			l.Length = math.Hypot(ex-l.X, ey-l.Y)
			return
		}
	}
	a.endLine()
	a.line = &Line{X: x, Y: y, Size: size, Length: math.Hypot(ex-x, ey-y), Angle: angle, Text: text}
	a.end = [2]float64{ex, ey}
}

// endLine puts the line under way on the page.
func (a *artist) endLine() {
	l := a.line
	a.line = nil
	if l == nil || strings.TrimSpace(l.Text) == "" || l.Length <= 0 {
		return
	}
	a.text += len(l.Text)
	a.out.Lines = append(a.out.Lines, *l)
}

// font turns codes into characters and widths, as far as that is known.
type font struct {
	family string
	simple *[256]rune
	widths map[int]float64 // by code, in thousandths
	usual  float64         // of a code that is not among them; 0: by the character
	wide   map[uint16]string
	two    bool // codes of two bytes
}

// unknown stands for a character that cannot be told.
const unknown = "▯"

// mostPiece is what one string shows: a code may stand for a long text.
const mostPiece = 4096

func (f *font) read(b []byte) (text string, wide float64, codes int) {
	var out strings.Builder
	write := func(s string) {
		if out.Len() < mostPiece {
			out.WriteString(s)
		}
	}
	width := func(code int, r rune) {
		codes++
		w, ok := f.widths[code]
		if !ok {
			if w = f.usual; w == 0 {
				w = revision.UsualWidth(f.family, r)
			}
		}
		wide += w / 1000
	}
	if f.two {
		for i := 0; i+1 < len(b); i += 2 {
			code := int(b[i])<<8 | int(b[i+1])
			s := f.wide[uint16(code)]
			if s == "" {
				s = unknown
			}
			write(s)
			width(code, 'n')
		}
		return out.String(), wide, codes
	}
	for _, c := range b {
		s, r := f.wide[uint16(c)], f.simple[c]
		switch {
		case s != "":
			write(s)
		case r != 0:
			write(string(r))
		default:
			write(unknown)
		}
		width(int(c), r)
	}
	return out.String(), wide, codes
}

// font reads a font, an object of its own or not, once.
func (a *artist) font(o pdf.Object) *font {
	var key any
	switch x := o.(type) {
	case pdf.Ref, *pdf.Dict:
		key = x
	default:
		return nil
	}
	if f, ok := a.fonts[key]; ok {
		return f
	}
	d := dict(a.doc, o)
	if d == nil || !a.pay(streamWork+len(d.Entries)) {
		return nil
	}
	f := &font{
		family: strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(string(a.doc.Name(d.Get("BaseFont"))))),
		simple: revision.Characters("WinAnsiEncoding"), widths: map[int]float64{},
	}
	if b := a.data(d.Get("ToUnicode")); len(b) > 0 && len(b) < 1<<20 {
		if f.wide = revision.ToUnicode(b); !a.pay(entryWork * len(f.wide)) {
			return nil
		}
	}
	if f.two = a.doc.Name(d.Get("Subtype")) == "Type0"; f.two {
		a.compositeWidths(f, d)
	} else {
		a.simpleFont(f, d)
	}
	a.fonts[key] = f
	return f
}

func (a *artist) simpleFont(f *font, d *pdf.Dict) {
	enc, _ := a.doc.Resolve(d.Get("Encoding"))
	switch e := enc.(type) {
	case pdf.Name:
		f.simple = revision.Characters(string(e))
	case *pdf.Dict:
		if b := a.doc.Name(e.Get("BaseEncoding")); b != "" {
			f.simple = revision.Characters(string(b))
		}
		code := 0
		list, _ := a.doc.Array(e.Get("Differences"))
		for _, o := range list {
			if !a.pay(1) {
				return
			}
			if n, ok := a.doc.Int(o); ok {
				code = int(n)
				continue
			}
			if code >= 0 && code < 256 {
				f.simple[code] = revision.Glyph(string(a.doc.Name(o)))
			}
			code++
		}
	}
	first, _ := a.doc.Int(d.Get("FirstChar"))
	list, _ := a.doc.Array(d.Get("Widths"))
	for i, o := range list[:min(len(list), 256)] {
		if n, ok := a.doc.Number(o); ok {
			a.setWidth(f, first+int64(i), n)
		}
	}
}

// compositeWidths reads the array W of a descendant font (ISO 32000-2, 9.7.4.3).
func (a *artist) compositeWidths(f *font, d *pdf.Dict) {
	f.usual = 1000
	list, _ := a.doc.Array(d.Get("DescendantFonts"))
	if len(list) == 0 {
		return
	}
	cid := dict(a.doc, list[0])
	if cid == nil {
		return
	}
	if n, ok := a.doc.Number(cid.Get("DW")); ok {
		f.usual = n
	}
	w, _ := a.doc.Array(cid.Get("W"))
	for i := 0; i+1 < len(w) && a.pay(1); {
		first, _ := a.doc.Int(w[i])
		o, _ := a.doc.Resolve(w[i+1])
		if each, ok := o.(pdf.Array); ok {
			for k, o := range each[:min(len(each), 1<<16)] {
				if n, ok := a.doc.Number(o); ok {
					a.setWidth(f, first+int64(k), n)
				}
			}
			i += 2
			continue
		}
		last, ok := a.doc.Int(w[i+1])
		if !ok || i+2 >= len(w) {
			return
		}
		n, _ := a.doc.Number(w[i+2])
		for c := max(first, 0); c <= min(last, 0xffff) && !a.over; c++ {
			a.setWidth(f, c, n)
		}
		i += 3
	}
}

// setWidth keeps the width of a code, of which there are 65,536.
func (a *artist) setWidth(f *font, code int64, width float64) {
	if a.pay(entryWork) && code >= 0 && code <= 0xffff {
		f.widths[int(code)] = width
	}
}
