package omi

import (
	"math"
	"slices"

	"rogito.dev/rogito/internal/geo"
)

// Lookup is the zone at a place. Edges and vertices belong to a zone; of several zones the smallest
// is used, then the lower cadastral code, then the lower zone code. "No zone here" is false, not an
// error.
func (ix *Index) Lookup(lat, lng float64) (Zone, bool) {
	if !onEarth(lat, lng) {
		return Zone{}, false
	}
	at := geo.At(lat, lng)
	polygon, ok := ix.find(at)
	if !ok {
		return Zone{}, false
	}
	return Zone{ix, ix.u32(secPolygons, polygonSize, polygon, polygonZone)}, true
}

func onEarth(lat, lng float64) bool {
	return math.Abs(lat) <= 90 && math.Abs(lng) <= 180 // false for NaN
}

// find is the polygon at a position whose zone ranks first. The entries of a square are ordered by
// rank, so it is the first that contains the position.
func (ix *Index) find(at geo.Position) (uint32, bool) {
	const size = cellSize * 1000 // in nano-degrees
	for e := ix.square(geo.CellOf(at.X, size), geo.CellOf(at.Y, size)); len(e) > 0; e = e[4:] {
		entry := le.Uint32(e)
		if entry&1 != 0 || ix.holds(entry>>1, at) {
			return entry >> 1, true
		}
	}
	return 0, false
}

// square gives the entries of one square of the grid, four bytes each.
func (ix *Index) square(x, y int64) []byte {
	x, y = x-int64(ix.grid.x0), y-int64(ix.grid.y0)
	if x < 0 || y < 0 || x >= int64(ix.grid.nx) || y >= int64(ix.grid.ny) {
		return nil
	}
	cell := ix.sec[secCells][4*(y*int64(ix.grid.nx)+x):]
	return ix.sec[secEntries][4*int(le.Uint32(cell)) : 4*int(le.Uint32(cell[4:]))]
}

// holds reports whether the polygon contains the position: in its closed outer ring, and not
// strictly inside a hole.
func (ix *Index) holds(polygon uint32, at geo.Position) bool {
	first, n := ix.polygonRings(polygon)
	if ix.ring(first).Side(at) == geo.Outside {
		return false
	}
	for i := uint32(1); i < n; i++ {
		if ix.ring(first+i).Side(at) == geo.Inside {
			return false
		}
	}
	return true
}

func (ix *Index) polygonRings(polygon uint32) (first, n uint32) {
	return ix.u32(secPolygons, polygonSize, polygon, polygonRings), ix.u32(secPolygons, polygonSize, polygon, polygonCount)
}

func (ix *Index) polygonBox(polygon uint32) geo.Box {
	f := func(i int) int32 { return int32(ix.u32(secPolygons, polygonSize, polygon, polygonBox+4*i)) }
	return geo.Box{MinX: f(0), MinY: f(1), MaxX: f(2), MaxY: f(3)}
}

// Nearest is the zone at a place or, outside every zone, the nearest one within a distance in
// metres, with its distance. Of equally near zones, the one that would win an overlap is used.
func (ix *Index) Nearest(lat, lng, metres float64) (z Zone, distance float64, ok bool) {
	if z, ok = ix.Lookup(lat, lng); ok || !onEarth(lat, lng) || !(metres > 0) {
		return z, 0, ok
	}
	plane := geo.Around(geo.At(lat, lng))
	// slightly beyond the limit, since Distance only finds what is nearer
	best, limit := uint32(0), math.Nextafter(metres, math.Inf(1))
	for _, polygon := range ix.touching(plane.Box(metres)) {
		first, n := ix.polygonRings(polygon)
		for i := range n {
			if d := ix.ring(first+i).Distance(plane, limit); d < limit {
				best, limit, ok = polygon, d, true
			}
		}
	}
	if !ok {
		return Zone{}, 0, false
	}
	return Zone{ix, ix.u32(secPolygons, polygonSize, best, polygonZone)}, limit, true
}

// touching are the polygons with entries in the squares that a box touches, by rank.
func (ix *Index) touching(box geo.Box) []uint32 {
	var polygons []uint32
	x1, y1 := geo.CellOf(box.MaxX, cellSize), geo.CellOf(box.MaxY, cellSize)
	for y := geo.CellOf(box.MinY, cellSize); y <= y1; y++ {
		for x := geo.CellOf(box.MinX, cellSize); x <= x1; x++ {
			for e := ix.square(int64(x), int64(y)); len(e) > 0; e = e[4:] {
				polygons = append(polygons, le.Uint32(e)>>1)
			}
		}
	}
	slices.Sort(polygons)
	return slices.Compact(polygons)
}

// Within are the zones that share a point with a rectangle in degrees, by cadastral and zone code.
func (ix *Index) Within(minLng, minLat, maxLng, maxLat float64) []Zone {
	low, high := geo.At(minLat, minLng), geo.At(maxLat, maxLng)
	box := geo.Box{
		MinX: int32(geo.CellOf(low.X, 1000)), MinY: int32(geo.CellOf(low.Y, 1000)),
		MaxX: int32(-geo.CellOf(-high.X, 1000)), MaxY: int32(-geo.CellOf(-high.Y, 1000)),
	}
	var zones []uint32
	for _, polygon := range ix.touching(box) {
		if ix.meets(polygon, box) {
			zones = append(zones, ix.u32(secPolygons, polygonSize, polygon, polygonZone))
		}
	}
	slices.Sort(zones)
	zones = slices.Compact(zones)
	found := make([]Zone, len(zones))
	for i, zone := range zones {
		found[i] = Zone{ix, zone}
	}
	return found
}

// meets reports whether the polygon and the box share a point: an edge does, or the box is
// completely inside.
func (ix *Index) meets(polygon uint32, box geo.Box) bool {
	if !ix.polygonBox(polygon).Meets(box) {
		return false
	}
	first, n := ix.polygonRings(polygon)
	for i := range n {
		if ix.ring(first + i).Meets(box) {
			return true
		}
	}
	return ix.holds(polygon, geo.Point{X: box.MinX, Y: box.MinY}.Position())
}
