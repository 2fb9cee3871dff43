package geocode

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/fetch"
)

func TestFind(t *testing.T) {
	answers := map[string]string{
		"via torino 10, milano": `[{"lat":"45.462","lon":"9.186","display_name":"Via Torino 10, Milano"},{"lat":"48.85","lon":"2.35","display_name":"Paris"}]`,
		"20121":                 `{"type":"FeatureCollection","features":[{"geometry":{"type":"Point","coordinates":[9.19,45.47]},"properties":{"postcode":"20121","city":"Milano"}}]}`,
		"nonsense":              `<html>`,
		"nothing":               `[]`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("q") == "broken" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write([]byte(answers[r.URL.Query().Get("q")]))
	}))
	defer s.Close()
	guard, err := fetch.New(fetch.Config{AllowPrivate: []string{strings.TrimPrefix(s.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	c := New(s.URL+"/search?q={q}", guard)
	for q, want := range map[string]string{"via torino 10, milano": "Via Torino 10, Milano", "20121": "20121, Milano", "nothing": ""} {
		places, err := c.Find(t.Context(), q)
		if err != nil || len(places) > 1 || len(places) == 1 && (places[0].Name != want || places[0].Lat < 45) || (len(places) == 0) != (want == "") {
			t.Errorf("%q: %+v, %v", q, places, err)
		}
	}
	for _, q := range []string{"nonsense", "broken"} {
		if _, err := c.Find(t.Context(), q); err == nil || strings.Contains(err.Error(), q) {
			t.Errorf("%q: %v", q, err)
		}
	}
	for template, good := range map[string]bool{
		"": true, "https://geo.example.org/?q={q}": true, "https://geo.example.org/{q}.json?key=k": true, "https://geo.example.org/": false, "geo.example.org/{q}": false, "file:///{q}": false,
		// Visitors do not say who is asked.
		"https://{q}/": false, "https://{q}.example.org/?q={q}": false, "https://geo.example.org{q}/": false, "https://geo.example.org:{q}/?q={q}": false,
		"https://{q}@geo.example.org/?q={q}": false, "https://geo.example.org/#{q}": false, "https{q}://geo.example.org/?q={q}": false,
	} {
		if err := Check(template); (err == nil) != good {
			t.Errorf("%q: %v", template, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"lat":"45.462","lon":9.186,"display_name":"x"}]`))
	f.Add([]byte(`{"features":[{"geometry":{"coordinates":[9.19,45.47]},"properties":{"label":"x"}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		places, err := parse(b)
		if err != nil && places != nil || len(places) > mostPlaces {
			t.Errorf("%d places, %v", len(places), err)
		}
	})
}
