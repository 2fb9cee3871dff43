package content

import (
	"math"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/pdf"
)

// Colour is red, green and blue, from 0 to 1.
type Colour [3]float64

// Luminance is the lightness of a colour.
func (c Colour) Luminance() float64 { return 0.3*c[0] + 0.59*c[1] + 0.11*c[2] }

// ink is a colour to paint with, and the number of components of its space.
type ink struct {
	Colour
	space int
}

// set applies a colour operator for filling; false if it is not a device colour.
func (i *ink) set(op string, args []pdf.Object, src Source) bool {
	switch op {
	case "cs":
		if len(args) != 1 {
			return false
		}
		*i = ink{space: map[pdf.Object]int{pdf.Name("DeviceGray"): 1, pdf.Name("DeviceRGB"): 3, pdf.Name("DeviceCMYK"): 4}[args[0]]}
		return i.space != 0
	case "sc", "scn":
		op = map[int]string{1: "g", 3: "rg", 4: "k"}[i.space]
	}
	v := make([]float64, 0, 4)
	for _, o := range args {
		if n, ok := src.Number(o); ok {
			v = append(v, n)
		}
	}
	c, ok := ColourOf(op, v)
	if !ok || len(v) != len(args) {
		return false
	}
	*i = ink{c, len(v)}
	return true
}

// ColourOf is the colour set by the operators g, rg and k.
func ColourOf(op string, v []float64) (c Colour, ok bool) {
	if len(v) != map[string]int{"g": 1, "rg": 3, "k": 4}[op] || len(v) == 0 || slices.ContainsFunc(v, func(n float64) bool { return n < 0 || n > 1 }) {
		return c, false
	}
	for i := range c {
		switch op {
		case "g":
			c[i] = v[0]
		case "rg":
			c[i] = v[i]
		default:
			c[i] = 1 - min(1, v[i]+v[3])
		}
	}
	return c, true
}

// Rectangular reports whether a part is an upright rectangle.
func (p *Part) Rectangular() bool {
	q := p.Points
	if len(q) == 5 && q[4] == q[0] {
		q = q[:4]
	}
	if p.rect || len(q) != 4 || p.Curves > 0 {
		return p.rect
	}
	return q[0].X == q[1].X && q[1].Y == q[2].Y && q[2].X == q[3].X && q[3].Y == q[0].Y ||
		q[0].Y == q[1].Y && q[1].X == q[2].X && q[2].Y == q[3].Y && q[3].X == q[0].X
}

// draw interprets path operators.
func (f *follower) draw(op string, args []pdf.Object) {
	counts := map[string]int{"re": 4, "m": 2, "l": 2, "c": 6, "v": 4, "y": 4}
	switch op {
	case "h":
		if n := len(f.path); n > 0 {
			f.path[n-1].Closed, f.pen = true, &f.path[n-1].Points[0]
		}
	case "W", "W*":
		f.clipping = true
	case "re", "m", "l", "c", "v", "y":
		if n, ok := f.numbers(args, counts[op]); ok {
			f.line(op, n)
		}
	default:
		f.paint(op)
	}
}

// line adds a line, a curve or a rectangle to the path.
func (f *follower) line(op string, n []float64) {
	if f.points += len(n); f.points > mostPath {
		f.Odd = true
		return
	}
	at := func(x, y float64) Point {
		x, y = f.ctm.At(x, y)
		return Point{x, y}
	}
	if op == "re" {
		x, y, w, h := n[0], n[1], n[2], n[3]
		p := &Part{Points: []Point{at(x, y), at(x+w, y), at(x+w, y+h), at(x, y+h)}, Lines: 4, Closed: true, rect: f.ctm.upright()}
		p.boxes = []pdf.Rect{p.Bounds()}
		f.path, f.pen = append(f.path, p), &p.Points[0]
		return
	}
	if op == "m" || f.pen == nil || f.path[len(f.path)-1].Closed {
		p := &Part{}
		if f.pen != nil && op != "m" {
			p.Points = []Point{*f.pen}
		}
		f.Intricate = f.Intricate || op != "m"
		f.path = append(f.path, p)
	}
	p := f.path[len(f.path)-1]
	box := Nothing
	if f.pen != nil && op != "m" {
		box = f.pen.box()
	}
	for i := 0; i < len(n); i += 2 {
		q := at(n[i], n[i+1])
		p.Points, f.pen = append(p.Points, q), &q
		box = Union(box, q.box())
	}
	switch op {
	case "m":
		return
	case "l":
		p.Lines++
	default:
		p.Curves++
	}
	p.boxes = append(p.boxes, box)
}

func (f *follower) paint(op string) {
	path, clipping := slices.DeleteFunc(f.path, func(p *Part) bool { return len(p.boxes) == 0 }), f.clipping
	f.path, f.points, f.clipping, f.pen = nil, 0, false, nil
	all := Nothing
	rects := true
	for _, p := range path {
		p.Closed = p.Closed || strings.ContainsAny(op, "sbfFB")
		for _, b := range p.boxes {
			all = Union(all, b)
		}
		rects = rects && p.rect
	}
	if strings.ContainsAny(op, "fFBb") {
		for _, p := range path {
			f.ink(Piece{Kind: Fill, Box: p.Bounds(), Whole: len(path) == 1 && p.Rectangular(), Colour: f.fill.Colour, Part: p})
		}
	}
	if strings.ContainsAny(op, "SsBb") {
		f.strokes(path)
	}
	if clipping {
		// The box of the path is larger than what remains visible.
		f.Intricate = f.Intricate || op != "n" || len(path) != 1 || !rects
		f.clip = Common(f.clip, all)
	}
}

// wide is the width of lines.
func (f *follower) wide() float64 {
	return max(f.width*max(math.Hypot(f.ctm[0], f.ctm[1]), math.Hypot(f.ctm[2], f.ctm[3])), 0.1)
}

// wider is a box enlarged on all sides.
func wider(b pdf.Rect, by float64) pdf.Rect {
	return pdf.Rect{LLX: b.LLX - by, LLY: b.LLY - by, URX: b.URX + by, URY: b.URY + by}
}

// strokes reports the lines of a path one by one.
func (f *follower) strokes(path []*Part) {
	wide := f.wide()
	line := func(p *Part, b pdf.Rect, by float64, whole bool) {
		f.ink(Piece{Kind: Stroke, Box: wider(b, by), Whole: whole, Width: wide, Colour: f.stroke.Colour, Part: p})
	}
	for _, p := range path {
		out := wide * max(1.5, p.spike(f.limit)/2) // corners protrude
		for _, b := range p.boxes {
			if p.rect {
				line(p, b, wide/2, true)
			} else {
				line(p, b, out, false)
			}
		}
		if p.Closed && !p.rect && len(p.boxes) > 1 { // the closing line
			line(p, p.Bounds(), out, false)
		}
	}
}

// spike is how far the sharpest corner of a part protrudes, in halves of the line width; beyond the
// miter limit corners are cut (ISO 32000-2, 8.4.3.5).
func (p *Part) spike(limit float64) (most float64) {
	n := len(p.Points)
	for i := range p.Points {
		a, b, c := p.Points[i], p.Points[(i+1)%n], p.Points[(i+2)%n]
		x, y, u, v := a.X-b.X, a.Y-b.Y, c.X-b.X, c.Y-b.Y
		half := math.Sqrt((1 - (x*u+y*v)/(math.Hypot(x, y)*math.Hypot(u, v))) / 2) // sine of half the angle
		if far := 1 / half; far <= limit {
			most = max(most, far)
		}
	}
	return most
}
