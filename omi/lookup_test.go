package omi

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/geo"
)

func codeAt(ix *Index, lat, lng float64) string {
	z, ok := ix.Lookup(lat, lng)
	if !ok {
		return ""
	}
	return z.Municipality().CadastralCode + "/" + z.Code()
}

// terrain is a publication with all that geometry can do.
func terrain() *made {
	m := newMade("2018/2")
	for _, z := range []string{"B1", "C1", "D1", "E1", "R1"} {
		m.zone("F205", z)
	}
	m.zone("A001", "B1").zone("A001", "B2")
	m.perimeter("F205", "R1", box([4]float64{9, 45, 10, 46}, [4]float64{9.4, 45.4, 9.6, 45.6})) // with a hole
	m.perimeter("F205", "B1", box([4]float64{9.45, 45.45, 9.55, 45.55}))                        // an island in the hole
	m.perimeter("F205", "C1", box([4]float64{9.1, 45.1, 9.2, 45.2}))                            // a village not cut out
	m.perimeter("F205", "E1", box([4]float64{11, 45, 11.1, 45.1}), box([4]float64{11.2, 45, 11.3, 45.1}, [4]float64{11.22, 45.02, 11.28, 45.08}), box([4]float64{11.24, 45.04, 11.26, 45.06}))
	m.perimeter("A001", "B2", box([4]float64{12, 45, 12.1, 45.1})) // two zones on the same ground
	m.perimeter("A001", "B1", box([4]float64{12, 45, 12.1, 45.1}))
	m.perimeter("F205", "D1", box([4]float64{12, 45, 12.1, 45.1}))
	m.perimeter("A002", "E9", box([4]float64{13, 45, 13.1, 45.1})) // unknown to the tables
	m.perimeter("F205", "E8", box([4]float64{14, 45, 14.1, 45.1})) // unknown zone of a known municipality
	return m
}

func TestLookup(t *testing.T) {
	ix := terrain().index(t)
	for _, c := range []struct {
		why      string
		lat, lng float64
		want     string
	}{
		{"interior", 45.3, 9.3, "F205/R1"},
		{"in the hole", 45.42, 9.42, ""},
		{"island in the hole", 45.5, 9.5, "F205/B1"},
		{"edge of the hole belongs", 45.4, 9.5, "F205/R1"},
		{"corner of the hole belongs", 45.4, 9.4, "F205/R1"},
		{"a hair inside the hole", 45.400000001, 9.5, ""},
		{"smaller of two", 45.15, 9.15, "F205/C1"},
		{"edge of the smaller", 45.1, 9.15, "F205/C1"},
		{"outer vertex", 45, 9, "F205/R1"},
		{"outer edge", 46, 9.77, "F205/R1"},
		{"a hair outside", 46.000000001, 9.77, ""},
		{"second polygon", 45.01, 11.21, "F205/E1"},
		{"hole of the second", 45.03, 11.23, ""},
		{"polygon of the same zone in its hole", 45.05, 11.25, "F205/E1"},
		{"same area: lower cadastral code, then zone", 45.05, 12.05, "A001/B1"},
		{"perimeter unknown to the tables", 45.05, 13.05, "A002/E9"},
		{"sea", 40, 12, ""},
		{"abroad", 52.5, 13.4, ""},
		{"the other side", -45, -9, ""},
		{"pole", 90, 180, ""},
		{"nowhere", math.NaN(), 9, ""},
		{"beyond", 91, 9.5, ""},
	} {
		if got := codeAt(ix, c.lat, c.lng); got != c.want {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
}

func TestPerimeterWithoutRowTakesItsMunicipality(t *testing.T) {
	ix := terrain().index(t)
	z, _ := ix.Lookup(45.05, 14.05)
	if m := z.Municipality(); m.Name != "COMUNE F205" || m.Region != "LOMBARDIA" || m.ISTATCode != "015146" || z.Values() != 0 || z.Description() != "" || z.Band() != "E" {
		t.Errorf("%+v", m)
	}
	z, _ = ix.Lookup(45.05, 13.05)
	if m := z.Municipality(); m.Name != "COMUNE" || m.Province != "MI" || m.Region != "" {
		t.Errorf("%+v", m)
	}
}

func TestNearest(t *testing.T) {
	ix := terrain().index(t)
	const metre = 1 / (6371008.8 * math.Pi / 180) // of latitude, in degrees
	z, d, ok := ix.Nearest(46+100*metre, 9.5, 200)
	if !ok || z.Code() != "R1" || math.Abs(d-100) > 0.01 {
		t.Errorf("%v %v %g", ok, z.Code(), d)
	}
	if _, _, ok := ix.Nearest(46+100*metre, 9.5, 99); ok {
		t.Error("farther than asked")
	}
	if _, d, ok := ix.Nearest(45.3, 9.3, 1000); !ok || d != 0 {
		t.Errorf("inside: %v, %g", ok, d)
	}
	if _, _, ok := ix.Nearest(46+100*metre, 9.5, 0); ok {
		t.Error("nearest was not asked for")
	}
	// from the middle of nowhere between two polygons of one zone, the nearer edge
	if z, d, ok := ix.Nearest(45.0, 11.1+0.001, 1000); !ok || z.Code() != "E1" || d > 80 {
		t.Errorf("%v %v %g", ok, z.Code(), d)
	}
	// equally far from zones on the same ground: the one that wins an overlap
	if z, _, _ := ix.Nearest(45.1+10*metre, 12.05, 50); z.Municipality().CadastralCode != "A001" || z.Code() != "B1" {
		t.Errorf("%s", z.Code())
	}
}

func TestWithin(t *testing.T) {
	ix := terrain().index(t)
	names := func(zones []Zone) string {
		var s []string
		for _, z := range zones {
			s = append(s, z.Municipality().CadastralCode+"/"+z.Code())
		}
		return strings.Join(s, " ")
	}
	for _, c := range []struct {
		box  [4]float64
		want string
	}{
		{[4]float64{9.46, 45.46, 9.47, 45.47}, "F205/B1"}, // inside one, in the hole of the other
		{[4]float64{9.41, 45.41, 9.42, 45.42}, ""},        // inside a hole
		{[4]float64{9.3, 45.3, 9.42, 45.42}, "F205/R1"},   // over the hole's edge
		{[4]float64{9.0, 45.0, 10, 46}, "F205/B1 F205/C1 F205/R1"},
		{[4]float64{10, 46, 10.5, 46.5}, "F205/R1"}, // a corner
		{[4]float64{0, 0, 1, 1}, ""},
		{[4]float64{12.05, 45.05, 12.05, 45.05}, "A001/B1 A001/B2 F205/D1"}, // a point
	} {
		if got := names(ix.Within(c.box[0], c.box[1], c.box[2], c.box[3])); got != c.want {
			t.Errorf("%v: %q, want %q", c.box, got, c.want)
		}
	}
}

// TestOracle compares the index with a search over all published rings, on random
// publications with everything in them: overlaps, holes, crossings, slivers.
func TestOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	points := 0
	for round := range 30 {
		m := newMade("2018/2")
		var all []oracleZone
		for i := range 25 {
			z := oracleZone{cadastral: fmt.Sprintf("A%03d", rng.IntN(5)), zone: fmt.Sprintf("B%d", i)}
			m.zone(z.cadastral, z.zone)
			var parts []string
			for range 1 + rng.IntN(3) {
				rings := [][]geo.Point{scribble(rng, 3+rng.IntN(90), 30_000)}
				for range rng.IntN(3) {
					rings = append(rings, scribble(rng, 3+rng.IntN(20), 12_000))
				}
				z.polygons = append(z.polygons, rings)
				parts = append(parts, polygonKML(rings))
			}
			m.perimeter(z.cadastral, z.zone, parts...)
			all = append(all, z)
		}
		ix := m.index(t)
		o := newOracle(all)
		for range 3500 {
			at := o.somewhere(rng)
			points++
			lat, lng := degrees(at)
			if got, want := codeAt(ix, lat, lng), o.at(at); got != want {
				t.Fatalf("round %d, %.9f %.9f: index %q, oracle %q", round, lat, lng, got, want)
			}
		}
	}
	if points < 100_000 {
		t.Fatalf("only %d points", points)
	}
}

// scribble is a random closed ring, on a coarse lattice often, so that vertices and
// edges coincide.
func scribble(rng *rand.Rand, n int, reach int32) []geo.Point {
	step := []int32{1, 1, 5000, 10_000}[rng.IntN(4)]
	cx, cy := 9_000_000+rng.Int32N(60_000)/step*step, 45_000_000+rng.Int32N(60_000)/step*step
	ring := make([]geo.Point, 0, n+1)
	for i := range n {
		a := 2 * math.Pi * float64(i) / float64(n)
		r := float64(reach) * (0.3 + 0.7*rng.Float64())
		ring = append(ring, geo.Point{X: (cx + int32(r*math.Cos(a))) / step * step, Y: (cy + int32(r*math.Sin(a))) / step * step})
	}
	return append(ring, ring[0])
}

func polygonKML(rings [][]geo.Point) string {
	var b strings.Builder
	b.WriteString("<Polygon>")
	for i, ring := range rings {
		role := "outerBoundaryIs"
		if i > 0 {
			role = "innerBoundaryIs"
		}
		fmt.Fprintf(&b, "<%s><LinearRing><coordinates>", role)
		for _, p := range ring {
			fmt.Fprintf(&b, "%d.%06d,%d.%06d,0 ", p.X/geo.Micro, p.X%geo.Micro, p.Y/geo.Micro, p.Y%geo.Micro)
		}
		fmt.Fprintf(&b, "</coordinates></LinearRing></%s>", role)
	}
	b.WriteString("</Polygon>")
	return b.String()
}

func TestAnswersAreJSON(t *testing.T) {
	m := terrain()
	m.zones = append(m.zones, zoneLine("F205", "E8", "\"QUOTED\" \\ \t CITT\xC0"))
	m.value("F205", "E8", "6;Uffici;OTTIMO; ;900;1200;L;0;0; ;").value("F205", "E8", "13;Box;;P;0;0; ;,8;12,75; ;")
	ix := m.index(t)
	z, _ := ix.Zone("F205", "E8")
	var got map[string]any
	if err := json.Unmarshal(Answer{Zone: z, Lat: 45.05, Lng: 14.05, Placed: true}.AppendJSON(nil, FullGeometry), &got); err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(got)
	const want = `{"cadastral_code":"F205","geometry":[{"exterior":[{"lat":45,"lng":14},{"lat":45,"lng":14.1},{"lat":45.1,"lng":14.1},{"lat":45.1,"lng":14},{"lat":45,"lng":14}],"holes":[]}],"istat_code":"015146","location":{"lat":45.05,"lng":14.05},"municipality":"COMUNE F205","omi_zone":"E8","province_code":"MI","region":"LOMBARDIA","semester":2,"values":[{"condition":"OTTIMO","prevalent":false,"property_type":"Uffici","property_type_code":6,"rent":null,"sale":{"max":1200,"min":900,"surface":"gross"}},{"condition":"","prevalent":true,"property_type":"Box","property_type_code":13,"rent":{"max":12.75,"min":0.8,"surface":null},"sale":null}],"year":2018,"zone":{"band":"E","description":"\"QUOTED\" \\ \t CITTÀ","microzone":7,"prevalent_condition":"NORMALE","prevalent_property_type":"Abitazioni civili"}}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	for _, g := range []Geometry{FullGeometry, SimplifiedGeometry, NoGeometry} {
		for _, code := range []string{"R1", "E1", "C1"} {
			z, _ := ix.Zone("F205", code)
			for _, b := range [][]byte{Answer{Zone: z}.AppendJSON(nil, g), Answer{Zone: z, Placed: true, Near: true, Distance: 3.14}.AppendGeoJSON(nil, g), AppendFeatureCollection(nil, []Zone{z, z}, g)} {
				if !json.Valid(b) {
					t.Errorf("%s, geometry %d: not JSON: %s", code, g, b)
				}
			}
		}
	}
}

func TestGeometryIsAsPublished(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	rings := [][]geo.Point{scribble(rng, 3000, 30_000), scribble(rng, 5, 1000)}
	ix := newMade("2018/2").zone("F205", "B1").value("F205", "B1", dwelling).perimeter("F205", "B1", polygonKML(rings)).index(t)
	z, _ := ix.Zone("F205", "B1")
	var got struct {
		Geometry []struct {
			Exterior []struct{ Lat, Lng float64 }
			Holes    [][]struct{ Lat, Lng float64 }
		}
	}
	if err := json.Unmarshal(Answer{Zone: z}.AppendJSON(nil, FullGeometry), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Geometry) != 1 || len(got.Geometry[0].Holes) != 1 || len(got.Geometry[0].Exterior) != len(rings[0]) {
		t.Fatal("rings are missing")
	}
	for i, p := range got.Geometry[0].Exterior {
		if want := rings[0][i]; p.Lat != float64(want.Y)/1e6 || p.Lng != float64(want.X)/1e6 {
			t.Fatalf("vertex %d: %v, want %v", i, p, want)
		}
	}
}

func TestAppendMicro(t *testing.T) {
	for v, want := range map[int32]string{
		0: "0.000000", 1: "0.000001", -1: "-0.000001", 9_190_000: "9.190000", 45_464_123: "45.464123",
		180_000_000: "180.000000", -179_999_999: "-179.999999", 99_999_999: "99.999999", 105_000_010: "105.000010",
	} {
		if got := string(appendMicro(nil, v)); got != want {
			t.Errorf("%d: %s, want %s", v, got, want)
		}
	}
}

// degrees is a position as a caller gives it.
func degrees(p geo.Position) (lat, lng float64) { return float64(p.Y) / 1e9, float64(p.X) / 1e9 }
