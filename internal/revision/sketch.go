package revision

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// sketch is what the appearance of a button or of a list box may draw beside
// a background and a border: the mark of a button that is on, and the grounds
// behind the options that are chosen.
type sketch struct {
	button bool
	marks  int // in a colour that stands out
	pieces int
	points int
	shape  string // of the marks that are drawn by lines
	bands  []band
	rows   []listRow
}

// band is a ground behind a line of a list box.
type band struct {
	pdf.Rect
	colour [3]float64
}

// listRow is a line of a list box.
type listRow struct {
	at     point
	size   float64
	text   string
	chosen bool // it stands on a band
	hidden bool // it lies below the edge
}

// Bounds on marks: a button is small, and a mark is a few strokes.
const (
	largestButton = 40
	mostPoints    = 64
	mostPieces    = 8
	mostMarks     = 2
)

// take takes a part of a path that is neither ground nor border.
func (d *sketch) take(p *painter, part []point, op string, round bool) string {
	b := bounds(part)
	const edge = 1
	if b.LLX < p.box.LLX-edge || b.LLY < p.box.LLY-edge || b.URX > p.box.URX+edge || b.URY > p.box.URY+edge || len(part) > mostPoints {
		return whyDrawing
	}
	fills := strings.ContainsAny(op, "fFBb")
	if !d.button {
		return d.band(p, b, part, fills && !strings.ContainsAny(op, "Bb"))
	}
	if d.pieces++; d.pieces > mostPieces {
		return whyDrawing
	}
	large := b.Width() >= 0.6*p.box.Width() && b.Height() >= 0.6*p.box.Height()
	switch {
	case round && large && fills && !p.wrote && d.marks == 0: // the ground of a radio button
		p.ground = p.state.fill
	case round && large && !fills: // its edge
	case fills && standsOut(p.state.fill, p.ground), !fills && standsOut(p.state.stroke, p.ground):
		d.marks++
		if d.points += len(part); d.marks > mostMarks || d.points > mostPoints {
			return whyDrawing // it may write something
		}
		for _, q := range part {
			d.shape += fmt.Sprintf("%.0f %.0f ", 6*(q.x-p.box.LLX)/p.box.Width(), 6*(q.y-p.box.LLY)/p.box.Height())
		}
		d.shape += op
	default:
		return whyPlace // it cannot be seen
	}
	return ""
}

// band takes the ground of a line of a list box, which nothing is written on yet.
func (d *sketch) band(p *painter, b pdf.Rect, part []point, fills bool) string {
	if !fills || len(part) != 4 || b.Width() < 0.6*p.box.Width() || luminance(p.state.fill) > 0.9 && luminance(p.ground) > 0.9 {
		return whyDrawing
	}
	over := func(r listRow) bool { return r.at.y >= b.LLY && r.at.y <= b.URY }
	if slices.ContainsFunc(d.rows, over) || len(d.bands) > 256 {
		return whyDrawing
	}
	d.bands = append(d.bands, band{b, p.state.fill})
	return ""
}

func standsOut(a, b [3]float64) bool { return math.Abs(luminance(a)-luminance(b)) >= 0.4 }

// glyph takes a mark of ZapfDingbats, which every reader has: a check, a cross,
// a circle, a square, a diamond, a star (ISO 32000-2, table 192, CA).
func (d *sketch) glyph(p *painter, b []byte) string {
	if !p.m.work.take(len(p.fonts.Entries)) {
		return whyFont
	}
	font := p.m.dict(p.fonts.Get(p.state.name))
	plain := strings.EqualFold(string(p.m.doc.Name(font.Get("BaseFont"))), "ZapfDingbats") && p.m.doc.Name(font.Get("Subtype")) == "Type1" &&
		!font.Has("FontDescriptor") && !font.Has("Encoding") && !font.Has("Widths")
	if !plain || len(b) != 1 || !strings.Contains("345678lnuH", string(b)) {
		return whyFont
	}
	m := times(p.tm, p.state.ctm)
	size, at := p.state.size*m[3], at(m, 0, 0)
	if m[1] != 0 || m[2] != 0 || m[0] <= 0 || math.Abs(m[0]-m[3]) > 0.01*m[3] || size < 4 || size > 1.5*p.box.Height() ||
		at.x < p.box.LLX-1 || at.y < p.box.LLY-1 || at.x+0.5*size > p.box.URX+1 || at.y+0.5*size > p.box.URY+1 || !standsOut(p.state.fill, p.ground) {
		return whyPlace
	}
	p.wrote = true
	d.marks++
	return ""
}

// behind is the colour behind a piece of text, and whether that is a band.
func (d *sketch) behind(p *painter, at point) ([3]float64, bool) {
	if d != nil {
		for _, b := range slices.Backward(d.bands) {
			if at.x >= b.LLX-1 && at.x <= b.URX && at.y >= b.LLY && at.y <= b.URY {
				return b.colour, true
			}
		}
	}
	return p.ground, false
}

// row begins a line of a list box, and write goes on with it.
func (d *sketch) row(p *painter, at point, size float64) {
	if d != nil {
		_, chosen := d.behind(p, at)
		d.rows = append(d.rows, listRow{at: at, size: size, chosen: chosen, hidden: at.y < p.state.clip.LLY})
	}
}

func (d *sketch) write(text string) {
	if d != nil && len(d.rows) > 0 {
		d.rows[len(d.rows)-1].text += text
	}
}

// curve takes a curve, which only buttons have, by its points.
func (p *painter) curve(in content.Instruction) string {
	v, ok := numbers(in.Args, map[string]int{"c": 6, "v": 4, "y": 4}[in.Op])
	if !ok || p.sketch == nil || !p.sketch.button || len(p.path) == 0 || len(p.path) > 4096 {
		return whyDrawing
	}
	for i := 0; i < len(v); i += 2 {
		p.path = append(p.path, at(p.state.ctm, v[i], v[i+1]))
	}
	return ""
}

// redrawnButton looks at the appearances of a check box or radio button that
// was filled in, which some products draw anew. The states stay what they
// were; one that is on shows a mark, and one that is off shows none.
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
		if slices.ContainsFunc(old.Entries, func(e pdf.Entry) bool { return !c.isNull(c.old, e.Value) && c.isNull(c.new, ap.Get(e.Key)) }) {
			return other
		}
	}
	return ""
}

// redrawnStates compares the states of one widget; normal are the names that
// it may have.
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
		d := &sketch{button: true}
		p, why := c.paintWith(c.new, s, w, d)
		switch {
		case why != "":
			return why
		case e.Key == "Off" && (d.marks > 0 || luminance(p.ground) < 0.7), e.Key != "Off" && d.marks == 0:
			return other
		}
	}
	return ""
}

// listAgrees: a list box shows its options in their order, and those that are
// its value stand on a ground of another colour (ISO 32000-2, 12.7.5.4).
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
	if indices, err := m.doc.Array(f.dict.Get("I")); err == nil && indices != nil { // readers go by it as well
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
		d := &sketch{}
		if _, why := c.paintWith(m, s, w, d); why != "" {
			return why
		}
		if why := d.shows(labels, values, chosen, m.work); why != "" {
			return why
		}
	}
	return ""
}

// shows holds the lines of a list box against the options and those chosen. A
// box may begin with any option: what many of them and many lines cost to compare
// is counted.
func (d *sketch) shows(labels, values []string, chosen map[string]bool, w *work) string {
	rows := make([]string, len(d.rows))
	for i, r := range d.rows {
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
	if from == len(labels) && len(labels)+len(d.rows) > 0 {
		return other
	}
	seen, grounds := 0, 0
	if len(d.bands) == 0 && len(chosen) > 0 {
		return whyListBox // some products mark no choice
	}
	for i, r := range d.rows {
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
		return whyListBox // what is chosen lies out of sight
	case len(d.bands) > grounds || slices.ContainsFunc(d.bands, d.tall):
		return whyDrawing
	}
	return ""
}

// tall reports whether a band is higher than the lines on it.
func (d *sketch) tall(b band) bool {
	var sum float64
	for _, r := range d.rows {
		if r.at.y >= b.LLY && r.at.y <= b.URY {
			sum += 2 * r.size
		}
	}
	return b.Height() > sum
}
