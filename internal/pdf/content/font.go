package content

import (
	"strings"

	"rogito.dev/rogito/internal/pdf"
)

// Font turns codes into characters, widths and outlines, as far as they are
// known.
type Font struct {
	family    string
	simple    *[256]rune
	widths    map[int]float64 // by code, in units of the size
	usual     float64         // of a code that is not among them; 0: by the character
	unicode   map[uint16]string
	two       bool // codes of two bytes
	named     bool // readers find its glyphs by their names
	embedded  bool
	program   *program
	gids      []byte             // CIDToGIDMap
	type3     map[int]pdf.Object // procedures
	matrix    Matrix             // of a Type 3 font
	resources *pdf.Dict          // of its procedures
	boxes     map[int]pdf.Rect   // outlines that were asked for
}

// Unknown stands for a character that cannot be told.
const Unknown = "▯"

// mostPiece is what one string shows: a code may stand for a long text.
const mostPiece = 4096

// codes calls do for each code of a string with what it stands for and how far it
// moves on.
func (f *Font) codes(b []byte, do func(code int, text string, advance float64)) {
	width := func(code int, r rune) float64 {
		if w, ok := f.widths[code]; ok {
			return w
		}
		if f.usual != 0 {
			return f.usual
		}
		return Usual(f.family, r) / 1000
	}
	if f.two {
		for i := 0; i+1 < len(b); i += 2 {
			code := int(b[i])<<8 | int(b[i+1])
			s := f.unicode[uint16(code)]
			if s == "" {
				s = Unknown
			}
			do(code, s, width(code, 'n'))
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
		do(int(c), s, width(int(c), r))
	}
}

// Font reads a font, an object of its own or not, once.
func (w *Walker) Font(o pdf.Object) *Font {
	switch o.(type) {
	case pdf.Ref, *pdf.Dict:
	default:
		return nil
	}
	if f, ok := w.fonts[o]; ok {
		return f
	}
	d := w.dict(o)
	if d == nil || !w.pay(streamWork+len(d.Entries)) {
		return nil
	}
	f := &Font{
		family: strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(string(w.Source.Name(d.Get("BaseFont"))))),
		widths: map[int]float64{}, boxes: map[int]pdf.Rect{},
	}
	f.simple, _ = Encoding("WinAnsiEncoding")
	if d.Get("ToUnicode") != nil {
		odd := w.Odd // what it says is no ink
		if b := w.Data(d.Get("ToUnicode")); len(b) > 0 && len(b) < 1<<20 {
			f.unicode = ToUnicode(b)
		}
		if w.Odd = odd; !w.pay(entryWork * len(f.unicode)) {
			return nil
		}
	}
	kind := w.Source.Name(d.Get("Subtype"))
	holder := d
	if f.two = kind == "Type0"; f.two {
		holder = w.composite(f, d)
	} else {
		w.simpleFont(f, d, kind == "Type3")
	}
	w.embed(f, holder)
	if w.fonts == nil {
		w.fonts = map[any]*Font{}
	}
	w.fonts[o] = f
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
		f.embedded = true
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

func (w *Walker) simpleFont(f *Font, d *pdf.Dict, type3 bool) {
	scale := 0.001
	var procs *pdf.Dict
	if type3 {
		m, ok := matrixOf(w.Source, d.Get("FontMatrix"))
		w.Odd = w.Odd || !ok
		f.matrix, f.type3, f.resources = m, map[int]pdf.Object{}, w.dict(d.Get("Resources"))
		scale = m[0]
		procs = w.dict(d.Get("CharProcs"))
	}
	enc, err := w.Source.Resolve(d.Get("Encoding"))
	w.Odd = w.Odd || err != nil
	switch e := enc.(type) {
	case pdf.Name:
		if t, ok := Encoding(string(e)); ok {
			f.simple = t
		}
	case *pdf.Dict:
		if t, ok := Encoding(string(w.Source.Name(e.Get("BaseEncoding")))); ok {
			f.simple = t
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
	first, _ := w.Source.Int(d.Get("FirstChar"))
	list, _ := w.Source.Array(d.Get("Widths"))
	for i, o := range list[:min(len(list), 256)] {
		if n, ok := w.Source.Number(o); ok {
			w.setWidth(f, first+int64(i), n*scale)
		}
	}
}

// composite reads the descendant of a font of two-byte codes, and the array W of
// its widths (ISO 32000-2, 9.7.4.3).
func (w *Walker) composite(f *Font, d *pdf.Dict) *pdf.Dict {
	f.usual = 1
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
		f.gids = []byte{} // codes are not glyphs
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

// setWidth keeps the width of a code, of which there are 65,536.
func (w *Walker) setWidth(f *Font, code int64, width float64) {
	if w.pay(entryWork) && code >= 0 && code <= 0xffff {
		f.widths[int(code)] = width
	}
}
