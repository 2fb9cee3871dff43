package enroll

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A transaction that PostgreSQL asks for again finds the certificate as the first
// run did, and one that fails leaves it so.
func TestSecondRunFindsTheCertificate(t *testing.T) {
	t.Parallel()
	db, _ := storetest.Open(t, store.Config{Database: storetest.Postgres(t)})
	s, c := &Service{db: db}, &Certificate{State: Ordered}
	runs := 0
	err := s.write(t.Context(), c, func(*store.Tx) error {
		if runs++; c.State != Ordered {
			t.Errorf("run %d finds %s", runs, c.State)
		}
		c.State = Working
		if runs == 1 {
			return &pgconn.PgError{Code: "40001"}
		}
		return nil
	})
	if err != nil || runs != 2 || c.State != Working {
		t.Errorf("%d runs: %s, %v", runs, c.State, err)
	}
	no := errors.New("no")
	if err := s.write(t.Context(), c, func(*store.Tx) error { c.State = Done; return no }); !errors.Is(err, no) || c.State != Working {
		t.Errorf("after a failure: %s, %v", c.State, err)
	}
}
