package revision

import (
	"math"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// appearance is what the appearance of a field draws, if it is simple: a background, a border, and
// visible upright text, in colours distinguishable from the background, from left to right and from
// top to bottom. A button may also have marks, and a list box backgrounds behind the selected
// options. Everything else is undecided.
type appearance struct {
	c        *comparison
	m        *model
	as       fieldKind
	box      pdf.Rect
	text     strings.Builder
	wrote    bool
	lines    int           // of text
	end      content.Point // of the text so far
	ground   content.Colour
	edge     float64 // distance from the edges within which lines were painted
	comb     float64 // width of a cell of a comb field, else 0
	dividers int     // between the cells

	marks, pieces, points int    // of a button
	shape                 string // of the marks drawn by lines
	bands                 []band
	rows                  []listRow
}

type fieldKind int

const (
	asText fieldKind = iota
	asButton
	asList
)

// mostText bounds the text of one appearance, in bytes: a code may map to a long text, and occur a
// million times.
const mostText = 1 << 20

// shownText is the text that an appearance shows, or the reason why it cannot be determined.
func (c *comparison) shownText(m *model, s *pdf.Stream, w *widget) (string, string) {
	l, why := c.lookOf(m, s, w, asText)
	if why != "" {
		return "", why
	}
	return l.text.String(), ""
}

// lookOf interprets an appearance to its end, or as far as it is understood.
func (c *comparison) lookOf(m *model, s *pdf.Stream, w *widget, as fieldKind) (*appearance, string) {
	box, ok := m.doc.Rect(s.Dict.Get("BBox"))
	rect, ok2 := m.doc.Rect(w.dict.Get("Rect"))
	if !ok || !ok2 || s.Dict.Has("OC") || s.Dict.Has("Ref") || s.Dict.Has("OPI") || m.dict(s.Dict.Get("Group")).Has("CS") {
		return nil, whyAppearance
	}
	data, ok := m.data(s)
	if !ok || !m.work.spend(len(data)) {
		return nil, whyAppearance
	}
	if !fits(m, s, w, box, rect) {
		return nil, whyPlace
	}
	res := m.dict(s.Dict.Get("Resources"))
	if res.Get("ColorSpace") != nil {
		return nil, whyDrawing // it may redefine device colours
	}
	var pieces []content.Piece
	walker := m.walker(nil, 0)
	walker.See = func(p content.Piece) bool {
		pieces = append(pieces, p)
		return len(pieces) < mostDrawn
	}
	walker.Follow(data, res, content.Identity, box)
	l := &appearance{c: c, m: m, as: as, box: box, ground: content.Colour{1, 1, 1}}
	cells := int64(0)
	if w.field != nil && m.flags(w.field)&flagComb != 0 {
		if cells, _ = m.doc.Int(w.field.attrs.Get("MaxLen")); cells > 0 {
			l.comb = box.Width() / float64(cells)
		}
	}
	seen := make(map[*content.Part]bool)
	for _, p := range pieces {
		why := ""
		switch {
		case p.Kind == content.Text:
			why = l.write(p)
		case p.Part == nil, p.Kind == content.Stroke && p.Width > 4:
			why = whyDrawing
		case !seen[p.Part]:
			seen[p.Part] = true
			why = l.paint(p)
		}
		if why != "" {
			return l, why
		}
	}
	switch {
	case walker.Odd:
		return l, whyAppearance
	case walker.Lost && as != asList, l.lines > 1 && as == asText && w.field != nil && m.flags(w.field)&flagMultiline == 0:
		return l, whyPlace
	case walker.Intricate, int64(l.dividers) > 2*cells:
		return l, whyDrawing
	}
	return l, ""
}

// fits reports whether the box is drawn into the rectangle at about its own size, upright or
// rotated as the widget says, so that readable text in it is readable on the page.
func fits(m *model, s *pdf.Stream, wd *widget, box, rect pdf.Rect) bool {
	w, h := box.Width(), box.Height()
	if a, err := m.doc.Array(s.Dict.Get("Matrix")); err == nil && len(a) == 6 {
		var v [4]float64
		var ok bool
		for i := range v {
			if v[i], ok = m.doc.Number(a[i]); !ok {
				return false
			}
		}
		turn, _ := m.doc.Int(m.dict(wd.dict.Get("MK")).Get("R"))
		turned := map[int64][4]float64{90: {0, 1, -1, 0}, 180: {-1, 0, 0, -1}, 270: {0, -1, 1, 0}}[turn]
		if v != [4]float64{1, 0, 0, 1} && v != turned {
			return false
		}
		if v[0] == 0 {
			w, h = h, w
		}
	} else if s.Dict.Get("Matrix") != nil {
		return false
	}
	near := func(a, b float64) bool { return a > 0 && b > 0 && a/b > 0.75 && a/b < 1.34 || math.Abs(a-b) < 3 }
	return near(w, rect.Width()) && near(h, rect.Height())
}

// write handles a piece of text: its letters must be known, upright, not clipped, to the right of
// the previous piece or on a line below, and in a colour distinguishable from the background.
func (l *appearance) write(p content.Piece) string {
	if l.as == asButton {
		return l.glyph(p)
	}
	text, ok := p.Font.Letters(p.Codes)
	if !ok || !l.c.trusts(l.m, p.Font) || l.text.Len()+len(text) > mostText {
		return whyFont
	}
	size := p.Matrix[3]
	if !upright(p) || p.Shifted || size < 4 || size > 72 || // letters as large as a picture cover what is below them
		size > 2*max(l.box.Height(), l.box.Width()) || p.Matrix[0] < 0.5*size || p.Matrix[0] > 2*size {
		return whyPlace
	}
	middle := content.Point{X: p.X, Y: p.Y + 0.3*size}
	band, chosen := l.behind(middle)
	if strings.TrimSpace(text) != "" {
		low := p.Y < p.Clip.LLY-size/8 && l.as != asList // text that continues below the edge
		if p.X < p.Clip.LLX-size/8 || p.ToX > p.Clip.URX+size/8 || low || p.Y+0.6*size > p.Clip.URY+size/8 {
			return whyPlace
		}
		if !standsOut(p.Colour, band) || band.Luminance() > 0.7 && p.Colour.Luminance() > 0.5 {
			return whyPlace
		}
	}
	down := l.end.Y - p.Y
	switch {
	case !l.wrote || down >= 0.6*size:
		l.lines++
		l.rows = append(l.rows, listRow{at: middle, size: size, chosen: chosen, hidden: middle.Y < p.Clip.LLY})
	case math.Abs(down) > 0.1*size || p.X < l.end.X-0.3*size || p.X > l.end.X+max(2.5*size, 1.2*l.comb):
		return whyPlace
	}
	l.wrote, l.end = true, content.Point{X: p.ToX, Y: p.ToY}
	l.text.WriteString(text)
	l.rows[len(l.rows)-1].text += text
	return ""
}

func upright(p content.Piece) bool {
	m := p.Matrix
	return m[0] > 0 && m[3] > 0 && m[1] == 0 && m[2] == 0
}

func standsOut(a, b content.Colour) bool { return math.Abs(a.Luminance()-b.Luminance()) >= 0.4 }

// behind is the colour behind a piece of text, and whether that is a band.
func (l *appearance) behind(at content.Point) (content.Colour, bool) {
	for _, b := range slices.Backward(l.bands) {
		if at.X >= b.LLX-1 && at.X <= b.URX && at.Y >= b.LLY && at.Y <= b.URY {
			return b.colour, true
		}
	}
	return l.ground, false
}

// paint handles one subpath: the background, a piece of the border, or what else this kind of field
// draws. Paths after the text may cover it, unless they are lines along the edge.
func (l *appearance) paint(p content.Piece) string {
	b := p.Part.Bounds()
	fills := p.Kind == content.Fill
	large := b.Width() >= 0.7*l.box.Width() && b.Height() >= 0.7*l.box.Height()
	switch {
	case p.Part.Curves > 0 && l.as != asButton:
		return whyDrawing
	case !fills || !l.wrote:
		if fills && p.Part.Rectangular() && b.Height() >= 0.4*l.box.Height() && l.divider((b.LLX+b.URX)/2, b.Width()) {
			return ""
		}
		if fills && p.Part.Rectangular() && large {
			l.ground = p.Colour
			return ""
		}
		if deep, ok := l.border(p, !fills && !l.wrote); ok {
			// All its edges are near those of the box, so it covers the middle completely or not at
			// all.
			if fills && winding(p.Part.Points, content.Point{X: (l.box.LLX + l.box.URX) / 2, Y: (l.box.LLY + l.box.URY) / 2}) {
				l.ground = p.Colour
			}
			l.edge = max(l.edge, deep+p.Width/2)
			return ""
		}
	}
	const over = 1
	switch out := b.LLX < l.box.LLX-over || b.LLY < l.box.LLY-over || b.URX > l.box.URX+over || b.URY > l.box.URY+over; {
	case l.as == asText || out || len(p.Part.Points) > mostPoints:
		return whyDrawing
	case l.as == asList:
		return l.band(p, b)
	}
	return l.mark(p, b)
}

// winding reports whether a polygon winds around a point.
func winding(part []content.Point, at content.Point) bool {
	n := 0
	for i, q := range part {
		r := part[(i+1)%len(part)]
		side := (r.X-q.X)*(at.Y-q.Y) - (at.X-q.X)*(r.Y-q.Y)
		switch {
		case q.Y <= at.Y && r.Y > at.Y && side > 0:
			n++
		case q.Y > at.Y && r.Y <= at.Y && side < 0:
			n--
		}
	}
	return n != 0
}

// border reports whether a subpath follows the edges of the box, and at what distance, or, if
// permitted, divides the cells of a comb field.
func (l *appearance) border(p content.Piece, dividers bool) (deep float64, ok bool) {
	wide := 4.0
	if l.as == asButton { // 4 points are much for it
		wide = min(wide, 0.125*min(l.box.Width(), l.box.Height()))
	}
	path := p.Part.Points
	for i, q := range path {
		if i == 0 && !p.Part.Closed {
			continue
		}
		r := path[(i+len(path)-1)%len(path)]
		far := min(
			max(math.Abs(q.X-l.box.LLX), math.Abs(r.X-l.box.LLX)), max(math.Abs(q.X-l.box.URX), math.Abs(r.X-l.box.URX)),
			max(math.Abs(q.Y-l.box.LLY), math.Abs(r.Y-l.box.LLY)), max(math.Abs(q.Y-l.box.URY), math.Abs(r.Y-l.box.URY)))
		if far <= wide {
			deep = max(deep, far)
			continue
		}
		high := math.Abs(r.Y - q.Y)
		if !dividers || math.Abs(r.X-q.X) >= 0.01 || high < 0.8*l.box.Height()-2*wide || high < 0.4*l.box.Height() || !l.divider(q.X, p.Width) {
			return 0, false
		}
	}
	return deep, true
}

// divider reports whether a vertical line is between two cells of a comb field.
func (l *appearance) divider(x, thick float64) bool {
	if l.comb == 0 || thick > min(2, 0.2*l.comb) {
		return false
	}
	at := (x - l.box.LLX) / l.comb
	l.dividers++
	return math.Abs(at-math.Round(at)) <= 0.15
}

// latinFonts are families that every reader has, or replaces by one with the same characters if the
// font is not embedded.
var latinFonts = []string{
	"helvetica", "times", "courier", "arial", "calibri", "verdana", "tahoma", "georgia", "cambria", "myriadpro", "minionpro",
	"liberation", "dejavu", "notosans", "notoserif", "lucidaconsole", "lucidasans", "segoeui", "trebuchet",
}

// trusts reports whether the glyphs of a font are known to look like its letters. A font of the
// signed revision is what the signer saw; a new one must not be embedded, since its glyphs could be
// anything.
func (c *comparison) trusts(m *model, f *content.Font) bool {
	if known, ok := c.trusted[f]; ok {
		return known
	}
	signed := m == c.old || c.hadFont(f.Object)
	latin := slices.ContainsFunc(latinFonts, func(name string) bool { return strings.HasPrefix(f.Family, name) })
	ok := false
	switch f.Kind {
	case "Type1", "TrueType", "MMType1":
		ok = !strings.Contains(f.Family, "symbol") && !strings.Contains(f.Family, "dingbat") &&
			(latin || !m.isNull(m.dict(f.Object).Get("Encoding"))) && (signed || latin && !f.Embedded && f.UsualWidths())
	case "Type0":
		ok = signed
	}
	if c.trusted == nil {
		c.trusted = make(map[*content.Font]bool)
	}
	c.trusted[f] = ok
	return ok
}

// hadFont reports whether the signed revision has that font, in the form's resources or in the
// appearance of a field.
func (c *comparison) hadFont(o pdf.Object) bool {
	if ref, ok := o.(pdf.Ref); ok {
		if _, had := c.old.doc.Where(ref.Num); had && c.equal(ref, ref, "Font") {
			return true
		}
	}
	if c.fonts == nil {
		c.fonts = c.old.formFonts()
	}
	return slices.ContainsFunc(c.fonts, func(f pdf.Object) bool { return c.equal(f, o, "Font") })
}

// formFonts are the fonts of a form and of its fields' appearances, without duplicate objects.
func (m *model) formFonts() []pdf.Object {
	out := []pdf.Object{}
	seen := make(map[pdf.Ref]bool)
	add := func(resources pdf.Object) {
		for _, e := range m.dict(m.dict(resources).Get("Font")).Entries {
			ref, indirect := e.Value.(pdf.Ref)
			if indirect && seen[ref] || !m.work.step() {
				continue
			}
			seen[ref] = true
			out = append(out, e.Value)
		}
	}
	add(m.form.Get("DR"))
	for _, f := range m.fields {
		for _, w := range f.widgets {
			add(m.dict(m.dict(w.dict.Get("AP")).Get("N")).Get("Resources"))
		}
	}
	return out
}
