package revision

import (
	"math"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// painter follows the appearance of a text field as far as it must be simple:
// a background, a border, and upright text in sight, in dark colours, from left
// to right and from top to bottom. Everything else is not decided.
type painter struct {
	c        *comparison
	m        *model
	fonts    *pdf.Dict
	states   *pdf.Dict // graphics states
	box      pdf.Rect
	state    graphics
	stack    []graphics
	tm, lm   [6]float64
	path     []point
	starts   []int // where the parts of the path begin
	boxes    int   // how many of them are rectangles
	straight bool  // it has lines, and not curves only
	lines    int   // of text
	end      point // of the text so far
	clipping bool
	text     strings.Builder
	wrote    bool
	ground   [3]float64 // colour behind the text
	edge     float64    // how far from the edges lines were painted
	comb     float64    // width of a cell of a comb field, else 0
	dividers int        // between the cells
	decoders map[pdf.Name]*decoder
	sketch   *sketch // what else may be drawn, for buttons and list boxes; nil for none
}

type point struct{ x, y float64 }

type graphics struct {
	ctm            [6]float64
	clip           pdf.Rect
	fill, stroke   [3]float64
	space, spaceS  int // components of a colour to fill and to stroke with
	font           *decoder
	name           pdf.Name // of the font
	size, leading  float64
	stretch, width float64
	spread, words  float64 // room between characters, and more between words
}

var identity = [6]float64{1, 0, 0, 1, 0, 0}

// times is the matrix that applies a first, then b.
func times(a, b [6]float64) [6]float64 {
	return [6]float64{
		a[0]*b[0] + a[1]*b[2], a[0]*b[1] + a[1]*b[3],
		a[2]*b[0] + a[3]*b[2], a[2]*b[1] + a[3]*b[3],
		a[4]*b[0] + a[5]*b[2] + b[4], a[4]*b[1] + a[5]*b[3] + b[5],
	}
}

func at(m [6]float64, x, y float64) point {
	return point{m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]}
}

// shownText is the text that an appearance shows, or why that cannot be told.
func (c *comparison) shownText(m *model, s *pdf.Stream, w *widget) (string, string) {
	p, why := c.paintAll(m, s, w)
	if why != "" {
		return "", why
	}
	return p.text.String(), ""
}

// paintAll follows an appearance to its end, or as far as it is understood.
func (c *comparison) paintAll(m *model, s *pdf.Stream, w *widget) (*painter, string) {
	return c.paintWith(m, s, w, nil)
}

func (c *comparison) paintWith(m *model, s *pdf.Stream, w *widget, d *sketch) (*painter, string) {
	box, ok := m.doc.Rect(s.Dict.Get("BBox"))
	rect, ok2 := m.doc.Rect(w.dict.Get("Rect"))
	if !ok || !ok2 || s.Dict.Has("OC") || s.Dict.Has("Ref") || s.Dict.Has("OPI") || m.dict(s.Dict.Get("Group")).Has("CS") {
		return nil, whyAppearance
	}
	data, ok := m.data(s)
	if !ok {
		return nil, whyAppearance
	}
	code, ok := content.Tokens(data)
	if !ok || !m.work.take(len(data)) {
		return nil, whyDrawing
	}
	if !fits(m, s, w, box, rect) {
		return nil, whyPlace
	}
	p := &painter{c: c, m: m, box: box, ground: [3]float64{1, 1, 1}, decoders: make(map[pdf.Name]*decoder), sketch: d}
	res := m.dict(s.Dict.Get("Resources"))
	if res.Get("ColorSpace") != nil {
		return nil, whyDrawing // it may give the device's colours another meaning
	}
	p.fonts, p.states = m.dict(res.Get("Font")), m.dict(res.Get("ExtGState"))
	p.state = graphics{ctm: identity, clip: box, stretch: 1, width: 1, space: 1, spaceS: 1}
	cells := int64(0)
	if w.field != nil && m.flags(w.field)&flagComb != 0 {
		if cells, _ = m.doc.Int(w.field.attrs.Get("MaxLen")); cells > 0 {
			p.comb = box.Width() / float64(cells)
		}
	}
	for _, in := range code {
		if why := p.run(in); why != "" {
			return p, why
		}
	}
	if int64(p.dividers) > 2*cells {
		return p, whyDrawing
	}
	if p.lines > 1 && d == nil && w.field != nil && m.flags(w.field)&flagMultiline == 0 {
		return p, whyPlace
	}
	return p, ""
}

// fits: the box is drawn into the rectangle at about its own size, upright or
// turned as the widget says, so that what is readable in it is readable on the
// page.
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

func numbers(args []pdf.Object, n int) ([]float64, bool) {
	if len(args) != n {
		return nil, false
	}
	out := make([]float64, n)
	for i, a := range args {
		r, ok := a.(pdf.Real)
		if !ok || strings.Trim(string(r), "+-.0123456789") != "" {
			return nil, false // some readers know no exponents
		}
		out[i] = r.Float()
	}
	return out, true
}

// run follows one content.Instruction.
func (p *painter) run(in content.Instruction) string {
	switch in.Op {
	case "q":
		if p.stack = append(p.stack, p.state); len(p.stack) > 64 {
			return whyDrawing
		}
	case "Q":
		if len(p.stack) == 0 {
			return whyDrawing
		}
		p.state, p.stack = p.stack[len(p.stack)-1], p.stack[:len(p.stack)-1]
	case "cm":
		v, ok := numbers(in.Args, 6)
		if !ok {
			return whyDrawing
		}
		p.state.ctm = times([6]float64(v), p.state.ctm)
	case "BMC", "EMC", "MP", "J", "j", "d", "i", "ri":
	case "M": // a large limit makes spikes of corners
		if v, ok := numbers(in.Args, 1); !ok || v[0] > 10 {
			return whyDrawing
		}
	case "G", "RG", "K", "CS", "SC", "SCN": // the same for strokes
		p.swapColours()
		why := p.run(content.Instruction{Op: strings.ToLower(in.Op), Args: in.Args})
		p.swapColours()
		return why
	case "c", "v", "y":
		return p.curve(in)
	case "w":
		v, ok := numbers(in.Args, 1)
		if !ok {
			return whyDrawing
		}
		p.state.width = v[0]
	case "gs":
		if !p.plainState(in.Args) {
			return whyDrawing
		}
	case "BDC":
		if len(in.Args) != 2 || in.Args[0] == pdf.Name("OC") {
			return whyDrawing
		}
	case "cs":
		if len(in.Args) != 1 || p.setSpace(in.Args[0]) == 0 {
			return whyDrawing
		}
	case "sc", "scn":
		return p.colour(content.Instruction{Op: map[int]string{1: "g", 3: "rg", 4: "k"}[p.state.space], Args: in.Args})
	case "g", "rg", "k":
		return p.colour(in)
	case "re", "m", "l", "h", "W", "W*", "n", "f", "F", "f*", "S", "s", "B", "B*", "b", "b*":
		return p.draw(in)
	case "BT":
		p.tm, p.lm = identity, identity
	case "ET":
	default:
		return p.write(in)
	}
	return ""
}

// setSpace takes the colour spaces that need no resources, by their number of
// components; 0 is any other.
func (p *painter) setSpace(name pdf.Object) int {
	p.state.space = map[pdf.Object]int{pdf.Name("DeviceGray"): 1, pdf.Name("DeviceRGB"): 3, pdf.Name("DeviceCMYK"): 4}[name]
	p.state.fill = [3]float64{}
	return p.state.space
}

func (p *painter) swapColours() {
	g := &p.state
	g.fill, g.stroke, g.space, g.spaceS = g.stroke, g.fill, g.spaceS, g.space
}

func (p *painter) colour(in content.Instruction) string {
	v, ok := numbers(in.Args, map[string]int{"g": 1, "rg": 3, "k": 4}[in.Op])
	if !ok || slices.ContainsFunc(v, func(n float64) bool { return n < 0 || n > 1 }) {
		return whyDrawing
	}
	p.state.space = len(v)
	switch in.Op {
	case "g":
		p.state.fill = [3]float64{v[0], v[0], v[0]}
	case "rg":
		p.state.fill = [3]float64(v)
	default:
		for i := range 3 {
			p.state.fill[i] = 1 - min(1, v[i]+v[3])
		}
	}
	return ""
}

// write takes the operators of text.
func (p *painter) write(in content.Instruction) string { //nolint:gocyclo // one case for each operator of text
	switch in.Op {
	case "Tf":
		if len(in.Args) != 2 {
			return whyDrawing
		}
		name, _ := in.Args[0].(pdf.Name)
		size, ok := numbers(in.Args[1:], 1)
		if !ok {
			return whyDrawing
		}
		p.state.size, p.state.name = size[0], name
		p.state.font = p.font(name)
	case "Td", "TD", "T*":
		v := []float64{0, -p.state.leading}
		if in.Op != "T*" {
			var ok bool
			if v, ok = numbers(in.Args, 2); !ok {
				return whyDrawing
			}
		}
		if in.Op == "TD" {
			p.state.leading = -v[1]
		}
		p.lm = times([6]float64{1, 0, 0, 1, v[0], v[1]}, p.lm)
		p.tm = p.lm
	case "Tm":
		v, ok := numbers(in.Args, 6)
		if !ok {
			return whyDrawing
		}
		p.tm, p.lm = [6]float64(v), [6]float64(v)
	case "TL", "Tz", "Ts", "Tr", "Tc", "Tw":
		v, ok := numbers(in.Args, 1)
		if !ok {
			return whyDrawing
		}
		switch in.Op {
		case "TL":
			p.state.leading = v[0]
		case "Tz":
			p.state.stretch = v[0] / 100
		case "Ts":
			if v[0] != 0 {
				return whyPlace
			}
		case "Tr":
			if v[0] != 0 {
				return whyDrawing
			}
		case "Tc", "Tw":
			if math.Abs(v[0]) > 2 {
				return whyPlace // it may push text out of sight, or together
			}
			if in.Op == "Tc" {
				p.state.spread = v[0]
			} else {
				p.state.words = v[0]
			}
		}
	case "'":
		if why := p.write(content.Instruction{Op: "T*"}); why != "" {
			return why
		}
		return p.show(in.Args)
	case "\"":
		if len(in.Args) != 3 {
			return whyDrawing
		}
		for i, op := range []string{"Tw", "Tc", "T*"} {
			if why := p.write(content.Instruction{Op: op, Args: in.Args[i:min(i+1, 2)]}); why != "" {
				return why
			}
		}
		return p.show(in.Args[2:])
	case "Tj":
		return p.show(in.Args)
	case "TJ":
		if len(in.Args) != 1 {
			return whyDrawing
		}
		list, _ := in.Args[0].(pdf.Array)
		for _, e := range list {
			why := ""
			if _, isText := e.(pdf.String); isText {
				why = p.show([]pdf.Object{e})
			} else if n, ok := numbers([]pdf.Object{e}, 1); ok && math.Abs(n[0]) <= max(250, 1200*p.comb/max(p.state.size, 1)) {
				p.tm = times([6]float64{1, 0, 0, 1, -n[0] / 1000 * p.state.size * p.state.stretch, 0}, p.tm)
			} else {
				why = whyPlace
			}
			if why != "" {
				return why
			}
		}
	default:
		return whyDrawing
	}
	return ""
}

// show takes a piece of text: it must be decoded, and begin in sight.
func (p *painter) show(args []pdf.Object) string {
	if len(args) != 1 {
		return whyDrawing
	}
	s, ok := args[0].(pdf.String)
	if !ok {
		return whyDrawing
	}
	if len(s.Bytes) == 0 {
		return ""
	}
	if p.sketch != nil && p.sketch.button {
		return p.sketch.glyph(p, s.Bytes)
	}
	if p.state.font == nil {
		return whyFont
	}
	text, ok := p.state.font.decode(s.Bytes)
	if !ok || p.text.Len()+len(text) > mostText {
		return whyFont
	}
	wide, ok := p.state.font.advance(s.Bytes, text)
	if !ok {
		return whyPlace
	}
	return p.place(text, wide)
}

// place looks where a piece of text stands: upright, whole within what is not
// clipped away, to the right of what came before it or on a line below, and in
// a colour that can be told from its ground.
func (p *painter) place(text string, wide float64) string {
	m := times(p.tm, p.state.ctm)
	if m[0] <= 0 || m[3] <= 0 || m[1] != 0 || m[2] != 0 || p.state.size <= 0 {
		return whyPlace
	}
	size, stretch := p.state.size*m[3], p.state.stretch*m[0]/m[3]
	if size < 4 || size > 72 || // letters as large as a picture cover what is below them
		size > 2*max(p.box.Height(), p.box.Width()) || stretch < 0.5 || stretch > 2 {
		return whyPlace
	}
	if min(p.state.spread, p.state.words) < -0.1*p.state.size {
		return whyPlace
	}
	step := (wide*p.state.size + p.state.spread*float64(len([]rune(text))) + p.state.words*float64(strings.Count(text, " "))) * p.state.stretch
	from := at(m, 0, 0)
	to := at(m, step, 0)
	clip := p.state.clip
	if strings.TrimSpace(text) != "" {
		low := from.y < clip.LLY-size/8 && p.sketch == nil // a list box goes on below its edge
		if from.x < clip.LLX-size/8 || to.x > clip.URX+size/8 || low || from.y+0.6*size > clip.URY+size/8 {
			return whyPlace
		}
		ground, _ := p.sketch.behind(p, point{from.x, from.y + 0.3*size})
		if math.Abs(luminance(p.state.fill)-luminance(ground)) < 0.4 || luminance(ground) > 0.7 && luminance(p.state.fill) > 0.5 {
			return whyPlace
		}
	}
	down := p.end.y - from.y
	switch {
	case !p.wrote || down >= 0.6*size:
		p.lines++
		p.sketch.row(p, point{from.x, from.y + 0.3*size}, size)
	case math.Abs(down) > 0.1*size || from.x < p.end.x-0.3*size || from.x > p.end.x+max(2.5*size, 1.2*p.comb):
		return whyPlace
	}
	p.wrote, p.end = true, to
	p.tm = times([6]float64{1, 0, 0, 1, step, 0}, p.tm)
	p.text.WriteString(text)
	p.sketch.write(text)
	return ""
}

func luminance(c [3]float64) float64 { return 0.3*c[0] + 0.59*c[1] + 0.11*c[2] }

func (p *painter) font(name pdf.Name) *decoder {
	if d, ok := p.decoders[name]; ok {
		return d
	}
	if !p.m.work.take(len(p.fonts.Entries)) {
		return nil
	}
	d := p.c.decoder(p.m, p.fonts.Get(name))
	p.decoders[name] = d
	return d
}
