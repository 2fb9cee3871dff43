package revision

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// Bounds on marks: a button is small, and a mark has few strokes.
const (
	largestButton = 40
	mostPoints    = 64
	mostPieces    = 8
	mostMarks     = 2
)

// mark handles a subpath of a button other than its background and border.
func (l *appearance) mark(p content.Piece, b pdf.Rect) string {
	if l.pieces++; l.pieces > mostPieces {
		return whyDrawing
	}
	fills := p.Kind == content.Fill
	round := p.Part.Lines == 0 && b.Width() >= 0.6*l.box.Width() && b.Height() >= 0.6*l.box.Height()
	switch {
	case round && fills && !l.wrote && l.marks == 0: // the background of a radio button
		l.ground = p.Colour
	case round && !fills: // its edge
	case standsOut(p.Colour, l.ground):
		l.marks++
		if l.points += len(p.Part.Points); l.marks > mostMarks || l.points > mostPoints {
			return whyDrawing // it may be writing
		}
		for _, q := range p.Part.Points {
			l.shape += fmt.Sprintf("%.0f %.0f ", 6*(q.X-l.box.LLX)/l.box.Width(), 6*(q.Y-l.box.LLY)/l.box.Height())
		}
		l.shape += fmt.Sprint(p.Kind)
	default:
		return whyPlace // it is not visible
	}
	return ""
}

// glyph handles a mark of ZapfDingbats, which every reader has: a check, a cross, a circle, a
// square, a diamond, a star (ISO 32000-2, table 192, CA).
func (l *appearance) glyph(p content.Piece) string {
	font := l.m.dict(p.Font.Object)
	if p.Font.Kind != "Type1" || p.Font.Family != "zapfdingbats" || font.Has("FontDescriptor") || font.Has("Encoding") || font.Has("Widths") ||
		len(p.Codes) != 1 || !strings.Contains("345678lnuH", p.Codes) {
		return whyFont
	}
	size := p.Matrix[3]
	if !upright(p) || p.Shifted || math.Abs(p.Matrix[0]-size) > 0.01*size || size < 4 || size > 1.5*l.box.Height() ||
		p.X < l.box.LLX-1 || p.Y < l.box.LLY-1 || p.X+0.5*size > l.box.URX+1 || p.Y+0.5*size > l.box.URY+1 || !standsOut(p.Colour, l.ground) {
		return whyPlace
	}
	l.wrote = true
	l.marks++
	return ""
}

// redrawnButton checks the new appearances of a check box or radio button, which some products
// redraw when it is filled in. The set of states must not change; an on state shows a mark, and the
// off state shows none.
func (c *comparison) redrawnButton(was, is *field) string {
	if c.new.flags(is)&flagPushbutton != 0 {
		return other
	}
	for i, w := range is.widgets {
		old, ap := c.old.dict(was.widgets[i].dict.Get("AP")), c.new.dict(w.dict.Get("AP"))
		if r, ok := c.new.doc.Rect(w.dict.Get("Rect")); !ok || r.Width() > largestButton || r.Height() > largestButton {
			return other
		}
		for _, e := range ap.Entries {
			if c.equal(old.Get(e.Key), e.Value, e.Key) {
				continue
			}
			if why := c.redrawnStates(c.old.dict(old.Get("N")), c.old.dict(old.Get(e.Key)), c.new.dict(e.Value), w); why != "" {
				return why
			}
		}
		if slices.ContainsFunc(old.Entries, func(e pdf.Entry) bool { return !c.old.isNull(e.Value) && c.new.isNull(ap.Get(e.Key)) }) {
			return other
		}
	}
	return ""
}

// redrawnStates compares the states of one widget; normal are the permitted names.
func (c *comparison) redrawnStates(normal, was, is *pdf.Dict, w *widget) string {
	for _, e := range was.Entries {
		if !is.Has(e.Key) {
			return other
		}
	}
	for _, e := range is.Entries {
		if c.equal(was.Get(e.Key), e.Value, e.Key) {
			continue
		}
		v, err := c.new.doc.Resolve(e.Value)
		s, ok := v.(*pdf.Stream)
		if e.Key != "Off" && !normal.Has(e.Key) || err != nil || !ok {
			return other
		}
		l, why := c.lookOf(c.new, s, w, asButton)
		switch {
		case why != "":
			return why
		case e.Key == "Off" && (l.marks > 0 || l.ground.Luminance() < 0.7), e.Key != "Off" && l.marks == 0:
			return other
		}
	}
	return ""
}

// band is a background of a line of a list box.
type band struct {
	pdf.Rect
	colour content.Colour
}

// listRow is a line of a list box.
type listRow struct {
	at     content.Point
	size   float64
	text   string
	chosen bool // it is on a band
	hidden bool // it is below the edge
}

// band handles the background of a line of a list box, which must precede its text.
func (l *appearance) band(p content.Piece, b pdf.Rect) string {
	over := func(r listRow) bool { return r.at.Y >= b.LLY && r.at.Y <= b.URY }
	if p.Kind != content.Fill || !p.Part.Rectangular() || b.Width() < 0.6*l.box.Width() || p.Colour.Luminance() > 0.9 && l.ground.Luminance() > 0.9 ||
		slices.ContainsFunc(l.rows, over) || len(l.bands) > 256 {
		return whyDrawing
	}
	l.bands = append(l.bands, band{b, p.Colour})
	return ""
}

// listAgrees checks that a list box shows its options in order, and those selected by its value on
// a background of another colour (ISO 32000-2, 12.7.5.4).
func (c *comparison) listAgrees(m *model, f *field) string {
	chosen := map[string]bool{}
	v, err := m.doc.Resolve(f.attrs.Get("V"))
	list, isList := v.(pdf.Array)
	if !isList {
		list = pdf.Array{v}
	}
	for _, o := range list {
		text, ok := m.textValue(o)
		if !ok || err != nil {
			return whyValue
		}
		chosen[text] = true
	}
	delete(chosen, "")
	var labels, values []string
	opts, _ := m.doc.Array(f.attrs.Get("Opt"))
	for _, o := range opts {
		text := m.doc.Text(o)
		label := text
		if pair, err := m.doc.Array(o); err == nil && len(pair) == 2 {
			text, label = m.doc.Text(pair[0]), m.doc.Text(pair[1])
		}
		labels, values = append(labels, squeeze(label)), append(values, text)
	}
	if indices, err := m.doc.Array(f.dict.Get("I")); err == nil && indices != nil { // readers use it too
		same := len(indices) == len(chosen)
		for _, o := range indices {
			i, ok := m.doc.Int(o)
			same = same && ok && i >= 0 && i < int64(len(values)) && chosen[values[i]]
		}
		if !same {
			return other
		}
	}
	for _, w := range f.widgets {
		ap := m.dict(w.dict.Get("AP"))
		if len(ap.Entries) == 0 {
			continue
		}
		v, err := m.doc.Resolve(ap.Get("N"))
		if v == nil && err == nil && len(chosen) == 0 {
			continue
		}
		s, ok := v.(*pdf.Stream)
		if err != nil || !ok || len(ap.Entries) > 1 {
			return whyAppearance
		}
		l, why := c.lookOf(m, s, w, asList)
		if why == "" {
			why = l.shows(labels, values, chosen, m.work)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// shows compares the lines of a list box with the options and the selected ones. A box may begin
// with any option; the work for many options and lines is counted.
func (l *appearance) shows(labels, values []string, chosen map[string]bool, w *work) string {
	rows := make([]string, len(l.rows))
	for i, r := range l.rows {
		rows[i] = squeeze(r.text)
	}
	begins := func(from int) bool {
		for i, text := range rows {
			if !w.step() || from+i >= len(labels) || text != labels[from+i] {
				return false
			}
		}
		return true
	}
	from := 0
	for from < len(labels) && w.step() && !begins(from) {
		from++
	}
	if !w.step() {
		return whyListBox
	}
	if from == len(labels) && len(labels)+len(l.rows) > 0 {
		return other
	}
	seen, grounds := 0, 0
	if len(l.bands) == 0 && len(chosen) > 0 {
		return whyListBox // some products do not mark the selection
	}
	for i, r := range l.rows {
		if r.chosen != chosen[values[from+i]] {
			return other
		}
		if r.chosen {
			grounds++
		}
		if r.chosen && !r.hidden {
			seen++
		}
	}
	switch {
	case len(chosen) > 0 && seen == 0:
		return whyListBox // a selected option is not visible
	case len(l.bands) > grounds || slices.ContainsFunc(l.bands, l.tall):
		return whyDrawing
	}
	return ""
}

// tall reports whether a band is higher than its lines.
func (l *appearance) tall(b band) bool {
	var sum float64
	for _, r := range l.rows {
		if r.at.Y >= b.LLY && r.at.Y <= b.URY {
			sum += 2 * r.size
		}
	}
	return b.Height() > sum
}
