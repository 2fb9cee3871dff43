// Package appearance draws a visible signature: a few lines of text and a picture in a box, as a
// PDF form XObject (ISO 32000-2, 8.10).
//
// The package only makes objects; the caller decides where the box is on the page.
package appearance

import (
	"bytes"
	"fmt"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/typeface"
)

// Box is what a visible signature shows.
type Box struct {
	Width, Height float64 // points
	Layout        Layout
	Lines         []Line
	Image         *Image
	// Code is a square picture at the right edge, such as a QR code; nil for none.
	Code *Image
}

// Layout says how text and picture share a box.
type Layout string

// The layouts. Without a picture all but Compact are the same.
const (
	Beside  Layout = "beside"  // the picture is left of the text
	Above   Layout = "above"   // the picture is above the text
	Behind  Layout = "behind"  // the picture is behind the text, pale
	Text    Layout = "text"    // no picture
	Compact Layout = "compact" // all text in one paragraph, no picture
	Picture Layout = "picture" // no text
)

// Line of text. If a box is too small, lines are omitted from the end.
type Line struct {
	Text string
	Kind Kind
}

// Kind is what a line is for.
type Kind int

// The kinds.
const (
	Plain   Kind = iota
	Caption      // small and grey: introduces the name below
	Name         // large and bold
	Detail       // a little smaller than plain text
)

// Colours, as operands of sRGB: those of the pages and reports.
const (
	ink    = "0.09 0.125 0.18"
	soft   = "0.30 0.345 0.42"
	accent = "0.07 0.30 0.55"
)

// area is a part of the box.
type area struct{ x, y, width, height float64 }

// Form adds the appearance to a document and returns its form XObject.
func Form(to typeface.Adder, b Box) pdf.Ref {
	if b.Layout == Text || b.Layout == Compact {
		b.Image = nil
	}
	lines := b.text()
	resources := pdf.NewDict()
	space := to.New(pdf.Compressed(pdf.NewDict(pdf.Name("N"), pdf.Integer(3)), typeface.SRGB()))
	resources.Set("ColorSpace", pdf.NewDict(pdf.Name("CS0"), pdf.Array{pdf.Name("ICCBased"), space}))
	var content bytes.Buffer
	whole := area{0, 0, b.Width, b.Height}
	pictures := pdf.NewDict()
	if b.Code != nil {
		side := min(b.Height, b.Width/2) // half of the box remains for the rest
		b.Code.draw(&content, "Im1", area{b.Width - side, 0, side, b.Height})
		pictures.Set("Im1", b.Code.add(to, space))
		whole.width -= side
	}
	picture, text := b.divide(whole, len(lines) > 0)
	if b.Image != nil {
		b.Image.draw(&content, "Im0", picture)
		pictures.Set("Im0", b.Image.add(to, space))
	}
	if len(pictures.Entries) > 0 {
		resources.Set("XObject", pictures)
	}
	if len(lines) > 0 {
		fonts := &fonts{}
		text = b.drawRule(&content, text)
		fonts.draw(&content, lines, text)
		resources.Set("Font", fonts.embed(to))
	}
	dict := pdf.NewDict(
		pdf.Name("Type"), pdf.Name("XObject"),
		pdf.Name("Subtype"), pdf.Name("Form"),
		pdf.Name("BBox"), pdf.Array{pdf.Integer(0), pdf.Integer(0), number(b.Width), number(b.Height)},
		pdf.Name("Resources"), resources,
	)
	return to.New(pdf.Compressed(dict, content.Bytes()))
}

// text returns the lines for the layout.
func (b Box) text() []Line {
	switch {
	case b.Layout == Picture && b.Image != nil:
		return nil
	case b.Layout == Compact:
		return joined(shown(b.Lines))
	}
	return shown(b.Lines)
}

// shown keeps the lines that have something to show.
func shown(lines []Line) []Line {
	var out []Line
	for _, l := range lines {
		if l.Text = typeface.Clean(l.Text); l.Text != "" {
			out = append(out, l)
		}
	}
	return out
}

// divide splits the box between picture and text.
func (b Box) divide(whole area, hasText bool) (picture, text area) {
	picture, text = whole, whole
	if b.Image == nil || !hasText {
		return picture, text
	}
	ratio := float64(b.Image.Width) / float64(b.Image.Height)
	switch b.Layout {
	case Behind:
	case Above:
		picture.height = min(whole.height*0.5, whole.width/ratio)
		picture.y = whole.height - picture.height
		text.height = whole.height - picture.height
	default:
		picture.width = min(whole.width*0.4, whole.height*ratio)
		text.x = picture.width
		text.width = whole.width - picture.width
	}
	return picture, text
}

// draw centres the picture in its part, as large as possible.
func (m *Image) draw(w *bytes.Buffer, name string, at area) {
	scale := min(at.width/float64(m.Width), at.height/float64(m.Height))
	width, height := scale*float64(m.Width), scale*float64(m.Height)
	fmt.Fprintf(w, "q %.3f 0 0 %.3f %.3f %.3f cm /%s Do Q\n", width, height, at.x+(at.width-width)/2, at.y+(at.height-height)/2, name)
}

// drawRule draws the thin bar left of the text and returns the space for the text.
func (b Box) drawRule(w *bytes.Buffer, at area) area {
	margin := min(2, at.width/20, at.height/10)
	at.x, at.y, at.width, at.height = at.x+margin, at.y+margin, at.width-2*margin, at.height-2*margin
	if b.Layout == Above && b.Image != nil || at.width < 40 {
		return at
	}
	const bar, gap = 1.2, 4.0
	fmt.Fprintf(w, "q /CS0 cs %s sc %.3f %.3f %.3f %.3f re f Q\n", accent, at.x, at.y, bar, at.height)
	at.x, at.width = at.x+bar+gap, at.width-bar-gap
	return at
}

func number(v float64) pdf.Object { return pdf.Real(fmt.Sprintf("%.3f", v)) }
