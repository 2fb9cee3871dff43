package geo

import "math"

const radian = math.Pi / 180 / Micro // of a micro-degree

// Area is the area of a closed ring on the sphere in square metres, in either orientation. An edge
// is taken at the mean of the sines of its ends (Chamberlain and Duquette, JPL 2007), as common map
// tools do.
func Area(ring []Point) float64 {
	var sum float64
	for i := 1; i < len(ring); i++ {
		a, b := ring[i-1], ring[i]
		sum += float64(b.X-a.X) * radian * (2 + math.Sin(float64(a.Y)*radian) + math.Sin(float64(b.Y)*radian))
	}
	return math.Abs(sum * earthRadius * earthRadius / 2)
}

// Plane is the neighbourhood of a position, flattened, in metres.
type Plane struct {
	at     Position
	kx, ky float64 // metres in a nano-degree
}

// Around is the plane tangent to the sphere at a position. Within a few kilometres its distances
// are accurate to a hundredth of a per cent.
func Around(at Position) Plane {
	ky := earthRadius * radian / nano
	return Plane{at: at, ky: ky, kx: ky * math.Cos(float64(at.Y)*radian/nano)}
}

// Box contains everything within a distance in metres.
func (p Plane) Box(metres float64) Box {
	dx, dy := int64(metres/p.kx)+nano, int64(metres/p.ky)+nano
	return Box{
		floorMicro(p.at.X - dx), floorMicro(p.at.Y - dy),
		ceilMicro(p.at.X + dx), ceilMicro(p.at.Y + dy),
	}
}

func (p Plane) metres(v Point) (x, y float64) {
	return float64(int64(v.X)*nano-p.at.X) * p.kx, float64(int64(v.Y)*nano-p.at.Y) * p.ky
}

// toBox is the distance to a box, zero inside.
func (p Plane) toBox(b Box) float64 {
	x0, y0 := p.metres(Point{b.MinX, b.MinY})
	x1, y1 := p.metres(Point{b.MaxX, b.MaxY})
	return math.Hypot(max(x0, -x1, 0), max(y0, -y1, 0))
}

// toEdge is the distance to the edge from a to b.
func (p Plane) toEdge(a, b Point) float64 {
	ax, ay := p.metres(a)
	bx, by := p.metres(b)
	dx, dy := bx-ax, by-ay
	t := 0.0
	if l := dx*dx + dy*dy; l > 0 {
		t = min(1, max(0, -(ax*dx+ay*dy)/l))
	}
	return math.Hypot(ax+t*dx, ay+t*dy)
}

// Distance is the distance to the ring's nearest edge if it is less than limit, else limit.
func (r Ring) Distance(p Plane, limit float64) float64 {
	var buf [BlockEdges]Point
	for i := range r.len() {
		if p.toBox(r.box(i)) >= limit {
			continue
		}
		a := r.first(i)
		for _, b := range r.decode(i, &buf) {
			limit = min(limit, p.toEdge(a, b))
			a = b
		}
	}
	return limit
}

// Simplify drops the vertices of a closed ring that are within a tolerance in micro-degrees of a
// straight line (Douglas and Peucker, 1973). It works in place. A ring that would collapse is
// returned unchanged.
func Simplify(ring []Point, tolerance float64) []Point {
	if len(ring) <= 5 {
		return ring
	}
	keep := make([]bool, len(ring))
	far := farthest(ring)
	keep[0], keep[far], keep[len(ring)-1] = true, true, true
	mark(ring, keep, span{0, far}, tolerance)
	mark(ring, keep, span{far, len(ring) - 1}, tolerance)
	n := 0
	for _, k := range keep {
		if k {
			n++
		}
	}
	if n < 4 {
		return ring
	}
	out := ring[:0]
	for i, k := range keep {
		if k {
			out = append(out, ring[i])
		}
	}
	return out
}

type span struct{ from, to int }

// mark keeps the relevant vertices of a span. It has an explicit stack, so that no ring can exhaust
// the goroutine's.
func mark(ring []Point, keep []bool, s span, tolerance float64) {
	var space [32]span
	todo := append(space[:0], s)
	for len(todo) > 0 {
		s = todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		at, most := 0, tolerance*tolerance
		for i := s.from + 1; i < s.to; i++ {
			if d := offLine(ring[i], ring[s.from], ring[s.to]); d > most {
				at, most = i, d
			}
		}
		if at > 0 {
			keep[at] = true
			todo = append(todo, span{s.from, at}, span{at, s.to})
		}
	}
}

// farthest is the vertex farthest from the first.
func farthest(ring []Point) int {
	at, most := 0, -1.0
	for i, p := range ring {
		if d := math.Hypot(float64(p.X-ring[0].X), float64(p.Y-ring[0].Y)); d > most {
			at, most = i, d
		}
	}
	return at
}

// offLine is the square of the distance of p from the segment between a and b.
func offLine(p, a, b Point) float64 {
	dx, dy := float64(b.X-a.X), float64(b.Y-a.Y)
	px, py := float64(p.X-a.X), float64(p.Y-a.Y)
	l := dx*dx + dy*dy
	along := px*dx + py*dy
	switch {
	case along <= 0:
		return px*px + py*py
	case along >= l:
		return (px-dx)*(px-dx) + (py-dy)*(py-dy)
	}
	off := px*dy - py*dx
	return off * off / l
}
