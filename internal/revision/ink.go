package revision

import (
	"math"
	"strings"
	"unicode"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// ink is what is drawn, in the space of a page.
type ink struct {
	pieces []drawn
	// everywhere: it cannot be told where.
	everywhere bool
}

// drawn is a piece of ink, and the annotation that draws it; 0 is the page.
type drawn struct {
	content.Piece
	annot int
}

// mostInk bounds what is followed of one page or appearance, and mostDrawn what
// is kept of it.
const (
	mostInk   = 4_000_000
	mostDrawn = 1 << 17
)

// walker follows content into ink.
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
				p.Part, p.Font = nil, nil
				out.pieces = append(out.pieces, drawn{p, annot})
			}
			return len(out.pieces) < mostDrawn
		},
	}
}

// pageInk is what a page shows, with its annotations.
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

// annotInk is what an annotation shows: its appearance, or what readers may make
// of it, anywhere in its rectangle.
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
		out.pieces = append(out.pieces, drawn{content.Piece{Kind: content.Picture, Box: rect}, a.num})
	}
}

// formInk is what an appearance shows in a rectangle; false where it cannot be
// told.
func (m *model) formInk(out *ink, s *pdf.Stream, rect pdf.Rect, annot int, res *pdf.Dict) bool {
	at, ok := content.FormMatrix(m.doc, s, rect)
	if !ok {
		return true // nothing of it is shown
	}
	w := m.walker(out, annot)
	w.Form(s, res, at, rect, 0)
	return !w.Odd
}

// normal is the appearance that is shown, nil for none.
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

// inside reports whether a box lies in another one, give or take.
func inside(a, b pdf.Rect, near float64) bool {
	return a.LLX >= b.LLX-near && a.LLY >= b.LLY-near && a.URX <= b.URX+near && a.URY <= b.URY+near
}

// below finds out whether anything is drawn under a box that something else
// than an annotation of that number drew. A ground under all of it hides
// nothing when it is covered, nor does a line that goes all across.
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
		case p.Kind == content.Stroke && p.Whole && inside(in, p.Box, -p.Width): // within a frame
		case (p.Kind == content.Stroke || p.Kind == content.Fill && p.Whole) && min(c.Width(), c.Height()) <= 2*edge && across:
		case p.Kind == content.Fill && p.Whole && c.Width() >= most*in.Width() && c.Height() >= most*in.Height():
		default:
			return true
		}
	}
	return false
}

// says finds out whether letters or digits of the page stand under a box.
func (i *ink) says(box pdf.Rect, annot int) bool {
	for _, p := range i.pieces {
		c := content.Common(p.Core, box)
		if p.Kind == content.Text && (p.annot == 0 || p.annot != annot) && c.Width() > 1 && c.Height() > 1 &&
			strings.ContainsFunc(p.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || string(r) == content.Unknown }) {
			return true
		}
	}
	return false
}

// pageOfWidget is the page that a widget stands on.
func (m *model) pageOfWidget(num int) *page {
	if m.places == nil {
		m.places = map[int]*page{}
		for _, p := range m.pages {
			for _, a := range p.annots {
				m.places[a.num] = p
			}
		}
		delete(m.places, 0)
	}
	return m.places[num]
}

// overlay holds what a field shows now against what the page showed there: it
// may write, where nothing is written, and paint, where nothing is drawn or
// where it painted before.
func (c *comparison) overlay(was, is *widget) string {
	rect, ok := c.new.doc.Rect(is.dict.Get("Rect"))
	p := c.old.pageOfWidget(was.num)
	if !ok || !c.new.shows(is.dict) || p == nil {
		return ""
	}
	var before, after ink
	if s := c.old.normal(was.dict); s != nil {
		c.old.formInk(&before, s, rect, 0, nil)
	}
	if s := c.new.normal(is.dict); s != nil {
		if !c.new.formInk(&after, s, rect, 0, nil) {
			return whyAppearance
		}
	} else if bg, err := c.new.doc.Array(c.new.dict(is.dict.Get("MK")).Get("BG")); err != nil || len(bg) > 0 {
		after.pieces = []drawn{{Piece: content.Piece{Kind: content.Fill, Box: rect, Whole: true}}}
	}
	page := c.old.pageInk(p)
	for _, d := range after.pieces {
		switch why := c.covered(page, &before, d.Piece, rect, was.num); {
		case why != "":
			return why
		case !c.work.step():
			return whyGround
		}
	}
	return ""
}

// covered says why a piece of what a field shows may not be there.
func (c *comparison) covered(page, before *ink, p content.Piece, rect pdf.Rect, self int) string {
	const line = 1.25
	painted := func(b pdf.Rect) bool {
		for _, o := range before.pieces {
			if o.Kind == content.Fill && o.Whole && inside(b, o.Box, 1.5) {
				return true
			}
		}
		return false
	}
	switch p.Kind {
	case content.Text:
		size := math.Abs(p.Size)
		if p.Box.LLX < p.X-1.1*size || p.Box.URX > p.ToX+2.2*size || p.Box.LLY < p.Y-0.7*size || p.Box.URY > p.Y+1.5*size {
			return whyLetters
		}
		if !painted(p.Box) && page.says(p.Box, self) {
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

// tooLarge adds the picture of a new signature to those on its page, and reports
// whether they cover more of it than signatures may: an eighth, where something
// is drawn below them.
func (c *comparison) tooLarge(w *widget, number int) bool {
	rect, ok := c.new.doc.Rect(w.dict.Get("Rect"))
	if number < 1 || number > len(c.old.pages) {
		return true
	}
	p := c.old.pages[number-1]
	shown, ok2 := c.old.doc.Rect(p.box("CropBox"))
	if !ok || !ok2 {
		return true
	}
	var picture ink
	if s := c.new.normal(w.dict); s == nil || c.new.formInk(&picture, s, rect, 0, nil) {
		around := pdf.Rect{}
		for i, d := range picture.pieces {
			if i == 0 {
				around = d.Box
			}
			around = content.Union(around, d.Box)
		}
		rect = around
	}
	rect = content.Common(rect, shown)
	if content.Empty(rect) || !c.old.pageInk(p).below(rect, w.num) {
		return false
	}
	c.covering[number] += rect.Width() * rect.Height()
	return c.covering[number] > shown.Width()*shown.Height()/8
}
