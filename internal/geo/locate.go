package geo

// Side is where a position is relative to a ring.
type Side uint8

// The sides of a ring.
const (
	Outside Side = iota
	Inside
	Edge
)

// ray counts the edges that a ray from a position to the east crosses.
type ray struct {
	at     Position
	fx, fy int32 // at, rounded down to micro-degrees
	cx, cy int32 // at, rounded up
	odd    bool
}

func rayFrom(p Position) ray {
	return ray{at: p, fx: floorMicro(p.X), fy: floorMicro(p.Y), cx: ceilMicro(p.X), cy: ceilMicro(p.Y)}
}

// skips reports whether no edge inside the box matters. It counts the parity of a chain from a to b
// that is completely east of the position.
func (r *ray) skips(box Box, a, b Point) bool {
	if box.MaxY < r.cy || box.MinY > r.fy || box.MaxX < r.cx {
		return true
	}
	if box.MinX > r.fx {
		if (a.Y > r.fy) != (b.Y > r.fy) {
			r.odd = !r.odd
		}
		return true
	}
	return false
}

// meets counts one edge and reports whether the position is on it. The cross product multiplies
// micro- by nano-degrees: over Italy it is below 2^59.
func (r *ray) meets(a, b Point) bool {
	if max(a.Y, b.Y) < r.cy || min(a.Y, b.Y) > r.fy || max(a.X, b.X) < r.cx {
		return false
	}
	straddles := (a.Y > r.fy) != (b.Y > r.fy)
	if min(a.X, b.X) > r.fx {
		r.odd = r.odd != straddles
		return false
	}
	cross := int64(b.X-a.X)*(r.at.Y-int64(a.Y)*nano) - int64(b.Y-a.Y)*(r.at.X-int64(a.X)*nano)
	if cross == 0 {
		return true
	}
	if straddles && (cross > 0) == (b.Y > a.Y) {
		r.odd = !r.odd
	}
	return false
}

func (r *ray) side() Side {
	if r.odd {
		return Inside
	}
	return Outside
}

// SideOf is the side of a position relative to a closed ring of vertices.
func SideOf(ring []Point, at Position) Side {
	r := rayFrom(at)
	for i := 1; i < len(ring); i++ {
		if r.meets(ring[i-1], ring[i]) {
			return Edge
		}
	}
	return r.side()
}

// Contains reports whether a polygon, its outer ring first, contains the position.
func Contains(rings [][]Point, at Position) bool {
	if len(rings) == 0 || SideOf(rings[0], at) == Outside {
		return false
	}
	for _, hole := range rings[1:] {
		if SideOf(hole, at) == Inside {
			return false
		}
	}
	return true
}
