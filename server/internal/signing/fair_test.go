package signing_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// library serves one document under any name, slowly, and remembers who asked
// for what in which order: the order in which work was begun.
type library struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newLibrary(t *testing.T, slow time.Duration) *library {
	l := &library{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.asked = append(l.asked, strings.TrimPrefix(r.URL.Path, "/"))
		l.mu.Unlock()
		select {
		case <-time.After(slow):
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/pdf")
		_, _ = w.Write(sitetest.SamplePDF)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *library) requests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.asked)
}

// A backlog of one account, of slow work at that, does not delay another's: of
// the backlog no more is begun before it than there are workers.
func TestBacklogDelaysNobodyElse(t *testing.T) {
	await.All(t)
	t.Parallel()
	backlog, trickle := 40, 5
	if soaking() {
		backlog, trickle = 400, 40
	}
	l := newLibrary(t, 200*time.Millisecond)
	eachEngine(t, func(t *testing.T, s *site) {
		l.mu.Lock()
		l.asked = nil
		l.mu.Unlock()
		later := func(name string) m {
			return m{"inputDocuments": l.URL + "/" + name, "options": m{"asyncDocumentsValidation": true, "asyncSignature": true}}
		}
		other := s.Tenant()
		var wg sync.WaitGroup
		var mu sync.Mutex
		var ids []string
		for i := range 8 {
			wg.Go(func() {
				for k := i; k < backlog; k += 8 {
					r := s.Sign(nil, later(fmt.Sprintf("big-%04d", k)))
					mu.Lock()
					ids = append(ids, r.ID)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for i := range trickle {
			name := fmt.Sprintf("small-%d", i)
			r := other.Sign(nil, later(name))
			from := len(l.requests())
			other.Wait(r.ID, "DONE")
			before := max(0, slices.Index(l.requests(), name)-from)
			if before > 2 {
				t.Errorf("%s was begun after %d more of the backlog, want at most 2", name, before)
			}
		}
		if n := len(l.requests()); n >= backlog {
			t.Errorf("the backlog was over before the test: %d documents", n)
		}
		for _, id := range ids {
			s.Wait(id, "DONE")
		}
		if n := len(l.requests()); n != backlog+trickle {
			t.Errorf("%d documents were fetched for %d records", n, backlog+trickle)
		}
	}, allow(l.URL), func(c *server.Config) { c.Jobs.Workers = 2 })
}
