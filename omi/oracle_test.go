package omi

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/geo"
)

// oracleZone is a zone as published, with nothing done to it.
type oracleZone struct {
	cadastral, zone string
	polygons        [][][]geo.Point // polygons, rings, vertices
	boxes           []geo.Box
	area            float64
}

// oracle answers by looking at every ring of every zone that reaches the latitude.
type oracle struct {
	zones []oracleZone
	bands map[int64][]oracleShape // by tenth of a degree of latitude
}

type oracleShape struct {
	zone  *oracleZone
	box   geo.Box
	rings [][]geo.Point
}

const band = 100_000_000 // nano-degrees

func newOracle(zones []oracleZone) *oracle {
	for i := range zones {
		z := &zones[i]
		for _, rings := range z.polygons {
			z.boxes = append(z.boxes, geo.BoxOf(rings[0]))
			for k, ring := range rings {
				area := sphericalArea(ring)
				if k > 0 {
					area = -area
				}
				z.area += area
			}
		}
		z.area = math.Round(max(0, z.area) * 100)
	}
	slices.SortStableFunc(zones, func(a, b oracleZone) int {
		return cmp.Or(cmp.Compare(a.area, b.area), strings.Compare(a.cadastral, b.cadastral), strings.Compare(a.zone, b.zone))
	})
	o := &oracle{zones, map[int64][]oracleShape{}}
	for i := range zones {
		z := &zones[i]
		for k, rings := range z.polygons {
			b := z.boxes[k]
			for y := int64(b.MinY) * 1000 / band; y <= int64(b.MaxY)*1000/band; y++ {
				o.bands[y] = append(o.bands[y], oracleShape{z, b, rings})
			}
		}
	}
	return o
}

// at is the first zone, by the rule, that holds the position.
func (o *oracle) at(p geo.Position) string {
	for _, s := range o.bands[p.Y/band] {
		b := s.box
		if p.X < int64(b.MinX)*1000 || p.X > int64(b.MaxX)*1000 || p.Y < int64(b.MinY)*1000 || p.Y > int64(b.MaxY)*1000 {
			continue
		}
		if holdsSlowly(s.rings, p) {
			return s.zone.cadastral + "/" + s.zone.zone
		}
	}
	return ""
}

func holdsSlowly(rings [][]geo.Point, p geo.Position) bool {
	if windSlowly(rings[0], p) == 0 {
		return false
	}
	for _, hole := range rings[1:] {
		if windSlowly(hole, p) == 1 {
			return false
		}
	}
	return true
}

// windSlowly is 0 outside, 1 inside, 2 on the ring. It counts crossings of the
// meridian to the south, where the index counts those of the parallel to the east.
func windSlowly(ring []geo.Point, p geo.Position) int {
	n := 0
	for i := 1; i < len(ring); i++ {
		ax, ay := int64(ring[i-1].X)*1000, int64(ring[i-1].Y)*1000
		bx, by := int64(ring[i].X)*1000, int64(ring[i].Y)*1000
		if ax > bx {
			ax, ay, bx, by = bx, by, ax, ay
		}
		if p.X < ax || p.X > bx {
			continue
		}
		if ax == bx {
			if min(ay, by) <= p.Y && p.Y <= max(ay, by) {
				return 2
			}
			continue
		}
		// the height of the edge at p.X, compared without dividing
		left, right := (by-ay)/1000*(p.X-ax), (bx-ax)/1000*(p.Y-ay)
		if left == right {
			return 2
		}
		if left < right && p.X < bx {
			n++
		}
	}
	return n % 2
}

func sphericalArea(ring []geo.Point) float64 {
	const r = 6371008.8
	rad := func(v int32) float64 { return float64(v) * (math.Pi / 180 / 1e6) }
	sum := 0.0
	for i := range len(ring) - 1 {
		sum += rad(ring[i+1].X-ring[i].X) * (2 + math.Sin(rad(ring[i].Y)) + math.Sin(rad(ring[i+1].Y)))
	}
	return math.Abs(sum) * r * r / 2
}

// somewhere is a position where things happen: a vertex, the middle of an edge, a
// hair beside it, or anywhere around.
func (o *oracle) somewhere(rng *rand.Rand) geo.Position {
	z := &o.zones[rng.IntN(len(o.zones))]
	rings := z.polygons[rng.IntN(len(z.polygons))]
	ring := rings[rng.IntN(len(rings))]
	i := 1 + rng.IntN(len(ring)-1)
	a, b := ring[i-1].Position(), ring[i].Position()
	switch rng.IntN(6) {
	case 0:
		return a
	case 1:
		return geo.Position{X: (a.X + b.X) / 2, Y: (a.Y + b.Y) / 2}
	case 2:
		return geo.Position{X: a.X + rng.Int64N(3) - 1, Y: a.Y + rng.Int64N(3) - 1}
	case 3:
		return geo.Position{X: a.X + rng.Int64N(200_000) - 100_000, Y: a.Y + rng.Int64N(200_000) - 100_000}
	}
	box := geo.BoxOf(rings[0])
	return geo.Position{
		X: int64(box.MinX)*1000 + rng.Int64N(int64(box.MaxX-box.MinX)*1000+1),
		Y: int64(box.MinY)*1000 + rng.Int64N(int64(box.MaxY-box.MinY)*1000+1),
	}
}
