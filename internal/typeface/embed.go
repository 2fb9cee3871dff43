package typeface

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"unicode/utf16"

	"rogito.dev/rogito/internal/pdf"
)

// Embed adds the subset as a composite font (ISO 32000-2, 9.7): glyph numbers
// are the character codes, so that any text can be shown.
func (s *Subset) Embed(to Adder) pdf.Ref {
	program := s.program() // first: it may add components of composites
	file := pdf.Compressed(pdf.NewDict(pdf.Name("Length1"), pdf.Integer(len(program))), program)
	name := s.name(program)
	descriptor := to.New(s.descriptor(to.New(file), to.New(s.cidSet()), name))
	descendant := to.New(pdf.NewDict(
		pdf.Name("Type"), pdf.Name("Font"),
		pdf.Name("Subtype"), pdf.Name("CIDFontType2"),
		pdf.Name("BaseFont"), name,
		pdf.Name("CIDSystemInfo"), pdf.NewDict(
			pdf.Name("Registry"), pdf.String{Bytes: []byte("Adobe")},
			pdf.Name("Ordering"), pdf.String{Bytes: []byte("Identity")},
			pdf.Name("Supplement"), pdf.Integer(0)),
		pdf.Name("FontDescriptor"), descriptor,
		pdf.Name("CIDToGIDMap"), pdf.Name("Identity"),
		pdf.Name("W"), s.widths(),
	))
	return to.New(pdf.NewDict(
		pdf.Name("Type"), pdf.Name("Font"),
		pdf.Name("Subtype"), pdf.Name("Type0"),
		pdf.Name("BaseFont"), name,
		pdf.Name("Encoding"), pdf.Name("Identity-H"),
		pdf.Name("DescendantFonts"), pdf.Array{descendant},
		pdf.Name("ToUnicode"), to.New(pdf.Compressed(pdf.NewDict(), s.toUnicode())),
	))
}

// name has the tag of six letters that marks a subset, made from its bytes so
// that equal subsets have equal names.
func (s *Subset) name(program []byte) pdf.Name {
	sum := sha256.Sum256(program)
	tag := make([]byte, 6)
	for i := range tag {
		tag[i] = 'A' + sum[i]%26
	}
	return pdf.Name(string(tag) + "+" + s.font.name)
}

func (s *Subset) descriptor(file, set pdf.Ref, name pdf.Name) *pdf.Dict {
	f := s.font
	box := make(pdf.Array, 4)
	for i, v := range f.bbox {
		box[i] = pdf.Integer(f.thousandths(v))
	}
	const symbolic = 4
	return pdf.NewDict(
		pdf.Name("Type"), pdf.Name("FontDescriptor"),
		pdf.Name("FontName"), name,
		pdf.Name("Flags"), pdf.Integer(symbolic),
		pdf.Name("FontBBox"), box,
		pdf.Name("ItalicAngle"), pdf.Integer(0),
		pdf.Name("Ascent"), pdf.Integer(f.thousandths(f.ascent)),
		pdf.Name("Descent"), pdf.Integer(f.thousandths(f.descent)),
		pdf.Name("CapHeight"), pdf.Integer(f.thousandths(f.capHeight)),
		pdf.Name("StemV"), pdf.Integer(80),
		pdf.Name("FontFile2"), file,
		pdf.Name("CIDSet"), set,
	)
}

// thousandths turns font units into the thousandths of an em that PDF counts in.
func (f *Font) thousandths(v int) int { return v * 1000 / f.unitsPerEm }

// cidSet marks every glyph of the subset as present, as PDF/A-1 requires.
func (s *Subset) cidSet() *pdf.Stream {
	bits := make([]byte, (len(s.old)+7)/8)
	for i := range s.old {
		bits[i/8] |= 0x80 >> (i % 8)
	}
	return pdf.Compressed(pdf.NewDict(), bits)
}

func (s *Subset) widths() pdf.Array {
	all := make(pdf.Array, len(s.old))
	for i, g := range s.old {
		all[i] = pdf.Real(fmt.Sprintf("%.3f", float64(s.font.advance(g))*1000/float64(s.font.unitsPerEm)))
	}
	return pdf.Array{pdf.Integer(0), all}
}

// toUnicode lets readers copy and search the text.
func (s *Subset) toUnicode() []byte {
	var b bytes.Buffer
	b.WriteString("/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n" +
		"/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n" +
		"/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n" +
		"1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n")
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(s.text)), 100) {
		fmt.Fprintf(&b, "%d beginbfchar\n", len(chunk))
		for _, c := range chunk {
			fmt.Fprintf(&b, "<%04X> <%s>\n", c, utf16Hex(s.text[c]))
		}
		b.WriteString("endbfchar\n")
	}
	b.WriteString("endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n")
	return b.Bytes()
}

func utf16Hex(r rune) string {
	text := ""
	for _, u := range utf16.Encode([]rune{r}) {
		text += fmt.Sprintf("%04X", u)
	}
	return text
}
