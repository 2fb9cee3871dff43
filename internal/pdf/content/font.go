package content

import (
	"math"
	"strings"

	"rogito.dev/rogito/internal/pdf"
)

// Font maps codes to characters, widths and outlines, as far as they are known.
type Font struct {
	Object   pdf.Object // that it was read from
	Kind     pdf.Name   // Subtype
	Family   string     // in lower case
	Embedded bool
	// Sure: its encoding and widths are specified as in the standard.
	Sure bool

	simple    *[256]rune
	widths    map[int]float64 // by code, in units of the size
	usual     float64         // of other codes; 0: depends on the character
	unicode   map[uint16]string
	two       bool // two-byte codes
	named     bool // readers find its glyphs by name
	program   *program
	gids      []byte             // CIDToGIDMap
	type3     map[int]pdf.Object // procedures
	matrix    Matrix             // of a Type 3 font
	resources *pdf.Dict          // of its procedures
	boxes     map[glyph]pdf.Rect // outlines already computed
}

// glyph is a glyph by its code and, if its font has no resources, the resources of what draws it.
type glyph struct {
	code int
	res  *pdf.Dict
}

// Unknown represents a character that cannot be determined.
const Unknown = "▯"

// mostPiece bounds the text of one string: a code may map to a long text.
const mostPiece = 4096

// width is the advance of a code.
func (f *Font) width(code int, r rune) float64 {
	if w, ok := f.widths[code]; ok {
		return w
	}
	if f.usual != 0 {
		return f.usual
	}
	return Usual(f.Family, r) / 1000
}

// Letters are the characters of a string by the encoding of its font, or, if codes have two bytes,
// by its ToUnicode map; false if a code has no character, or almost no width.
func (f *Font) Letters(codes string) (string, bool) {
	var out strings.Builder
	ok := f.Sure && (!f.two || len(codes)%2 == 0)
	f.codes([]byte(codes), func(code int, s string, advance float64) {
		if !f.two {
			s = string(f.simple[code])
			ok = ok && f.simple[code] != 0
		}
		if ok = ok && s != Unknown && advance >= 0.15 && advance <= 1.5 && out.Len() <= mostPiece; ok {
			out.WriteString(s)
		}
	})
	return out.String(), ok
}

// UsualWidths reports whether a simple font has the standard widths. With others its characters
// could be drawn on top of each other.
func (f *Font) UsualWidths() bool {
	for code, w := range f.widths {
		r := f.simple[code&255]
		if r > '~' && w < 0.2 || r >= ' ' && r <= '~' && math.Abs(w-Usual(f.Family, r)/1000) > 0.001 {
			return false
		}
	}
	return true
}

// codes calls do for each code of a string with its text and advance.
func (f *Font) codes(b []byte, do func(code int, text string, advance float64)) {
	if f.two {
		for i := 0; i+1 < len(b); i += 2 {
			code := int(b[i])<<8 | int(b[i+1])
			s := f.unicode[uint16(code)]
			if s == "" {
				s = Unknown
			}
			do(code, s, f.width(code, 'n'))
		}
		return
	}
	for _, c := range b {
		s, r := f.unicode[uint16(c)], f.simple[c]
		if s == "" && r != 0 {
			s = string(r)
		}
		if s == "" {
			s = Unknown
		}
		do(int(c), s, f.width(int(c), r))
	}
}

// Font reads a font, direct or indirect, once.
func (w *Walker) Font(o pdf.Object) *Font {
	switch o.(type) {
	case pdf.Ref, *pdf.Dict:
	default:
		return nil
	}
	if f, ok := w.Fonts[o]; ok {
		return f
	}
	d := w.dict(o)
	if d == nil || !w.pay(streamWork+len(d.Entries)) {
		return nil
	}
	f := &Font{
		Object: o, Kind: w.Source.Name(d.Get("Subtype")),
		Family: strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(string(w.Source.Name(d.Get("BaseFont"))))),
		widths: map[int]float64{}, boxes: map[glyph]pdf.Rect{},
	}
	f.simple, _ = Encoding("WinAnsiEncoding")
	if d.Get("ToUnicode") != nil {
		odd := w.Odd // oddities of a font are not about ink
		if b := w.Data(d.Get("ToUnicode")); len(b) > 0 && len(b) < 1<<20 {
			f.unicode = ToUnicode(b)
		}
		if w.Odd = odd; !w.pay(entryWork * len(f.unicode)) {
			return nil
		}
	}
	if f.two = f.Kind == "Type0"; f.two {
		w.embed(f, w.composite(f, d))
	} else {
		w.embed(f, d)
		w.encode(f, d)
		w.simpleWidths(f, d)
	}
	if w.ended {
		return f // not all of it was read
	}
	if w.Fonts == nil {
		w.Fonts = map[any]*Font{}
	}
	w.Fonts[o] = f
	return f
}

// embed reads the program of a font.
func (w *Walker) embed(f *Font, d *pdf.Dict) {
	if d == nil {
		return
	}
	descriptor := w.dict(d.Get("FontDescriptor"))
	if descriptor == nil {
		return
	}
	for _, key := range []pdf.Name{"FontFile2", "FontFile3", "FontFile"} {
		if v, err := w.Source.Resolve(descriptor.Get(key)); err == nil && v == nil {
			continue
		}
		f.Embedded = true
		flags, _ := w.Source.Int(descriptor.Get("Flags"))
		f.named = !f.two && flags&(4|32) == 32 && d.Get("Encoding") != nil
		if key != "FontFile" {
			f.program = newProgram(w.Data(descriptor.Get(key)), w.pay)
		} else {
			f.program = newType1(w.Data(descriptor.Get(key)), w.pay)
		}
		return
	}
}

// encode reads the encoding of a simple font (ISO 32000-2, 9.6.5).
func (w *Walker) encode(f *Font, d *pdf.Dict) {
	var procs *pdf.Dict
	if f.Kind == "Type3" {
		m, ok := matrixOf(w.Source, d.Get("FontMatrix"))
		w.Odd = w.Odd || !ok
		f.matrix, f.type3, f.resources = m, map[int]pdf.Object{}, w.dict(d.Get("Resources"))
		procs = w.dict(d.Get("CharProcs"))
	}
	enc, err := w.Source.Resolve(d.Get("Encoding"))
	w.Odd = w.Odd || err != nil
	base, known := pdf.Name("StandardEncoding"), err == nil
	e, differs := enc.(*pdf.Dict)
	switch name, named := enc.(pdf.Name); {
	case named:
		base = name
	case differs && w.Source.Name(e.Get("BaseEncoding")) != "":
		base = w.Source.Name(e.Get("BaseEncoding"))
	case !differs:
		known = enc == nil && !f.Embedded // otherwise the encoding is the font's own
	}
	t, ok := Encoding(string(base))
	if f.Sure = ok && known; ok && (known || differs) {
		f.simple = t
	}
	if !differs {
		return
	}
	code := 0
	list, _ := w.Source.Array(e.Get("Differences"))
	for _, o := range list {
		if !w.pay(1) {
			return
		}
		if n, ok := w.Source.Int(o); ok {
			code = int(n)
			continue
		}
		name := w.Source.Name(o)
		if code >= 0 && code < 256 {
			f.simple[code] = Glyphs[string(name)]
		}
		if procs != nil && w.pay(len(procs.Entries)) {
			if p := procs.Get(name); p != nil {
				f.type3[code] = p
			}
		}
		code++
	}
}

// simpleWidths reads the widths of a simple font.
func (w *Walker) simpleWidths(f *Font, d *pdf.Dict) {
	scale := 0.001
	if f.type3 != nil {
		scale = f.matrix[0]
	}
	v, err := w.Source.Resolve(d.Get("Widths"))
	if v == nil && err == nil {
		return
	}
	list, ok := v.(pdf.Array)
	v, err2 := w.Source.Resolve(d.Get("FirstChar"))
	_, whole := v.(pdf.Integer)
	first, _ := w.Source.Int(v)
	f.Sure = f.Sure && err == nil && err2 == nil && ok && whole && first >= 0 && first <= 255 && len(list) <= 256-int(first)
	for i, o := range list[:min(len(list), 256)] {
		n, ok := w.Source.Number(o)
		if f.Sure = f.Sure && ok; ok {
			w.setWidth(f, first+int64(i), n*scale)
		}
	}
}

// composite reads the descendant of a font of two-byte codes, and its array of widths W (ISO
// 32000-2, 9.7.4.3).
func (w *Walker) composite(f *Font, d *pdf.Dict) *pdf.Dict {
	f.usual = 1
	f.Sure = w.Source.Name(d.Get("Encoding")) == "Identity-H" && len(f.unicode) > 0
	list, _ := w.Source.Array(d.Get("DescendantFonts"))
	if len(list) == 0 {
		return nil
	}
	cid := w.dict(list[0])
	if cid == nil {
		return nil
	}
	if n, ok := w.Source.Number(cid.Get("DW")); ok {
		f.usual = n / 1000
	}
	if v, err := w.Source.Resolve(cid.Get("CIDToGIDMap")); err == nil {
		if _, ok := v.(*pdf.Stream); ok {
			f.gids = w.Data(v)
		}
	}
	if w.Source.Name(d.Get("Encoding")) != "Identity-H" {
		f.gids = []byte{} // codes are not glyph numbers
	}
	widths, _ := w.Source.Array(cid.Get("W"))
	for i := 0; i+1 < len(widths) && w.pay(1); {
		first, _ := w.Source.Int(widths[i])
		o, _ := w.Source.Resolve(widths[i+1])
		if each, ok := o.(pdf.Array); ok {
			for k, o := range each[:min(len(each), 1<<16)] {
				if n, ok := w.Source.Number(o); ok {
					w.setWidth(f, first+int64(k), n/1000)
				}
			}
			i += 2
			continue
		}
		last, ok := w.Source.Int(widths[i+1])
		if !ok || i+2 >= len(widths) {
			break
		}
		n, _ := w.Source.Number(widths[i+2])
		for c := max(first, 0); c <= min(last, 0xffff) && !w.ended; c++ {
			w.setWidth(f, c, n/1000)
		}
		i += 3
	}
	return cid
}

// setWidth stores the width of a code, of which there are 65,536.
func (w *Walker) setWidth(f *Font, code int64, width float64) {
	if w.pay(entryWork) && code >= 0 && code <= 0xffff {
		f.widths[int(code)] = width
	}
}
