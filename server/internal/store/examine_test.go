package store_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// ignoring has a pooler take the settings that it does not know.
const ignoring = "ignore_startup_parameters = synchronous_commit"

// with is an address with one more parameter.
func with(t *testing.T, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// sqlOn runs statements beside the store.
func sqlOn(t *testing.T, address string, statements ...string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// opened says how opening a database ends.
func opened(t *testing.T, address string) error {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Data: t.TempDir(), Database: address, Reserve: -1})
	if err == nil {
		db.Close()
	}
	return err
}

// beside opens a database that others have opened too.
func beside(t *testing.T, address string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Data: t.TempDir(), Database: address, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// refused checks that a database is not opened, and that the operator is told these words.
func refused(t *testing.T, address string, words ...string) {
	t.Helper()
	err := opened(t, address)
	if err == nil {
		t.Error("it was opened")
		return
	}
	text := fault.Explain(err)
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("told %q, without %q", text, w)
		}
	}
}

// A pooler in transaction mode works, or is refused with what to do about it.
func TestPooler(t *testing.T) {
	t.Parallel()
	t.Run("transactions", func(t *testing.T) {
		direct := storetest.EmptyPostgres(t)
		pooled := storetest.PgBouncer(t, direct, "transaction", ignoring)
		if err := opened(t, pooled); err != nil { // PgBouncer from 1.21 on prepares by itself
			refused(t, pooled, "shares sessions", "max_prepared_statements", "default_query_exec_mode=exec")
		}
		alike(t, with(t, pooled, "default_query_exec_mode", "exec"), direct)
		alike(t, with(t, pooled, "default_query_exec_mode", "cache_describe"), direct)
	})
	t.Run("sessions", func(t *testing.T) {
		direct := storetest.EmptyPostgres(t)
		alike(t, storetest.PgBouncer(t, direct, "session", ignoring), direct)
	})
	t.Run("statements", func(t *testing.T) {
		refused(t, storetest.PgBouncer(t, storetest.EmptyPostgres(t), "statement", ignoring), "statement pooling")
	})
	t.Run("settings are refused", func(t *testing.T) {
		refused(t, storetest.PgBouncer(t, storetest.EmptyPostgres(t), "session"), "ignore_startup_parameters")
	})
	t.Run("settings are lost", func(t *testing.T) {
		direct := storetest.EmptyPostgres(t)
		u, _ := url.Parse(direct)
		sqlOn(t, direct, "alter database "+strings.TrimPrefix(u.Path, "/")+" set synchronous_commit = off")
		refused(t, storetest.PgBouncer(t, direct, "session", ignoring), "synchronous_commit is off")
		if err := opened(t, direct); err != nil {
			t.Errorf("without a pooler: %v", err)
		}
	})
}

// alike checks that transactions through a pooler are kept apart by locks and rows as those
// beside it are, and that no lock outlives them.
func alike(t *testing.T, pooled, direct string) {
	t.Helper()
	ctx := t.Context()
	a, b := beside(t, pooled), beside(t, direct)
	storetest.Exec(t, a, `drop table if exists things`)
	storetest.Exec(t, a, storetest.Things)
	storetest.Exec(t, a, `insert into things (id, n) values ('one', 0)`)
	var all sync.WaitGroup
	for i := range 60 {
		db := a
		if i%3 == 0 {
			db = b
		}
		all.Go(func() {
			err := db.Write(ctx, func(tx *store.Tx) error {
				if err := tx.Alone(ctx, "things"); err != nil {
					return err
				}
				var n int64
				if err := tx.QueryRow(ctx, `select n from things where id = 'one'`).Scan(&n); err != nil {
					return err
				}
				return tx.Expect(ctx, 1, errors.New("nobody there"), `update things set n = $1, flag = $2, note = $3 where id = $4`, n+1, true, "é", "one")
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := storetest.Count(t, b, `select n from things where id = 'one'`); n != 60 {
		t.Errorf("%d of 60 writes count: the lock kept nobody apart", n)
	}
	if n := storetest.Count(t, b, `select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`); n != 0 {
		t.Errorf("%d locks were left behind", n)
	}
	if err := a.Ready(ctx); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

// A database that has the names of PostgreSQL and not what they stand for is refused, with
// what is missing.
func TestOtherDatabases(t *testing.T) {
	t.Parallel()
	// posing makes a database say that it is another one, by functions before those of
	// PostgreSQL.
	posing := func(t *testing.T, functions ...string) string {
		address := storetest.EmptyPostgres(t)
		sqlOn(t, address, append([]string{`create schema posing`}, functions...)...)
		return with(t, address, "search_path", "posing,pg_catalog,public")
	}
	const cockroach = `create function posing.version() returns text language sql as $$ select 'CockroachDB CCL v24.1.1' $$`
	t.Run("locks are no-ops", func(t *testing.T) {
		refused(t, posing(t, cockroach,
			`create function posing.pg_advisory_xact_lock(bigint) returns void language sql as $$ select null::void $$`,
			`create function posing.pg_try_advisory_xact_lock(bigint) returns boolean language sql as $$ select true $$`), "CockroachDB", "advisory locks")
	})
	t.Run("there are no locks", func(t *testing.T) {
		refused(t, posing(t, cockroach,
			`create function posing.pg_advisory_xact_lock(bigint) returns void language plpgsql as $$ begin raise exception using errcode = '0A000'; end $$`), "CockroachDB", "advisory locks")
	})
	t.Run("too old", func(t *testing.T) {
		refused(t, posing(t,
			`create function posing.version() returns text language sql as $$ select 'PostgreSQL 9.6.24' $$`,
			`create function posing.current_setting(text) returns text language sql as $$ select case $1 when 'server_version_num' then '90624' else pg_catalog.current_setting($1) end $$`), "PostgreSQL 13 or later", "9.6")
	})
}

// What a database says about its own state is 105, a mistake of ours is not.
func TestStateOfTheDatabase(t *testing.T) {
	t.Parallel()
	db, _ := storetest.Open(t, store.Config{Database: storetest.EmptyPostgres(t)})
	ctx := t.Context()
	for code, away := range map[string]bool{
		"08006": true, "25006": true, "25P03": true, "25P04": true, "26000": true, "40001": true, "40P01": true, "40003": true, "42501": true,
		"53100": true, "53300": true, "55006": true, "55P03": true, "57014": true, "57P01": true, "57P02": true, "57P03": true, "57P05": true, "58030": true, "XX001": true, "XX002": true,
		"22012": false, "23505": false, "42601": false, "42703": false, "P0001": false, "XX000": false,
	} {
		statement := `do $$ begin raise exception using errcode = '` + code + `'; end $$`
		err := db.Write(ctx, func(tx *store.Tx) error { _, err := tx.Exec(ctx, statement); return err })
		if err == nil || errors.Is(err, fault.Unavailable) != away {
			t.Errorf("%s in a write: %v", code, err)
		}
		err = db.Write(ctx, func(tx *store.Tx) error { return tx.Later(ctx, statement) })
		if err == nil || errors.Is(err, fault.Unavailable) != away {
			t.Errorf("%s at a commit: %v", code, err)
		}
		_, err = db.Read().Exec(ctx, statement)
		if err == nil || errors.Is(err, fault.Unavailable) != away {
			t.Errorf("%s in a reading: %v", code, err)
		}
	}
	storetest.Exec(t, db, storetest.Things) // it goes on
}

// A connection to a server that turned read-only is not kept: the next write goes on another.
func TestReadOnlyConnections(t *testing.T) {
	t.Parallel()
	address := storetest.EmptyPostgres(t)
	db, _ := storetest.Open(t, store.Config{Database: address, MaxConns: 4})
	ctx := t.Context()
	storetest.Exec(t, db, storetest.Things)
	// As those to a server that was demoted in place: every one of them.
	var held []interface{ Release() }
	for range 4 {
		c, err := db.Pool().Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exec(ctx, `set session characteristics as transaction read only`); err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	for _, c := range held {
		c.Release()
	}
	insert := func(id string) error {
		return db.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, `insert into things (id, n) values ($1, 1)`, id)
			return err
		})
	}
	if err := insert("a"); err != nil {
		t.Errorf("with connections that turned read-only: %v", err)
	}
	for i := range 8 {
		if err := insert(string(rune('b' + i))); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}

	// A whole database that is read-only: not ready, 105, and good again at once.
	u, _ := url.Parse(address)
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	terminate := `select pg_terminate_backend(pid) from pg_stat_activity where datname = '` + name + `'`
	sqlOn(t, u.String(), `alter database `+name+` set default_transaction_read_only = on`, terminate)
	for range 3 {
		if err := insert("never"); !errors.Is(err, fault.Unavailable) {
			t.Errorf("read-only: %v, want 105", err)
		}
		if err := db.Ready(ctx); !errors.Is(err, fault.Unavailable) {
			t.Errorf("ready while it is read-only: %v", err)
		}
	}
	sqlOn(t, u.String(), `alter database `+name+` set default_transaction_read_only = off`)
	if err := db.Ready(ctx); err != nil {
		t.Errorf("writable again: %v", err)
	}
	if err := insert("again"); err != nil {
		t.Errorf("writable again: %v", err)
	}
	if n := storetest.Count(t, db, `select count(*) from things`); n != 10 {
		t.Errorf("%d rows, want 10", n)
	}
}

// What the operator's own limits end is 105 as well.
func TestLimitsOfTheOperator(t *testing.T) {
	t.Parallel()
	address := storetest.EmptyPostgres(t)
	db, _ := storetest.Open(t, store.Config{Database: address})
	storetest.Exec(t, db, storetest.Things)
	storetest.Exec(t, db, `insert into things (id, n) values ('a', 1)`)
	ctx := t.Context()
	t.Run("lock_timeout", func(t *testing.T) {
		hurried := beside(t, with(t, address, "lock_timeout", "50"))
		err := db.Write(ctx, func(tx *store.Tx) error {
			if _, err := tx.Exec(ctx, `update things set n = 2 where id = 'a'`); err != nil {
				return err
			}
			err := hurried.Write(ctx, func(tx *store.Tx) error {
				_, err := tx.Exec(ctx, `update things set n = 3 where id = 'a'`)
				return err
			})
			if !errors.Is(err, fault.Unavailable) {
				t.Errorf("%v, want 105", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("idle_in_transaction_session_timeout", func(t *testing.T) {
		hurried := beside(t, with(t, address, "idle_in_transaction_session_timeout", "50"))
		err := hurried.Write(ctx, func(tx *store.Tx) error {
			if _, err := tx.Exec(ctx, `update things set n = 4 where id = 'a'`); err != nil {
				return err
			}
			await.Until(t, "the connection is ended", func() bool {
				return storetest.Count(t, db, `select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`) == 0
			})
			_, err := tx.Exec(ctx, `update things set n = 5 where id = 'a'`)
			return err
		})
		if !errors.Is(err, fault.Unavailable) {
			t.Errorf("%v, want 105", err)
		}
	})
}

// No more connections are opened than were allowed, from the first migration on.
func TestConnections(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]struct {
		url  string // parameter of the address
		most int
		want int64
	}{
		"configured":                   {"", 3, 3},
		"in the address":               {"3", 0, 3},
		"the configuration goes first": {"9", 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			address := storetest.EmptyPostgres(t)
			watched := address
			if cfg.url != "" {
				address = with(t, address, "pool_max_conns", cfg.url)
			}
			db, _ := storetest.Open(t, store.Config{Database: address, MaxConns: cfg.most})
			storetest.Exec(t, db, storetest.Things)
			watch, err := pgx.Connect(t.Context(), watched)
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Close(context.Background())
			var all sync.WaitGroup
			for i := range 40 {
				all.Go(func() {
					err := db.Write(t.Context(), func(tx *store.Tx) error {
						_, err := tx.Exec(t.Context(), `insert into things (id, n) select $1, 1 from pg_sleep(0.01)`, string(rune('A'+i)))
						return err
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			done := make(chan struct{})
			go func() { all.Wait(); close(done) }()
			var seen int64
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				var n int64
				if err := watch.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`).Scan(&n); err != nil {
					t.Fatal(err)
				}
				seen = max(seen, n)
			}
			if seen > cfg.want || seen < 1 {
				t.Errorf("%d connections, want at most %d", seen, cfg.want)
			}
		})
	}
	address := storetest.EmptyPostgres(t)
	refused(t, with(t, address, "pool_max_conns", "1"), "database.connections", "less than 2")
}
