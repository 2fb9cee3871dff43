package store_test

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// countOn adds one to a row and tells what it is then.
func countOn(ctx context.Context, db *store.DB) (n int64, err error) {
	err = db.Write(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(ctx, `update things set n = n + 1 where id = 'a' returning n`).Scan(&n)
	})
	return n, err
}

func countOf(db *store.DB, readings *atomic.Int64) func(context.Context) (int64, error) {
	return func(ctx context.Context) (n int64, err error) {
		readings.Add(1)
		err = db.Read().QueryRow(ctx, `select n from things where id = 'a'`).Scan(&n)
		return n, err
	}
}

// Nobody is told less than what was committed when he asked, whoever committed it,
// and whatever becomes of the write-ahead log meanwhile.
func TestUnchangedIsNeverOld(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		ctx := t.Context()
		storetest.Exec(t, db, storetest.Things)
		storetest.Exec(t, db, `insert into things (id, n) values ('a', 0)`)
		var readings atomic.Int64
		u := store.Unchanged[int64]{DB: db}
		load := countOf(db, &readings)
		var crowd sync.WaitGroup
		for range 8 {
			crowd.Go(func() {
				for range 25 {
					before, err := countOn(ctx, db)
					if err != nil {
						t.Error(err)
						return
					}
					for range 4 {
						if got, err := u.Read(ctx, "a", load); err != nil || got < before {
							t.Errorf("%d was committed and %d read: %v", before, got, err)
						}
					}
				}
			})
		}
		crowd.Wait()
		readings.Store(0)
		for range 100 {
			if got, err := u.Read(ctx, "a", load); got != 200 || err != nil {
				t.Fatalf("%d, %v", got, err)
			}
		}
		if n := readings.Load(); db.Dialect() == store.SQLite && n > 1 {
			t.Errorf("read %d times while nothing was written", n)
		}
	})
}

// A command in another process writes to the database of a server that runs.
func TestUnchangedSeesOtherProcesses(t *testing.T) {
	ctx := t.Context()
	if data := os.Getenv("ROGITO_TEST_COUNT_ON"); data != "" {
		db, err := store.Open(ctx, store.Config{Data: data, Reserve: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := countOn(ctx, db); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Parallel()
	data := t.TempDir()
	db, err := store.Open(ctx, store.Config{Data: data, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	storetest.Exec(t, db, storetest.Things)
	storetest.Exec(t, db, `insert into things (id, n) values ('a', 0)`)
	var readings atomic.Int64
	u := store.Unchanged[int64]{DB: db}
	for want := range int64(3) {
		for range 2 {
			if got, err := u.Read(ctx, "a", countOf(db, &readings)); got != want || err != nil {
				t.Fatalf("%d, want %d: %v", got, want, err)
			}
		}
		if want == 1 { // the log begins anew: nothing of it is left
			raw, err := sql.Open("sqlite", store.DatabaseFile(data))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := raw.Exec(`pragma wal_checkpoint(truncate)`); err != nil {
				t.Fatal(err)
			}
			raw.Close()
		}
		c := exec.Command(os.Args[0], "-test.run", "^TestUnchangedSeesOtherProcesses$")
		c.Env = append(os.Environ(), "ROGITO_TEST_COUNT_ON="+data)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if n := readings.Load(); n != 3 {
		t.Errorf("%d readings of three states", n)
	}
}
