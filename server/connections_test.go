package server_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// A server keeps to the connections that it was given, the least there can be: calls with
// keys, work in the background and callbacks have none of their own, and wait for no others.
func TestServerKeepsToItsConnections(t *testing.T) {
	t.Parallel()
	for _, most := range []int{store.LeastConnections, 3} {
		database := storetest.Postgres(t)
		s := newSite(t, func(c *server.Config) { c.Database, c.DatabaseConnections = database, most })
		watch, err := store.Open(t.Context(), store.Config{Data: t.TempDir(), Database: database + "&application_name=watch", Reserve: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(watch.Close)
		var seen, stop atomic.Int64
		var watching, calls sync.WaitGroup
		watching.Go(func() {
			for stop.Load() == 0 {
				n := storetest.Count(t, watch, `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'rogito'`)
				seen.Store(max(seen.Load(), n))
			}
		})
		for range 12 {
			calls.Go(func() {
				for _, o := range []m{{}, {"asyncSignature": true}, {"asyncDocumentsValidation": true}} {
					a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF), optionsOf(o)), "Idempotency-Key", store.NewID())
					if a.Status != 200 {
						t.Errorf("%d/%d %s", a.Status, a.Code(), a.Message)
						return
					}
					s.Wait(s.Record(a).ID, "DONE")
				}
			})
		}
		calls.Wait()
		stop.Store(1)
		watching.Wait()
		if n := int(seen.Load()); n > most || n < 1 {
			t.Errorf("%d connections, want at most %d", n, most)
		}
	}
}
