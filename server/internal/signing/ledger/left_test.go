package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// biller has the charges of the records that were filled in.
func (g *grown) biller(t *testing.T) *billing.Service {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	b := billing.New(g.db, account.New(g.db, g.Master.(*master.Key), account.Config{Log: log}), billing.DefaultPrices(), log)
	t.Cleanup(b.Close)
	return b
}

// tablesOf are all tables but those of the audit log.
func tablesOf(t *testing.T, db *store.DB) []string {
	t.Helper()
	query := `select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like 'audit_%' order by 1`
	if db.Dialect() == store.PostgreSQL {
		query = `select table_name::text from information_schema.tables where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name not like 'audit_%' order by 1`
	}
	rows, err := db.Read().Query(t.Context(), query)
	names, err := store.All("tables", rows, err, store.Column[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// taken is how many bytes each table takes with its indexes, were it written anew.
func taken(t *testing.T, db *store.DB) map[string]int64 {
	t.Helper()
	ctx, all := t.Context(), map[string]int64{}
	if db.Dialect() == store.SQLite {
		var path string
		if err := db.Read().QueryRow(ctx, `select file from pragma_database_list where name = 'main'`).Scan(&path); err != nil {
			t.Fatal(err)
		}
		small := filepath.Join(t.TempDir(), "small.db")
		c, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = c.ExecContext(ctx, `vacuum into '`+small+`'`)
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		c, err = sql.Open("sqlite", small)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, name := range tablesOf(t, db) {
			var n int64
			if err := c.QueryRowContext(ctx, `select coalesce(sum(pgsize), 0) from dbstat where name = $1 or name in (select name from sqlite_master where tbl_name = $1)`, name).Scan(&n); err != nil {
				t.Fatal(err)
			}
			all[name] = n
		}
		return all
	}
	for _, name := range tablesOf(t, db) {
		var n int64
		err := db.Write(ctx, func(tx *store.Tx) error {
			if _, err := tx.Exec(ctx, `create table small (like `+name+` including all)`); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `insert into small select * from `+name); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `reindex table small`); err != nil {
				return err
			}
			if err := tx.QueryRow(ctx, `select pg_total_relation_size('small')`).Scan(&n); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `drop table small`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		all[name] = n
	}
	return all
}

// What a removed record leaves, beyond its leaves in the audit log, is the movement of
// money: at most 300 bytes.
func TestRemovedRecordLeavesLittle(t *testing.T) {
	const records, most = 3000, 300
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		ctx := t.Context()
		blobs, err := blob.Open(ctx, blob.Config{Data: t.TempDir(), Reserve: -1}, m)
		if err != nil {
			t.Fatal(err)
		}
		g := newGrown(t, db, m)
		before := taken(t, db)
		g.fill(t, records)
		var full int64
		for _, n := range taken(t, db) {
			full += n
		}
		g.Blobs, g.Callbacks, g.Biller, g.Log = blobs, callback.New(db, m, nil), g.biller(t), slog.New(slog.DiscardHandler)
		g.KeepRecords, g.Now = 365*24*time.Hour, func() time.Time { return time.Now().Add(367 * 24 * time.Hour) }
		g.Audit = audit.New(db, m, nil)
		if err := g.Retain(context.WithoutCancel(ctx)); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"signature_files", "signing_intents"} {
			if n := storetest.Count(t, db, `select count(*) from `+table+` where signature_id not in (select id from signatures)`); n != 0 {
				t.Errorf("%d rows of %s belong to nothing", n, table)
			}
		}
		waiting := storetest.Count(t, db, `select count(*) from signatures`)
		if waiting > records/500 {
			t.Fatalf("%d records are there", waiting)
		}
		for _, statement := range []string{`delete from signature_files`, `delete from signatures`} { // those that wait for an approval
			if err := db.Write(ctx, func(tx *store.Tx) error { _, err := tx.Exec(ctx, statement); return err }); err != nil {
				t.Fatal(err)
			}
		}
		var left int64
		var which []string
		for name, n := range taken(t, db) {
			if n -= before[name]; n > 0 {
				left += n
				which = append(which, fmt.Sprintf("%s %d", name, n/records))
			}
		}
		t.Logf("%d bytes a record, %d after it was removed (%s)", full/records, left/records, strings.Join(which, ", "))
		if left/records > most {
			t.Errorf("a removed record leaves %d bytes", left/records)
		}
	})
}
