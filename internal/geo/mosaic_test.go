package geo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// scatter paints random polygons on a window that is labelled throughout.
func scatter(m *Mosaic, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 9))
	box := m.Box()
	m.Paint([][]Point{{{box.MinX, box.MinY}, {box.MaxX, box.MinY}, {box.MaxX, box.MaxY}, {box.MinX, box.MaxY}, {box.MinX, box.MinY}}}, 1)
	for label := uint16(2); label < 12; label++ {
		m.Paint([][]Point{jagged(rng, 3+rng.IntN(20), 9000)}, label)
	}
}

var around = Box{8_990_000, 44_990_000, 9_010_000, 45_010_000}

func rings(m *Mosaic, tolerance float64) map[uint16][][]Point {
	found := map[uint16][][]Point{}
	m.Outlines(tolerance, slices.Repeat([]bool{true}, 20), func(l uint16, ring []Point, lost bool) {
		if !lost {
			found[l] = append(found[l], slices.Clone(ring))
		}
	})
	return found
}

// twice is double the signed area of a ring.
func twice(ring []Point) (sum int64) {
	for i := 1; i < len(ring); i++ {
		sum += int64(ring[i-1].X)*int64(ring[i].Y) - int64(ring[i].X)*int64(ring[i-1].Y)
	}
	return sum
}

func TestPaintedSquaresHaveTheirCentreInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 60 {
		var m Mosaic
		m.Reset(around, 500, 1)
		polygon := [][]Point{jagged(rng, 3+rng.IntN(30), 9000), square(9_000_000+rng.Int32N(4000), 45_000_000, 1+rng.Int32N(4000))}
		m.Paint(polygon, 7)
		for i, l := range m.labels {
			// a hair to the left and right: a centre on an edge may fall either way
			x, y := int64(m.x0+int32(i%m.nx))*500+250, int64(m.y0+int32(i/m.nx))*500+250
			odd := func(dx int64) bool {
				n := 0
				for _, ring := range polygon {
					if SideOf(ring, Position{X: x*1000 + dx, Y: y*1000 + 1}) != Outside {
						n++
					}
				}
				return n == 1
			}
			if a, b := odd(-1500), odd(1500); a == b && a != (l == 7) {
				t.Fatalf("round %d: square %d has label %d, its centre is inside: %v", round, i, l, a)
			}
		}
	}
}

func TestOutlinesEncloseTheirSquares(t *testing.T) {
	for seed := range uint64(20) {
		var m Mosaic
		m.Reset(around, 500, 2)
		scatter(&m, seed)
		count := map[uint16]int64{}
		for _, l := range m.labels {
			count[l]++
		}
		for l, all := range rings(&m, 0.01) {
			area := int64(0)
			for _, ring := range all {
				if ring[0] != ring[len(ring)-1] {
					t.Fatal("a ring is open")
				}
				area += twice(ring)
			}
			// twice the area in quarters of a square; every corner is cut by an eighth
			corners := int64(0)
			for _, ring := range all {
				corners += int64(len(ring))
			}
			if off := area - 8*count[l]; off > corners || off < -corners {
				t.Errorf("seed %d: label %d encloses %d eighths of a square, has %d squares", seed, l, area, count[l])
			}
		}
	}
}

// Whatever is left out, two neighbours keep the same border: every edge is walked
// once in each direction, except along the edge of the window.
func TestNeighboursShareTheirBorder(t *testing.T) {
	type edge struct{ a, b Point }
	for seed := range uint64(30) {
		var m Mosaic
		m.Reset(around, 500, 2)
		scatter(&m, seed)
		edges := map[edge]int{}
		for _, all := range rings(&m, 5) {
			for _, ring := range all {
				for i := 1; i < len(ring); i++ {
					edges[edge{ring[i-1], ring[i]}]++
				}
			}
		}
		half, window := m.Size/2, m.Box()
		onEdge := func(p Point) bool {
			return p.X*half == window.MinX || p.Y*half == window.MinY || p.X*half == window.MaxX || p.Y*half == window.MaxY
		}
		lone := 0
		for e, n := range edges {
			if onEdge(e.a) && onEdge(e.b) {
				continue
			}
			if edges[edge{e.b, e.a}] != n {
				lone++
			}
		}
		if lone > 0 {
			t.Errorf("seed %d: %d of %d edges have no counterpart", seed, lone, len(edges))
		}
	}
}

func TestWindowsAgree(t *testing.T) {
	islands := func(box Box) string {
		var m Mosaic
		m.Reset(box, 500, 3)
		for i, at := range []Point{{9_000_000, 45_000_000}, {9_005_100, 45_001_300}, {9_003_000, 45_006_000}} {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			polygon := jagged(rng, 12, 3000)
			for k := range polygon {
				polygon[k].X += at.X - 9_000_000
				polygon[k].Y += at.Y - 45_000_000
			}
			m.Paint([][]Point{polygon}, uint16(i+1))
		}
		m.Close(2)
		return fmt.Sprint(rings(&m, 2))
	}
	if a, b := islands(around), islands(Box{8_950_000, 44_970_000, 9_020_000, 45_030_000}); a != b {
		t.Errorf("two windows draw differently:\n%s\n%s", a, b)
	}
}

func TestCloseFillsGapsOnly(t *testing.T) {
	m := Mosaic{nx: 9, ny: 1, labels: []uint16{0, 1, 0, 0, 2, 0, 0, 0, 3}}
	m.Close(2)
	if want := []uint16{0, 1, 1, 2, 2, 0, 0, 0, 3}; !slices.Equal(m.labels, want) {
		t.Errorf("row: %v, want %v", m.labels, want)
	}
	m = Mosaic{nx: 1, ny: 9, labels: []uint16{0, 1, 0, 0, 2, 0, 0, 0, 3}}
	m.Close(2)
	if want := []uint16{0, 1, 1, 2, 2, 0, 0, 0, 3}; !slices.Equal(m.labels, want) {
		t.Errorf("column: %v, want %v", m.labels, want)
	}
}
