package omi

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/geo"
)

func TestOutlinesFitTheirNeighbours(t *testing.T) {
	// two zones of one municipality and one of another, digitised apart: gaps of
	// some metres between them
	ix := newMade("2018/2").zone("F205", "B1").zone("F205", "C1").zone("F206", "B1").
		perimeter("F205", "B1", box([4]float64{9, 45, 9.05, 45.1})).
		perimeter("F205", "C1", box([4]float64{9.0501, 45, 9.1, 45.1})).
		perimeter("F206", "B1", box([4]float64{9, 45.1002, 9.1, 45.2})).
		value("F205", "B1", dwelling).index(t)
	sides := map[[2]Point]int{}
	for _, k := range [][2]string{{"F205", "B1"}, {"F205", "C1"}, {"F206", "B1"}} {
		z, _ := ix.Zone(k[0], k[1])
		o := z.Outline()
		if len(o.Rings) != 1 || o.Unit != zoneSquare/2 {
			t.Fatalf("%v: %+v", k, o)
		}
		for i := 1; i < len(o.Rings[0]); i++ {
			sides[[2]Point{o.Rings[0][i-1], o.Rings[0][i]}]++
		}
	}
	shared := 0
	for side := range sides {
		shared += sides[[2]Point{side[1], side[0]}]
	}
	if shared != 6 { // three borders, from both sides
		t.Errorf("%d sides are shared in %v", shared, sides)
	}
	for _, a := range slices.Concat(ix.Areas(), ix.Provinces()) {
		if !a.Drawn || len(a.Outline().Rings) != 1 {
			t.Errorf("%+v has no outline", a)
		}
	}
	if box := ix.Box(); box != (Box{MinX: 9_000_000, MinY: 45_000_000, MaxX: 9_100_000, MaxY: 45_200_000}) {
		t.Errorf("box %+v", box)
	}
}

func TestSmallAreasAreDrawn(t *testing.T) {
	ix := newMade("2018/2").zone("F205", "B1").zone("F205", "C1").
		perimeter("F205", "B1", box([4]float64{9, 45, 9.05, 45.1})).
		perimeter("F205", "C1", box([4]float64{9.2, 45, 9.20001, 45.00001})).index(t)
	z, _ := ix.Zone("F205", "C1")
	if len(z.Outline().Rings) != 1 {
		t.Error("a zone of one metre has no outline")
	}
}

func ring(coordinates ...int32) (points []Point) {
	for i := 0; i < len(coordinates); i += 2 {
		points = append(points, Point{coordinates[i], coordinates[i+1]})
	}
	return points
}

// code codes an outline as the import does.
func code(o Outline) []byte {
	rings := make([][]geo.Point, len(o.Rings))
	for i, r := range o.Rings {
		for _, p := range r {
			rings[i] = append(rings[i], geo.Point(p))
		}
	}
	return appendOutline(nil, o.Unit, rings)
}

func TestOutlineKeepsItsVertices(t *testing.T) {
	o := Outline{Unit: 500, Rings: [][]Point{ring(1, 2, 5, 2, 5, 9, 1, 2), ring(-3, 7, 2, 2, 2, 3, -3, 7)}}
	if got := readOutline(code(o)); fmt.Sprint(got) != fmt.Sprint(o) {
		t.Errorf("got %v, want %v", got, o)
	}
	if got, want := string(o.AppendJSON(nil)), `[500,[1,2,4,0,0,7],[-4,5,5,-5,0,1]]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzOutline(f *testing.F) {
	f.Add(code(Outline{Unit: 500, Rings: [][]Point{ring(1, 2, 5, 2, 5, 9, 1, 2)}}))
	f.Add([]byte{1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 3, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		o := readOutline(b)
		again := readOutline(code(o))
		if fmt.Sprint(again.Rings) != fmt.Sprint(o.Rings) {
			t.Errorf("%v, read again %v", o, again)
		}
		o.AppendJSON(nil)
	})
}

func TestHomesStandForTheZone(t *testing.T) {
	ix := newMade("2018/2").zone("F205", "B1").zone("F205", "C1").zone("F205", "D1").zone("F206", "B1").
		perimeter("F205", "B1", box([4]float64{9, 45, 9.05, 45.1})).
		value("F205", "B1", "21;Abitazioni di tipo economico;NORMALE;P;500;600;L;4;5;L;").
		value("F205", "B1", "20;Abitazioni civili;OTTIMO;;2000;3000;L;4;5;L;").
		value("F205", "B1", "20;Abitazioni civili;NORMALE;P;1000;1200;L;4;5;L;").
		value("F205", "C1", "13;Box;NORMALE;P;1000;1200;L;4;5;L;").
		value("F205", "D1", "21;Abitazioni di tipo economico;NORMALE;P;700;900;L;4;5;L;").index(t)
	for zone, want := range map[string]int32{"B1": 1_100_000, "C1": 0, "D1": 800_000} {
		z, _ := ix.Zone("F205", zone)
		if got := z.Homes(); got != want {
			t.Errorf("%s: %d, want %d", zone, got, want)
		}
	}
	if a, ok := ix.AreaOf("F205"); !ok || a.Homes != 1_100_000 {
		t.Errorf("the municipality's median is %d", a.Homes)
	}
	if p := ix.Provinces(); len(p) != 1 || p[0].Homes != 1_100_000 || p[0].Province != "MI" || p[0].Region != "LOMBARDIA" {
		t.Errorf("provinces: %+v", p)
	}
}

func TestPlainNames(t *testing.T) {
	for in, want := range map[string]string{
		"FORLI`": "FORLI", "Forlì": "FORLI", "Forli\u0300": "FORLI", "SANT`ANGELO  LODIGIANO": "SANT ANGELO LODIGIANO", "sèn jan": "SEN JAN",
		"Reggio nell’Emilia": "REGGIO NELL EMILIA", "  ": "", "S. Giuliano": "S GIULIANO", "Weißenstein": "WEISSENSTEIN",
	} {
		if got := Plain(in); got != want {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
}

// named is a publication of municipalities that have names of their own.
func named(t *testing.T, names map[string]string) *Index {
	m := newMade("2018/2")
	for code, name := range names {
		name, province, _ := strings.Cut(name, "/")
		m.zone(code, "B1")
		last := &m.zones[len(m.zones)-1]
		*last = strings.Replace(strings.Replace(*last, "COMUNE "+code, name, 1), ";MI;", ";"+province+";", 1)
	}
	m.value("A001", "B1", dwelling)
	m.values[0] = strings.Replace(m.values[0], "COMUNE A001", "X", 1)
	return m.index(t)
}

func TestSearch(t *testing.T) {
	ix := named(t, map[string]string{
		"A001": "SAMONE/TO", "A002": "SAMONE/TN", "A003": "FORLI`/FO", "A004": "FORLIMPOPOLI/FO", "A005": "L`AQUILA/AQ", "A006": "SANT`ANGELO/NA", "A007": "RO/FE", "A008": "MILANO/MI", "A009": "SAN GIULIANO MILANESE/MI",
	})
	for _, c := range []struct {
		q     string
		want  string
		whole int
	}{
		{"samone", "A002 A001", 2},
		{"Samone (TO)", "A001", 1},
		{"samone, tn", "A002", 1},
		{"forlì", "A003 A004", 1},
		{"FORLI'", "A003 A004", 1},
		{"laquila", "A005", 1},
		{"l'aquila", "A005", 1},
		{"sant angelo", "A006", 1},
		{"santangelo", "A006", 1},
		{"ro", "A007", 1},
		{"mila", "A008 A009", 0},
		{"a004", "A004", 1},
		{"nowhere", "", 0},
		{"", "", 0},
		{"milano mi", "A008", 1},
		{"giuliano", "A009", 0},
		{"samone xx", "", 0},
	} {
		found, whole := ix.Search(c.q)
		var codes []string
		for _, a := range found {
			codes = append(codes, a.CadastralCode)
		}
		if got := strings.Join(codes, " "); got != c.want || whole != c.whole {
			t.Errorf("%q: %q and %d whole, want %q and %d", c.q, got, whole, c.want, c.whole)
		}
	}
}

func FuzzSearch(f *testing.F) {
	ix := sample()
	for _, q := range []string{"isola", "Ü ß", "\xff\xfe", "a (XX)", "😀"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		ix.Search(q)
		if p := Plain(q); Plain(p) != p {
			t.Errorf("%q is plain as %q, then %q", q, p, Plain(p))
		}
	})
}

func TestSampleIsDrawn(t *testing.T) {
	ix := sample()
	for _, a := range slices.Concat(ix.Areas(), ix.Provinces()) {
		if len(a.Outline().Rings) == 0 {
			t.Errorf("%+v has no outline", a)
		}
	}
	if found, whole := ix.Search("isola d'esempio (sample)"); len(found) != 1 || whole != 1 {
		t.Errorf("the island is found %d times", len(found))
	}
}

func TestSetLooksBackwards(t *testing.T) {
	lib, err := OpenLibrary(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for semester, code := range map[string]string{"2018/2": "F205", "2025/2": "H501"} {
		x := 9.0
		if code == "H501" {
			x = 12
		}
		m := newMade(semester).zone(code, "B1").value(code, "B1", dwelling).perimeter(code, "B1", box([4]float64{x, 45, x + .1, 45.1}))
		if err := lib.Receive(bytes.NewReader(encoded(t, m))); err != nil {
			t.Fatal(err)
		}
	}
	since := func() (all []string) {
		for _, ix := range lib.Current().Since() {
			all = append(all, ix.Semester().String())
		}
		return all
	}
	if got := fmt.Sprint(since()); got != "[2025/2 2018/2]" {
		t.Errorf("since the newest: %s", got)
	}
	if err := lib.Use(Semester{2018, 2}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(since()); got != "[2018/2]" {
		t.Errorf("since the active one: %s", got)
	}
}
