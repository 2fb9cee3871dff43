package typeface

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Font is a TrueType font taken apart far enough to measure text and to write
// a subset of its glyphs. It is only ever given fonts that come with the
// binary, so it checks bounds but forgives nothing.
type Font struct {
	name       string
	tables     map[string][]byte
	unitsPerEm int
	ascent     int
	descent    int
	capHeight  int
	bbox       [4]int
	longLoca   bool
	metrics    int // glyphs with an advance width of their own
	runes      map[rune]uint16
}

var errFont = errors.New("typeface: unreadable font")

// parseFont reads the table directory and the tables that measuring needs.
func parseFont(name string, b []byte) (*Font, error) {
	if len(b) < 12 {
		return nil, errFont
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	if len(b) < 12+16*n {
		return nil, errFont
	}
	f := &Font{name: name, tables: make(map[string][]byte, n)}
	for i := range n {
		e := b[12+16*i:]
		off, size := int(binary.BigEndian.Uint32(e[8:])), int(binary.BigEndian.Uint32(e[12:]))
		if off < 0 || size < 0 || off+size > len(b) {
			return nil, errFont
		}
		f.tables[string(e[:4])] = b[off : off+size]
	}
	return f, f.measure()
}

func (f *Font) measure() error {
	head, hhea, maxp := f.tables["head"], f.tables["hhea"], f.tables["maxp"]
	if len(head) < 54 || len(hhea) < 36 || len(maxp) < 6 {
		return errFont
	}
	f.unitsPerEm = int(binary.BigEndian.Uint16(head[18:]))
	for i := range f.bbox {
		f.bbox[i] = int16at(head, 36+2*i)
	}
	f.longLoca = binary.BigEndian.Uint16(head[50:]) != 0
	f.ascent, f.descent = int16at(hhea, 4), int16at(hhea, 6)
	f.metrics = int(binary.BigEndian.Uint16(hhea[34:]))
	f.capHeight = f.ascent
	if os2 := f.tables["OS/2"]; len(os2) >= 90 {
		f.capHeight = int16at(os2, 88)
	}
	if f.unitsPerEm == 0 || f.metrics == 0 || len(f.tables["hmtx"]) < 4*f.metrics {
		return errFont
	}
	return f.readCmap()
}

func int16at(b []byte, i int) int { return int(int16(binary.BigEndian.Uint16(b[i:]))) }

// readCmap reads the Unicode mapping of format 4: the basic plane, which is all
// that the fonts we carry have.
func (f *Font) readCmap() error {
	cmap := f.tables["cmap"]
	if len(cmap) < 4 {
		return errFont
	}
	for i := range int(binary.BigEndian.Uint16(cmap[2:])) {
		if len(cmap) < 12+8*i {
			return errFont
		}
		off := int(binary.BigEndian.Uint32(cmap[8+8*i:]))
		if off+14 <= len(cmap) && binary.BigEndian.Uint16(cmap[off:]) == 4 {
			return f.readSegments(cmap[off:])
		}
	}
	return errFont
}

func (f *Font) readSegments(t []byte) error {
	n := int(binary.BigEndian.Uint16(t[6:])) / 2
	if len(t) < 16+8*n {
		return errFont
	}
	f.runes = make(map[rune]uint16)
	ends, starts := t[14:], t[16+2*n:]
	deltas, offsets := t[16+4*n:], t[16+6*n:]
	for i := range n {
		first, last := binary.BigEndian.Uint16(starts[2*i:]), binary.BigEndian.Uint16(ends[2*i:])
		delta, off := binary.BigEndian.Uint16(deltas[2*i:]), int(binary.BigEndian.Uint16(offsets[2*i:]))
		for c := int(first); c <= int(last) && c != 0xffff; c++ {
			g := uint16(c) + delta
			if off != 0 {
				at := 2*i + off + 2*(c-int(first))
				if at+2 > len(offsets) {
					return errFont
				}
				if g = binary.BigEndian.Uint16(offsets[at:]); g != 0 {
					g += delta
				}
			}
			if g != 0 {
				f.runes[rune(c)] = g
			}
		}
	}
	return nil
}

// advance is the width of a glyph in font units.
func (f *Font) advance(g uint16) int {
	i := min(int(g), f.metrics-1)
	return int(binary.BigEndian.Uint16(f.tables["hmtx"][4*i:]))
}

// bearing is the left side bearing of a glyph.
func (f *Font) bearing(g uint16) uint16 {
	hmtx := f.tables["hmtx"]
	if int(g) < f.metrics {
		return binary.BigEndian.Uint16(hmtx[4*int(g)+2:])
	}
	if at := 4*f.metrics + 2*(int(g)-f.metrics); at+2 <= len(hmtx) {
		return binary.BigEndian.Uint16(hmtx[at:])
	}
	return 0
}

// outline returns the glyf entry of a glyph, empty for a blank.
func (f *Font) outline(g uint16) []byte {
	loca, glyf := f.tables["loca"], f.tables["glyf"]
	var from, to int
	if f.longLoca {
		if 4*int(g)+8 > len(loca) {
			return nil
		}
		from, to = int(binary.BigEndian.Uint32(loca[4*int(g):])), int(binary.BigEndian.Uint32(loca[4*int(g)+4:]))
	} else {
		if 2*int(g)+4 > len(loca) {
			return nil
		}
		from, to = 2*int(binary.BigEndian.Uint16(loca[2*int(g):])), 2*int(binary.BigEndian.Uint16(loca[2*int(g)+2:]))
	}
	if from >= to || to > len(glyf) {
		return nil
	}
	return glyf[from:to]
}

// Subset is a font reduced to the glyphs in use, renumbered from zero (.notdef), so that it only
// has glyphs that the text may show.
type Subset struct {
	font *Font
	old  []uint16         // new number → number in the font
	new  map[shown]uint16 // and back
	text map[uint16]rune  // new number → character
}

// shown is a glyph and its character; zero for a part of another glyph. A glyph for two characters
// is there twice.
type shown struct {
	glyph uint16
	text  rune
}

// Subset returns an empty one.
func (f *Font) Subset() *Subset {
	return &Subset{font: f, old: []uint16{0}, new: map[shown]uint16{{}: 0}, text: make(map[uint16]rune)}
}

// Show are the operators that show a text, for the inside of a text object. Who
// copies what is spelled by its number gets the character (ISO 32000-2, 14.9.4).
func (s *Subset) Show(text string) string {
	var b strings.Builder
	plain := false // a string of plain characters is open
	end := func() {
		if plain {
			b.WriteString("> Tj ")
		}
		plain = false
	}
	for _, r := range text {
		glyphs, spelled := s.font.glyphsOf(r)
		if spelled {
			end()
			fmt.Fprintf(&b, "/Span << /ActualText <FEFF%s> >> BDC ", utf16Hex(r))
		}
		if !plain {
			b.WriteByte('<')
			plain = true
		}
		for _, c := range glyphs {
			n := s.add(c)
			s.text[n] = c.text
			fmt.Fprintf(&b, "%04X", n)
		}
		if spelled {
			end()
			b.WriteString("EMC ")
		}
	}
	end()
	return strings.TrimSuffix(b.String(), " ")
}

func (s *Subset) add(c shown) uint16 {
	if n, ok := s.new[c]; ok {
		return n
	}
	n := uint16(len(s.old))
	s.old = append(s.old, c.glyph)
	s.new[c] = n
	return n
}

// Flags of a composite glyph's component.
const (
	argsAreWords  = 1 << 0
	haveScale     = 1 << 3
	moreComponent = 1 << 5
	haveXYScale   = 1 << 6
	haveTwoByTwo  = 1 << 7
)

// program writes the subset as a TrueType font.
func (s *Subset) program() []byte {
	var glyf, loca, hmtx []byte
	// Components are added while their composites are written, so the list
	// grows under the loop.
	for i := 0; i < len(s.old); i++ {
		g := s.old[i]
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		glyf = append(glyf, s.renumber(s.font.outline(g))...)
		for len(glyf)%4 != 0 {
			glyf = append(glyf, 0)
		}
		hmtx = binary.BigEndian.AppendUint16(hmtx, uint16(s.font.advance(g)))
		hmtx = binary.BigEndian.AppendUint16(hmtx, s.font.bearing(g))
	}
	loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
	n := uint16(len(s.old))
	head := append([]byte(nil), s.font.tables["head"]...)
	binary.BigEndian.PutUint32(head[8:], 0)
	binary.BigEndian.PutUint16(head[50:], 1)
	hhea := append([]byte(nil), s.font.tables["hhea"]...)
	binary.BigEndian.PutUint16(hhea[34:], n)
	maxp := append([]byte(nil), s.font.tables["maxp"]...)
	binary.BigEndian.PutUint16(maxp[4:], n)
	tables := map[string][]byte{"head": head, "hhea": hhea, "maxp": maxp, "hmtx": hmtx, "loca": loca, "glyf": glyf}
	for _, name := range []string{"cvt ", "fpgm", "prep"} {
		if t, ok := s.font.tables[name]; ok {
			tables[name] = t
		}
	}
	return assemble(tables)
}

// renumber copies a glyph's outline; the components of a composite get their
// numbers in the subset.
func (s *Subset) renumber(outline []byte) []byte {
	out := append([]byte(nil), outline...)
	if len(out) < 10 || int16at(out, 0) >= 0 {
		return out
	}
	for at := 10; at+4 <= len(out); {
		flags := binary.BigEndian.Uint16(out[at:])
		binary.BigEndian.PutUint16(out[at+2:], s.add(shown{glyph: binary.BigEndian.Uint16(out[at+2:])}))
		if flags&moreComponent == 0 {
			break
		}
		at += componentSize(flags)
	}
	return out
}

func componentSize(flags uint16) int {
	n := 6
	if flags&argsAreWords != 0 {
		n += 2
	}
	switch {
	case flags&haveScale != 0:
		n += 2
	case flags&haveXYScale != 0:
		n += 4
	case flags&haveTwoByTwo != 0:
		n += 8
	}
	return n
}

// assemble writes an sfnt file with its directory and check sums.
func assemble(tables map[string][]byte) []byte {
	names := slices.Sorted(maps.Keys(tables))
	n := len(names)
	span, selector := 1, 0
	for span*2 <= n {
		span, selector = span*2, selector+1
	}
	out := []byte{0, 1, 0, 0}
	for _, v := range []int{n, span * 16, selector, n*16 - span*16} {
		out = binary.BigEndian.AppendUint16(out, uint16(v))
	}
	at, headAt := 12+16*n, 0
	for _, name := range names {
		t := tables[name]
		if name == "head" {
			headAt = at
		}
		out = append(out, name...)
		for _, v := range []uint32{checksum(t), uint32(at), uint32(len(t))} {
			out = binary.BigEndian.AppendUint32(out, v)
		}
		at += (len(t) + 3) &^ 3
	}
	for _, name := range names {
		out = append(out, tables[name]...)
		for len(out)%4 != 0 {
			out = append(out, 0)
		}
	}
	binary.BigEndian.PutUint32(out[headAt+8:], 0xB1B0AFBA-checksum(out))
	return out
}

func checksum(b []byte) uint32 {
	var sum uint32
	for i := 0; i < len(b); i += 4 {
		var word [4]byte
		copy(word[:], b[i:])
		sum += binary.BigEndian.Uint32(word[:])
	}
	return sum
}
