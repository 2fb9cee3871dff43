// Package storetest gives tests real engines: a PostgreSQL server thrown away
// afterwards, and an S3 server that checks signatures. Where one cannot be
// had, a test is skipped and says so; with CI set in the environment it fails.
package storetest

import (
	"context"
	"os"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
)

// Engine is one pair of database and blobs to run a suite on.
type Engine struct {
	Name   string
	Config func(t testing.TB) store.Config
}

// Engines are the two ways to deploy: all in a folder, and PostgreSQL with S3.
func Engines() []Engine { return engines(Postgres) }

// EmptyEngines are the same for tests of how a database comes to be.
func EmptyEngines() []Engine { return engines(EmptyPostgres) }

func engines(postgres func(testing.TB) string) []Engine {
	return []Engine{
		{"sqlite", func(t testing.TB) store.Config { return store.Config{Data: t.TempDir()} }},
		{"postgres", func(t testing.TB) store.Config {
			return store.Config{Data: t.TempDir(), Database: postgres(t)}
		}},
	}
}

// Each runs a test on every engine, with the database open and empty.
func Each(t *testing.T, test func(t *testing.T, db *store.DB, m *master.Key)) {
	for _, e := range Engines() {
		t.Run(e.Name, func(t *testing.T) {
			db, m := Open(t, e.Config(t))
			test(t, db, m)
		})
	}
}

// Open opens a database and its master key for the time of a test.
func Open(t testing.TB, cfg store.Config) (*store.DB, *master.Key) {
	t.Helper()
	ctx := context.Background()
	if cfg.Reserve == 0 {
		cfg.Reserve = -1 // a test machine's full disk is not what is tested
	}
	if cfg.Data == "" {
		cfg.Data = t.TempDir() // never the folder of the package: its master key was committed once
	}
	db, err := store.Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	m, err := master.Open(ctx, db, master.Config{Data: cfg.Data})
	if err != nil {
		t.Fatal(err)
	}
	return db, m
}

// Exec runs a statement in a transaction of its own.
func Exec(t testing.TB, db *store.DB, query string, args ...any) {
	t.Helper()
	err := db.Write(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Exec(context.Background(), query, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// Count is the one number that a query answers.
func Count(t testing.TB, db *store.DB, query string, args ...any) (n int64) {
	t.Helper()
	if err := db.Read().QueryRow(context.Background(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// Blocked waits until a write waits for another that is under way.
func Blocked(t testing.TB, db *store.DB) {
	t.Helper()
	if db.Dialect() == store.SQLite {
		time.Sleep(300 * time.Millisecond) // it waits for the one writer, and shows it nowhere
		return
	}
	await.Until(t, "a write waits", func() bool {
		return Count(t, db, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) > 0
	})
}

// Things is a table for tests.
const Things = `create table things (id text primary key, n bigint not null, flag boolean not null default false, note text)`

// missing skips a test that cannot have its engine; in CI it fails it.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf("SKIPPED, NOT TESTED: "+format, args...)
}
