package server

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
)

// A server that cannot store claims no record and uses no key; when it can again, it
// goes on.
func TestUnableToStore(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newSite(t, func(c *Config) { c.Database = database })
		room, id := s.rooms(), s.waiting()
		blobs := filepath.Join(s.cfg.Data, "blobs")
		if err := os.Rename(blobs, blobs+" away"); err != nil {
			t.Fatal(err)
		}
		s.becomes(503, "blobs") // it remembers for a while that it could store
		if a := s.do("POST", "/approvals/"+id, nil, "Authorization", "Bearer "+s.otherToken()); a.Status != 200 {
			t.Fatalf("%d/%d", a.Status, a.code())
		}
		if a := s.do("POST", "/EU-QES_automatic", s.body(b64(samplePDF))); a.Status != 503 || a.code() != 105 {
			t.Errorf("in the call: %d/%d, want 503 with 105", a.Status, a.code())
		}
		await.Never(t, 2500*time.Millisecond, "begun", func() bool {
			return room.countRows(t, fmt.Sprintf(`select starts from signatures where id = '%s'`, id)) != 0
		})
		if n := room.countRows(t, `select count(*) from signing_intents`); n != 0 {
			t.Errorf("a key was to be used %d times", n)
		}
		if err := os.Rename(blobs+" away", blobs); err != nil {
			t.Fatal(err)
		}
		s.wait(id, "DONE")
	})
}
