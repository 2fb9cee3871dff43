package quotations

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/publication"
)

// Where no publication is imported, and the sample may not stand in, every lookup
// says so; the list is empty.
func TestNoPublicationIsLoaded(t *testing.T) {
	k, err := publication.Open(publication.Config{Dir: t.TempDir(), Official: true})
	if err != nil {
		t.Fatal(err)
	}
	a := api.New(api.Options{Gate: omiGate{}})
	RegisterOMI(a, &OMI{Publications: k})
	s := httptest.NewServer(a.Handler())
	defer s.Close()
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/IT-omi?latitude=45&longitude=9", ""},
		{"GET", "/IT-omi?latitude=45&longitude=9&semester=2018/2", ""},
		{"POST", "/IT-omi/batch", `{"points":[{"id":"a","latitude":45,"longitude":9}]}`},
		{"GET", "/IT-omi/history?latitude=45&longitude=9", ""},
		{"GET", "/IT-omi/municipalities", ""},
		{"GET", "/IT-omi/municipalities/A001", ""},
		{"GET", "/IT-omi/zones?bbox=9,45,9.5,45.5", ""},
		{"GET", "/IT-omi/zones/A001/B1", ""},
	} {
		if got := askOMI(t, s.URL, c.method, c.path, c.body); !strings.HasPrefix(got, "503") || !strings.HasSuffix(got, `"error":285}`) {
			t.Errorf("%s %s: %s", c.method, c.path, got)
		}
	}
	if got := askOMI(t, s.URL, "GET", "/IT-omi/publications", ""); !strings.HasPrefix(got, `200 OK {"data":[],`) {
		t.Errorf("publications: %s", got)
	}
}

func askOMI(t *testing.T, url, method, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer user")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status + " " + string(b)
}
