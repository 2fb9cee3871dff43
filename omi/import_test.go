package omi

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/limits"
)

// two is a publication with two municipalities.
func two() *made {
	return village("2018/2", "F205", 9, 45).zone("A001", "R1").perimeter("A001", "R1", box([4]float64{11, 45, 12, 46}))
}

func TestEveryPackagingGivesTheSameIndex(t *testing.T) {
	m := two()
	want := m.index(t).ID()
	dir := t.TempDir()
	tables := map[string]string{"VALORI.csv": m.valori(), "ZONE.csv": m.zoneTable()}
	kmz := map[string]string{"index.kml": "<kml><Document><name>X</name></Document></kml>"}
	for code, body := range m.kml {
		kmz["Comuni/Comune di \xC8 "+code+".kml"] = document(m.semester, body)
	}
	packed := zipped(t, m.files())
	for name, paths := range map[string][]string{
		"one archive":         {write(t, filepath.Join(dir, "a", "QIP1.zip"), packed)},
		"archive, odd name":   {write(t, filepath.Join(dir, "b", "nothing-to-say"), packed)},
		"tables and kmz":      {write(t, filepath.Join(dir, "c", "t.zip"), zipped(t, tables)), write(t, filepath.Join(dir, "c", "p.kmz"), zipped(t, kmz))},
		"folder of archives":  {filepath.Join(dir, "c")},
		"archive in archives": {write(t, filepath.Join(dir, "d", "n.zip"), zipped(t, map[string]string{"in.zip": string(zipped(t, map[string]string{"x.kmz": string(packed)}))}))},
		"with other files":    {write(t, filepath.Join(dir, "e", "m.zip"), zipped(t, map[string]string{"all.zip": string(packed), "readme.txt": "hello", "__MACOSX/._x": "x", ".DS_Store": "x"}))},
		"delivered twice":     {filepath.Join(dir, "a"), filepath.Join(dir, "b")},
	} {
		pub, err := ReadPublication(context.Background(), paths, ImportOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := pub.Report
		if r.Zones != 2 || r.Values != 1 || r.Municipalities != 2 || r.Polygons != 2 || r.FilesUnreadable != 0 {
			t.Errorf("%s: %+v", name, r)
		}
		pub.Report = m.publication(t).Report // counts of files may differ
		var b bytes.Buffer
		if err := pub.WriteIndex(&b); err != nil {
			t.Fatal(err)
		}
		ix, err := ParseIndex(b.Bytes())
		if err != nil || ix.ID() != want {
			t.Errorf("%s: %v, another index", name, err)
		}
	}
}

func (m *made) publication(t testing.TB) *Publication {
	t.Helper()
	pub, err := ReadPublication(context.Background(), []string{m.folder(t)}, ImportOptions{AllowPartial: true})
	if err != nil {
		t.Fatal(err)
	}
	return pub
}

// owner is the tax code of a made-up person, as official archives are named.
const owner = "QIP123456_RSSMRA80A01H501U.zip"

func TestRefusals(t *testing.T) {
	good := two()
	packed := zipped(t, good.files())
	otherSemester := good.files()
	otherSemester["A001.kml"] = strings.ReplaceAll(otherSemester["A001.kml"], "2018/2", "2018/1")
	badHeader := good.files()
	badHeader["two"] = strings.Replace(badHeader["two"], "Microzona", "Micro", 1)
	noValues := good.files()
	delete(noValues, "one.dat")
	noZones := good.files()
	delete(noZones, "two")
	deep := packed
	for range limits.OMINesting + 1 {
		deep = zipped(t, map[string]string{"in.zip": string(deep)})
	}
	for name, c := range map[string]struct {
		archive []byte
		reason  string
	}{
		"cut short":           {packed[:len(packed)/2], "damaged or cut short"},
		"a byte changed":      {flipped(packed), "damaged"},
		"cut short, inside":   {zipped(t, map[string]string{"in.kmz": string(packed[:len(packed)-40])}), "damaged or cut short"},
		"different semesters": {zipped(t, otherSemester), "different semesters: 2018/1, 2018/2"},
		"bad header":          {zipped(t, badHeader), "header"},
		"no VALORI":           {zipped(t, noValues), "VALORI"},
		"no ZONE":             {zipped(t, noZones), "ZONE"},
		"nothing":             {zipped(t, nil), "VALORI"},
		"nested too deep":     {deep, "nest"},
		"a bomb":              {bomb(t, limits.OMIFile+1), "unpacks to more than"},
	} {
		path := write(t, filepath.Join(t.TempDir(), owner), c.archive)
		lib := libraryWith(t, village("2018/2", "Z001", 8, 44))
		before := lib.Current().Active().ID()
		_, err := lib.Import(context.Background(), []string{path}, ImportOptions{})
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason, c.reason) {
			t.Errorf("%s: %v, want %q", name, err, c.reason)
			continue
		}
		if strings.Contains(err.Error(), "RSSMRA") || strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error names the archive: %v", name, err)
		}
		if _, err := lib.Refresh(); err != nil || lib.Current().Active().ID() != before {
			t.Errorf("%s: what was served changed (%v)", name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(lib.dir, ".new-*")); len(left) > 0 {
			t.Errorf("%s: %v left behind", name, left)
		}
	}
}

func TestMissingPathIsNotNamed(t *testing.T) {
	_, err := ReadPublication(context.Background(), []string{filepath.Join(t.TempDir(), owner)}, ImportOptions{})
	if err == nil || strings.Contains(err.Error(), "RSSMRA") {
		t.Fatalf("%v", err)
	}
}

// flipped changes a byte in the middle of the largest entry.
func flipped(b []byte) []byte {
	c := bytes.Clone(b)
	z, _ := zip.NewReader(bytes.NewReader(c), int64(len(c)))
	at, _ := z.File[0].DataOffset()
	c[at+int64(z.File[0].CompressedSize64/2)] ^= 0x55
	return c
}

// bomb is a small archive with a table that unpacks to n bytes.
func bomb(t *testing.T, n int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("VALORI.csv")
	if err != nil {
		t.Fatal(err)
	}
	chunk := bytes.Repeat([]byte{' '}, 1<<20)
	for ; n > 0; n -= int64(len(chunk)) {
		if _, err := w.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func libraryWith(t testing.TB, m *made) *Library {
	t.Helper()
	lib, err := OpenLibrary(filepath.Join(t.TempDir(), "omi"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lib.Import(context.Background(), []string{m.folder(t)}, ImportOptions{AllowPartial: true}); err != nil {
		t.Fatal(err)
	}
	return lib
}

func TestMixedSemestersWhenAllowed(t *testing.T) {
	m := two()
	files := m.files()
	files["A001.kml"] = strings.ReplaceAll(files["A001.kml"], "2018/2", "2017/1")
	files["one.dat"] = strings.ReplaceAll(files["one.dat"], "2018/2", "2018/1")
	path := write(t, filepath.Join(t.TempDir(), "x.zip"), zipped(t, files))
	pub, err := ReadPublication(context.Background(), []string{path}, ImportOptions{AllowMixed: true})
	if err != nil {
		t.Fatal(err)
	}
	if pub.Semester.String() != "2018/1" || len(pub.Report.Mixed) != 3 {
		t.Errorf("semester %s, mixed %v", pub.Semester, pub.Report.Mixed)
	}
	files["three"] = village("2015/1", "F205", 9, 45).valori()
	write(t, path, zipped(t, files))
	if _, err := ReadPublication(context.Background(), []string{path}, ImportOptions{AllowMixed: true}); err == nil {
		t.Error("values of two semesters were taken")
	}
}

// A supply of several semesters is as good as one supply each, flat or in archives of
// their own; where a file could belong to two, all of it is refused.
func TestSeveralSemesters(t *testing.T) {
	flat, nested := map[string]string{}, map[string]string{}
	var want []string
	for i, semester := range []string{"2017/2", "2018/1", "2018/2"} {
		m := village(semester, "F205", 9, 45+float64(i))
		want = append(want, m.index(t).ID())
		nested[fmt.Sprintf("%d.zip", i)] = string(zipped(t, m.files()))
		for name, text := range m.files() {
			flat[fmt.Sprint(i, name)] = text
		}
	}
	for _, files := range []map[string]string{flat, nested} {
		path := write(t, filepath.Join(t.TempDir(), "all.zip"), zipped(t, files))
		lib, err := OpenLibrary(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		reports, err := lib.ImportAll(t.Context(), []string{path}, ImportOptions{})
		if err != nil || len(reports) != 3 {
			t.Fatalf("%d publications, %v", len(reports), err)
		}
		var got []string
		for _, ix := range lib.Current().All() {
			got = append(got, ix.ID())
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		files["doubt.kml"] = strings.Replace(document("2018/2", "<Placemark/>"), "2018/2", "2016/1", 1)
		files["doubt"] = village("2016/1", "F205", 9, 45).zoneTable()
		write(t, path, zipped(t, files))
		if _, err := lib.ImportAll(t.Context(), []string{path}, ImportOptions{}); err == nil || !strings.Contains(err.Error(), "2016/1") {
			t.Errorf("zones without values: %v", err)
		}
	}
}

func TestBadFilesAreCounted(t *testing.T) {
	files := two().files()
	files["A001.kml"] = files["A001.kml"][:300]
	files["B002.kml"] = "\x00\x01\x02"
	files["photo.jpg"] = "\xFF\xD8"
	path := write(t, filepath.Join(t.TempDir(), owner), zipped(t, files))
	pub, err := ReadPublication(context.Background(), []string{path}, ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := pub.Report
	if r.FilesUnreadable != 2 || r.FilesIgnored != 1 || r.ZonesWithGeometry != 1 || r.ZonesWithoutGeometry != 1 || len(r.Problems) != 2 {
		t.Errorf("%+v", r)
	}
	if strings.Contains(strings.Join(r.Problems, " "), "RSSMRA") {
		t.Error("the report names the archive")
	}
}

func TestCorrectedSupplyReplacesItsMunicipality(t *testing.T) {
	old := newMade("2025/2").zone("F205", "B1").zone("F205", "D15").zone("A001", "R1").
		value("F205", "B1", dwelling).value("F205", "D15", dwelling)
	corrected := newMade("2025/2").zone("F205", "B1").value("F205", "B1", strings.Replace(dwelling, "810", "900", 1))
	old.day, corrected.day = "18-APR-26", "14-MAG-26"
	ix := indexOf(t, old.folder(t), corrected.folder(t))
	if r := ix.Report(); r.Zones != 2 || r.Values != 1 || r.ProcessedAt != "2026-05-14" || r.RowsSuperseded != 4 {
		t.Errorf("%+v", r)
	}
	z, ok := ix.Zone("F205", "B1")
	if !ok || z.Value(0).Sale.Min != 900_000 {
		t.Errorf("zone %v: %+v", ok, z.Value(0))
	}
	if _, ok := ix.Zone("F205", "D15"); ok {
		t.Error("a zone of the superseded supply is there")
	}
}

func TestDuplicateRowsAndZones(t *testing.T) {
	m := village("2018/2", "F205", 9, 45)
	m.zone("F205", "B1").value("F205", "B1", dwelling)
	m.perimeter("F205", "B1", box([4]float64{9, 45, 10, 46}), box([4]float64{11, 45, 12, 46}))
	r := m.publication(t).Report
	if r.RowsDuplicate != 2 || r.Values != 1 || r.Zones != 1 || r.Polygons != 2 {
		t.Errorf("%+v", r)
	}
}

func TestImportStopsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := ReadPublication(ctx, []string{two().folder(t)}, ImportOptions{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestNamesInReports(t *testing.T) {
	for in, want := range map[string]string{
		"a/QIP_1_RSSMRA80A01H501U.csv":  "QIP_1_***.csv",
		"dir/QIP1_RSSMRA80A01H501U.zip": "archive",
		"x/Provincia.kmz":               "archive",
		"Comuni/Comune di FI\xC8.kml":   "Comune di FIÈ.kml",
		"QI_12345678901_x.csv":          "QI_***_x.csv",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestProgressReachesTheEnd(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "p.zip"), zipped(t, two().files()))
	var last, all int64
	opts := ImportOptions{Workers: 1, Progress: func(done, total int64) { last, all = done, total }}
	if _, err := ReadPublication(context.Background(), []string{path}, opts); err != nil {
		t.Fatal(err)
	}
	if last != all || all == 0 {
		t.Errorf("%d of %d", last, all)
	}
}

// A supply that answers for less than it seems to is refused, unless that is
// allowed: it would take the place of one that answers for all of it.
func TestPartialSupplies(t *testing.T) {
	files := func(change func(map[string]string)) map[string]string {
		all := two().files()
		change(all)
		return all
	}
	kml := func(all map[string]string) string { return all["A001.kml"] + all["F205.kml"] }
	if kml(two().files()) == "" {
		t.Fatal("the supply has no perimeters")
	}
	rename := func(to string) map[string]string {
		return files(func(all map[string]string) {
			for name, content := range all {
				if strings.HasSuffix(name, ".kml") {
					delete(all, name)
					all[to+name] = content
				}
			}
		})
	}
	third := newMade("2018/2").zone("A001", "B1").zone("A001", "C1").zone("A001", "D1").value("A001", "B1", dwelling).perimeter("A001", "B1", box([4]float64{9, 45, 10, 46}))
	for name, c := range map[string]struct {
		files  map[string]string
		reason string // empty: it is taken
	}{
		"whole":                  {two().files(), ""},
		"a stray text":           {files(func(all map[string]string) { all[".notes"], all["__MACOSX/._A001.kml"] = "hello", "\x00\x05\x16\x07" }), ""},
		"no perimeters":          {files(func(all map[string]string) { delete(all, "A001.kml"); delete(all, "F205.kml") }), "no zone has a perimeter"},
		"one of three":           {third.files(), "only 1 of 3 zones"},
		"hidden files":           {rename("."), "hidden by their names"},
		"hidden by their folder": {rename(".x/"), "hidden by their names"},
		"hidden, and there too": {files(func(all map[string]string) {
			for name, content := range rename("__MACOSX/") {
				all[name] = content
			}
		}), "hidden by their names"},
		"a hidden archive": {files(func(all map[string]string) { all[".more.zip"] = string(zipped(t, two().files())) }), "hidden by their names"},
	} {
		dir := t.TempDir()
		for file, content := range c.files {
			write(t, filepath.Join(dir, file), []byte(content))
		}
		for form, path := range map[string]string{"folder": dir, "archive": write(t, filepath.Join(t.TempDir(), owner), zipped(t, c.files))} {
			_, err := ReadPublication(t.Context(), []string{path}, ImportOptions{})
			var refused *RefusedError
			switch {
			case c.reason == "" && err != nil:
				t.Errorf("%s, %s: %v", name, form, err)
			case c.reason != "" && (!errors.As(err, &refused) || !refused.Partial || !strings.Contains(refused.Reason, c.reason)):
				t.Errorf("%s, %s: %v, want %q", name, form, err, c.reason)
			}
			if _, err := ReadPublication(t.Context(), []string{path}, ImportOptions{AllowPartial: true}); err != nil {
				t.Errorf("%s, %s, allowed: %v", name, form, err)
			}
		}
	}
}
