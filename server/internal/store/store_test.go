package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

func TestWriteKeepsAllOrNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		ctx := context.Background()
		storetest.Exec(t, db, storetest.Things)
		refused := errors.New("refused")
		hooks := 0
		err := db.Write(ctx, func(tx *store.Tx) error {
			tx.OnCommit(func() { hooks++ })
			if _, err := tx.Exec(ctx, `insert into things (id, n) values ($1, $2)`, "a", 1); err != nil {
				return err
			}
			return refused
		})
		if err != refused {
			t.Fatalf("Write returned %v, want the function's own error", err)
		}
		if n := storetest.Count(t, db, `select count(*) from things`); n != 0 {
			t.Errorf("%d rows are left of a refused write", n)
		}
		err = db.Write(ctx, func(tx *store.Tx) error {
			tx.OnCommit(func() { hooks += 10 })
			_, err := tx.Exec(ctx, `insert into things (id, n, flag) values ($1, $2, $3)`, "a", 1, true)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if hooks != 10 {
			t.Errorf("hooks ran to %d, want only the committed one", hooks)
		}
	})
}

func TestConflictAndNoRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		ctx := context.Background()
		storetest.Exec(t, db, storetest.Things)
		insert := func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, `insert into things (id, n) values ('a', 1)`)
			return err
		}
		if err := db.Write(ctx, insert); err != nil {
			t.Fatal(err)
		}
		if err := db.Write(ctx, insert); !store.IsConflict(err) {
			t.Errorf("a second row with the same key: %v, want a conflict", err)
		}
		var note *string
		if err := db.Read().QueryRow(ctx, `select note from things where id = $1`, "a").Scan(&note); err != nil || note != nil {
			t.Errorf("null came back as %v, %v", note, err)
		}
		var s string
		if err := db.Read().QueryRow(ctx, `select id from things where id = $1`, "z").Scan(&s); !errors.Is(err, store.ErrNoRows) {
			t.Errorf("no row: %v", err)
		}
	})
}

// One of many writes at once that panics or fails must not take others along.
func TestParallelWritesAreApart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		ctx := context.Background()
		storetest.Exec(t, db, storetest.Things)
		var acknowledged atomic.Int64
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				defer func() {
					if v := recover(); (v != nil) != (i%10 == 3) {
						t.Errorf("write %d: panic %v", i, v)
					}
				}()
				err := db.Write(ctx, func(tx *store.Tx) error {
					if _, err := tx.Exec(ctx, `insert into things (id, n) values ($1, $2)`, store.NewID(), i); err != nil {
						return err
					}
					switch i % 10 {
					case 3:
						panic("on purpose")
					case 4:
						return errors.New("refused")
					case 5: // a statement that fails inside the transaction
						_, err := tx.Exec(ctx, `insert into nowhere values (1)`)
						return err
					}
					return nil
				})
				if (err != nil) != (i%10 == 4 || i%10 == 5) {
					t.Errorf("write %d: %v", i, err)
				}
				if err == nil {
					acknowledged.Add(1)
				}
			})
		}
		all.Wait()
		if n := storetest.Count(t, db, `select count(*) from things`); n != acknowledged.Load() || n != 140 {
			t.Errorf("%d rows, %d acknowledged, want 140", n, acknowledged.Load())
		}
		if n := storetest.Count(t, db, `select count(*) from things where n % 10 in (3, 4, 5)`); n != 0 {
			t.Errorf("%d rows of writes that failed", n)
		}
	})
}

func TestGoneCallerWritesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		storetest.Exec(t, db, storetest.Things)
		ctx, cancel := context.WithCancel(context.Background())
		err := db.Write(ctx, func(tx *store.Tx) error {
			if _, err := tx.Exec(ctx, `insert into things (id, n) values ('a', 1)`); err != nil {
				return err
			}
			cancel()
			_, err := tx.Exec(ctx, `insert into things (id, n) values ('b', 1)`)
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if n := storetest.Count(t, db, `select count(*) from things`); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}

// The conditional update is how a quota is held to under any parallelism.
func TestConditionalUpdateIsExact(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		ctx := context.Background()
		storetest.Exec(t, db, storetest.Things)
		storetest.Exec(t, db, `insert into things (id, n) values ('quota', 0)`)
		var granted atomic.Int64
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				for range 3 {
					err := db.Write(ctx, func(tx *store.Tx) error {
						n, err := tx.Exec(ctx, `update things set n = n + 1 where id = 'quota' and n + 1 <= $1`, 250)
						if err == nil && n == 1 {
							tx.OnCommit(func() { granted.Add(1) })
						}
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if granted.Load() != 250 {
			t.Errorf("granted %d, want 250", granted.Load())
		}
	})
}

func TestReopenAndTwoProcesses(t *testing.T) {
	for _, e := range storetest.EmptyEngines() {
		t.Run(e.Name, func(t *testing.T) {
			cfg := e.Config(t)
			var all sync.WaitGroup
			for range 4 { // nodes that start together migrate once
				all.Go(func() {
					db, err := store.Open(context.Background(), cfg)
					if err != nil {
						t.Error(err)
						return
					}
					defer db.Close()
					if _, err := master.Open(context.Background(), db, master.Config{Data: cfg.Data}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			one, _ := storetest.Open(t, cfg)
			two, _ := storetest.Open(t, cfg)
			storetest.Exec(t, one, storetest.Things)
			var both sync.WaitGroup
			for i, db := range []*store.DB{one, two} {
				both.Go(func() {
					for j := range 50 {
						storetest.Exec(t, db, `insert into things (id, n) values ($1, 1)`, fmt.Sprint(i, "-", j))
					}
				})
			}
			both.Wait()
			if n := storetest.Count(t, one, `select count(*) from things`); n != 100 {
				t.Errorf("%d rows, want 100", n)
			}
		})
	}
}

func TestUnreachableDatabaseIsFault105(t *testing.T) {
	_, err := store.Open(context.Background(), store.Config{Data: t.TempDir(), Database: "postgres://rogito@127.0.0.1:1/none"})
	if !errors.Is(err, fault.Unavailable) {
		t.Errorf("got %v, want fault 105", err)
	}
}

// Connections that break under load cost errors that say so (105) and nothing
// that was acknowledged; the pool recovers by itself.
func TestBrokenConnections(t *testing.T) {
	ctx := context.Background()
	db, _ := storetest.Open(t, store.Config{Data: t.TempDir(), Database: storetest.EmptyPostgres(t)})
	storetest.Exec(t, db, storetest.Things)
	var acknowledged, refused atomic.Int64
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 8 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := db.Write(ctx, func(tx *store.Tx) error {
					_, err := tx.Exec(ctx, `insert into things (id, n) values ($1, 1)`, store.NewID())
					return err
				})
				switch {
				case err == nil:
					acknowledged.Add(1)
				case errors.Is(err, fault.Unavailable):
					refused.Add(1)
				default:
					t.Errorf("a broken connection: %v", err)
				}
			}
		})
	}
	for range 5 {
		written := acknowledged.Load()
		await.Until(t, "more is written", func() bool { return acknowledged.Load() > written+5 })
		_ = db.Read().QueryRow(ctx, `select count(pg_terminate_backend(pid)) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid()`).Scan(new(int64))
	}
	last := acknowledged.Load()
	await.Until(t, "it writes again", func() bool { return acknowledged.Load() > last })
	close(stop)
	load.Wait()
	// A commit whose answer was lost may be there without having been
	// acknowledged; never the other way round.
	if n := storetest.Count(t, db, `select count(*) from things`); n < acknowledged.Load() || n > acknowledged.Load()+refused.Load() {
		t.Errorf("%d rows, %d acknowledged, %d refused", n, acknowledged.Load(), refused.Load())
	}
	if acknowledged.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d acknowledged, %d refused: nothing was broken", acknowledged.Load(), refused.Load())
	}
	storetest.Exec(t, db, `insert into things (id, n) values ('after', 1)`)
}

func TestReserve(t *testing.T) {
	cfg := store.Config{Data: t.TempDir(), Reserve: 1 << 60}
	db, err := store.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	if err := db.Write(ctx, func(*store.Tx) error { return nil }); !errors.Is(err, fault.Unavailable) {
		t.Errorf("a write below the reserve: %v, want fault 105", err)
	}
	if err := db.Write(disk.Reclaiming(ctx), func(*store.Tx) error { return nil }); err != nil {
		t.Errorf("reclaiming below the reserve: %v", err)
	}
}

func TestDataFolderIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	storetest.Open(t, store.Config{Data: dir})
	for _, name := range []string{".", "rogito.db", "master.key"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v, %v", name, info, err)
		}
	}
}

func TestIDs(t *testing.T) {
	const n = 20000
	last := ""
	for range n {
		id := store.NewID()
		if !store.IsID(id) || id <= last {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
	if age := time.Since(store.IDTime(last)); age < -time.Minute || age > time.Minute {
		t.Errorf("an id made now is %v old", age)
	}
	for _, bad := range []string{"", "0", "0123456789ABCDEF01234567", "0123456789abcdef0123456g", "0123456789abcdef012345678"} {
		if store.IsID(bad) {
			t.Errorf("%q passes for an id", bad)
		}
	}
}

func BenchmarkDurableWrites(b *testing.B) {
	for _, e := range storetest.EmptyEngines() {
		b.Run(e.Name, func(b *testing.B) {
			db, _ := storetest.Open(b, e.Config(b))
			ctx := context.Background()
			if err := db.Write(ctx, func(tx *store.Tx) error { _, err := tx.Exec(ctx, storetest.Things); return err }); err != nil {
				b.Fatal(err)
			}
			b.SetParallelism(32)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					err := db.Write(ctx, func(tx *store.Tx) error {
						_, err := tx.Exec(ctx, `insert into things (id, n) values ($1, 1)`, store.NewID())
						return err
					})
					if err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}
