package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
)

// A statement that is being read is not run over, a changed schema is noticed,
// and there is an end to what is kept.
func TestKeptStatements(t *testing.T) {
	ctx := context.Background()
	db, err := openSQL(sqliteDSN(filepath.Join(t.TempDir(), "x.db"), "immediate", 0))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	must := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(ctx, query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	must(`create table a (n integer primary key)`)
	for n := range 3 {
		must(`insert into a (n) values ($1)`, n)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs := 0
	outer, err := tx.QueryContext(ctx, `select n from a where n >= $1`, 0)
	if err != nil {
		t.Fatal(err)
	}
	for outer.Next() {
		inner, err := tx.QueryContext(ctx, `select n from a where n >= $1`, 1)
		if err != nil {
			t.Fatal(err)
		}
		for inner.Next() {
			pairs++
		}
		inner.Close()
	}
	if outer.Close(); pairs != 6 {
		t.Errorf("%d pairs, not 6", pairs)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	must(`alter table a add column m integer not null default 7`)
	for i := range 2 * maxStatements {
		var n, m int
		if err := db.QueryRowContext(ctx, fmt.Sprintf(`select n, m from a where n = $1 and %d = %d`, i, i), 2).Scan(&n, &m); err != nil || m != 7 {
			t.Fatal(n, m, err)
		}
	}
	if _, err := db.ExecContext(ctx, `insert into a (n) values ($1)`, 1); err == nil {
		t.Error("a second row of the same key")
	}
	must(`insert into a (n) values ($1)`, 9) // the statement that was refused is good again
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.Raw(func(c any) error {
		if n := len(c.(*keepingConn).kept); n > maxStatements {
			t.Errorf("%d statements kept", n)
		}
		return nil
	})
}

func TestUnnamed(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"select 1":                             "select 1",
		"insert into t (a, b) values ($1, $2)": "insert into t (a, b) values (?, ?)",
		"insert into t values ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11)":             "insert into t values (?,?,?,?,?,?,?,?,?,?,?)",
		"update t set a = $2 where b = $1":                                      "update t set a = $2 where b = $1",
		"update t set a = a + $1 where a + $1 < $2":                             "update t set a = a + $1 where a + $1 < $2",
		"select $1 where a = $12":                                               "select $1 where a = $12",
		"select a from t where a = '$1' and b = $1":                             "select a from t where a = '$1' and b = $1",
		"update t set a = $1 where b = ?":                                       "update t set a = $1 where b = ?",
		"select a from t where a = $1 order by a limit $2 offset $3 -- no more": "select a from t where a = ? order by a limit ? offset ? -- no more",
	} {
		if got := unnamed(query); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
}
