package omi

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/geo"
)

// shared is the folder of the official files, which are not part of the project:
// $ROGITO_SHARED, or beside the module.
func shared(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("ROGITO_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "omi")); err != nil {
		t.Skip("SKIPPED: the official files are not there; set ROGITO_SHARED to their folder")
	}
	return filepath.Join(dir, "omi")
}

var (
	nationalOnce sync.Once
	nationalLib  *Library
	nationalErr  error
	nationalDir  string
)

func TestMain(m *testing.M) {
	code := m.Run()
	if nationalDir != "" {
		os.RemoveAll(nationalDir)
	}
	os.Exit(code)
}

// national imports all of Italy, once for all tests.
func national(t testing.TB) *Index {
	t.Helper()
	dir := shared(t)
	await.All(t)
	nationalOnce.Do(func() {
		if nationalDir, nationalErr = os.MkdirTemp("", "omi"); nationalErr != nil {
			return
		}
		if nationalLib, nationalErr = OpenLibrary(nationalDir); nationalErr != nil {
			return
		}
		_, nationalErr = nationalLib.Import(t.Context(), nationalPaths(dir), ImportOptions{})
	})
	if nationalErr != nil {
		t.Fatal(nationalErr)
	}
	return nationalLib.Current().Active()
}

func nationalPaths(dir string) []string {
	return []string{filepath.Join(dir, "csv", "2018-2.zip"), filepath.Join(dir, "kmz-2018-2")}
}

func TestNationalCounts(t *testing.T) {
	r := national(t).Report()
	r.Problems = nil
	want := Report{
		Semester: "2018/2", ProcessedAt: "2019-04-27", Municipalities: 7966, Zones: 27328, Values: 161251,
		ZonesWithGeometry: 26580, ZonesWithValues: 23644, ZonesWithoutValues: 2936, ZonesGeometryOnly: 22, ZonesWithoutGeometry: 748,
		Polygons: 40647, Holes: 9826, Vertices: 15914790, FilesRead: 7748, FilesIgnored: 100, PolygonsDropped: 1, ZonesRepeated: 7,
	}
	if fmt.Sprint(r) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
}

func TestNationalSizes(t *testing.T) {
	ix := national(t)
	if ix.Size() > 140_000_000 {
		t.Errorf("the index has %d bytes", ix.Size())
	}
	// Opening is little more than the checksum over the file.
	b, err := os.ReadFile(nationalLib.Path(ix))
	if err != nil {
		t.Fatal(err)
	}
	sum, open := time.Hour, time.Hour
	for range 3 {
		start := time.Now()
		sha256.Sum256(b)
		sum = min(sum, time.Since(start))
		start = time.Now()
		if _, err := OpenIndex(nationalLib.Path(ix)); err != nil {
			t.Fatal(err)
		}
		open = min(open, time.Since(start))
	}
	t.Logf("opened in %v, checksum alone %v", open, sum)
	if open > 3*sum {
		t.Errorf("opened in %v, checksum alone %v", open, sum)
	}
}

func TestNationalQuirks(t *testing.T) {
	ix := national(t)
	if got := codeAt(ix, 42.57712, 12.62637); got != "L117/C18" {
		t.Errorf("Borgo Rivo: %q", got)
	}
	for code, want := range map[string]string{"F205": "015146", "H501": "058091", "M266": "", "G714": ""} {
		if m, ok := ix.MunicipalityOf(code); !ok || m.ISTATCode != want {
			t.Errorf("%s: ISTAT %q, want %q", code, m.ISTATCode, want)
		}
	}
	if m, ok := ix.MunicipalityOf("M390"); !ok || !strings.Contains(m.Name, "SÈN JAN") {
		t.Errorf("M390 is called %q", m.Name)
	}
	byName := map[string]string{}
	for i := range ix.Municipalities() {
		m, _ := ix.Municipality(i)
		byName[m.Name] = m.ISTATCode
		if len(m.ISTATCode) != 6 && m.CadastralCode != "M266" && m.CadastralCode != "G714" {
			t.Errorf("%s: ISTAT %q", m.CadastralCode, m.ISTATCode)
		}
	}
	if byName["LESSONA"] != "096085" || byName["BORGOMEZZAVALLE"] != "103078" {
		t.Errorf("LESSONA %q, BORGOMEZZAVALLE %q", byName["LESSONA"], byName["BORGOMEZZAVALLE"])
	}
	for place, want := range map[[2]float64]bool{{39.5, 12.5}: false, {48.85, 2.35}: false, {1.17, -4.25}: false} {
		if _, ok := ix.Lookup(place[0], place[1]); ok != want {
			t.Errorf("%v: %v", place, ok)
		}
	}
}

// between are the pieces of b from one mark to another.
func between(b []byte, from, to string) [][]byte {
	var pieces [][]byte
	for {
		_, rest, ok := bytes.Cut(b, []byte(from))
		if !ok {
			return pieces
		}
		piece, rest, _ := bytes.Cut(rest, []byte(to))
		pieces, b = append(pieces, piece), rest
	}
}

// published reads all perimeters in another way than the importer: by their marks, and
// with the decimal numbers of the standard library.
func published(t testing.TB, dir string) []oracleZone {
	t.Helper()
	archives, _ := filepath.Glob(filepath.Join(dir, "kmz-2018-2", "*.kmz"))
	seen := map[string]bool{}
	var all []oracleZone
	for _, path := range archives {
		z, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			for _, mark := range between(b, "<Placemark>", "</Placemark>") {
				if zone := readMark(mark); len(zone.polygons) > 0 && !seen[zone.cadastral+"/"+zone.zone] {
					seen[zone.cadastral+"/"+zone.zone] = true
					all = append(all, zone)
				}
			}
		}
		z.Close()
	}
	return all
}

func readMark(mark []byte) oracleZone {
	codes := between(mark, "<value>", "</value>")
	zone := oracleZone{cadastral: string(codes[1]), zone: string(codes[2])}
	for _, shape := range between(mark, "<Polygon>", "</Polygon>") {
		var rings [][]geo.Point
		astray := false
		for _, c := range between(shape, "<coordinates>", "</coordinates>") {
			var ring []geo.Point
			for _, tuple := range bytes.Fields(c) {
				parts := strings.Split(string(tuple), ",")
				lng, _ := strconv.ParseFloat(parts[0], 64)
				lat, _ := strconv.ParseFloat(parts[1], 64)
				astray = astray || lat < 35
				ring = append(ring, geo.Point{X: int32(math.Round(lng * geo.Micro)), Y: int32(math.Round(lat * geo.Micro))})
			}
			rings = append(rings, ring)
		}
		if !astray {
			zone.polygons = append(zone.polygons, rings)
		}
	}
	return zone
}

// TestNationalOracle asks for 100,000 places all over Italy: anywhere, and where it
// hurts. The index and a search over every published ring must agree on each.
func TestNationalOracle(t *testing.T) {
	ix := national(t)
	o := newOracle(published(t, shared(t)))
	rng := rand.New(rand.NewPCG(2018, 2))
	found := 0
	for i := range 100_000 {
		at := geo.Position{X: 6_600_000_000 + rng.Int64N(12_000_000_000), Y: 36_600_000_000 + rng.Int64N(10_500_000_000)}
		if i%2 == 1 {
			at = o.somewhere(rng)
		}
		lat, lng := degrees(at)
		got, want := codeAt(ix, lat, lng), o.at(at)
		if got != want {
			t.Fatalf("place %d, %.9f %.9f: index %q, oracle %q", i, lat, lng, got, want)
		}
		if want != "" {
			found++
		}
	}
	t.Logf("%d of 100000 places lie in a zone", found)
	if found < 50_000 {
		t.Errorf("only %d places lie in a zone", found)
	}
}

func TestMilanoInTodaysForm(t *testing.T) {
	dir := shared(t)
	supplies, _ := filepath.Glob(filepath.Join(dir, "milano-2025-2", "*.zip"))
	if len(supplies) != 2 {
		t.Fatalf("%d supplies", len(supplies))
	}
	var ids []string
	for _, paths := range [][]string{supplies[:1], supplies[1:], supplies} {
		pub, err := ReadPublication(t.Context(), paths, ImportOptions{AllowPartial: true})
		if err != nil {
			t.Fatal(err)
		}
		r := pub.Report
		if r.Semester != "2025/2" || r.Values != 446 || r.Zones != 43 || r.Polygons != 59 || r.Holes != 5 || r.Vertices != 12433 || r.ZonesWithGeometry != 43 {
			t.Errorf("%+v", r)
		}
		ids = append(ids, r.ProcessedAt)
	}
	if ids[0] == ids[1] || max(ids[0], ids[1]) != ids[2] {
		t.Errorf("days of processing: %v", ids)
	}
	ix := indexOf(t, supplies...)
	if got := codeAt(ix, 45.4642, 9.19); got != "F205/B12" {
		t.Errorf("Duomo: %q", got)
	}
}

func TestSamePlaceBeforeAndAfterARefresh(t *testing.T) {
	dir := shared(t)
	national(t)
	lib, err := OpenLibrary(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	milano, _ := filepath.Glob(filepath.Join(dir, "milano-2025-2", "*.zip"))
	first := filepath.Join(dir, "kmz-2018-2", "Provincia_di_MILANO_2018-2.kmz")
	value := func() int32 {
		z, ok := lib.Current().Active().Lookup(45.4642, 9.19)
		if !ok {
			t.Fatal("no zone at the Duomo")
		}
		return z.Value(0).Sale.Min
	}
	if _, err := lib.Import(t.Context(), []string{filepath.Join(dir, "csv", "2018-2.zip"), first}, ImportOptions{AllowPartial: true}); err != nil {
		t.Fatal(err)
	}
	before := value()
	if _, err := lib.Import(t.Context(), milano[:1], ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if after := value(); after == before {
		t.Errorf("the value stayed %d", after)
	}
	if err := lib.Use(Semester{2018, 2}); err != nil || value() != before {
		t.Errorf("rollback: %v, %d", err, value())
	}
}

func TestHistoryOfNapoliIsManySemesters(t *testing.T) {
	path := filepath.Join(shared(t), "napoli-history")
	if _, err := ReadPublication(t.Context(), []string{path}, ImportOptions{AllowMixed: true}); err == nil {
		t.Fatal("27 semesters passed for one")
	}
	dir := t.TempDir()
	archives, _ := filepath.Glob(filepath.Join(path, "*.zip"))
	z, err := zip.OpenReader(archives[0])
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	bySemester := map[string][]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r)
		r.Close()
		if m := semesterInTitle.FindSubmatch(b[:min(len(b), 200)]); m != nil {
			name := filepath.Join(dir, fmt.Sprint(len(bySemester[string(m[1])]), strings.ReplaceAll(string(m[1]), "/", "-")))
			bySemester[string(m[1])] = append(bySemester[string(m[1])], write(t, name, b))
		}
	}
	if len(bySemester) != 27 {
		t.Fatalf("%d semesters", len(bySemester))
	}
	for sem, paths := range bySemester {
		pub, err := ReadPublication(t.Context(), paths, ImportOptions{AllowPartial: true})
		if err != nil {
			t.Fatalf("%s: %v", sem, err)
		}
		if pub.Report.RowsSkipped != 0 || pub.Report.Values < 482 || pub.Report.Municipalities != 1 {
			t.Errorf("%s: %+v", sem, pub.Report)
		}
	}
}

func TestOlderNationalTables(t *testing.T) {
	await.All(t)
	dir := shared(t)
	for name, want := range map[string][3]int{"2016-1": {162192, 27369, 8006}, "2017-1": {161999, 27355, 7989}, "2018-1": {161635, 27335, 7971}} {
		pub, err := ReadPublication(t.Context(), []string{filepath.Join(dir, "csv", name+".zip")}, ImportOptions{AllowPartial: true})
		if err != nil {
			t.Fatal(err)
		}
		r := pub.Report
		if got := [3]int{r.Values, r.Zones, r.Municipalities}; got != want || r.RowsSkipped != 0 {
			t.Errorf("%s: %v, %d skipped; want %v", name, got, r.RowsSkipped, want)
		}
	}
}

// Neighbours have one border: an edge between two municipalities, of whatever
// window, is there from both sides.
func TestNationalOutlinesFit(t *testing.T) {
	ix := national(t)
	type edge struct{ a, b Point }
	edges := map[edge]string{}
	for _, a := range ix.Areas() {
		o := a.Outline()
		if a.Drawn != (len(o.Rings) > 0) {
			t.Errorf("%s has %d rings", a.CadastralCode, len(o.Rings))
		}
		for _, ring := range o.Rings {
			for i := 1; i < len(ring); i++ {
				edges[edge{ring[i-1], ring[i]}] = a.CadastralCode
			}
		}
	}
	// what lies two squares to the side of an edge; specks that were left out have one side only
	beside := func(e edge, side float64) string {
		x, y := float64(e.a.X+e.b.X)/2, float64(e.a.Y+e.b.Y)/2
		dx, dy := float64(e.b.X-e.a.X), float64(e.b.Y-e.a.Y)
		n := side * 4 / math.Hypot(dx, dy)
		const unit = areaSquare / 2 / 1e6
		z, ok := ix.Lookup((y+dx*n)*unit, (x-dy*n)*unit)
		if !ok {
			return ""
		}
		return z.Municipality().CadastralCode
	}
	inner, torn := 0, 0
	for e, own := range edges {
		left, right := beside(e, 1), beside(e, -1)
		if left != own || right == "" || right == own {
			continue // a coast, a lake, an edge of less than two squares' ground
		}
		inner++
		if edges[edge{e.b, e.a}] == "" {
			torn++
		}
	}
	t.Logf("%d edges between municipalities, %d from one side only", inner, torn)
	if inner < 50_000 || torn*100 > inner {
		t.Errorf("%d of %d edges are from one side only", torn, inner)
	}
}
