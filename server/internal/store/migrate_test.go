package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A store of the schema before rows were made smaller opens with all it had.
func TestOpenFromBefore(t *testing.T) {
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			ctx := context.Background()
			cfg := e.Config(t)
			driver, from, dialect := "sqlite", filepath.Join(cfg.Data, "rogito.db"), store.SQLite
			if cfg.Database != "" {
				driver, from, dialect = "pgx", cfg.Database, store.PostgreSQL
			}
			old, err := sql.Open(driver, from)
			if err != nil {
				t.Fatal(err)
			}
			if err := store.MigrateTo(ctx, old, dialect, 7); err != nil {
				t.Fatal(err)
			}
			const md5, sha = "00ff00ff00ff00ff00ff00ff00ff00ff", "aa00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00"
			for _, query := range []string{
				`insert into accounts (id, email, key_hash, created_at) values ('a', 'a@example.com', 'x', 1)`,
				`insert into signature_files (row_id, id, signature_id, role, label, size, md5, sha256, name, blob, created_at) values ('i1', '1', 's', 'input', 'label', 7, '` + md5 + `', '` + sha + `', '` + md5 + `.pdf', 'b', 5)`,
				`insert into signature_files (row_id, id, signature_id, role, md5, sha256, name, created_at) values ('v1', '1', 's', 'validated', '` + md5 + `', '` + sha + `', 'n', 5)`,
				`insert into signature_files (row_id, id, signature_id, role, position, source, created_at) values ('i2', '2', 's', 'input', 1, 'x', 5)`,
				`insert into signing_intents (id, account_id, signature_id, certificate_id, position, digest, outcome, created_at) values ('1', 'a', 's', 'c', 0, '` + sha + `', 'SIGNED', 5), ('2', 'a', 's', 'c', 1, '` + sha + `', '', 5)`,
				`insert into wallet_transactions (id, account_id, amount, description, charge_id, created_at) values ('t', 'a', -5, 'signature', 'c', 5)`,
				`insert into charges (id, account_id, token_id, product, count, day, amount, record_id, created_at, refunded_at) values ('c', 'a', 't', 'signature', 1, '2026-11-16', 5, 's', 6, 7)`,
			} {
				if _, err := old.ExecContext(ctx, query); err != nil {
					t.Fatalf("%s: %v", query, err)
				}
			}
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			db, _ := storetest.Open(t, cfg)
			var label, name string
			var size int64
			var validated bool
			var gotMD5, gotSHA []byte
			read := func(query string, into ...any) {
				t.Helper()
				if err := db.Read().QueryRow(ctx, query).Scan(into...); err != nil {
					t.Fatalf("%s: %v", query, err)
				}
			}
			read(`select label, name, size, validated, md5, sha256 from signature_files where signature_id = 's' and role = 'input' and position = 0`, &label, &name, &size, &validated, &gotMD5, &gotSHA)
			if label != "label" || name != md5+".pdf" || size != 7 || validated || fmt.Sprintf("%x", gotMD5) != md5 || fmt.Sprintf("%x", gotSHA) != sha {
				t.Error(label, name, size, validated, gotMD5, gotSHA)
			}
			read(`select md5, sha256 from signature_files where signature_id = 's' and role = 'input' and position = 1`, &gotMD5, &gotSHA)
			if len(gotMD5) != 0 || len(gotSHA) != 0 {
				t.Error(gotMD5, gotSHA)
			}
			read(`select digest from signing_intents where signature_id = 's' and id = '2' and outcome = ''`, &gotSHA)
			if fmt.Sprintf("%x", gotSHA) != sha {
				t.Error(gotSHA)
			}
			for query, want := range map[string]int64{
				`select count(*) from signature_files`: 3, `select count(*) from signing_intents`: 2,
				`select amount from wallet_transactions where account_id = 'a' and id = 't' and charge_id = 'c'`:         -5,
				`select amount + created_at + refunded_at from charges where id = 'c' and record_id = 's' and count = 1`: 18,
			} {
				if n := storetest.Count(t, db, query); n != want {
					t.Errorf("%s: %d", query, n)
				}
			}
		})
	}
}
