package geo

// Cell is a square of a grid that a polygon touches, or fills.
type Cell struct {
	X, Y int32 // the square holds the points whose coordinates, divided by the size and rounded down, are these
	Full bool  // every point of the square is strictly inside the polygon
}

// Coverer finds the squares of a grid that polygons touch. It reuses its working space between
// polygons; it is not safe for concurrent use.
type Coverer struct {
	Size int32 // side of a square in micro-degrees

	x0, y0 int32
	nx, ny int
	state  []uint8
	queue  []int
}

const (
	unseen uint8 = iota
	touched
	outside
	filled
)

// AppendCells appends the squares that the polygon, its outer ring first, touches. Squares without
// edges are completely inside or outside, and so are their neighbours without edges: one test
// decides a whole patch of them.
func (c *Coverer) AppendCells(dst []Cell, rings [][]Point) []Cell {
	c.reset(BoxOf(rings[0]))
	for _, ring := range rings {
		for i := 1; i < len(ring); i++ {
			c.touch(ring[i-1], ring[i], 0)
		}
	}
	for i := range c.state {
		if c.state[i] == unseen {
			c.fill(i, rings)
		}
	}
	for i, s := range c.state {
		if s == touched || s == filled {
			dst = append(dst, Cell{c.x0 + int32(i%c.nx), c.y0 + int32(i/c.nx), s == filled})
		}
	}
	return dst
}

// CellOf is the square's number along one axis: the quotient, rounded down.
func CellOf[T int32 | int64](v, size T) T {
	q := v / size
	if v%size < 0 {
		q--
	}
	return q
}

func (c *Coverer) reset(box Box) {
	c.x0, c.y0 = CellOf(box.MinX, c.Size), CellOf(box.MinY, c.Size)
	c.nx = int(CellOf(box.MaxX, c.Size)-c.x0) + 1
	c.ny = int(CellOf(box.MaxY, c.Size)-c.y0) + 1
	if n := c.nx * c.ny; n <= cap(c.state) {
		c.state = c.state[:n]
		clear(c.state)
	} else {
		c.state = make([]uint8, n)
	}
}

// slack is more than rounding can move a point when an edge is halved.
const slack = 32

// touch marks the squares that an edge may cross: those of its box, after halving an edge with a
// large box. Halves are widened by the possible rounding error.
func (c *Coverer) touch(a, b Point, wide int32) {
	box := BoxOf([]Point{a, b})
	x0, x1 := CellOf(box.MinX-wide, c.Size), CellOf(box.MaxX+wide, c.Size)
	y0, y1 := CellOf(box.MinY-wide, c.Size), CellOf(box.MaxY+wide, c.Size)
	if long := box.MaxX-box.MinX > c.Size && box.MaxY-box.MinY > c.Size; long {
		m := Point{a.X + (b.X-a.X)/2, a.Y + (b.Y-a.Y)/2}
		c.touch(a, m, slack)
		c.touch(m, b, slack)
		return
	}
	c.mark(x0, y0, x1, y1)
}

// mark is limited to the outer ring's box: holes beyond it do not matter.
func (c *Coverer) mark(x0, y0, x1, y1 int32) {
	for y := max(y0-c.y0, 0); y <= min(y1-c.y0, int32(c.ny)-1); y++ {
		for x := max(x0-c.x0, 0); x <= min(x1-c.x0, int32(c.nx)-1); x++ {
			c.state[int(y)*c.nx+int(x)] = touched
		}
	}
}

// fill decides the patch of squares without edges around square i.
func (c *Coverer) fill(i int, rings [][]Point) {
	corner := Point{(c.x0 + int32(i%c.nx)) * c.Size, (c.y0 + int32(i/c.nx)) * c.Size}
	state := outside
	if Contains(rings, corner.Position()) {
		state = filled
	}
	c.queue = append(c.queue[:0], i)
	c.state[i] = state
	for len(c.queue) > 0 {
		i = c.queue[len(c.queue)-1]
		c.queue = c.queue[:len(c.queue)-1]
		x := i % c.nx
		if x > 0 {
			c.spread(i-1, state)
		}
		if x < c.nx-1 {
			c.spread(i+1, state)
		}
		c.spread(i-c.nx, state)
		c.spread(i+c.nx, state)
	}
}

func (c *Coverer) spread(i int, state uint8) {
	if i >= 0 && i < len(c.state) && c.state[i] == unseen {
		c.state[i] = state
		c.queue = append(c.queue, i)
	}
}
