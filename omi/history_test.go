package omi

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// told is a history in a line.
func told(list []Past) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "%s %s %d", p.Zone.Index().Semester(), p.Zone.Code(), p.Zone.Values())
		if p.Named {
			b.WriteString(" named")
		}
		b.WriteString("; ")
	}
	return b.String()
}

func TestHistory(t *testing.T) {
	square := box([4]float64{9, 45, 10, 46})
	drawn := func(semester string) *made {
		return newMade(semester).zone("A001", "B1").value("A001", "B1", dwelling).perimeter("A001", "B1", square)
	}
	lib := libraryWith(t, drawn("2018/2"))
	for _, m := range []*made{
		// values without perimeters: the same zone by its name
		newMade("2018/1").zone("A001", "B1").zone("A001", "C1").value("A001", "B1", dwelling),
		// the code, of another place
		{semester: "2017/2", day: "27-APR-19", zones: []string{zoneLine("A001", "B1", "ANOTHER PLACE")}, values: drawn("2017/2").values, kml: map[string]string{}},
		// perimeters of another municipality only: still none of this one
		newMade("2017/1").zone("A001", "B1").value("A001", "B1", dwelling).zone("A002", "B1").value("A002", "B1", dwelling).perimeter("A002", "B1", box([4]float64{11, 45, 12, 46})),
		// perimeters of the municipality: the place lies in none of them
		newMade("2016/2").zone("A001", "B1").value("A001", "B1", dwelling).zone("A001", "C1").value("A001", "C1", dwelling).perimeter("A001", "C1", box([4]float64{11, 45, 12, 46})),
		// no such municipality
		newMade("2016/1").zone("A002", "B1").value("A002", "B1", dwelling),
		// nearer to a drawing in which the place is another zone, which it lacks
		newMade("2015/2").zone("A001", "B1").zone("A001", "C1").value("A001", "C1", dwelling),
		// drawn again, as another zone: what is older goes by that
		newMade("2015/1").zone("A001", "D1").value("A001", "D1", dwelling).perimeter("A001", "D1", square),
		newMade("2014/2").zone("A001", "D1").zone("A001", "B1").value("A001", "D1", dwelling),
	} {
		if _, err := lib.Import(context.Background(), []string{m.folder(t)}, ImportOptions{AllowPartial: true}); err != nil {
			t.Fatalf("%s: %v", m.semester, err)
		}
	}
	want := "2018/2 B1 1; 2018/1 B1 1 named; 2017/1 B1 1 named; 2015/1 D1 1; 2014/2 D1 1 named; "
	if got := told(lib.Current().History(45.5, 9.5)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := told(lib.Current().History(45.5, 20)); got != "" {
		t.Errorf("outside every zone: %s", got)
	}
}

// The real supply: perimeters of one semester, values of others.
func TestHistoryOfTheSupply(t *testing.T) {
	dir := shared(t)
	lib, err := OpenLibrary(filepath.Join(t.TempDir(), "omi"))
	if err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{
		{filepath.Join(dir, "csv", "2018-2.zip"), filepath.Join(dir, "kmz-2018-2", "Provincia_di_PRATO_2018-2.kmz")},
		{filepath.Join(dir, "csv", "2018-1.zip")},
		{filepath.Join(dir, "csv", "2016-1.zip")},
	} {
		if _, err := lib.Import(context.Background(), paths, ImportOptions{AllowPartial: true}); err != nil {
			t.Fatal(err)
		}
	}
	prato := told(lib.Current().History(43.8805, 11.0966)) // the cathedral square
	if !strings.HasPrefix(prato, "2018/2 B") || strings.Count(prato, " named; ") != 2 || !strings.Contains(prato, "2016/1 ") {
		t.Errorf("Prato: %s", prato)
	}
}
