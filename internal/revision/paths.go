package revision

import (
	"math"
	"strings"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// draw takes backgrounds and borders.
func (p *painter) draw(in content.Instruction) string {
	switch in.Op {
	case "re":
		v, ok := numbers(in.Args, 4)
		if !ok {
			return whyDrawing
		}
		p.starts = append(p.starts, len(p.path))
		p.boxes++
		p.straight = true
		for _, c := range [][2]float64{{v[0], v[1]}, {v[0] + v[2], v[1]}, {v[0] + v[2], v[1] + v[3]}, {v[0], v[1] + v[3]}} {
			p.path = append(p.path, at(p.state.ctm, c[0], c[1]))
		}
	case "m", "l":
		v, ok := numbers(in.Args, 2)
		if !ok {
			return whyDrawing
		}
		if in.Op == "m" {
			p.starts = append(p.starts, len(p.path))
		} else {
			p.straight = true
		}
		p.path = append(p.path, at(p.state.ctm, v[0], v[1]))
	case "h":
	case "W", "W*":
		p.clipping = true
	default:
		return p.paint(in.Op)
	}
	if len(p.path) > 4096 {
		return whyDrawing
	}
	return ""
}

func (p *painter) paint(op string) string {
	path, starts, boxes, clipped, round := p.path, p.starts, p.boxes, p.clipping, !p.straight
	p.path, p.starts, p.boxes, p.clipping, p.straight = nil, nil, 0, false, false
	if len(path) == 0 {
		if clipped {
			return whyPlace // nothing is left
		}
		return ""
	}
	if len(starts) == 0 || starts[0] != 0 {
		return whyDrawing
	}
	ctm := p.state.ctm
	if clipped {
		if op != "n" || len(path) != 4 || boxes != 1 || ctm[1] != 0 || ctm[2] != 0 {
			return whyDrawing
		}
		b := bounds(path)
		p.state.clip = pdf.Rect{
			LLX: max(p.state.clip.LLX, b.LLX), LLY: max(p.state.clip.LLY, b.LLY),
			URX: min(p.state.clip.URX, b.URX), URY: min(p.state.clip.URY, b.URY),
		}
	}
	if op == "n" {
		return ""
	}
	const thick = 4
	strokes := strings.ContainsAny(op, "SsBb")
	if strokes && (p.state.width < 0 || p.state.width*max(math.Abs(ctm[0])+math.Abs(ctm[1]), math.Abs(ctm[2])+math.Abs(ctm[3])) > thick) {
		return whyDrawing
	}
	for i, from := range starts {
		part := path[from:]
		if i+1 < len(starts) {
			part = path[from:starts[i+1]]
		}
		why := p.paintPart(part, op, op == "s" || boxes > 0)
		if why != "" && p.sketch != nil {
			why = p.sketch.take(p, part, op, round)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// paintPart takes one part of a path: the ground, or a piece of the border. What
// comes after the text may cover it, unless it is a line along the edge.
func (p *painter) paintPart(part []point, op string, closed bool) string {
	b := bounds(part)
	if !strings.ContainsAny(op, "fFBb") {
		deep, ok := p.border(part, closed, !p.wrote)
		if !ok {
			return whyDrawing
		}
		ctm := p.state.ctm
		p.edge = max(p.edge, deep+p.state.width/2*max(math.Hypot(ctm[0], ctm[1]), math.Hypot(ctm[2], ctm[3])))
		return ""
	}
	if p.wrote {
		return whyDrawing
	}
	if rectangular(part) && b.Height() >= 0.4*p.box.Height() && p.divider((b.LLX+b.URX)/2, b.Width()) {
		return ""
	}
	if rectangular(part) && b.Width() >= 0.7*p.box.Width() && b.Height() >= 0.7*p.box.Height() {
		p.ground = p.state.fill
		return ""
	}
	deep, ok := p.border(part, true, false)
	if !ok {
		return whyDrawing
	}
	// All its edges run near those of the box, so it covers the middle whole or
	// not at all.
	if winding(part, point{(p.box.LLX + p.box.URX) / 2, (p.box.LLY + p.box.URY) / 2}) {
		p.ground = p.state.fill
	}
	p.edge = max(p.edge, deep)
	return ""
}

// rectangular reports whether a part is an upright rectangle.
func rectangular(part []point) bool {
	if len(part) == 5 && part[4] == part[0] {
		part = part[:4]
	}
	if len(part) != 4 {
		return false
	}
	a, b, c, d := part[0], part[1], part[2], part[3]
	return a.x == b.x && b.y == c.y && c.x == d.x && d.y == a.y || a.y == b.y && b.x == c.x && c.y == d.y && d.x == a.x
}

// winding reports whether a polygon winds around a point.
func winding(part []point, at point) bool {
	n := 0
	for i, q := range part {
		r := part[(i+1)%len(part)]
		side := (r.x-q.x)*(at.y-q.y) - (at.x-q.x)*(r.y-q.y)
		switch {
		case q.y <= at.y && r.y > at.y && side > 0:
			n++
		case q.y > at.y && r.y <= at.y && side < 0:
			n--
		}
	}
	return n != 0
}

func bounds(path []point) pdf.Rect {
	r := pdf.Rect{LLX: path[0].x, LLY: path[0].y, URX: path[0].x, URY: path[0].y}
	for _, q := range path {
		r.LLX, r.URX = min(r.LLX, q.x), max(r.URX, q.x)
		r.LLY, r.URY = min(r.LLY, q.y), max(r.URY, q.y)
	}
	return r
}

// border reports whether a path runs along the edges of the box, and how far
// from them, or, where that is allowed, divides the cells of a comb field.
func (p *painter) border(path []point, closed, dividers bool) (deep float64, ok bool) {
	wide := 4.0
	if p.sketch != nil && p.sketch.button { // where 4 points are much
		wide = min(wide, 0.125*min(p.box.Width(), p.box.Height()))
	}
	far := func(q, r point) float64 {
		return min(
			max(math.Abs(q.x-p.box.LLX), math.Abs(r.x-p.box.LLX)), max(math.Abs(q.x-p.box.URX), math.Abs(r.x-p.box.URX)),
			max(math.Abs(q.y-p.box.LLY), math.Abs(r.y-p.box.LLY)), max(math.Abs(q.y-p.box.URY), math.Abs(r.y-p.box.URY)))
	}
	ctm := p.state.ctm
	thick := p.state.width * max(math.Hypot(ctm[0], ctm[1]), math.Hypot(ctm[2], ctm[3]))
	for i, q := range path {
		if i == 0 && !closed {
			continue
		}
		r := path[(i+len(path)-1)%len(path)]
		if d := far(q, r); d <= wide {
			deep = max(deep, d)
			continue
		}
		if !dividers || math.Abs(r.x-q.x) >= 0.01 || math.Abs(r.y-q.y) < 0.8*p.box.Height()-2*wide || math.Abs(r.y-q.y) < 0.4*p.box.Height() || !p.divider(q.x, thick) {
			return 0, false
		}
	}
	return deep, true
}

// divider reports whether a vertical line stands between two cells of a comb
// field, and is a line.
func (p *painter) divider(x, thick float64) bool {
	if p.comb == 0 || thick > min(2, 0.2*p.comb) {
		return false
	}
	at := (x - p.box.LLX) / p.comb
	p.dividers++
	return math.Abs(at-math.Round(at)) <= 0.15
}
