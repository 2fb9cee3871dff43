// Package storetest gives tests real engines: a PostgreSQL server thrown away
// afterwards, and an S3 server that checks signatures. Where one cannot be
// had, a test is skipped and says so; with CI set in the environment it fails.
package storetest

import (
	"context"
	"os"
	"testing"

	"rogito.dev/rogito/server/internal/store"
)

// Engine is one pair of database and blobs to run a suite on.
type Engine struct {
	Name   string
	Config func(t testing.TB) store.Config
}

// Engines are the two ways to deploy: all in a folder, and PostgreSQL with S3.
func Engines() []Engine {
	return []Engine{
		{"sqlite", func(t testing.TB) store.Config { return store.Config{Data: t.TempDir()} }},
		{"postgres", func(t testing.TB) store.Config {
			return store.Config{Data: t.TempDir(), Database: Postgres(t)}
		}},
	}
}

// Each runs a test on every engine, with the database open and empty.
func Each(t *testing.T, test func(t *testing.T, db *store.DB, m *store.Master)) {
	for _, e := range Engines() {
		t.Run(e.Name, func(t *testing.T) {
			db, m := Open(t, e.Config(t))
			test(t, db, m)
		})
	}
}

// Open opens a database and its master key for the time of a test.
func Open(t testing.TB, cfg store.Config) (*store.DB, *store.Master) {
	t.Helper()
	ctx := context.Background()
	if cfg.Reserve == 0 {
		cfg.Reserve = -1 // a test machine's full disk is not what is tested
	}
	db, err := store.Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	m, err := store.OpenMaster(ctx, db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return db, m
}

// missing skips a test that cannot have its engine; in CI it fails it.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf("SKIPPED, NOT TESTED: "+format, args...)
}
