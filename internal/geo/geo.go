// Package geo locates points in polygons, exactly and fast.
//
// Vertices are whole micro-degrees (about 0.1 m), the precision of the official perimeters, so
// storing them as integers loses nothing. A queried position is rounded to nano-degrees (about 0.1
// mm), so every decision about it is integer arithmetic: the same on every machine, without
// tolerance. Edges are straight in longitude and latitude, as map tools draw them.
//
// A polygon is its closed outer ring without the open inside of its holes: edges and vertices
// belong to it. Rings that cross themselves follow the even-odd rule.
package geo

import "math"

// Micro is the number of micro-degrees in a degree.
const Micro = 1_000_000

// nano is the number of nano-degrees in a micro-degree.
const nano = 1000

// earthRadius is the mean radius of the Earth in metres (IUGG).
const earthRadius = 6371008.8

// Point is a vertex in micro-degrees: X longitude, Y latitude.
type Point struct{ X, Y int32 }

// Position is a queried place, in nano-degrees.
type Position struct{ X, Y int64 }

// At is the position of a latitude and a longitude in degrees.
func At(lat, lng float64) Position {
	return Position{
		X: int64(math.Round(lng * Micro * nano)),
		Y: int64(math.Round(lat * Micro * nano)),
	}
}

// Position is the vertex as a position.
func (p Point) Position() Position {
	return Position{X: int64(p.X) * nano, Y: int64(p.Y) * nano}
}

// Box is a closed rectangle in micro-degrees.
type Box struct{ MinX, MinY, MaxX, MaxY int32 }

// BoxOf is the smallest box around the points; of none, the zero box.
func BoxOf(points []Point) Box {
	if len(points) == 0 {
		return Box{}
	}
	b := Box{points[0].X, points[0].Y, points[0].X, points[0].Y}
	for _, p := range points[1:] {
		b.MinX, b.MaxX = min(b.MinX, p.X), max(b.MaxX, p.X)
		b.MinY, b.MaxY = min(b.MinY, p.Y), max(b.MaxY, p.Y)
	}
	return b
}

// Union is the smallest box around both.
func (b Box) Union(o Box) Box {
	return Box{min(b.MinX, o.MinX), min(b.MinY, o.MinY), max(b.MaxX, o.MaxX), max(b.MaxY, o.MaxY)}
}

// Meets reports whether the boxes share a point.
func (b Box) Meets(o Box) bool {
	return b.MinX <= o.MaxX && o.MinX <= b.MaxX && b.MinY <= o.MaxY && o.MinY <= b.MaxY
}

// floorMicro and ceilMicro bound a nano-degree coordinate by micro-degrees, so that most
// comparisons only need 32 bits.
func floorMicro(v int64) int32 { return int32(CellOf(v, nano)) }

func ceilMicro(v int64) int32 { return -floorMicro(-v) }
