package revision

import (
	"math"
	"strings"

	"rogito.dev/rogito/internal/pdf"
)

// painter follows the appearance of a text field as far as it must be simple:
// a background, a border, and text in sight. Everything else is not decided.
type painter struct {
	c        *comparison
	m        *model
	fonts    *pdf.Dict
	box      pdf.Rect
	state    graphics
	stack    []graphics
	tm, lm   [6]float64
	path     []point
	clipping bool
	text     strings.Builder
	wrote    bool
	ground   [3]float64 // colour behind the text
	grounded bool       // which was painted
	decoders map[pdf.Name]*decoder
}

type point struct{ x, y float64 }

type graphics struct {
	ctm            [6]float64
	clip           pdf.Rect
	fill           [3]float64
	space          int
	font           *decoder
	size, leading  float64
	stretch, raise float64
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
	box, ok := m.doc.Rect(s.Dict.Get("BBox"))
	rect, ok2 := m.doc.Rect(w.dict.Get("Rect"))
	if !ok || !ok2 || s.Dict.Has("OC") || s.Dict.Has("Ref") {
		return nil, whyAppearance
	}
	data, err := m.doc.Data(s)
	if err != nil {
		return nil, whyAppearance
	}
	code, ok := tokens(data)
	if !ok {
		return nil, whyDrawing
	}
	if !fits(m, s, box, rect) {
		return nil, whyPlace
	}
	p := &painter{c: c, m: m, box: box, ground: [3]float64{1, 1, 1}, decoders: make(map[pdf.Name]*decoder)}
	p.fonts = m.dict(m.dict(s.Dict.Get("Resources")).Get("Font"))
	p.state = graphics{ctm: identity, clip: box, stretch: 1}
	for _, in := range code {
		if why := p.run(in); why != "" {
			return p, why
		}
	}
	return p, ""
}

// fits: the box is drawn into the rectangle at about its own size, upright or
// turned by quarters, so that what is readable in it is readable on the page.
func fits(m *model, s *pdf.Stream, box, rect pdf.Rect) bool {
	w, h := box.Width(), box.Height()
	if a, err := m.doc.Array(s.Dict.Get("Matrix")); err == nil && len(a) == 6 {
		var v [4]float64
		for i := range v {
			v[i], _ = m.doc.Number(a[i])
		}
		quarter := v[0] == 0 && v[3] == 0 && math.Abs(v[1]) == 1 && math.Abs(v[2]) == 1
		upright := v[1] == 0 && v[2] == 0 && math.Abs(v[0]) == 1 && math.Abs(v[3]) == 1
		if !quarter && !upright {
			return false
		}
		if v[0]*v[3]-v[1]*v[2] < 0 {
			return false // mirrored
		}
		if quarter {
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
		if !ok {
			return nil, false
		}
		out[i] = r.Float()
	}
	return out, true
}

// run follows one instruction.
func (p *painter) run(in instruction) string {
	switch in.op {
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
		v, ok := numbers(in.args, 6)
		if !ok {
			return whyDrawing
		}
		p.state.ctm = times([6]float64(v), p.state.ctm)
	case "BMC", "EMC", "MP", "w", "J", "j", "M", "d", "i", "ri", "G", "RG", "K", "CS":
	case "BDC":
		if len(in.args) != 2 || in.args[0] == pdf.Name("OC") {
			return whyDrawing
		}
	case "cs":
		if len(in.args) != 1 || p.setSpace(in.args[0]) == 0 {
			return whyDrawing
		}
	case "sc", "scn":
		return p.colour(instruction{map[int]string{1: "g", 3: "rg", 4: "k"}[p.state.space], in.args})
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

func (p *painter) colour(in instruction) string {
	v, ok := numbers(in.args, map[string]int{"g": 1, "rg": 3, "k": 4}[in.op])
	if !ok {
		return whyDrawing
	}
	switch in.op {
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

// draw takes backgrounds and borders.
func (p *painter) draw(in instruction) string {
	switch in.op {
	case "re":
		v, ok := numbers(in.args, 4)
		if !ok {
			return whyDrawing
		}
		for _, c := range [][2]float64{{v[0], v[1]}, {v[0] + v[2], v[1]}, {v[0] + v[2], v[1] + v[3]}, {v[0], v[1] + v[3]}} {
			p.path = append(p.path, at(p.state.ctm, c[0], c[1]))
		}
	case "m", "l":
		v, ok := numbers(in.args, 2)
		if !ok {
			return whyDrawing
		}
		p.path = append(p.path, at(p.state.ctm, v[0], v[1]))
	case "h":
	case "W", "W*":
		p.clipping = true
	default:
		return p.paint(in.op)
	}
	if len(p.path) > 4096 {
		return whyDrawing
	}
	return ""
}

func (p *painter) paint(op string) string {
	path := p.path
	p.path = nil
	clipped := p.clipping
	p.clipping = false
	if len(path) == 0 {
		return ""
	}
	if clipped {
		b := bounds(path)
		p.state.clip = pdf.Rect{
			LLX: max(p.state.clip.LLX, b.LLX), LLY: max(p.state.clip.LLY, b.LLY),
			URX: min(p.state.clip.URX, b.URX), URY: min(p.state.clip.URY, b.URY),
		}
	}
	if op == "n" {
		return ""
	}
	if p.wrote {
		return whyDrawing // it may cover the text
	}
	b := bounds(path)
	whole := b.Width() >= 0.7*p.box.Width() && b.Height() >= 0.7*p.box.Height() && len(path) == 4
	if !whole && !p.border(path) {
		return whyDrawing
	}
	if whole && strings.ContainsAny(op, "fFBb") {
		p.ground, p.grounded = p.state.fill, true
	}
	return ""
}

func bounds(path []point) pdf.Rect {
	r := pdf.Rect{LLX: path[0].x, LLY: path[0].y, URX: path[0].x, URY: path[0].y}
	for _, q := range path {
		r.LLX, r.URX = min(r.LLX, q.x), max(r.URX, q.x)
		r.LLY, r.URY = min(r.LLY, q.y), max(r.URY, q.y)
	}
	return r
}

// border reports whether a path runs along the edges of the box, or divides it
// from top to bottom as the cells of a comb field do.
func (p *painter) border(path []point) bool {
	const wide = 4
	edge := func(q point) bool {
		return math.Abs(q.x-p.box.LLX) <= wide || math.Abs(q.x-p.box.URX) <= wide ||
			math.Abs(q.y-p.box.LLY) <= wide || math.Abs(q.y-p.box.URY) <= wide
	}
	for i, q := range path {
		if !edge(q) {
			return false
		}
		if i%2 == 1 && math.Abs(path[i-1].x-q.x) < 0.01 && math.Abs(path[i-1].y-q.y) < 0.4*p.box.Height() &&
			math.Abs(q.x-p.box.LLX) > wide && math.Abs(q.x-p.box.URX) > wide {
			return false // a short upright stroke is no divider
		}
	}
	return true
}

// write takes the operators of text.
func (p *painter) write(in instruction) string {
	switch in.op {
	case "Tf":
		if len(in.args) != 2 {
			return whyDrawing
		}
		name, _ := in.args[0].(pdf.Name)
		size, ok := numbers(in.args[1:], 1)
		if !ok {
			return whyDrawing
		}
		p.state.size = size[0]
		p.state.font = p.font(name)
	case "Td", "TD", "T*":
		v := []float64{0, -p.state.leading}
		if in.op != "T*" {
			var ok bool
			if v, ok = numbers(in.args, 2); !ok {
				return whyDrawing
			}
		}
		if in.op == "TD" {
			p.state.leading = -v[1]
		}
		p.lm = times([6]float64{1, 0, 0, 1, v[0], v[1]}, p.lm)
		p.tm = p.lm
	case "Tm":
		v, ok := numbers(in.args, 6)
		if !ok {
			return whyDrawing
		}
		p.tm, p.lm = [6]float64(v), [6]float64(v)
	case "TL", "Tz", "Ts", "Tr", "Tc", "Tw":
		v, ok := numbers(in.args, 1)
		if !ok {
			return whyDrawing
		}
		switch in.op {
		case "TL":
			p.state.leading = v[0]
		case "Tz":
			p.state.stretch = v[0] / 100
		case "Ts":
			p.state.raise = v[0]
		case "Tr":
			if v[0] != 0 {
				return whyDrawing
			}
		case "Tc", "Tw":
			if math.Abs(v[0]) > 2*max(math.Abs(p.state.size), 6) {
				return whyPlace // it may push text out of sight
			}
		}
	case "'":
		if why := p.write(instruction{op: "T*"}); why != "" {
			return why
		}
		return p.show(in.args)
	case "Tj":
		return p.show(in.args)
	case "TJ":
		if len(in.args) != 1 {
			return whyDrawing
		}
		list, _ := in.args[0].(pdf.Array)
		for _, e := range list {
			if n, ok := e.(pdf.Real); ok && math.Abs(n.Float()) > 2000 {
				return whyPlace
			}
			if s, ok := e.(pdf.String); ok {
				if why := p.show([]pdf.Object{s}); why != "" {
					return why
				}
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
	if p.state.font == nil {
		return whyFont
	}
	text, ok := p.state.font.decode(s.Bytes)
	if !ok {
		return whyFont
	}
	m := times(p.tm, p.state.ctm)
	scale := math.Sqrt(math.Abs(m[0]*m[3] - m[1]*m[2]))
	size := math.Abs(p.state.size) * scale
	switch {
	case size < 2 || size > 2*max(p.box.Height(), p.box.Width()) || p.state.stretch < 0.4 || p.state.stretch > 2.5:
		return whyPlace
	case math.Abs(p.state.raise) > math.Abs(p.state.size):
		return whyPlace
	}
	origin := at(m, 0, p.state.raise)
	clip := p.state.clip
	if origin.x < clip.LLX-size/4 || origin.x > clip.URX || origin.y < clip.LLY-size/2 || origin.y > clip.URY ||
		clip.Width() < size/4 || clip.Height() < size/4 {
		return whyPlace
	}
	if contrast := math.Abs(p.state.fill[0]-p.ground[0]) + math.Abs(p.state.fill[1]-p.ground[1]) + math.Abs(p.state.fill[2]-p.ground[2]); contrast < 0.3 {
		return whyPlace
	}
	p.wrote = true
	p.text.WriteString(text)
	return ""
}

func (p *painter) font(name pdf.Name) *decoder {
	if d, ok := p.decoders[name]; ok {
		return d
	}
	d := p.c.decoder(p.m, p.fonts.Get(name))
	p.decoders[name] = d
	return d
}
