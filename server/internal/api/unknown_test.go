package api

import (
	"context"
	"strings"
	"testing"
)

// Unknown members are found in lists and objects within objects, and no more of them are named than
// a person reads.
func TestStrangersWithin(t *testing.T) {
	type point struct {
		Latitude float64 `json:"latitude"`
	}
	type asked struct {
		Points  []point `json:"points"`
		Options struct {
			Level string `json:"level,omitempty"`
		} `json:"options,omitempty"`
		Anything map[string]any `json:"anything,omitempty"`
	}
	a := New(Options{})
	Register(a, Op{Method: "POST", Path: "/ask", ID: "ask", Public: true, Aliases: []string{"other"}},
		func(context.Context, *struct{ Body asked }) (Reply[string], error) { return Found("x"), nil })
	for body, want := range map[string]string{
		`{"points":[{"latitude":1}],"other":1,"anything":{"free":1}}`:                           "",
		`{"points":[{"latitude":1,"latitud":2}]}`:                                               "ignored: points.latitud is unknown: did you mean points.latitude?",
		`{"points":[],"level":"B"}`:                                                             "ignored: level is unknown: did you mean options.level?",
		`{"points":[` + strings.Repeat(`{"latitude":1,"latitud":2},`, 999) + `{"latitude":1}]}`: "ignored: points.latitud is unknown: did you mean points.latitude?",
		`{"points":[` + strings.Repeat(`{"latitude":1},`, 999) + `{"latitude":1,"latitud":2}]}`: "ignored: points.latitud is unknown: did you mean points.latitude?",
	} {
		w, e := ask(t, a.Handler(), "POST", "/ask", body)
		if w.Code != 200 || !strings.HasPrefix(e.Message, want) || want == "" && e.Message != "" || strings.Count(e.Message, "unknown") > 1 {
			t.Errorf("%.80s: %d %q, want %q", body, w.Code, e.Message, want)
		}
		if named := len(w.Header().Values("X-Ignored")); (named > 0) != (want != "") || named > mostUnknown {
			t.Errorf("%.80s: X-Ignored has %d names", body, named)
		}
	}
}
