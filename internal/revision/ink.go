package revision

import (
	"math"
	"slices"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// ink is what is drawn, in the space of a page.
type ink struct {
	pieces []drawn
	// everywhere: the place cannot be determined.
	everywhere bool
}

// drawn is a piece of ink, and the annotation that draws it, 0 being the page.
type drawn struct {
	content.Piece
	annot int
}

// mostInk bounds how much content of one page or appearance is interpreted, and mostDrawn how much
// ink is kept.
const (
	mostInk   = 4_000_000
	mostDrawn = 1 << 17
)

// walker collects the ink of content.
func (m *model) walker(out *ink, annot int) *content.Walker {
	left := mostInk
	return &content.Walker{
		Source: m.doc,
		Fonts:  m.fonts,
		Pay: func(n int) bool {
			left -= n
			return left > 0 && m.work.ctx.Err() == nil
		},
		See: func(p content.Piece) bool {
			if p.Kind != content.Text || p.Box.Width()*p.Box.Height() > 0 {
				p.Part = nil
				out.pieces = append(out.pieces, drawn{p, annot})
			}
			return len(out.pieces) < mostDrawn
		},
	}
}

// pageInk is the ink of a page, including its annotations.
func (m *model) pageInk(p *page) *ink {
	if i := m.inks[p.number]; i != nil {
		return i
	}
	out := &ink{}
	box, ok := m.doc.Rect(p.box("CropBox"))
	w := m.walker(out, 0)
	w.Follow(w.Contents(p.dict), m.dict(p.attrs.Get("Resources")), content.Identity, box)
	out.everywhere = w.Odd || !ok
	for _, a := range p.annots {
		if a.dict != nil && m.shows(a.dict) {
			m.annotInk(out, a, p)
		}
	}
	if m.inks == nil {
		m.inks = make(map[int]*ink)
	}
	m.inks[p.number] = out
	return out
}

// annotInk is the ink of an annotation: its appearance, or, if readers draw it themselves, anything
// in its rectangle.
func (m *model) annotInk(out *ink, a annot, p *page) {
	rect, ok := m.doc.Rect(a.dict.Get("Rect"))
	kind := m.doc.Name(a.dict.Get("Subtype"))
	switch s := m.normal(a.dict); {
	case !ok:
	case s != nil:
		out.everywhere = !m.formInk(out, s, rect, a.num, m.dict(p.attrs.Get("Resources"))) || out.everywhere
	case kind == "Link" || kind == "Popup":
	case kind == "Widget" && a.dict.Get("V") == nil && a.dict.Get("MK") == nil && a.dict.Get("Parent") == nil:
	default:
		out.pieces = append(out.pieces, drawn{content.Piece{Kind: content.Picture, Box: rect, Says: true, Core: rect}, a.num})
	}
}

// formInk is the ink of an appearance in a rectangle; false if it cannot be determined.
func (m *model) formInk(out *ink, s *pdf.Stream, rect pdf.Rect, annot int, res *pdf.Dict) bool {
	at, shows, ok := content.FormMatrix(m.doc, s, rect)
	if !shows {
		return ok
	}
	w := m.walker(out, annot)
	w.Form(s, res, at, rect, 0)
	return !w.Odd
}

// normal is the appearance that is shown, or nil.
func (m *model) normal(d *pdf.Dict) *pdf.Stream {
	v, err := m.doc.Resolve(m.dict(d.Get("AP")).Get("N"))
	if states, ok := v.(*pdf.Dict); ok && err == nil {
		v, err = m.doc.Resolve(states.Get(m.state(d)))
	}
	s, _ := v.(*pdf.Stream)
	if err != nil {
		return nil
	}
	return s
}

// inside reports whether a box is inside another, with a tolerance.
func inside(a, b pdf.Rect, near float64) bool {
	return a.LLX >= b.LLX-near && a.LLY >= b.LLY-near && a.URX <= b.URX+near && a.URY <= b.URY+near
}

// below reports whether anything under a box was drawn by something other than that annotation. A
// background under all of it hides nothing when it is covered, nor does a line across.
func (i *ink) below(box pdf.Rect, annot int) bool {
	const edge, most = 1.5, 0.8
	if i.everywhere {
		return true
	}
	in := pdf.Rect{LLX: box.LLX + edge, LLY: box.LLY + edge, URX: box.URX - edge, URY: box.URY - edge}
	if content.Empty(in) {
		in = box
	}
	for _, p := range i.pieces {
		c := content.Common(p.Box, in)
		if p.annot != 0 && p.annot == annot || content.Empty(c) {
			continue
		}
		across := c.Width() >= most*in.Width() || c.Height() >= most*in.Height()
		switch {
		case p.Kind == content.Stroke && p.Whole && inside(in, p.Box, -p.Width): // inside a frame
		case (p.Kind == content.Stroke || p.Kind == content.Fill && p.Whole) && min(c.Width(), c.Height()) <= 2*edge && across:
		case p.Kind == content.Fill && p.Whole && c.Width() >= most*in.Width() && c.Height() >= most*in.Height():
		default:
			return true
		}
	}
	return false
}

// says reports whether letters or digits of the page are under a box.
func (i *ink) says(box pdf.Rect, annot int) bool {
	return slices.ContainsFunc(i.pieces, func(p drawn) bool {
		c := content.Common(p.Core, box)
		return p.Says && (p.annot == 0 || p.annot != annot) && c.Width() > 1 && c.Height() > 1
	})
}

// drawn reports whether something other than text, a background or a line is under a box, which
// unknown glyphs may hide.
func (i *ink) drawn(box pdf.Rect, annot int) bool {
	other := ink{everywhere: i.everywhere}
	for _, p := range i.pieces {
		if p.Kind != content.Text && (p.Kind != content.Stroke || !p.Whole) && !content.Empty(content.Common(p.Box, box)) {
			other.pieces = append(other.pieces, p)
		}
	}
	return other.below(box, annot)
}

// pagesOf returns the pages that list an annotation.
func (m *model) pagesOf(num int) []*page {
	if m.places == nil {
		m.places = map[int][]*page{}
		for _, p := range m.pages {
			for _, a := range p.annots {
				m.places[a.num] = append(m.places[a.num], p)
			}
		}
		delete(m.places, 0)
	}
	return m.places[num]
}

// overlay compares what a field shows now with what the page showed there: it may write where
// nothing is written, and paint where nothing is drawn or where it painted before.
func (c *comparison) overlay(was, is *widget) string {
	rect, ok := c.new.doc.Rect(is.dict.Get("Rect"))
	if !ok || !c.new.shows(is.dict) {
		return ""
	}
	var before, after ink
	if s := c.old.normal(was.dict); s != nil {
		c.old.formInk(&before, s, rect, 0, nil)
	}
	s := c.new.normal(is.dict)
	if s != nil && !c.new.formInk(&after, s, rect, 0, nil) {
		return whyAppearance
	}
	if s == nil || c.new.redraws() {
		if bg, err := c.new.doc.Array(c.new.dict(is.dict.Get("MK")).Get("BG")); err != nil || len(bg) > 0 {
			after.pieces = append(after.pieces, drawn{Piece: content.Piece{Kind: content.Fill, Box: rect, Whole: true}})
		}
		pieces, why := c.byReaders(is, rect)
		if why != "" {
			return why
		}
		after.pieces = append(after.pieces, pieces...)
	}
	for _, p := range c.old.pagesOf(was.num) {
		page := c.old.pageInk(p)
		if c.new.floats(is.dict, p) {
			return whyPlace
		}
		for _, d := range after.pieces {
			switch why := c.covered(page, &before, d.Piece, rect, was.num); {
			case why != "":
				return why
			case !c.work.step():
				return whyGround
			}
		}
	}
	return ""
}

// floats reports whether an annotation keeps its size or orientation when its page is zoomed or
// rotated, and is then shown outside of its rectangle (ISO 32000-2, 12.5.3).
func (m *model) floats(d *pdf.Dict, p *page) bool {
	const noZoom, noRotate = 8, 16
	turn, _ := m.doc.Int(p.attrs.Get("Rotate"))
	f, _ := m.annotFlags(d)
	return f&noZoom != 0 || f&noRotate != 0 && turn != 0
}

// byReaders is what readers draw themselves for a field with a value: text by its default
// appearance, anywhere in its rectangle, and a band in a list box.
func (c *comparison) byReaders(w *widget, rect pdf.Rect) ([]drawn, string) {
	kind := c.new.kind(w.field)
	if kind != "Tx" && kind != "Ch" || c.new.isNull(w.field.attrs.Get("V")) {
		return nil, ""
	}
	if text, ok := c.new.textValue(w.field.attrs.Get("V")); ok && squeeze(text) == "" {
		return nil, ""
	}
	o := w.dict.Get("DA")
	for _, up := range []pdf.Object{w.field.attrs.Get("DA"), c.new.form.Get("DA")} {
		if o == nil {
			o = up
		}
	}
	d, ok := c.new.readDA(o)
	if !ok || !d.legible() {
		return nil, whyPlace
	}
	var none ink
	font := c.new.dict(c.new.dict(c.new.form.Get("DR")).Get("Font")).Get(pdf.Name(d.font))
	if font != nil && c.new.walker(&none, 0).Large(font) {
		return nil, whyLetters
	}
	const edge = 2
	in := pdf.Rect{LLX: rect.LLX + edge, LLY: rect.LLY + edge, URX: rect.URX - edge, URY: rect.URY - edge}
	out := []drawn{{Piece: content.Piece{Kind: content.Text, Box: in, X: in.LLX, Y: in.LLY, ToX: in.URX, Size: in.Height()}}}
	if kind == "Ch" && c.new.flags(w.field)&flagCombo == 0 {
		out = append(out, drawn{Piece: content.Piece{Kind: content.Fill, Box: in}})
	}
	return out, ""
}

// covered returns why a piece of a field's appearance is not acceptable.
func (c *comparison) covered(page, before *ink, p content.Piece, rect pdf.Rect, self int) string {
	const line = 1.25
	painted := func(b pdf.Rect) bool {
		return slices.ContainsFunc(before.pieces, func(o drawn) bool { return o.Kind == content.Fill && o.Whole && inside(b, o.Box, 1.5) })
	}
	switch p.Kind {
	case content.Text:
		size := math.Abs(p.Size)
		if p.Box.LLX < p.X-1.1*size || p.Box.URX > p.ToX+2.2*size || p.Box.LLY < p.Y-0.7*size || p.Box.URY > p.Y+1.5*size {
			return whyLetters
		}
		if !painted(p.Box) && (page.says(p.Box, self) || p.Font != nil && p.Font.OwnGlyphs() && page.drawn(p.Box, self)) {
			return whyOver
		}
		return ""
	case content.Stroke:
		if p.Whole && p.Width <= line && !inside(p.Box, rect, -line) { // a line along the edges
			return ""
		}
		if p.Whole { // a frame: its four sides
			b, w := p.Box, p.Width
			for _, side := range []pdf.Rect{
				{LLX: b.LLX, LLY: b.LLY, URX: b.LLX + w, URY: b.URY},
				{LLX: b.URX - w, LLY: b.LLY, URX: b.URX, URY: b.URY},
				{LLX: b.LLX, LLY: b.LLY, URX: b.URX, URY: b.LLY + w},
				{LLX: b.LLX, LLY: b.URY - w, URX: b.URX, URY: b.URY},
			} {
				if !painted(side) && page.below(content.Common(side, rect), self) {
					return whyGround
				}
			}
			return ""
		}
		if p.Width <= line && min(p.Box.Width(), p.Box.Height()) <= 3*line {
			return ""
		}
	}
	if !painted(p.Box) && page.below(p.Box, self) {
		return whyGround
	}
	return ""
}

// tooLarge adds the appearance of a new signature to those on its pages, and reports whether they
// cover more than signatures may: an eighth of a page, where something is drawn below them, or was
// drawn by the empty field (was; nil for a new field).
func (c *comparison) tooLarge(was, w *widget) bool {
	rect, ok := c.new.doc.Rect(w.dict.Get("Rect"))
	drew := content.Nothing
	if was != nil && !c.equal(was.dict.Get("AP"), w.dict.Get("AP"), "AP") {
		drew = c.old.pictured(was.dict, rect)
	}
	return !ok || slices.ContainsFunc(c.new.pagesOf(w.num), func(is *page) bool {
		if is.number > len(c.old.pages) {
			return true
		}
		p := c.old.pages[is.number-1]
		shown, ok := c.old.doc.Rect(p.box("CropBox"))
		box := content.Common(content.Union(c.new.pictured(w.dict, rect), drew), shown)
		if c.new.floats(w.dict, is) {
			box = shown
		}
		if !ok {
			return true
		}
		if content.Empty(box) || content.Empty(drew) && !c.old.pageInk(p).below(box, w.num) {
			return false
		}
		c.covering[p.number] += box.Width() * box.Height()
		return c.covering[p.number] > shown.Width()*shown.Height()/8
	})
}

// pictured is a box around a signature's appearance in its rectangle, pressed or not. Without an
// appearance, or if the form requests it, readers draw its background and border.
func (m *model) pictured(d *pdf.Dict, rect pdf.Rect) pdf.Rect {
	mk := m.dict(d.Get("MK"))
	if (m.normal(d) == nil || m.redraws()) && (mk.Has("BG") || mk.Has("BC")) {
		return rect
	}
	var picture ink
	for _, s := range m.appearances(d) {
		box, ok := m.doc.Rect(s.Dict.Get("BBox"))
		at := rect
		if !m.area(d) { // drawn at its own size, if at all
			at.URX, at.URY = at.LLX+box.Width(), at.LLY+box.Height()
		}
		if !ok {
			return everywhere
		}
		if box.Width() == 0 || box.Height() == 0 { // pdf.js draws it in the rectangle, at its own size
			w := m.walker(&picture, 0)
			w.Follow(w.Data(s), m.dict(s.Dict.Get("Resources")), content.Matrix{1, 0, 0, 1, at.LLX, at.LLY}, at)
			if w.Odd {
				return at
			}
			continue
		}
		if !m.formInk(&picture, s, at, 0, nil) {
			return at
		}
	}
	out := content.Nothing
	for _, p := range picture.pieces {
		out = content.Union(out, p.Box)
	}
	return out
}

// appearances are all that an annotation has, in every state: readers differ in which they show.
func (m *model) appearances(d *pdf.Dict) (out []*pdf.Stream) {
	for _, e := range m.dict(d.Get("AP")).Entries {
		v, err := m.doc.Resolve(e.Value)
		list := pdf.Array{v}
		if states, ok := v.(*pdf.Dict); ok && err == nil {
			for _, state := range states.Entries {
				list = append(list, state.Value)
			}
		}
		for _, o := range list {
			v, err := m.doc.Resolve(o)
			s, ok := v.(*pdf.Stream)
			if err != nil {
				s, ok = &pdf.Stream{Dict: &pdf.Dict{}}, true
			}
			if ok {
				out = append(out, s)
			}
		}
	}
	return out
}
