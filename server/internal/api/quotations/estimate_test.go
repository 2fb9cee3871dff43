package quotations

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"rogito.dev/rogito/omi"
)

func TestOMIEstimate(t *testing.T) {
	s := newOMIServer(t)
	for _, where := range []string{"latitude=38.6&longitude=17.6", "lat=38.6&lng=17.6", "zone=Z999/B1", "zone=z999%2Fb1"} {
		a := s.get(t, "/IT-omi/estimate?surface=85&"+where)
		var e propertyEstimate
		dec := json.NewDecoder(bytes.NewReader(a.Data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&e); err != nil || a.status != 200 {
			t.Fatalf("%s: %v %s", where, err, a.body)
		}
		if e.OMIZone != "B1" || e.PropertyType != "Abitazioni civili" || e.Condition != "NORMALE" || e.Surface != 85 || *e.SurfaceKind != "gross" || e.Source != omi.Attribution || e.Caveat == "" {
			t.Errorf("%s: %s", where, a.Data)
		}
		// 2,100 to 2,900 a square metre; 7.5 to 10.2 a month
		if e.Sale.Min != 178500 || e.Sale.Max != 246500 || e.Rent.Min != 637.5 || e.Rent.Max != 867 || e.Yield.Min != 3.1 || e.Yield.Max != 5.83 {
			t.Errorf("%s: %+v %+v %+v", where, e.Sale, e.Rent, e.Yield)
		}
	}
	if left := s.meter.left.Load(); left != 1436 {
		t.Errorf("four estimates leave %d of 1440 lookups", left)
	}
	for query, want := range map[string]string{
		"surface=85&zone=Z999/B1&property_type=castello":                    "Quoted there: Abitazioni civili",
		"surface=85&zone=Z999/B1&property_type=20&condition=scadente":       "in condition SCADENTE",
		"surface=85&zone=Z999/B9":                                           "B9",
		"surface=85&zone=Z999/R1":                                           "R1",
		"surface=85&latitude=41.9&longitude=12.5":                           "41.9",
		"surface=85&zone=Z999/B1&property_type=Negozi&condition=":           "!net",
		"surface=85&zone=Z999/C1&property_type=uffici&semester=2026/1":      "!",
		"surface=85,5&zone=Z999/B1":                                         "286",
		"zone=Z999/B1":                                                      "286",
		"surface=&zone=Z999/B1":                                             "286",
		"surface=0&zone=Z999/B1":                                            "286",
		"surface=-3&zone=Z999/B1":                                           "286",
		"surface=NaN&zone=Z999/B1":                                          "286",
		"surface=1e9&zone=Z999/B1":                                          "286",
		"surface=85&zone=B1":                                                "286",
		"surface=85&zone=Z999/B1&condition=rovina":                          "286",
		"surface=85&zone=Z999/B1&latitude=38.6&longitude=17.6":              "286",
		"surface=85&latitude=38.6":                                          "283",
		"surface=85&latitude=138.6&longitude=9":                             "281",
		"surface=85&latitude=38.6&longitude=190":                            "282",
		"surface=85&zone=Z999/B1&semester=1999/1":                           "284",
		"surface=85&zone=Z999/B1&property_type=" + strings.Repeat("x", 201): "286",
	} {
		a := s.get(t, "/IT-omi/estimate?"+query)
		switch {
		case len(want) == 3:
			if a.status != 422 || a.Error == nil || strings.TrimSpace(string(mustJSON(t, *a.Error))) != want {
				t.Errorf("%s: %d %s", query, a.status, a.body)
			}
		case strings.HasPrefix(want, "!"):
			if a.status != 200 || string(a.Data) == "{}" || !strings.Contains(a.Message, want[1:]) {
				t.Errorf("%s: %s", query, a.body)
			}
		case a.status != 200 || string(a.Data) != "{}" || !strings.Contains(a.Message, want):
			t.Errorf("%s: %s", query, a.body)
		}
	}
	tag := s.get(t, "/IT-omi/estimate?surface=85&zone=Z999/B1").header.Get("Etag")
	if a := s.get(t, "/IT-omi/estimate?surface=85&zone=Z999/B1", "If-None-Match", tag); a.status != 304 {
		t.Errorf("%d, want 304", a.status)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
