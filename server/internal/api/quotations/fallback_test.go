package quotations

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A publication of one municipality does not hide an older one of all: the newest
// that contains the place answers, unless only the active one may.
func TestOMIFallsBack(t *testing.T) {
	s := newOMIServer(t)
	s.importArchive(t, tinyPublication("2018/2", "F205"), 200)
	elsewhere := tinyPublication("2025/2", "H501")
	elsewhere["k.kml"] = strings.NewReplacer("9,45", "12,41", "10,45", "13,41", "10,46", "13,42", "9,46", "12,42").Replace(elsewhere["k.kml"])
	s.importArchive(t, elsewhere, 200)

	const milan, rome, sea = "latitude=45.5&longitude=9.5", "latitude=41.5&longitude=12.5", "latitude=40&longitude=8"
	const newer = "Publication 2025/2 does not cover this place: the answer is from 2018/2"
	for _, row := range []struct {
		query, semester, message string
	}{
		{rome, `"year":2025,"semester":2`, ""},
		{milan, `"year":2018,"semester":2`, newer},
		{milan + "&strict=false", `"year":2018`, newer},
		{milan + "&strict=true", "", "No OMI zone found for latitude 45.5 and longitude 9.5"},
		{milan + "&semester=2025/2", "", "No OMI zone found for latitude 45.5 and longitude 9.5"},
		{milan + "&semester=2018/2", `"year":2018`, ""},
		{sea, "", "No OMI zone found for latitude 40 and longitude 8"},
		{"latitude=9.5&longitude=45.5", "", "No OMI zone found for latitude 9.5 and longitude 45.5. They look swapped: latitude 45.5 and longitude 9.5 is in Italy"},
		{"latitude=46.001&longitude=9.5&nearest=1000", `"year":2018`, newer},
	} {
		a := s.get(t, "/IT-omi?"+row.query)
		if a.status != 200 || a.Message != row.message || row.semester == "" != (string(a.Data) == "{}") || !strings.Contains(string(a.Data), row.semester) {
			t.Errorf("%s: %s", row.query, a.body)
		}
		if again := s.get(t, "/IT-omi?"+row.query, "If-None-Match", a.header.Get("ETag")); again.status != http.StatusNotModified {
			t.Errorf("%s: %d with its own ETag", row.query, again.status)
		}
	}
	if a := s.get(t, "/IT-omi?"+milan+"&strict=perhaps"); a.status != 422 || *a.Error != 286 {
		t.Errorf("%s", a.body)
	}

	for _, q := range []string{"geometry=", "format=", "nearest=", "strict="} {
		for _, path := range []string{"/IT-omi?" + milan + "&", "/IT-omi/zones/F205/B12?"} {
			if a := s.get(t, path+q); a.status != 422 || *a.Error != 286 {
				t.Errorf("%s%s: %s", path, q, a.body)
			}
		}
	}

	batch := func(more string) (out []struct {
		Found   bool
		Message string
		Result  struct{ Year int }
	},
	) {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, s.URL+"/IT-omi/batch", strings.NewReader(`{"points":[{"latitude":41.5,"longitude":12.5},{"latitude":45.5,"longitude":9.5},{"latitude":"45,5","longitude":9.5}]`+more+`}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if a := s.do(t, r); json.Unmarshal(a.Data, &out) != nil || len(out) != 3 {
			t.Fatalf("%s", a.body)
		}
		return out
	}
	if b := batch(""); b[0].Result.Year != 2025 || b[0].Message != "" || b[1].Result.Year != 2018 || b[1].Message != newer || !strings.Contains(b[2].Message, "after a point, 45.5") {
		t.Errorf("%+v", b)
	}
	if b := batch(`,"strict":true`); !b[0].Found || b[1].Found {
		t.Errorf("%+v", b)
	}

	// What the active one newly covers has another tag.
	before := s.get(t, "/IT-omi?"+milan).header.Get("ETag")
	s.importArchive(t, tinyPublication("2026/1", "A001"), 200)
	if a := s.get(t, "/IT-omi?"+milan, "If-None-Match", before); a.status != 200 || a.Message != "" || !strings.Contains(string(a.Data), `"year":2026`) {
		t.Errorf("%s", a.body)
	}
}

// A comma for a point is told.
func TestOMIDecimalComma(t *testing.T) {
	s := newOMIServer(t)
	a := s.get(t, "/IT-omi?latitude=45,4642&longitude=9,19")
	if a.status != 422 || *a.Error != 283 || a.Message != "latitude is not a number: decimals come after a point, 45.4642" {
		t.Errorf("%s", a.body)
	}
	if a := s.get(t, "/IT-omi?latitude=x,y&longitude=9"); a.Message != "latitude is not a number" {
		t.Errorf("%s", a.body)
	}
}
