package geo

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// square is a closed ring around (x, y), counter-clockwise.
func square(x, y, half int32) []Point {
	return []Point{{x - half, y - half}, {x + half, y - half}, {x + half, y + half}, {x - half, y + half}, {x - half, y - half}}
}

func encode(ring []Point) Ring {
	var r Ring
	r.Blocks, r.Deltas = AppendRing(nil, nil, ring)
	return r
}

// jagged is a random closed ring, with long and short edges and repeated vertices.
func jagged(rng *rand.Rand, n int, reach int32) []Point {
	ring := make([]Point, 0, n+1)
	for range n {
		p := Point{9_000_000 + rng.Int32N(2*reach) - reach, 45_000_000 + rng.Int32N(2*reach) - reach}
		if len(ring) > 0 && rng.IntN(3) == 0 {
			p = ring[len(ring)-1]
			p.X += rng.Int32N(5) - 2
			p.Y += rng.Int32N(5) - 2
		}
		ring = append(ring, p)
	}
	return append(ring, ring[0])
}

// oracle decides by rational arithmetic, with the winding of the textbook: another
// way to the same answer.
func oracle(ring []Point, at Position) Side {
	odd := false
	for i := 1; i < len(ring); i++ {
		ax, ay := big.NewRat(int64(ring[i-1].X)*1000, 1), big.NewRat(int64(ring[i-1].Y)*1000, 1)
		bx, by := big.NewRat(int64(ring[i].X)*1000, 1), big.NewRat(int64(ring[i].Y)*1000, 1)
		px, py := big.NewRat(at.X, 1), big.NewRat(at.Y, 1)
		if ay.Cmp(by) > 0 {
			ax, ay, bx, by = bx, by, ax, ay
		}
		if ay.Cmp(by) == 0 {
			if ax.Cmp(bx) > 0 {
				ax, bx = bx, ax
			}
			if py.Cmp(ay) == 0 && ax.Cmp(px) <= 0 && px.Cmp(bx) <= 0 {
				return Edge
			}
			continue
		}
		if py.Cmp(ay) < 0 || py.Cmp(by) > 0 {
			continue
		}
		// where the edge stands at the height of the position
		t := new(big.Rat).Quo(new(big.Rat).Sub(py, ay), new(big.Rat).Sub(by, ay))
		x := new(big.Rat).Add(ax, t.Mul(t, new(big.Rat).Sub(bx, ax)))
		switch c := x.Cmp(px); {
		case c == 0:
			return Edge
		case c > 0 && py.Cmp(by) < 0:
			odd = !odd
		}
	}
	if odd {
		return Inside
	}
	return Outside
}

func TestSideAgreesWithRationals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		reach := []int32{6, 200, 20_000, 3_000_000}[round%4]
		ring := jagged(rng, 4+rng.IntN(120), reach)
		coded := encode(ring)
		if !coded.Valid() {
			t.Fatal("encoded ring is not valid")
		}
		for range 60 {
			v := ring[rng.IntN(len(ring))]
			at := v.Position()
			switch rng.IntN(4) {
			case 0: // the vertex itself
			case 1: // the middle of two vertices
				w := ring[rng.IntN(len(ring))].Position()
				at = Position{(at.X + w.X) / 2, (at.Y + w.Y) / 2}
			case 2:
				at.X += rng.Int64N(int64(reach)*1000) - int64(reach)*500
			default:
				at.X += rng.Int64N(int64(reach)*1000) - int64(reach)*500
				at.Y += rng.Int64N(int64(reach)*1000) - int64(reach)*500
			}
			want := oracle(ring, at)
			if got := coded.Side(at); got != want {
				t.Fatalf("round %d: Ring.Side(%v) = %d, want %d", round, at, got, want)
			}
			if got := SideOf(ring, at); got != want {
				t.Fatalf("round %d: SideOf(%v) = %d, want %d", round, at, got, want)
			}
		}
	}
}

func TestRingKeepsEveryVertex(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, reach := range []int32{3, 1000, 30_000, 5_000_000} {
		ring := jagged(rng, 500, reach)
		got := encode(ring).AppendPoints(nil)
		if len(got) != len(ring) {
			t.Fatalf("reach %d: %d vertices, want %d", reach, len(got), len(ring))
		}
		for i := range ring {
			if got[i] != ring[i] {
				t.Fatalf("reach %d: vertex %d is %v, want %v", reach, i, got[i], ring[i])
			}
		}
		if encode(ring).Box() != BoxOf(ring) {
			t.Fatal("box differs")
		}
	}
}

func TestContainsHolesAndBorders(t *testing.T) {
	polygon := [][]Point{square(0, 0, 100), square(0, 0, 50)}
	for _, c := range []struct {
		name string
		at   Position
		want bool
	}{
		{"between the rings", Point{75, 0}.Position(), true},
		{"in the hole", Point{0, 0}.Position(), false},
		{"on the outer edge", Point{100, 10}.Position(), true},
		{"on an outer vertex", Point{100, 100}.Position(), true},
		{"on the hole's edge", Point{50, 10}.Position(), true},
		{"a nano-degree outside", Position{100_001, 0}, false},
		{"a nano-degree into the hole", Position{49_999, 0}, false},
	} {
		if got := Contains(polygon, c.at); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestCellsTellTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	cover := Coverer{Size: 1000}
	for range 200 {
		polygon := [][]Point{jagged(rng, 3+rng.IntN(30), 10_000), square(9_000_000+rng.Int32N(9000), 45_000_000, 1+rng.Int32N(4000))}
		cells := map[[2]int32]bool{}
		for _, c := range cover.AppendCells(nil, polygon) {
			cells[[2]int32{c.X, c.Y}] = c.Full
		}
		for range 400 {
			at := Position{int64(9_000_000+rng.Int32N(24_000)-12_000)*1000 + rng.Int64N(1000), int64(45_000_000+rng.Int32N(24_000)-12_000)*1000 + rng.Int64N(1000)}
			full, known := cells[[2]int32{CellOf(floorMicro(at.X), 1000), CellOf(floorMicro(at.Y), 1000)}]
			in := Contains(polygon, at)
			if in && !known || full && !in {
				t.Fatalf("position %v: inside %v, square known %v full %v", at, in, known, full)
			}
		}
	}
}

func TestAreaOnTheSphere(t *testing.T) {
	// one degree by one degree at the equator, and the same farther north
	ring := func(y int32) []Point {
		return []Point{{0, y}, {Micro, y}, {Micro, y + Micro}, {0, y + Micro}, {0, y}}
	}
	const degree = earthRadius * math.Pi / 180
	want := degree * degree
	if got := Area(ring(0)); math.Abs(got/want-1) > 1e-4 {
		t.Errorf("area at the equator %g, want %g", got, want)
	}
	if got := Area(ring(60 * Micro)); math.Abs(got/(want*math.Cos(60.5*math.Pi/180))-1) > 1e-3 {
		t.Errorf("area at 60 degrees is %g", got)
	}
}

func TestDistanceInMetres(t *testing.T) {
	ring := encode(square(9_000_000, 45_000_000, 1000))
	at := At(45, 9.002) // 1000 micro-degrees east of the edge
	want := 0.001 * math.Pi / 180 * earthRadius * math.Cos(45*math.Pi/180)
	if got := ring.Distance(Around(at), 1000); math.Abs(got-want) > 0.01 {
		t.Errorf("distance %g, want %g", got, want)
	}
	if got := ring.Distance(Around(at), 10); got != 10 {
		t.Errorf("beyond the limit: %g, want 10", got)
	}
}

func TestSimplifyKeepsRingsClosed(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		ring := jagged(rng, 4+rng.IntN(300), 5000)
		n := len(ring)
		got := Simplify(ring, 100)
		if len(got) > n || len(got) < 4 || got[0] != got[len(got)-1] {
			t.Fatalf("%d of %d vertices, closed %v", len(got), n, got[0] == got[len(got)-1])
		}
	}
}

func TestRingMeetsBox(t *testing.T) {
	ring := encode(square(0, 0, 100))
	for _, c := range []struct {
		box  Box
		want bool
	}{
		{Box{-10, -10, 10, 10}, false}, // wholly inside: no edge there
		{Box{90, -10, 110, 10}, true},
		{Box{100, 100, 120, 120}, true}, // a corner
		{Box{101, 101, 120, 120}, false},
	} {
		if got := ring.Meets(c.box); got != c.want {
			t.Errorf("%v: %v, want %v", c.box, got, c.want)
		}
	}
	diagonal := encode([]Point{{0, 0}, {100, 100}, {0, 100}, {0, 0}})
	if diagonal.Meets(Box{60, 10, 90, 30}) {
		t.Error("a box beside the diagonal meets it")
	}
}

func FuzzRing(f *testing.F) {
	blocks, deltas := AppendRing(nil, nil, square(0, 0, 100_000))
	f.Add(blocks, deltas)
	f.Fuzz(func(_ *testing.T, blocks, deltas []byte) {
		r := Ring{Blocks: blocks, Deltas: deltas}
		if !r.Valid() {
			return
		}
		r.Side(Position{1, 1})
		r.AppendPoints(nil)
		r.Distance(Around(Position{1, 1}), 1000)
		r.Meets(Box{-5, -5, 5, 5})
	})
}

// Box is the smallest box around the ring.
func (r Ring) Box() Box {
	box := r.box(0)
	for i := 1; i < r.len(); i++ {
		box = box.Union(r.box(i))
	}
	return box
}
