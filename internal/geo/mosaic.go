package geo

import "slices"

// Mosaic is a window of a grid whose squares have labels; 0 is none. It turns polygons that nearly
// match, with gaps and overlaps between neighbours, into ones that match exactly: every square has
// one label, so two neighbours share one border, and [Mosaic.Outlines] simplifies it identically
// for both. Windows with the same square size are on one lattice, so this holds across windows too.
// Around the window is a frame of squares that never get a label, so that following a border needs
// no bounds checks.
type Mosaic struct {
	Size   int32 // side of a square in micro-degrees
	x0, y0 int32 // number of the first square, one of the frame
	nx, ny int
	labels []uint16
	seen   []uint64 // one bit per square: its south side was visited

	// where edges cross the middle of a row of squares: the row, and in the lower half the first
	// square whose centre is to the right
	crossings []uint64
	last      []int // while closing gaps: the last row with a label, by column

	// the border being followed, reused from ring to ring
	ring, out, arc []Point
	junctions      []int // indexes into the ring
	keep           []bool
}

// Reset makes an empty window around a box, with a margin in squares. It reuses the memory of the
// previous window.
func (m *Mosaic) Reset(box Box, size, margin int32) {
	margin++ // the frame
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

// Box is the area of the window.
func (m *Mosaic) Box() Box {
	return Box{(m.x0 + 1) * m.Size, (m.y0 + 1) * m.Size, (m.x0 + int32(m.nx) - 1) * m.Size, (m.y0 + int32(m.ny) - 1) * m.Size}
}

// Paint labels the squares whose centre is in the polygon, replacing other labels, and reports
// whether there are any. The rings are closed; holes follow from the even-odd rule.
func (m *Mosaic) Paint(rings [][]Point, label uint16) (painted bool) {
	m.crossings = m.crossings[:0]
	for _, ring := range rings {
		from := m.middle(ring[0].Y)
		for i := 1; i < len(ring); i++ {
			to := m.middle(ring[i].Y)
			if from < to {
				m.cross(ring[i-1], ring[i], from, to)
			} else if to < from {
				m.cross(ring[i], ring[i-1], to, from)
			}
			from = to
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

// middle is the first row whose middle is at a height or above it.
func (m *Mosaic) middle(y int32) int32 { return -CellOf(m.Size/2-y, m.Size) }

// cross records the rows whose middle is between the ends of an edge, including the lower end.
func (m *Mosaic) cross(low, high Point, from, to int32) {
	half := int64(m.Size / 2)
	to = min(to, m.y0+int32(m.ny)-1)
	for row := max(from, m.y0+1); row < to; row++ {
		y := int64(row)*int64(m.Size) + half
		// rounded down; the centres to the right of it are those of the squares from here on
		x := int64(low.X) + CellOf(int64(high.X-low.X)*(y-int64(low.Y)), int64(high.Y-low.Y))
		square := -CellOf(half-x, int64(m.Size)) - int64(m.x0)
		m.crossings = append(m.crossings, uint64(row-m.y0)<<32|uint64(min(max(square, 1), int64(m.nx)-1)))
	}
}

// Set labels the square that contains a point, if it has no label yet.
func (m *Mosaic) Set(p Point, label uint16) {
	x, y := int(CellOf(p.X, m.Size)-m.x0), int(CellOf(p.Y, m.Size)-m.y0)
	if x > 0 && y > 0 && x < m.nx-1 && y < m.ny-1 && m.labels[y*m.nx+x] == 0 {
		m.labels[y*m.nx+x] = label
	}
}

// Relabel replaces every label by another.
func (m *Mosaic) Relabel(by []uint16) {
	for i, l := range m.labels {
		m.labels[i] = by[l]
	}
}

// Close fills gaps of up to most squares between two labels of a row or column, half with each.
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

// fill closes one gap: its first half gets the label before it, the rest the one behind it.
func (m *Mosaic) fill(before, step, gap int) {
	behind := before + (gap+1)*step
	for k := 1; k <= gap; k++ {
		m.labels[before+k*step] = m.labels[behind]
		if k <= gap/2 {
			m.labels[before+k*step] = m.labels[before]
		}
	}
}

// The four directions along the lattice, and their steps.
const (
	east = iota
	north
	west
	south
)

var steps = [...]Point{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}

// Outlines visits the border of every label as closed rings, in half squares: outer rings
// counter-clockwise, holes clockwise. Between junctions a border goes through the middles of the
// squares' sides, which turns stairs into slopes, and vertices within tolerance (in half squares)
// of a straight line are left out. A ring that would collapse is visited as lost, with all its
// corners: its neighbours match without it. Unwanted labels are skipped. The ring is only valid
// until the visitor returns.
func (m *Mosaic) Outlines(tolerance float64, wanted []bool, visit func(label uint16, ring []Point, lost bool)) {
	m.seen = slices.Grow(m.seen[:0], len(m.labels)/64+1)[:len(m.labels)/64+1]
	clear(m.seen)
	for i, l := range m.labels {
		if l == 0 || m.labels[i-m.nx] == l || m.seen[i/64]>>(i%64)&1 != 0 || !wanted[l] {
			continue
		}
		m.walk(i, l)
		m.simplify(tolerance)
		lost := len(m.out) < 4
		if lost {
			m.out = m.out[:0]
			for _, p := range m.ring {
				m.out = append(m.out, Point{2 * p.X, 2 * p.Y})
			}
		}
		for k := range m.out {
			m.out[k].X += 2 * m.x0
			m.out[k].Y += 2 * m.y0
		}
		visit(l, m.out, lost)
	}
}

// walk follows a border from the south side of a square, with the label on its left, and records
// the corners of the lattice and which of them are junctions. At a corner where two squares of the
// label meet diagonally it turns left, so that no ring touches itself.
func (m *Mosaic) walk(start int, l uint16) {
	m.ring, m.junctions = m.ring[:0], m.junctions[:0]
	// at a corner, the square on the left when going east, north, west or south, and the next
	// corner
	left, next := [4]int{0, -1, -m.nx - 1, -m.nx}, [4]int{1, m.nx, -1, -m.nx}
	p, at, dir := Point{int32(start % m.nx), int32(start / m.nx)}, start, east
	for {
		if dir == east {
			m.seen[at/64] |= 1 << (at % 64)
		}
		if m.isJunction(at) {
			m.junctions = append(m.junctions, len(m.ring))
		}
		m.ring = append(m.ring, p)
		p = Point{p.X + steps[dir].X, p.Y + steps[dir].Y}
		at += next[dir]
		switch {
		case m.labels[at+left[dir]] != l:
			dir = (dir + 1) % 4
		case m.labels[at+left[(dir+3)%4]] == l:
			dir = (dir + 3) % 4
		}
		if at == start && dir == east {
			m.ring = append(m.ring, p)
			return
		}
	}
}

// isJunction reports whether borders of more than two areas meet at a corner. Arcs between
// junctions are simplified identically from both sides.
func (m *Mosaic) isJunction(at int) bool {
	a, b, c, d := m.labels[at-m.nx-1], m.labels[at-m.nx], m.labels[at], m.labels[at-1]
	changes := 0
	for _, different := range [...]bool{a != b, b != c, c != d, d != a} {
		if different {
			changes++
		}
	}
	return changes > 2
}

// simplify splits the ring into arcs at its junctions and simplifies each.
func (m *Mosaic) simplify(tolerance float64) {
	n := len(m.ring) - 1
	if len(m.junctions) == 0 { // one loop between two areas: both begin it at its lowest corner
		first := 0
		for i, p := range m.ring {
			if q := m.ring[first]; p.Y < q.Y || p.Y == q.Y && p.X < q.X {
				first = i
			}
		}
		m.junctions = append(m.junctions, first)
	}
	first := m.junctions[0]
	m.ring = append(m.ring[:n], m.ring[:first+1]...) // repeat the first junction
	m.out = m.out[:0]
	for i, from := range m.junctions {
		to := first + n
		if i+1 < len(m.junctions) {
			to = m.junctions[i+1]
		}
		m.addArc(m.ring[from:to+1], tolerance)
		m.out = m.out[:len(m.out)-1] // the next arc begins with it
	}
	m.out = append(m.out, Point{2 * m.ring[first].X, 2 * m.ring[first].Y})
	m.ring = m.ring[:n+1]
}

// addArc simplifies an arc, identically from either end.
func (m *Mosaic) addArc(corners []Point, tolerance float64) {
	n := len(corners) + 1
	points := append(m.arc[:0], Point{2 * corners[0].X, 2 * corners[0].Y})
	for i := 1; i < len(corners); i++ {
		points = append(points, Point{corners[i-1].X + corners[i].X, corners[i-1].Y + corners[i].Y})
	}
	points = append(points, Point{2 * corners[n-2].X, 2 * corners[n-2].Y})
	m.arc = points
	backward := func(a, b Point) bool { return a.Y > b.Y || a.Y == b.Y && a.X > b.X }
	turned := backward(points[0], points[n-1]) || points[0] == points[n-1] && backward(points[1], points[n-2])
	if turned {
		slices.Reverse(points)
	}
	keep := slices.Grow(m.keep[:0], n)[:n]
	m.keep = keep
	clear(keep)
	keep[0], keep[n-1] = true, true
	if points[0] == points[n-1] {
		far := farthest(points)
		keep[far] = true
		mark(points, keep, span{0, far}, tolerance)
		mark(points, keep, span{far, n - 1}, tolerance)
	} else {
		mark(points, keep, span{0, n - 1}, tolerance)
	}
	from := len(m.out)
	for i, k := range keep {
		if k {
			m.out = append(m.out, points[i])
		}
	}
	if turned {
		slices.Reverse(m.out[from:])
	}
}
