package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"rogito.dev/rogito/server/internal/api/apitest"
)

// What was never asked or never answered is missing, and only that.
func TestCoverageNoticesWhatWasNeverSeen(t *testing.T) {
	h := testAPI(Options{}).Handler()
	c := apitest.New(t, document31(t, h))
	all := func(*openapi3.Operation) bool { return true }
	v := c.Cover()
	before := v.Missing(all)
	ask := func(method, path, body string) {
		t.Helper()
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer good")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		v.Note(req, []byte(body), w.Code, w.Header(), w.Body.Bytes())
	}
	gone := func() (seen []string) {
		now := v.Missing(all)
		for _, s := range before {
			if !slices.Contains(now, s) {
				seen = append(seen, s)
			}
		}
		return seen
	}
	if len(before) < 20 || len(gone()) != 0 {
		t.Fatalf("%d things are described: %v", len(before), before)
	}
	ask(http.MethodGet, "/things?limit=0", "")
	if got := gone(); len(got) != 1 || !strings.HasSuffix(got[0], "fails with 160") {
		t.Errorf("a refusal: %v", got)
	}
	ask(http.MethodGet, "/nowhere", "")
	ask(http.MethodPost, "/things", `{"name":`)
	if got := gone(); len(got) != 2 || !slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, "fails with 100") }) {
		t.Errorf("another: %v", got)
	}
	ask(http.MethodGet, "/things?limit=5", "")
	got := strings.Join(gone(), "\n")
	if !strings.Contains(got, "with limit") || strings.Contains(got, "with state") || !strings.Contains(got, "as application/json") || !strings.Contains(got, "answered ") {
		t.Errorf("a list: %s", got)
	}
	ask(http.MethodPost, "/things", `{"name":"x"}`)
	if after := strings.Join(gone(), "\n"); !strings.Contains(after, "sent ") || strings.Contains(got, "sent ") {
		t.Errorf("a body: %s", after)
	}
}
