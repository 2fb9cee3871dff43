package audit_test

import (
	"context"
	"testing"

	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A server with nothing to do writes nothing: not even the head of the log.
func TestNothingWaitsNothingIsWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		if db.Dialect() != store.PostgreSQL {
			t.Skip("events have their places when they are written")
		}
		b := open(t, db, m)
		b.fill(t, 3)
		head := func() (version string, size int) {
			t.Helper()
			if err := db.Read().QueryRow(t.Context(), `select cast(xmin as text), size from audit_head where id = 1`).Scan(&version, &size); err != nil {
				t.Fatal(err)
			}
			return version, size
		}
		before, _ := head()
		if n, err := b.log.Sequence(context.Background()); n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if after, size := head(); after != before || size != 3 {
			t.Errorf("the head was written: %s, then %s; %d entries", before, after, size)
		}
		b.exec(t, `update audit_head set size = 2`)
		if _, err := b.log.Sequence(context.Background()); err == nil {
			t.Error("a head of somebody else's was not noticed")
		}
	})
}
