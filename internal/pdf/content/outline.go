package content

import (
	"encoding/binary"
	"slices"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"rogito.dev/rogito/internal/pdf"
)

// program is an embedded font program. It has the extent of its outlines, whatever the font
// dictionary says.
type program struct {
	font   *sfnt.Font // nil for Type 1, of which only all is known
	buffer sfnt.Buffer
	all    *pdf.Rect // of all glyphs together; nil until computed
	cff    bool      // glyphs cannot be found by number
}

// Bounds for examining all outlines of a font.
const (
	mostGlyphs = 8192
	glyphWork  = 64
	anywhere   = 1e6
)

// newProgram reads TrueType, OpenType and CFF; nil if it cannot. Fonts in a PDF may lack tables
// that have nothing to do with outlines; these are added.
func newProgram(b []byte, pay func(int) bool) *program {
	be := binary.BigEndian
	tables := map[string][]byte{}
	count := 0
	if len(b) > 4 && b[0] == 1 && b[1] == 0 && be.Uint32(b) != 0x00010000 {
		tables["CFF "] = b
	} else {
		if len(b) < 12 {
			return nil
		}
		n := int(be.Uint16(b[4:]))
		for i := range n {
			if len(b) < 12+16*(i+1) {
				return nil
			}
			e := b[12+16*i:]
			tag, off, size := string(e[:4]), int64(be.Uint32(e[8:])), int64(be.Uint32(e[12:]))
			if _, twice := tables[tag]; twice || off+size > int64(len(b)) {
				return nil
			}
			tables[tag] = b[off : off+size]
		}
	}
	if cff, ok := tables["CFF "]; ok {
		if _, both := tables["glyf"]; both {
			return nil
		}
		if count, ok = cffGlyphs(cff); !ok {
			return nil
		}
		tables["head"] = nil // its matrix is the usual one
		tables["maxp"] = be.AppendUint16([]byte{0, 0, 0x50, 0}, uint16(count))
	} else if m := tables["maxp"]; len(m) >= 6 {
		count = int(be.Uint16(m[4:]))
	}
	if count == 0 || !pay(len(b)/16+count) {
		return nil
	}
	if len(tables["head"]) < 54 {
		tables["head"] = make([]byte, 54)
		be.PutUint16(tables["head"][18:], 1000)
	}
	tables["hhea"] = make([]byte, 36)
	tables["hhea"][35] = 1
	tables["hmtx"] = make([]byte, 4+2*(count-1))
	tables["post"] = append([]byte{0, 3, 0, 0}, make([]byte, 28)...)
	for _, cmap := range [][]byte{tables["cmap"], {0, 0, 0, 1, 0, 3, 0, 1, 0, 0, 0, 12, 0, 4, 0, 24, 0, 0, 0, 2, 0, 2, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF, 0, 1, 0, 0}} {
		tables["cmap"] = cmap
		if f, err := sfnt.Parse(container(tables)); err == nil {
			return &program{font: f, cff: tables["CFF "] != nil}
		}
	}
	return nil
}

// container writes a font file with the tables needed for outlines.
func container(tables map[string][]byte) []byte {
	be := binary.BigEndian
	tags := []string{"CFF ", "cmap", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "post"}
	tags = slices.DeleteFunc(tags, func(t string) bool { return tables[t] == nil })
	head := []byte{0, 1, 0, 0, 0, byte(len(tags)), 0, 0, 0, 0, 0, 0}
	if tags[0] == "CFF " {
		copy(head, "OTTO")
	}
	var body []byte
	for _, t := range tags {
		head = append(append(head, t...), 0, 0, 0, 0)
		head = be.AppendUint32(head, uint32(12+16*len(tags)+len(body)))
		head = be.AppendUint32(head, uint32(len(tables[t])))
		body = append(body, tables[t]...)
		body = append(body, make([]byte, (4-len(body)%4)%4)...)
	}
	return append(head, body...)
}

// cffGlyphs counts the glyphs of a CFF font; false if a matrix scales them (Adobe Technical Note
// 5176).
func cffGlyphs(b []byte) (int, bool) {
	if len(b) < 4 {
		return 0, false
	}
	_, at, ok := cffIndex(b, int(b[2]))
	if !ok {
		return 0, false
	}
	tops, _, ok := cffIndex(b, at)
	if !ok || len(tops) != 1 {
		return 0, false
	}
	top, ok := cffDict(tops[0])
	if !ok || top[1207] != nil || len(top[17]) != 1 {
		return 0, false
	}
	if fds := top[1236]; fds != nil { // each font of a CID font may have one
		list, _, ok := cffIndex(b, fds[0])
		if !ok {
			return 0, false
		}
		for _, d := range list {
			if fd, ok := cffDict(d); !ok || fd[1207] != nil {
				return 0, false
			}
		}
	}
	glyphs, _, ok := cffIndex(b, top[17][0])
	return len(glyphs), ok
}

// cffIndex reads an INDEX, and where it ends.
func cffIndex(b []byte, at int) (out [][]byte, end int, ok bool) {
	if at < 0 || at+2 > len(b) {
		return nil, 0, false
	}
	n := int(binary.BigEndian.Uint16(b[at:]))
	if n == 0 {
		return nil, at + 2, true
	}
	if at+3 > len(b) {
		return nil, 0, false
	}
	size := int(b[at+2])
	base := at + 3 + (n+1)*size - 1
	if size < 1 || size > 4 || base > len(b) {
		return nil, 0, false
	}
	offset := func(i int) (v int) {
		for _, c := range b[at+3+i*size : at+3+(i+1)*size] {
			v = v<<8 | int(c)
		}
		return base + v
	}
	for i := range n {
		from, to := offset(i), offset(i+1)
		if from < base || to < from || to > len(b) {
			return nil, 0, false
		}
		out = append(out, b[from:to])
	}
	return out, offset(n), true
}

// cffDict reads the integers of a DICT by operator, two-byte operators beginning at 1200.
func cffDict(b []byte) (map[int][]int, bool) {
	out := map[int][]int{}
	var args []int
	for i := 0; i < len(b); i++ {
		c := int(b[i])
		more := map[bool]int{c == 28: 2, c == 29: 4, c >= 247 && c <= 254 || c == 12: 1}[true]
		if i+more >= len(b) {
			return nil, false
		}
		switch {
		case c == 12:
			out[1200+int(b[i+1])], args = append([]int{}, args...), nil
		case c <= 21:
			out[c], args = args, nil
		case c == 28:
			args = append(args, int(int16(binary.BigEndian.Uint16(b[i+1:]))))
		case c == 29:
			args = append(args, int(int32(binary.BigEndian.Uint32(b[i+1:]))))
		case c == 30: // a real number: nibbles up to 15
			for i++; i < len(b) && b[i]&15 != 15 && b[i]>>4 != 15; i++ {
			}
			args = append(args, 0)
		case c >= 32 && c <= 246:
			args = append(args, c-139)
		case c >= 247 && c <= 250:
			args = append(args, (c-247)*256+int(b[i+1])+108)
		case c >= 251 && c <= 254:
			args = append(args, -(c-251)*256-int(b[i+1])-108)
		default:
			return nil, false
		}
		i += more
	}
	return out, true
}

// box is the extent of an outline, in units of the size. Control points count as points of the
// outline, so it is never too small.
func (p *program) box(gid sfnt.GlyphIndex) (pdf.Rect, bool) {
	const unit = 64
	em := p.font.UnitsPerEm()
	segments, err := p.font.LoadGlyph(&p.buffer, gid, fixed.I(int(em)), nil)
	if err != nil || em == 0 {
		return pdf.Rect{}, false
	}
	if len(segments) == 0 {
		return Nothing, true
	}
	b := segments.Bounds() // y points down
	scale := 1 / (unit * float64(em))
	return pdf.Rect{LLX: float64(b.Min.X) * scale, LLY: -float64(b.Max.Y) * scale, URX: float64(b.Max.X) * scale, URY: -float64(b.Min.Y) * scale}, true
}

// outline is a box around the glyph of a code: exact if the code is a glyph number, or maps to one
// by the font's own character map, else around all glyphs.
func (p *program) outline(f *Font, code int, pay func(int) bool) (pdf.Rect, bool) {
	if p.font != nil && f.two && !p.cff {
		gid := code
		if f.gids != nil {
			if gid = -1; 2*code+1 < len(f.gids) {
				gid = int(f.gids[2*code])<<8 | int(f.gids[2*code+1])
			}
		}
		if gid >= 0 && gid < p.font.NumGlyphs() && pay(glyphWork) {
			return p.box(sfnt.GlyphIndex(gid))
		}
	}
	all, known := p.reach(pay)
	if !known {
		return Nothing, false
	}
	if p.font != nil && f.named && f.simple[code] != 0 && letterSized(all) {
		if gid, err := p.font.GlyphIndex(&p.buffer, f.simple[code]); err == nil && gid != 0 {
			return p.box(gid)
		}
	}
	return all, true
}

// reach is a box around all glyphs.
func (p *program) reach(pay func(int) bool) (pdf.Rect, bool) {
	if p.all == nil {
		all := Nothing
		n := p.font.NumGlyphs()
		known := n <= mostGlyphs && pay(n*glyphWork)
		for gid := 0; known && gid < n; gid++ {
			var b pdf.Rect
			b, known = p.box(sfnt.GlyphIndex(gid))
			all = Union(all, b)
		}
		if !known {
			all.URX = anywhere
		}
		p.all = &all
	}
	return *p.all, p.all.URX < anywhere
}

// OwnGlyphs reports whether a font has its own glyphs.
func (f *Font) OwnGlyphs() bool { return f.Embedded || f.type3 != nil }

// exact reports whether the outline of each glyph is known.
func (f *Font) exact() bool {
	return f.type3 != nil || f.two && f.program != nil && f.program.font != nil && !f.program.cff
}

// Large reports whether a font may have glyphs larger than letters.
func (w *Walker) Large(o pdf.Object) bool {
	f := w.Font(o)
	if f == nil || !f.OwnGlyphs() {
		return false
	}
	if f.program == nil {
		return true
	}
	all, known := f.program.reach(w.pay)
	return !known || !letterSized(all)
}

// letterSized: with such a font it hardly matters which glyph a reader chooses for a code.
func letterSized(r pdf.Rect) bool { return r.LLX > -1.5 && r.LLY > -1 && r.URX < 3 && r.URY < 2 }
