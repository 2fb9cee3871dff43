package geo

import "slices"

// Mosaic is a window of a grid whose squares carry labels; 0 is none. It turns
// polygons that nearly fit, with gaps and overlaps between neighbours, into ones
// that fit exactly: every square has one label, so two neighbours have one border,
// and [Mosaic.Outline] simplifies it for both in the same way. Windows of one
// square size lie on one lattice, so this holds across windows too.
type Mosaic struct {
	Size   int32 // side of a square in micro-degrees
	x0, y0 int32 // number of the first square
	nx, ny int
	labels []uint16
	seen   []uint64 // one bit a square: its south side was walked along

	// where edges cross the middle of a row of squares: the row, and in the lower
	// half the first square whose centre is to the right
	crossings []uint64
	last      []int // while gaps are closed: the last row with a label, by column
}

// Reset makes an empty window around a box, with a margin of so many squares. It
// reuses the space of the window before.
func (m *Mosaic) Reset(box Box, size, margin int32) {
	m.Size, m.x0, m.y0 = size, CellOf(box.MinX, size)-margin, CellOf(box.MinY, size)-margin
	m.nx = int(CellOf(box.MaxX, size)+margin-m.x0) + 1
	m.ny = int(CellOf(box.MaxY, size)+margin-m.y0) + 1
	if n := m.nx * m.ny; n <= cap(m.labels) {
		m.labels = m.labels[:n]
		clear(m.labels)
	} else {
		m.labels = make([]uint16, n)
	}
}

// Box is what the window covers.
func (m *Mosaic) Box() Box {
	return Box{m.x0 * m.Size, m.y0 * m.Size, (m.x0 + int32(m.nx)) * m.Size, (m.y0 + int32(m.ny)) * m.Size}
}

// Paint gives the squares whose centre the polygon holds a label, whatever they
// had, and says whether there is one. The rings are closed; holes follow from the
// even-odd rule.
func (m *Mosaic) Paint(rings [][]Point, label uint16) (painted bool) {
	m.crossings = m.crossings[:0]
	for _, ring := range rings {
		for i := 1; i < len(ring); i++ {
			m.cross(ring[i-1], ring[i])
		}
	}
	slices.Sort(m.crossings)
	for i := 0; i+1 < len(m.crossings); i += 2 { // a row is crossed an even number of times
		a, b := m.crossings[i], m.crossings[i+1]
		row := m.labels[int(a>>32)*m.nx:]
		for x := uint32(a); x < uint32(b); x++ {
			row[x], painted = label, true
		}
	}
	return painted
}

// cross notes the rows whose middle lies between the ends of an edge, the lower
// end included.
func (m *Mosaic) cross(a, b Point) {
	if a.Y > b.Y {
		a, b = b, a
	}
	half := m.Size / 2
	from := max(-CellOf(-(a.Y-half), m.Size), m.y0) // the first middle at a.Y or above
	to := min(-CellOf(-(b.Y-half), m.Size), m.y0+int32(m.ny))
	for row := from; row < to; row++ {
		y := int64(row)*int64(m.Size) + int64(half)
		// rounded down; the centres to the right of it are those of the squares from here on
		x := int64(a.X) + CellOf(int64(b.X-a.X)*(y-int64(a.Y)), int64(b.Y-a.Y))
		square := -CellOf(-(x-int64(half)), int64(m.Size)) - int64(m.x0)
		m.crossings = append(m.crossings, uint64(row-m.y0)<<32|uint64(min(max(square, 0), int64(m.nx))))
	}
}

// Set labels the square that holds a point, where it has no label yet.
func (m *Mosaic) Set(p Point, label uint16) {
	x, y := int(CellOf(p.X, m.Size)-m.x0), int(CellOf(p.Y, m.Size)-m.y0)
	if x >= 0 && y >= 0 && x < m.nx && y < m.ny && m.labels[y*m.nx+x] == 0 {
		m.labels[y*m.nx+x] = label
	}
}

// Relabel replaces every label by another.
func (m *Mosaic) Relabel(by []uint16) {
	for i, l := range m.labels {
		m.labels[i] = by[l]
	}
}

// Close fills gaps of at most so many squares between two labels of a row or of a
// column, half with each.
func (m *Mosaic) Close(most int) {
	for y := range m.ny {
		row, last := m.labels[y*m.nx:(y+1)*m.nx], -1
		for x, l := range row {
			if l == 0 {
				continue
			}
			if gap := x - last - 1; gap > 0 && gap <= most && last >= 0 {
				m.fill(y*m.nx+last, 1, gap)
			}
			last = x
		}
	}
	m.last = slices.Grow(m.last[:0], m.nx)[:m.nx]
	for x := range m.last {
		m.last[x] = m.ny + most // none yet
	}
	for y := range m.ny {
		for x, l := range m.labels[y*m.nx : (y+1)*m.nx] {
			if l == 0 {
				continue
			}
			if gap := y - m.last[x] - 1; gap > 0 && gap <= most {
				m.fill(m.last[x]*m.nx+x, m.nx, gap)
			}
			m.last[x] = y
		}
	}
}

// fill closes one gap: its first half goes to the square before it, the rest to
// the one behind it.
func (m *Mosaic) fill(before, step, gap int) {
	behind := before + (gap+1)*step
	for k := 1; k <= gap; k++ {
		m.labels[before+k*step] = m.labels[behind]
		if k <= gap/2 {
			m.labels[before+k*step] = m.labels[before]
		}
	}
}

// at is the label of a square; outside the window there is none.
func (m *Mosaic) at(x, y int) uint16 {
	if x < 0 || y < 0 || x >= m.nx || y >= m.ny {
		return 0
	}
	return m.labels[y*m.nx+x]
}

// The four directions along the lattice, and the steps they make.
const (
	east = iota
	north
	west
	south
)

var steps = [...]Point{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}

// Outlines visits the border of every label as closed rings, in halves of a square:
// outer rings counter-clockwise, holes clockwise. Between junctions a border goes
// through the middles of the squares' sides, which turns stairs into slopes, and
// vertices within tolerance halves of the line they bend are left out. A ring that
// loses its inside by that is visited as lost, with all its corners: without it,
// its neighbours fit one another. Labels that are not wanted are passed over.
func (m *Mosaic) Outlines(tolerance float64, wanted []bool, visit func(label uint16, ring []Point, lost bool)) {
	m.seen = slices.Grow(m.seen[:0], len(m.labels)/64+1)[:len(m.labels)/64+1]
	clear(m.seen)
	var ring, out []Point
	for i, l := range m.labels {
		if l == 0 || i >= m.nx && m.labels[i-m.nx] == l || m.seen[i/64]>>(i%64)&1 != 0 || !wanted[l] {
			continue
		}
		ring = m.walk(ring[:0], i%m.nx, i/m.nx, l)
		out = m.simplify(out[:0], ring, tolerance)
		lost := len(out) < 4
		if lost {
			out = out[:0]
			for _, p := range ring {
				out = append(out, Point{2 * p.X, 2 * p.Y})
			}
		}
		for k := range out {
			out[k].X += 2 * m.x0
			out[k].Y += 2 * m.y0
		}
		visit(l, out, lost)
	}
}

// walk follows a border from the south side of a square, the label on its left,
// and gives the corners of the lattice it passes. At a corner where two squares of
// the label meet diagonally it turns left, so that no ring touches itself.
func (m *Mosaic) walk(ring []Point, x, y int, l uint16) []Point {
	start, p, dir := Point{int32(x), int32(y)}, Point{int32(x), int32(y)}, east
	for {
		if dir == east {
			i := int(p.Y)*m.nx + int(p.X)
			m.seen[i/64] |= 1 << (i % 64)
		}
		ring = append(ring, p)
		p = Point{p.X + steps[dir].X, p.Y + steps[dir].Y}
		if p == start && m.turn(p, dir, l) == east {
			return append(ring, p)
		}
		dir = m.turn(p, dir, l)
	}
}

// turn is the direction in which the border of a label goes on from a corner.
func (m *Mosaic) turn(p Point, dir int, l uint16) int {
	x, y := int(p.X), int(p.Y)
	ahead := [...][2]int{{x, y}, {x - 1, y}, {x - 1, y - 1}, {x, y - 1}} // the square on the left when one goes on east, north, west, south
	left, right := ahead[dir], ahead[(dir+3)%4]
	switch {
	case m.at(left[0], left[1]) != l:
		return (dir + 1) % 4
	case m.at(right[0], right[1]) != l:
		return dir
	}
	return (dir + 3) % 4
}

// isJunction says whether borders of more than two areas meet at a corner. Arcs
// between junctions are simplified alike from both sides.
func (m *Mosaic) isJunction(p Point) bool {
	x, y := int(p.X), int(p.Y)
	a, b, c, d := m.at(x-1, y-1), m.at(x, y-1), m.at(x, y), m.at(x-1, y)
	changes := 0
	for _, different := range [...]bool{a != b, b != c, c != d, d != a} {
		if different {
			changes++
		}
	}
	return changes > 2
}

// simplify cuts a ring into arcs at its junctions and leaves out vertices of each.
func (m *Mosaic) simplify(out, ring []Point, tolerance float64) []Point {
	ring = ring[:len(ring)-1]
	first := slices.IndexFunc(ring, m.isJunction)
	if first < 0 { // one loop between two areas: both begin it at its lowest corner
		first = 0
		for i, p := range ring {
			if q := ring[first]; p.Y < q.Y || p.Y == q.Y && p.X < q.X {
				first = i
			}
		}
	}
	ring = append(slices.Concat(ring[first:], ring[:first]), ring[first])
	from := 0
	for i := 1; i < len(ring); i++ {
		if i == len(ring)-1 || m.isJunction(ring[i]) {
			out = append(out, arc(ring[from:i+1], tolerance)...)
			out = out[:len(out)-1] // the next arc begins with it
			from = i
		}
	}
	return append(out, Point{2 * ring[0].X, 2 * ring[0].Y})
}

// arc leaves out vertices of an arc, in the same way from either end.
func arc(corners []Point, tolerance float64) []Point {
	n := len(corners) + 1
	points := make([]Point, 1, n)
	points[0] = Point{2 * corners[0].X, 2 * corners[0].Y}
	for i := 1; i < len(corners); i++ {
		points = append(points, Point{corners[i-1].X + corners[i].X, corners[i-1].Y + corners[i].Y})
	}
	points = append(points, Point{2 * corners[n-2].X, 2 * corners[n-2].Y})
	backward := func(a, b Point) bool { return a.Y > b.Y || a.Y == b.Y && a.X > b.X }
	turned := backward(points[0], points[n-1]) || points[0] == points[n-1] && backward(points[1], points[n-2])
	if turned {
		slices.Reverse(points)
	}
	keep := make([]bool, n)
	keep[0], keep[n-1] = true, true
	if points[0] == points[n-1] {
		far := farthest(points)
		keep[far] = true
		mark(points, keep, span{0, far}, tolerance)
		mark(points, keep, span{far, n - 1}, tolerance)
	} else {
		mark(points, keep, span{0, n - 1}, tolerance)
	}
	out := points[:0]
	for i, k := range keep {
		if k {
			out = append(out, points[i])
		}
	}
	if turned {
		slices.Reverse(out)
	}
	return out
}
