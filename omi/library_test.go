package omi

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"rogito.dev/rogito/internal/await"
)

func (l *Library) take(t testing.TB, m *made) {
	t.Helper()
	if _, err := l.Import(t.Context(), []string{m.folder(t)}, ImportOptions{}); err != nil {
		t.Fatal(err)
	}
}

func semester(s string) Semester {
	sem, err := ParseSemester(s)
	if err != nil {
		panic(err)
	}
	return sem
}

func TestSampleStepsAside(t *testing.T) {
	lib, err := OpenLibrary(filepath.Join(t.TempDir(), "not", "there", "yet"))
	if err != nil {
		t.Fatal(err)
	}
	if !lib.Current().Active().Report().Sample {
		t.Fatal("no sample at first")
	}
	lib.take(t, village("2004/1", "F205", 9, 45)) // older than the sample's semester
	if set := lib.Current(); len(set.All()) != 1 || set.Active().Report().Sample || set.Active().Semester().String() != "2004/1" {
		t.Fatal("the sample did not step aside")
	}
	if err := lib.Remove(semester("2004/1")); err != nil || !lib.Current().Active().Report().Sample {
		t.Fatalf("the sample did not come back (%v)", err)
	}
}

func TestNewestIsActiveUnlessChosen(t *testing.T) {
	lib := libraryWith(t, village("2018/2", "F205", 9, 45))
	lib.take(t, village("2018/1", "F205", 9, 45))
	active := func() string { return lib.Current().Active().Semester().String() }
	if active() != "2018/2" {
		t.Fatalf("active is %s", active())
	}
	if err := lib.Use(semester("2018/1")); err != nil || active() != "2018/1" {
		t.Fatalf("rollback: %v, active is %s", err, active())
	}
	lib.take(t, village("2019/1", "F205", 9, 45))
	if active() != "2018/1" || len(lib.Current().All()) != 3 {
		t.Fatalf("a new one took over from a chosen one: %s", active())
	}
	again, err := OpenLibrary(lib.dir)
	if err != nil || again.Current().Active().Semester().String() != "2018/1" {
		t.Fatalf("the choice did not last: %v", err)
	}
	if err := lib.Use(Semester{}); err != nil || active() != "2019/1" {
		t.Fatalf("newest: %v, active is %s", err, active())
	}
	if err := lib.Use(semester("1999/1")); !errors.Is(err, ErrUnknownSemester) {
		t.Fatalf("unknown: %v", err)
	}
	if err := lib.Remove(semester("1999/1")); !errors.Is(err, ErrUnknownSemester) {
		t.Fatalf("unknown: %v", err)
	}
	if err := errors.Join(lib.Use(semester("2018/1")), lib.Remove(semester("2018/1"))); err != nil || active() != "2019/1" {
		t.Fatalf("removing the chosen one: %v, active is %s", err, active())
	}
}

func TestSameSemesterIsReplaced(t *testing.T) {
	lib := libraryWith(t, village("2018/2", "F205", 9, 45))
	lib.take(t, village("2018/2", "A001", 9, 45))
	files, _ := filepath.Glob(filepath.Join(lib.dir, "*.omi"))
	if len(files) != 1 || codeAt(lib.Current().Active(), 45.5, 9.5) != "A001/B1" {
		t.Fatalf("%d files", len(files))
	}
}

func TestAnotherProcessIsTakenOver(t *testing.T) {
	lib := libraryWith(t, village("2018/1", "F205", 9, 45))
	other, err := OpenLibrary(lib.dir)
	if err != nil {
		t.Fatal(err)
	}
	other.take(t, village("2018/2", "A001", 9, 45))
	if codeAt(lib.Current().Active(), 45.5, 9.5) != "F205/B1" {
		t.Fatal("changed without a refresh")
	}
	if changed, err := lib.Refresh(); !changed || err != nil || codeAt(lib.Current().Active(), 45.5, 9.5) != "A001/B1" {
		t.Fatalf("%v, %v", changed, err)
	}
	if changed, err := lib.Refresh(); changed || err != nil {
		t.Fatalf("nothing happened, yet %v, %v", changed, err)
	}
}

func TestDamagedFileIsLeftOut(t *testing.T) {
	lib := libraryWith(t, village("2018/1", "F205", 9, 45))
	write(t, filepath.Join(lib.dir, fileName(semester("2018/2"), "0123456789ab")), []byte("RogitOMI and no more"))
	_, err := lib.Refresh()
	if !errors.Is(err, ErrIndex) || lib.Current().Active().Semester().String() != "2018/1" {
		t.Fatalf("%v", err)
	}
	if _, err := OpenLibrary(lib.dir); !errors.Is(err, ErrIndex) {
		t.Fatalf("%v", err)
	}
}

// TestSwapUnderLoad imports again and again while others ask: every answer is of
// one publication, and there is always one.
func TestSwapUnderLoad(t *testing.T) {
	lib := libraryWith(t, village("2018/1", "A001", 9, 45))
	var asked atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				set := lib.Current()
				ix := set.Active()
				z, ok := ix.Lookup(45.5, 9.5)
				want := map[int]string{1: "A001", 2: "F205"}[ix.Semester().Half]
				if !ok || z.Municipality().CadastralCode != want || z.Index() != ix {
					t.Errorf("%s answered %v %s", ix.Semester(), ok, z.Municipality().CadastralCode)
					return
				}
				asked.Add(1)
			}
		})
	}
	for i := range 20 {
		half := []string{"1", "2"}[i%2]
		code := []string{"A001", "F205"}[i%2]
		lib.take(t, village("2018/"+half, code, 9, 45))
		if i%5 == 4 {
			_ = lib.Remove(semester("2018/2"))
		}
	}
	await.Until(t, "a hundred lookups", func() bool { return t.Failed() || asked.Load() >= 100 })
	stop()
	wg.Wait()
}

func TestWatchedFolder(t *testing.T) {
	dir := t.TempDir()
	lib, err := OpenLibrary(filepath.Join(t.TempDir(), "omi"))
	if err != nil {
		t.Fatal(err)
	}
	poll := func(w *Watcher) []Outcome {
		t.Helper()
		out, err := w.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	w := &Watcher{Dir: dir, Library: lib}
	if out := poll(w); out != nil {
		t.Fatalf("an empty folder: %v", out)
	}
	m := two()
	packed := zipped(t, map[string]string{"a.csv": m.valori(), "b.csv": m.zoneTable()})
	write(t, filepath.Join(dir, "on-its-way.zip.part"), packed)
	growing := write(t, filepath.Join(dir, owner), packed[:100])
	if out := poll(w); out != nil {
		t.Fatalf("a file that just appeared was taken: %v", out)
	}
	write(t, growing, packed)
	if out := poll(w); out != nil {
		t.Fatalf("a growing file was taken: %v", out)
	}
	// tables alone are refused once, unless partial publications may be taken
	var refused *RefusedError
	if out := poll(w); len(out) != 1 || !errors.As(out[0].Err, &refused) || !refused.Partial || !lib.Current().Active().Report().Sample {
		t.Fatalf("%+v", out)
	}
	if out := poll(w); out != nil {
		t.Fatalf("taken twice: %v", out)
	}
	// the perimeters come later, in an archive of their own
	kmz := map[string]string{}
	for code, body := range m.kml {
		kmz[code+".kml"] = document(m.semester, body)
	}
	write(t, filepath.Join(dir, "perimeters.kmz"), zipped(t, kmz))
	poll(w)
	if out := poll(w); len(out) != 1 || out[0].Report.ZonesWithGeometry != 2 {
		t.Fatalf("%+v", out)
	}
	if codeAt(lib.Current().Active(), 45.5, 9.5) != "F205/B1" {
		t.Fatal("not served")
	}
	// another process starts on the same folders: nothing is new to it
	w = &Watcher{Dir: dir, Library: lib}
	poll(w)
	if out := poll(w); out != nil {
		t.Fatalf("taken again after a restart: %v", out)
	}
	// a damaged one is refused once, and what is served stays
	write(t, filepath.Join(dir, "bad.zip"), packed[:200])
	poll(w)
	if out := poll(w); len(out) != 1 || out[0].Err == nil {
		t.Fatalf("%+v", out)
	}
	if out := poll(w); out != nil || codeAt(lib.Current().Active(), 45.5, 9.5) != "F205/B1" {
		t.Fatalf("%+v", out)
	}
	if b, err := os.ReadFile(filepath.Join(lib.dir, handledFile)); err != nil || len(b) == 0 {
		t.Fatal(err)
	}
}

func TestSampleShowsWhatTheFormatCanDo(t *testing.T) {
	ix := sample()
	r := ix.Report()
	if r.Holes == 0 || r.Polygons <= r.Zones || r.ZonesWithoutValues == 0 || r.RowsSkipped+r.PolygonsDropped+r.FilesUnreadable != 0 {
		t.Errorf("%+v", r)
	}
	for place, want := range map[[2]float64]string{
		{38.6, 17.6}: "Z999/B1", {38.6, 17.614}: "Z999/C1", {38.63, 17.6}: "Z999/R1", {38.6, 17.555}: "Z999/D1",
		{38.612, 17.635}: "Z999/E1", {38.615, 17.640}: "", {41.9, 12.5}: "",
	} {
		if got := codeAt(ix, place[0], place[1]); got != want {
			t.Errorf("%v: %q, want %q", place, got, want)
		}
	}
	unquoted := false
	for i := range ix.Municipalities() {
		m, _ := ix.Municipality(i)
		zones, _ := ix.ZonesOf(m.CadastralCode)
		for _, z := range zones {
			for i := range z.Values() {
				unquoted = unquoted || !z.Value(i).RentQuoted
			}
		}
	}
	if !unquoted {
		t.Error("every side is quoted")
	}
}

// Opening a library does not compute checksums; Check does, once, and leaves out
// what is damaged.
func TestCheckLeavesOutWhatIsDamaged(t *testing.T) {
	lib := libraryWith(t, village("2018/1", "F205", 9, 45))
	lib.take(t, village("2018/2", "A001", 9, 45))
	path := lib.Path(lib.Current().Active())
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("A001"))
	b[at+3] = '2' // another municipality, and nothing that leads astray
	write(t, path, b)
	other, err := OpenLibrary(lib.dir)
	if err != nil || other.Current().Active().Semester().String() != "2018/2" {
		t.Fatalf("%v", err)
	}
	for i, want := range []error{ErrIndex, nil} { // it is said once
		if err := other.Check(); !errors.Is(err, want) || other.Current().Active().Semester().String() != "2018/1" {
			t.Errorf("look %d: %v", i, err)
		}
	}
	if _, err := other.Refresh(); err != nil || len(other.Current().All()) != 1 {
		t.Errorf("it is back: %v", err)
	}
	// a good one in its place is taken again
	if err := other.Remove(semester("2018/2")); err != nil {
		t.Fatal(err)
	}
	other.take(t, village("2018/2", "A001", 9, 45))
	if err := other.Check(); err != nil || other.Current().Active().Semester().String() != "2018/2" {
		t.Errorf("%v", err)
	}
}
