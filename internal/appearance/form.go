// Package appearance draws what a visible signature shows: a few lines of text
// and a picture in a box, as a PDF form XObject (ISO 32000-2, 8.10).
//
// Fonts are embedded as subsets and colours are given with a profile, so that
// a PDF/A document stays one. The package only makes objects; where the box
// stands on the page is the caller's business.
package appearance

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"sync"

	"golang.org/x/image/font/gofont/goregular"

	"rogito.dev/rogito/internal/pdf"
)

// Adder takes new objects into a document.
type Adder interface {
	New(o pdf.Object) pdf.Ref
}

// Box is what a visible signature shows. Text stands right of the image, or
// fills the box where there is none.
type Box struct {
	Width, Height float64 // points
	Lines         []string
	Image         *Image
}

var regular = sync.OnceValues(func() (*font, error) { return parseFont(goregular.TTF) })

// Form adds the appearance to a document and returns its form XObject.
func Form(to Adder, b Box) (pdf.Ref, error) {
	f, err := regular()
	if err != nil {
		return pdf.Ref{}, err
	}
	resources := pdf.NewDict()
	space := to.New(compressed(pdf.NewDict(pdf.Name("N"), pdf.Integer(3)), srgb()))
	resources.Set("ColorSpace", pdf.NewDict(pdf.Name("CS0"), pdf.Array{pdf.Name("ICCBased"), space}))
	var content bytes.Buffer
	left := b.drawImage(&content, resources, func() pdf.Ref { return b.Image.add(to, space) })
	if lines := shown(b.Lines); len(lines) > 0 {
		s := newSubset(f)
		b.drawText(&content, s, lines, left)
		resources.Set("Font", pdf.NewDict(pdf.Name("F0"), s.embed(to)))
	}
	dict := pdf.NewDict(
		pdf.Name("Type"), pdf.Name("XObject"),
		pdf.Name("Subtype"), pdf.Name("Form"),
		pdf.Name("BBox"), pdf.Array{pdf.Integer(0), pdf.Integer(0), number(b.Width), number(b.Height)},
		pdf.Name("Resources"), resources,
	)
	return to.New(compressed(dict, content.Bytes())), nil
}

// shown keeps the lines that have something to show.
func shown(lines []string) []string {
	var out []string
	for _, l := range lines {
		if l = clean(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// drawImage puts the image into the left half, or into the whole box when
// there is no text, and returns where the text may begin.
func (b Box) drawImage(w *bytes.Buffer, resources *pdf.Dict, add func() pdf.Ref) float64 {
	if b.Image == nil {
		return 0
	}
	room := b.Width
	if len(shown(b.Lines)) > 0 {
		room = min(b.Width/2, b.Height*float64(b.Image.Width)/float64(b.Image.Height))
	}
	scale := min(room/float64(b.Image.Width), b.Height/float64(b.Image.Height))
	width, height := scale*float64(b.Image.Width), scale*float64(b.Image.Height)
	fmt.Fprintf(w, "q %.3f 0 0 %.3f %.3f %.3f cm /Im0 Do Q\n", width, height, (room-width)/2, (b.Height-height)/2)
	resources.Set("XObject", pdf.NewDict(pdf.Name("Im0"), add()))
	return room
}

func (b Box) drawText(w *bytes.Buffer, s *subset, lines []string, left float64) {
	const margin = 2
	size, lines := s.font.fit(lines, max(1, b.Width-left-2*margin), max(1, b.Height-2*margin))
	block := float64(len(lines)) * size * leading
	top := (b.Height+block)/2 - size*leading + size*0.25
	fmt.Fprintf(w, "q /CS0 cs 0 0 0 sc BT /F0 %.2f Tf %.3f %.3f Td\n", size, left+margin, top)
	for i, line := range lines {
		if i > 0 {
			fmt.Fprintf(w, "0 %.3f Td\n", -size*leading)
		}
		w.WriteByte('<')
		for _, r := range line {
			fmt.Fprintf(w, "%04X", s.glyph(r))
		}
		w.WriteString("> Tj\n")
	}
	w.WriteString("ET Q\n")
}

func number(v float64) pdf.Object { return pdf.Real(fmt.Sprintf("%.3f", v)) }

// compressed makes a stream object with FlateDecode.
func compressed(dict *pdf.Dict, data []byte) *pdf.Stream {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(data)
	z.Close()
	dict.Set("Filter", pdf.Name("FlateDecode"))
	return &pdf.Stream{Dict: dict, Data: b.Bytes()}
}
