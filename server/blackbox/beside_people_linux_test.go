package blackbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// asks has so many requests of three people under way, and returns their links.
func (s *servers) asks(requests int) (links []string) {
	s.t.Helper()
	var three []m
	for i := range 3 {
		three = append(three, m{"name": "Ada", "surname": "Prova", "email": fmt.Sprintf("ada%d@example.org", i), "authentication": []string{"email"}, "signatures": []any{}})
	}
	for range requests {
		a, err := call(s.client, "POST", s.nodes[0].url()+"/EU-SES", m{"signers": three, "inputDocuments": document(1000)}, "Authorization", bearer(s.token))
		var r askedView
		if err == nil {
			err = json.Unmarshal(a.Data, &r)
		}
		if err != nil || len(r.Signers) != len(three) {
			s.t.Fatalf("%+v %v", a, err)
		}
		for _, one := range r.Signers {
			links = append(links, one.URL)
		}
	}
	await.Until(s.t, "everybody is asked", func() bool {
		var left []askedView
		a, err := call(s.client, "GET", s.nodes[0].url()+"/signatures?state=WAIT_VALIDATION&limit=1", nil, "Authorization", bearer(s.token))
		return err == nil && json.Unmarshal(a.Data, &left) == nil && len(left) == 0
	})
	return links
}

// visited has a visitor open a page five times a second while f runs.
func (s *servers) visited(links []string, f func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-tick.C:
				s.opens(links[i%len(links)])
			}
		}
	}()
	f()
	close(done)
	<-ended
}

func (s *servers) opens(link string) {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, link, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Errorf("%s %v", resp.Status, err)
	}
}

// What requests that people are about to sign do to a signature with a certificate: two
// installations in turns, one of them with 500 requests of three people each, of whom
// one opens a page five times a second. ROGITO_BENCH_PEOPLE is how many requests.
func TestBesidePeople(t *testing.T) {
	if os.Getenv("ROGITO_BENCH") == "" {
		t.Skip("SKIPPED: set ROGITO_BENCH=1 to measure")
	}
	requests := number("ROGITO_BENCH_PEOPLE", 500)
	const turns, each = 20, 10
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			alone, beside := startServers(t, onEngine(t, e), 1), startServers(t, onEngine(t, e), 1)
			links := beside.asks(requests)
			alone.waits(nil, each) // the keys are open
			beside.waits(nil, each)
			compare := func(what string, around func(func())) {
				var with, without []time.Duration
				for range turns {
					without = append(without, alone.waits(nil, each)...)
					around(func() { with = append(with, beside.waits(nil, each)...) })
				}
				slices.Sort(with)
				slices.Sort(without)
				a, b := without[len(without)/2].Seconds()*1000, with[len(with)/2].Seconds()*1000
				fmt.Printf("people: | %s, %s | median %.1f ms beside %.1f ms alone: %.2f |\n", what, e.Name, b, a, b/a)
				if b > a*1.2 {
					t.Errorf("%s: slower by more than a fifth", what)
				}
			}
			compare(fmt.Sprintf("%d requests of three people wait", requests), func(f func()) { f() })
			compare("five pages of them are opened a second", func(f func()) { beside.visited(links, f) })
		})
	}
}
