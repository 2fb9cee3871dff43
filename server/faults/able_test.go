package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// A server that cannot store claims no record and uses no key; when it can again, it
// goes on.
func TestUnableToStore(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newSite(t, func(c *server.Config) { c.Database = database })
		srv, id := s.OpenServer(), s.Waiting()
		blobs := filepath.Join(s.Config.Data, "blobs")
		if err := os.Rename(blobs, blobs+" away"); err != nil {
			t.Fatal(err)
		}
		s.Becomes(503, "blobs") // it remembers for a while that it could store
		if a := s.Do("POST", "/approvals/"+id, nil, "Authorization", "Bearer "+s.OtherToken()); a.Status != 200 {
			t.Fatalf("%d/%d", a.Status, a.Code())
		}
		if a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF))); a.Status != 503 || a.Code() != 105 {
			t.Errorf("in the call: %d/%d, want 503 with 105", a.Status, a.Code())
		}
		await.Never(t, 2500*time.Millisecond, "begun", func() bool {
			return countRows(srv, t, fmt.Sprintf(`select starts from signatures where id = '%s'`, id)) != 0
		})
		if n := countRows(srv, t, `select count(*) from signing_intents`); n != 0 {
			t.Errorf("a key was to be used %d times", n)
		}
		if err := os.Rename(blobs+" away", blobs); err != nil {
			t.Fatal(err)
		}
		s.Wait(id, "DONE")
	})
}
