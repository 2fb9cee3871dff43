// Package sketch tells roughly what stands where on a page of a PDF: lines of
// text, pictures as boxes, ruled lines, form fields and signatures. It is for
// people who choose a place on the page, and proves nothing: what is not
// understood is left out, and nothing of the document runs.
package sketch

import (
	"context"
	"math"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// Page is a page as a viewer shows it, rotation applied. Lengths are points, from
// the upper left corner.
type Page struct {
	Number, Count int // from 1
	Width, Height float64
	Lines         []Line
	Pictures      []Box
	Rules         []Box // ruled lines and frames
	Fields        []Field
}

// Box is a rectangle.
type Box struct{ X, Y, Width, Height float64 }

// Line is a piece of text on one base line.
type Line struct {
	X, Y   float64 // where its base line begins
	Size   float64 // of the letters
	Length float64
	Angle  float64 // clockwise, in degrees
	Text   string
}

// Field is a form field.
type Field struct {
	Box
	Name      string
	Signature bool   // it is one, or is for one
	Signed    bool   // it holds one
	Signer    string // as the signature calls its signer; not proven
}

// Bounds on what is drawn of a page.
const (
	mostLines  = 3000
	mostText   = 128 << 10
	mostBoxes  = 1500
	mostFields = 500
	mostWork   = 20_000_000 // see pay
	often      = 4096       // work between two looks at the context
	mostName   = 320        // bytes of a name that are read
)

// Draw sketches a page, counted from 1 and, below 0, from the end. A document
// that cannot be read is a *ades.MalformedError; one without the page is
// pdf.ErrNoPage.
func Draw(ctx context.Context, src ades.Source, page int, password string) (*Page, error) {
	doc, err := pdf.Open(src, pdf.Options{Password: password, Repair: true, Context: ctx})
	if err != nil {
		return nil, err
	}
	count, err := doc.PageCount()
	if err != nil {
		return nil, err
	}
	if page > 0 {
		page--
	}
	p, err := doc.Page(page)
	if err != nil {
		return nil, err
	}
	number := p.Index + 1
	if p.Index < 0 {
		number = count + 1 + page
	}
	out := &Page{Number: number, Count: count}
	out.Width, out.Height = p.Visible()
	a := &artist{ctx: ctx, doc: doc, out: out, base: shown(p)}
	w := &content.Walker{Source: doc, Pay: a.pay, See: a.see}
	w.Follow(w.Contents(p.Dict), resources(doc, p.Dict), a.base, pdf.Rect{URX: out.Width, URY: out.Height})
	a.endLine()
	a.annotations(p.Dict)
	return out, ctx.Err()
}

// box is a rectangle as it is shown.
func box(m content.Matrix, r pdf.Rect) Box {
	b := m.Box(r)
	return Box{b.LLX, b.LLY, b.Width(), b.Height()}
}

// shown takes user space to what a viewer shows, from the upper left corner: the
// inverse of pdf.Page.Place, upside down.
func shown(p *pdf.Page) content.Matrix {
	b := p.CropBox
	switch p.Rotate {
	case 90:
		return content.Matrix{0, 1, 1, 0, -b.LLY, -b.LLX}
	case 180:
		return content.Matrix{-1, 0, 0, 1, b.URX, -b.LLY}
	case 270:
		return content.Matrix{0, -1, -1, 0, b.URY, b.URX}
	}
	return content.Matrix{1, 0, 0, -1, -b.LLX, b.URY}
}

// resources of a page, its own or inherited.
func resources(doc *pdf.Document, page *pdf.Dict) *pdf.Dict {
	for range 32 {
		if d := dict(doc, page.Get("Resources")); d != nil {
			return d
		}
		if page = dict(doc, page.Get("Parent")); page == nil {
			break
		}
	}
	return pdf.NewDict()
}

func dict(doc *pdf.Document, o pdf.Object) *pdf.Dict {
	d, err := doc.Dict(o)
	if err != nil {
		return nil
	}
	return d
}

// artist follows the content of a page.
type artist struct {
	ctx  context.Context
	work int
	over bool // nothing more is looked at
	doc  *pdf.Document
	out  *Page
	base content.Matrix // user space of the page to what is shown
	text int
	line *Line // under way
	end  [2]float64
}

// pay counts work: an operator, a byte of a stream, an entry that is passed over
// on the way to another. It is false once there was enough of it, whatever the
// document would have us do how often.
func (a *artist) pay(n int) bool {
	before := a.work / often
	a.work += n
	if a.work > mostWork || a.work/often != before && a.ctx.Err() != nil {
		a.over = true
	}
	return !a.over
}

// see puts a piece of ink on the page; false when there is no more room.
func (a *artist) see(p content.Piece) bool {
	b := Box{p.Box.LLX, p.Box.LLY, p.Box.Width(), p.Box.Height()}
	switch p.Kind {
	case content.Text:
		a.write(p)
	case content.Picture:
		if len(a.out.Pictures) < mostBoxes && a.visible(b) {
			a.out.Pictures = append(a.out.Pictures, b)
		}
	case content.Stroke, content.Fill:
		straight := p.Whole || p.Kind == content.Stroke && min(b.Width, b.Height) <= 3*p.Width
		// A ground that fills the page would hide nothing and help nobody.
		if straight && len(a.out.Rules) < mostBoxes && a.visible(b) && (b.Width < 0.95*a.out.Width || b.Height < 0.95*a.out.Height) {
			a.out.Rules = append(a.out.Rules, b)
		}
	}
	return len(a.out.Lines) < mostLines && a.text < mostText
}

// visible says that a box lies at least partly on the page, and is a size that
// can be drawn.
func (a *artist) visible(b Box) bool {
	for _, v := range []float64{b.X, b.Y, b.Width, b.Height} {
		if math.IsNaN(v) || math.Abs(v) > 1e6 {
			return false
		}
	}
	return b.X < a.out.Width && b.Y < a.out.Height && b.X+b.Width > 0 && b.Y+b.Height > 0
}

// annotations draws the fields of a page.
func (a *artist) annotations(page *pdf.Dict) {
	list, _ := a.doc.Array(page.Get("Annots"))
	for _, o := range list {
		if !a.pay(1) || len(a.out.Fields) >= mostFields {
			return
		}
		d := dict(a.doc, o)
		if d == nil || !a.pay(len(d.Entries)) || a.doc.Name(d.Get("Subtype")) != "Widget" {
			continue
		}
		r, ok := a.doc.Rect(d.Get("Rect"))
		b := box(a.base, r)
		if !ok || !a.visible(b) || b.Width < 1 || b.Height < 1 {
			continue
		}
		f := Field{Box: b}
		var names []string
		kind, value := pdf.Name(""), pdf.Object(nil)
		for node, depth := d, 0; node != nil && depth < 16 && a.pay(len(node.Entries)); node, depth = dict(a.doc, node.Get("Parent")), depth+1 {
			if t := a.name(node.Get("T")); t != "" {
				names = append([]string{t}, names...)
			}
			if kind == "" {
				kind = a.doc.Name(node.Get("FT"))
			}
			if value == nil {
				value = node.Get("V")
			}
		}
		f.Name = clip(strings.Join(names, "."), 80)
		if f.Signature = kind == "Sig"; f.Signature {
			if v := dict(a.doc, value); v != nil {
				f.Signed, f.Signer = true, clip(a.name(v.Get("Name")), 80)
			}
		}
		a.out.Fields = append(a.out.Fields, f)
	}
}

// name is the beginning of a text.
func (a *artist) name(o pdf.Object) string {
	b := a.doc.StringBytes(o)
	return pdf.DecodeText(b[:min(len(b), mostName)])
}

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
