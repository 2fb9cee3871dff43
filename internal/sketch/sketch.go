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
	"rogito.dev/rogito/internal/revision"
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
	mostLines   = 3000
	mostText    = 128 << 10
	mostBoxes   = 1500
	mostFields  = 500
	mostContent = 8 << 20
	deepest     = 6 // forms within forms
	mostForms   = 200
	mostWork    = 20_000_000 // see pay
	often       = 4096       // work between two looks at the context
	streamWork  = 256        // to find and decode a stream, beside its bytes
	entryWork   = 32         // to keep what a code of a font stands for, or how wide it is
	mostName    = 320        // bytes of a name that are read
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
	a := &artist{ctx: ctx, doc: doc, out: out, base: shown(p), fonts: map[any]*font{}}
	a.paint(a.contents(p.Dict), resources(doc, p.Dict), a.base, 0)
	a.endLine()
	a.annotations(p.Dict)
	return out, ctx.Err()
}

// matrix takes x and y to ax+cy+e and bx+dy+f.
type matrix [6]float64

// times applies m first, then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

func (m matrix) at(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

// box is what a rectangle becomes, or a box around it.
func (m matrix) box(r pdf.Rect) Box {
	x0, y0 := math.Inf(1), math.Inf(1)
	x1, y1 := math.Inf(-1), math.Inf(-1)
	for _, c := range [][2]float64{{r.LLX, r.LLY}, {r.URX, r.LLY}, {r.LLX, r.URY}, {r.URX, r.URY}} {
		x, y := m.at(c[0], c[1])
		x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
	}
	return Box{x0, y0, x1 - x0, y1 - y0}
}

// shown takes user space to what a viewer shows, from the upper left corner: the
// inverse of pdf.Page.Place, upside down.
func shown(p *pdf.Page) matrix {
	b := p.CropBox
	switch p.Rotate {
	case 90:
		return matrix{0, 1, 1, 0, -b.LLY, -b.LLX}
	case 180:
		return matrix{-1, 0, 0, 1, b.URX, -b.LLY}
	case 270:
		return matrix{0, -1, -1, 0, b.URY, b.URX}
	}
	return matrix{1, 0, 0, -1, -b.LLX, b.URY}
}

// contents are the content streams of a page, one after the other.
func (a *artist) contents(page *pdf.Dict) []byte {
	o, _ := a.doc.Resolve(page.Get("Contents"))
	list, several := o.(pdf.Array)
	if !several {
		list = pdf.Array{o}
	}
	var all []byte
	for _, one := range list {
		if all = append(append(all, a.data(one)...), '\n'); len(all) > mostContent {
			return all[:mostContent]
		}
		if a.over {
			break
		}
	}
	return all
}

// data is what a stream holds; nothing where it cannot be read, or is too much.
func (a *artist) data(o pdf.Object) []byte {
	if !a.pay(streamWork) {
		return nil
	}
	o, _ = a.doc.Resolve(o)
	s, ok := o.(*pdf.Stream)
	if !ok {
		return nil
	}
	b, err := a.doc.Data(s)
	if err != nil || !a.pay(len(b)) {
		return nil
	}
	return b
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
	ctx   context.Context
	work  int
	over  bool // nothing more is looked at
	doc   *pdf.Document
	out   *Page
	base  matrix // user space of the page to what is shown
	fonts map[any]*font
	forms int
	text  int
	line  *Line // under way
	end   [2]float64
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

// names are the entries of a dictionary of resources that were asked for.
type names struct {
	*pdf.Dict
	known map[pdf.Name]pdf.Object
}

// find is an entry; a dictionary is gone through once for each of its names.
func (a *artist) find(n names, o pdf.Object) pdf.Object {
	name, _ := o.(pdf.Name)
	found, ok := n.known[name]
	if !ok && n.Dict != nil && a.pay(len(n.Entries)) {
		found = n.Get(name)
		n.known[name] = found
	}
	return found
}

// state is what a content stream can save and bring back.
type state struct {
	ctm                             matrix
	tm, lm                          matrix // of text
	font                            *font
	size, leading, rise             float64
	stretch, charSpread, wordSpread float64
	hidden                          bool
	path                            []Box
	penX, penY                      float64
}

func (a *artist) paint(content []byte, res *pdf.Dict, ctm matrix, depth int) {
	now := state{ctm: ctm, stretch: 1}
	var stack []state
	fonts, objects := names{dict(a.doc, res.Get("Font")), map[pdf.Name]pdf.Object{}}, names{dict(a.doc, res.Get("XObject")), map[pdf.Name]pdf.Object{}}
	revision.Instructions(content, func(op string, args []pdf.Object) bool {
		n := a.numbers(args)
		switch op {
		case "q":
			if len(stack) < 64 {
				stack = append(stack, now)
			}
		case "Q":
			if len(stack) > 0 {
				now, stack = stack[len(stack)-1], stack[:len(stack)-1]
			}
		case "cm":
			if len(n) == 6 {
				now.ctm = matrix(n).times(now.ctm)
			}
		case "Do":
			if len(args) == 1 {
				a.object(a.find(objects, args[0]), res, now.ctm, depth)
			}
		case "Tf":
			if len(args) == 2 {
				now.font = a.font(a.find(fonts, args[0]))
				now.size, _ = a.doc.Number(args[1])
			}
		default:
			if !a.writing(&now, op, args, n) {
				a.drawing(&now, op, n)
			}
		}
		return a.pay(1+len(args)) && len(a.out.Lines) < mostLines && a.text < mostText
	})
}

// object draws a picture as a box, and what stands in a form.
func (a *artist) object(o pdf.Object, outer *pdf.Dict, ctm matrix, depth int) {
	o, _ = a.doc.Resolve(o)
	s, ok := o.(*pdf.Stream)
	if !ok {
		return
	}
	if a.doc.Name(s.Dict.Get("Subtype")) == "Image" {
		b := ctm.box(pdf.Rect{URX: 1, URY: 1})
		if len(a.out.Pictures) < mostBoxes && a.visible(b) {
			a.out.Pictures = append(a.out.Pictures, b)
		}
		return
	}
	if a.forms++; depth >= deepest || a.forms > mostForms || a.doc.Name(s.Dict.Get("Subtype")) != "Form" {
		return
	}
	data := a.data(s)
	if len(data) == 0 || len(data) > mostContent {
		return
	}
	if m, _ := a.doc.Array(s.Dict.Get("Matrix")); len(m) == 6 {
		if n := a.numbers(m); len(n) == 6 {
			ctm = matrix(n).times(ctm)
		}
	}
	res := dict(a.doc, s.Dict.Get("Resources"))
	if res == nil {
		res = outer
	}
	a.endLine()
	a.paint(data, res, ctm, depth+1)
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

func (a *artist) numbers(args []pdf.Object) []float64 {
	out := make([]float64, 0, len(args))
	for _, o := range args {
		n, ok := a.doc.Number(o)
		if !ok {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// drawing follows straight lines and rectangles; curves are left out.
func (a *artist) drawing(s *state, op string, n []float64) {
	add := func(r pdf.Rect) {
		if b := s.ctm.box(r); len(s.path) < 200 && a.visible(b) {
			s.path = append(s.path, b)
		}
	}
	switch {
	case op == "re" && len(n) == 4:
		add(pdf.Rect{LLX: min(n[0], n[0]+n[2]), LLY: min(n[1], n[1]+n[3]), URX: max(n[0], n[0]+n[2]), URY: max(n[1], n[1]+n[3])})
	case op == "m" && len(n) == 2:
		s.penX, s.penY = n[0], n[1]
	case op == "l" && len(n) == 2:
		if n[0] == s.penX || n[1] == s.penY {
			add(pdf.Rect{LLX: min(s.penX, n[0]), LLY: min(s.penY, n[1]), URX: max(s.penX, n[0]), URY: max(s.penY, n[1])})
		}
		s.penX, s.penY = n[0], n[1]
	case op == "S" || op == "s" || op == "f" || op == "F" || op == "f*" || strings.HasPrefix(op, "B") && op != "BT" && op != "BMC" && op != "BDC" && op != "BX" || strings.HasPrefix(op, "b"):
		for _, b := range s.path {
			// A ground that fills the page would hide nothing and help nobody.
			if len(a.out.Rules) < mostBoxes && (b.Width < 0.95*a.out.Width || b.Height < 0.95*a.out.Height) {
				a.out.Rules = append(a.out.Rules, b)
			}
		}
		s.path = nil
	case op == "n":
		s.path = nil
	}
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
		b := a.base.box(r)
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
