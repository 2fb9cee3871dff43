package store_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A database of another schema is refused with a sentence before anything is
// written to it, and opens again once it is of this one.
func TestOtherSchema(t *testing.T) {
	for _, e := range storetest.EmptyEngines() {
		t.Run(e.Name, func(t *testing.T) {
			ctx := context.Background()
			cfg := e.Config(t)
			db, _ := storetest.Open(t, cfg)
			own := storetest.Count(t, db, `select max(version_id) from goose_db_version`)
			set := func(from, to int64) {
				t.Helper()
				err := db.Write(ctx, func(tx *store.Tx) error {
					n, err := tx.Exec(ctx, `update goose_db_version set version_id = $1 where version_id = $2`, to, from)
					if err == nil && n != 1 {
						t.Errorf("%d rows", n)
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range []struct {
				version int64
				says    string
			}{{own + 1, "a newer rogito"}, {9001, "a newer rogito"}, {own - 1, "can only raise"}, {1, "can only raise"}} {
				set(own, c.version)
				other, err := store.Open(ctx, cfg)
				if err == nil {
					other.Close()
				}
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("schema %d: %v", c.version, err)
				}
				if n := storetest.Count(t, db, `select max(version_id) from goose_db_version`); n != c.version {
					t.Errorf("schema %d became %d", c.version, n)
				}
				set(c.version, own)
			}
			again, err := store.Open(ctx, cfg)
			if err != nil {
				t.Fatal(err)
			}
			again.Close()
		})
	}
}

// A damaged file is refused with what to do about it.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(store.DatabaseFile(dir), bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(t.Context(), store.Config{Data: dir, Reserve: -1})
	if err == nil || !strings.Contains(fault.Explain(err), "restore the last backup") {
		t.Errorf("%v", err)
	}
}
