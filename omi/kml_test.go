package omi

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"rogito.dev/rogito/internal/geo"
)

func TestMicroDegrees(t *testing.T) {
	for in, want := range map[string]int32{
		"11.011180": 11_011_180, "44.004241": 44_004_241, "9": 9_000_000, "-4.25": -4_250_000, "-0.000001": -1,
		"12.5": 12_500_000, "7.1234565": 7_123_457, "7.1234564999": 7_123_456, "1.1e1": 11_000_000, "180": 180_000_000,
	} {
		got, next, ok := microDegrees([]byte(in+",x"), 0)
		if !ok || got != want || next != len(in) {
			t.Errorf("%q: %d, %v (at %d); want %d", in, got, ok, next, want)
		}
	}
	for _, bad := range []string{"", "-", ".", "abc", "1234.5", "NaN", "Inf", "1.2.3", "361e5"} {
		if v, _, ok := microDegrees([]byte(bad), 0); ok {
			t.Errorf("%q was taken as %d", bad, v)
		}
	}
}

func TestKMLQuirks(t *testing.T) {
	square := box([4]float64{9, 45, 9.1, 45.1})
	for name, c := range map[string]struct {
		file  string
		zones int
		kept  int // polygons
		drop  int
	}{
		"as delivered":               {document("2018/2", placemark("F205", "B1", square)), 1, 1, 0},
		"bare polygon":               {document("2018/2", strings.NewReplacer("<MultiGeometry>", "", "</MultiGeometry>", "").Replace(placemark("F205", "B1", square))), 1, 1, 0},
		"namespace prefix":           {strings.NewReplacer("<Placemark", "<k:Placemark", "</Placemark", "</k:Placemark", "<Polygon", "<k:Polygon", "</Polygon", "</k:Polygon").Replace(document("2018/2", placemark("F205", "B1", square))), 1, 1, 0},
		"comments":                   {document("2018/2", "<!-- <Placemark> -->"+placemark("F205", "B1", square)), 1, 1, 0},
		"declared UTF-8, is Latin-1": {strings.Replace(document("2018/2", placemark("F205", "B1", square)), "COMUNE", "FI\xC8 ALLO SCILIAR", 1), 1, 1, 0},
		"in Guinea":                  {document("2018/2", placemark("F205", "B1", square+box([4]float64{-4.25, 1.17, -4.24, 1.18}))), 1, 1, 1},
		"a vertex astray":            {document("2018/2", placemark("F205", "B1", strings.Replace(square, "9.100000,45.000000", "19.100000,45.000000", 1))), 1, 0, 1},
		"bad number":                 {document("2018/2", placemark("F205", "B1", strings.Replace(square, "45.100000", "45,1", 1))), 1, 0, 1},
		"two outer rings":            {document("2018/2", placemark("F205", "B1", strings.Replace(square, "</Polygon>", square[len("<Polygon>"):], 1))), 1, 0, 1},
		"not closed":                 {document("2018/2", placemark("F205", "B1", strings.Replace(square, " 9.000000,45.000000,0<", "<", 1))), 1, 1, 0},
		"two points":                 {document("2018/2", placemark("F205", "B1", "<Polygon><outerBoundaryIs><LinearRing><coordinates>9,45 9.1,45</coordinates></LinearRing></outerBoundaryIs></Polygon>")), 1, 0, 1},
		"line breaks":                {document("2018/2", placemark("F205", "B1", strings.ReplaceAll(square, ",0 ", ",0\r\n\t"))), 1, 1, 0},
		"no height":                  {document("2018/2", placemark("F205", "B1", strings.ReplaceAll(square, ",0 ", " "))), 1, 1, 0},
		"a point, a line":            {document("2018/2", placemark("F205", "B1", square)+"<Placemark><Point><coordinates>9,45</coordinates></Point></Placemark>"), 1, 1, 0},
		"index of links":             {"<?xml version='1.0'?><kml><Document><name>PRATO</name><NetworkLink><Link><href>a.kml</href></Link></NetworkLink></Document></kml>", 0, 0, 0},
		"SimpleData":                 {document("2018/2", `<Placemark><ExtendedData><SchemaData><SimpleData name="CODCOM">F205</SimpleData><SimpleData name="CODZONA">B1</SimpleData></SchemaData></ExtendedData>`+square+"</Placemark>"), 1, 1, 0},
		"empty element":              {document("2018/2", "<styleUrl/><a b='>'/>"+placemark("F205", "B1", square)), 1, 1, 0},
		"2014: codes empty":          {document("2014/1", `<Placemark><name>ALESSANDRIA - Zona OMI B01</name><ExtendedData><Data name="CODCOM"><value></value></Data></ExtendedData>`+square+"</Placemark>"), 1, 1, 0},
	} {
		p, err := readKML([]byte(c.file), "A182", newScratch(new(atomic.Int64)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kept := 0
		for _, z := range p.zones {
			kept += len(z.polygons)
		}
		if len(p.zones) != c.zones || kept != c.kept || p.dropped != c.drop {
			t.Errorf("%s: %d zones, %d polygons, %d dropped; want %d, %d, %d", name, len(p.zones), kept, p.dropped, c.zones, c.kept, c.drop)
		}
	}
}

func TestKMLTitle(t *testing.T) {
	p, err := readKML([]byte(strings.Replace(document("2018/2", ""), "COMUNE", "SAN DONA&apos; (X)", 1)), "", newScratch(new(atomic.Int64)))
	if err != nil || p.name != "SAN DONA' (X)" || p.province != "MI" || p.semester.String() != "2018/2" || p.generated.Hour() != 17 {
		t.Fatalf("%v: %+v", err, p)
	}
}

func TestBrokenKMLIsLeftOut(t *testing.T) {
	good := document("2018/2", placemark("F205", "B1", box([4]float64{9, 45, 9.1, 45.1})))
	for name, c := range map[string]struct {
		file string
		want error
	}{
		"cut in the middle":  {good[:len(good)/2], errCut},
		"cut near the end":   {good[:len(good)-3], errCut},
		"entities":           {strings.Replace(good, "<kml", `<!DOCTYPE kml [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><kml`, 1), errDoctype},
		"not balanced":       {strings.Replace(good, "</Polygon>", "", 1), errBalance},
		"too deep":           {"<?xml version='1.0'?>" + strings.Repeat("<a>", 1000), errTooDeep},
		"endless name":       {strings.Replace(good, "COMUNE", strings.Repeat("A", 100_000), 1), errLongText},
		"endless tag":        {"<?xml version='1.0'?><a b='" + strings.Repeat("x", 100_000) + "'></a>", errLongText},
		"comment not closed": {"<kml><!-- ", errCut},
		"a mark and no more": {"<kml><", errCut},
		"text after the end": {good + "more", errCut},
	} {
		if _, err := readKML([]byte(c.file), "", newScratch(new(atomic.Int64))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func FuzzKML(f *testing.F) {
	f.Add([]byte(document("2018/2", placemark("F205", "B1", box([4]float64{9, 45, 9.1, 45.1}, [4]float64{9.02, 45.02, 9.03, 45.03})))))
	f.Add([]byte("<kml><Polygon><outerBoundaryIs><coordinates>9,45 9,46 10,45</coordinates></outerBoundaryIs></Polygon></kml>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		p, err := readKML(b, "F205", newScratch(new(atomic.Int64)))
		if err != nil {
			return
		}
		for _, z := range p.zones {
			for _, q := range z.polygons {
				if q.box.Union(italy) != italy || len(q.rings) == 0 {
					t.Fatalf("bad polygon taken: %+v", q.box)
				}
			}
		}
	})
}

func FuzzDegrees(f *testing.F) {
	f.Add("11.011180")
	f.Fuzz(func(t *testing.T, s string) {
		v, next, ok := microDegrees([]byte(s), 0)
		if !ok || next != len(s) {
			return
		}
		want, err := strconv.ParseFloat(s, 64)
		if err != nil || math.Abs(want*geo.Micro-float64(v)) > 0.5000001 {
			t.Fatalf("%q: %d, not %g", s, v, want)
		}
	})
}
