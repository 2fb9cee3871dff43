package soap

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/remote"
)

// Calls go out one after another at the rate that was set, whichever they are and
// however many ask at once; those that come back are counted by what came of them.
func TestRate(t *testing.T) {
	var mu sync.Mutex
	var came []time.Time
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		came = append(came, time.Now())
		mu.Unlock()
		_, _ = w.Write([]byte(good))
	}))
	defer srv.Close()
	outcomes := map[string]int{}
	c, err := New(Config{Endpoint: remote.Endpoint{URL: srv.URL}, Namespace: "urn:x", PerSecond: 40, Observe: func(_, outcome string, _ time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		outcomes[outcome]++
	}})
	if err != nil {
		t.Fatal(err)
	}
	const calls = 9
	var all sync.WaitGroup
	begin := time.Now()
	for i := range calls {
		all.Go(func() {
			_, _ = c.Call(t.Context(), []string{"ping", "other"}[i%2], nil)
		})
	}
	all.Wait()
	if least := time.Duration(calls-1) * time.Second / 40; len(came) != calls || time.Since(begin) < least {
		t.Errorf("%d calls in %v, which take %v at least", len(came), time.Since(begin), least)
	}
	if outcomes["ok"] != 5 || outcomes["refused"] != 4 {
		t.Errorf("%v", outcomes)
	}
}
