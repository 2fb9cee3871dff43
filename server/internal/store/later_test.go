package store_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

var errUnmet = errors.New("not what was expected")

// What runs later runs in its order, and is kept or lost with the rest.
func TestLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		ctx := context.Background()
		storetest.Exec(t, db, storetest.Things)
		add := func(tx *store.Tx, id string, n int) error {
			return tx.Later(ctx, `insert into things (id, n) values ($1, $2)`, id, n)
		}
		double := func(tx *store.Tx, id string, rows int64) error {
			return tx.Expect(ctx, rows, errUnmet, `update things set n = 2 * n where id = $1`, id)
		}
		sum := func(tx *store.Tx) (n int64, err error) {
			err = tx.QueryRow(ctx, `select coalesce(sum(n), 0) from things`).Scan(&n)
			return n, err
		}
		for _, c := range []struct {
			name string
			do   func(tx *store.Tx) error
			want error // nil: kept
			left int64
		}{
			{"nothing", func(*store.Tx) error { return nil }, nil, 0},
			{"alone", func(tx *store.Tx) error { return add(tx, "a", 1) }, nil, 1},
			{"seen by a query after it", func(tx *store.Tx) error {
				if err := errors.Join(add(tx, "b", 2), double(tx, "b", 1)); err != nil {
					return err
				}
				n, err := sum(tx)
				if err == nil && n != 5 {
					t.Errorf("the query sees %d", n)
				}
				return err
			}, nil, 5},
			{"seen by rows", func(tx *store.Tx) error {
				if err := add(tx, "c", 1); err != nil {
					return err
				}
				rows, err := tx.Query(ctx, `select id from things`)
				if err != nil {
					return err
				}
				defer rows.Close()
				n := 0
				for rows.Next() {
					n++
				}
				if n != 3 {
					t.Errorf("%d rows are seen", n)
				}
				return rows.Err()
			}, nil, 6},
			{"unmet", func(tx *store.Tx) error {
				return errors.Join(add(tx, "d", 10), double(tx, "nobody", 1), add(tx, "e", 10))
			}, errUnmet, 6},
			{"unmet before a query", func(tx *store.Tx) error {
				if err := errors.Join(add(tx, "d", 10), double(tx, "nobody", 1)); err != nil {
					return err
				}
				_, err := sum(tx)
				return err
			}, errUnmet, 6},
			{"expecting none", func(tx *store.Tx) error { return double(tx, "nobody", 0) }, nil, 6},
			{"conflict", func(tx *store.Tx) error { return errors.Join(add(tx, "f", 10), add(tx, "a", 10)) }, errConflict, 6},
			{"refused by its function", func(tx *store.Tx) error { return errors.Join(add(tx, "g", 10), errUnmet) }, errUnmet, 6},
		} {
			t.Run(c.name, func(t *testing.T) {
				err := db.Write(ctx, c.do)
				if c.want == errConflict && store.IsConflict(err) {
					err = errConflict
				}
				if !errors.Is(err, c.want) || (err != nil) != (c.want != nil) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if n := storetest.Count(t, db, `select coalesce(sum(n), 0) from things`); n != c.left {
					t.Errorf("the sum is %d, want %d", n, c.left)
				}
			})
		}
	})
}

var errConflict = errors.New("conflict")

// What is carried goes on to the writes that share a commit, is stored once, and
// of a write that is rolled back nothing is left.
func TestCarry(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		ctx := context.Background()
		storetest.Exec(t, db, `create table counted (n bigint)`)
		storetest.Exec(t, db, `insert into counted values (0)`)
		settled := 0
		add := func(tx *store.Tx) error {
			n, ok := tx.Carried().(int64)
			if !ok {
				if err := tx.QueryRow(ctx, `select n from counted`).Scan(&n); err != nil {
					return err
				}
			}
			n++
			return tx.Carry(n, func(tx *store.Tx) error {
				settled++
				_, err := tx.Exec(ctx, `update counted set n = $1`, n)
				return err
			})
		}
		no := errors.New("no")
		var all sync.WaitGroup
		begun, filled := make(chan struct{}), make(chan struct{})
		write := func(fn func(tx *store.Tx) error, want error) {
			all.Go(func() {
				if err := db.Write(ctx, fn); !errors.Is(err, want) {
					t.Error(err)
				}
			})
		}
		if db.Dialect() == store.PostgreSQL { // one after the other: they would read the same
			for range 9 {
				write(add, nil)
				all.Wait()
			}
		} else {
			write(func(tx *store.Tx) error { close(begun); <-filled; return add(tx) }, nil)
			<-begun
			for i := range 16 {
				if i%2 == 0 {
					write(add, nil)
				} else {
					write(func(tx *store.Tx) error { return errors.Join(add(tx), no) }, no)
				}
			}
			await.Until(t, "all wait", func() bool { return db.Waiting() == 16 }) // they share the commit, or do not
			close(filled)
			all.Wait()
		}
		if n := storetest.Count(t, db, `select n from counted`); n != 9 {
			t.Errorf("%d", n)
		}
		if settled > 9 || db.Dialect() == store.SQLite && settled > 3 {
			t.Errorf("stored %d times", settled)
		}
	})
}

// What a judge asks further is judged before anything is committed.
func TestAskFurther(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		ctx := context.Background()
		storetest.Exec(t, db, `create table counted (n bigint)`)
		for _, answered := range []bool{false, true} {
			judged := 0
			err := db.Write(ctx, func(tx *store.Tx) error {
				if err := tx.Later(ctx, `insert into counted values (1)`); err != nil {
					return err
				}
				var ask func(row store.Row) error
				ask = func(row store.Row) error {
					var n int
					if err := row.Scan(&n); err != nil {
						return err
					}
					if judged++; judged == 3 {
						return errUnmet
					}
					return tx.Ask(ctx, ask, `select 1`)
				}
				if err := tx.Ask(ctx, ask, `select 1`); err != nil || !answered {
					return err
				}
				return tx.Answered(ctx)
			})
			if !errors.Is(err, errUnmet) || judged != 3 {
				t.Errorf("%v after %d", err, judged)
			}
		}
		if n := storetest.Count(t, db, `select count(*) from counted`); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}

// What is asked together is judged in its order, each with its own row or none.
func TestAsk(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, _ *master.Key) {
		ctx := context.Background()
		storetest.Exec(t, db, storetest.Things)
		storetest.Exec(t, db, `insert into things (id, n) values ('a', 1), ('b', 2)`)
		type answer struct {
			id string
			n  int64
			no *int64
		}
		ask := func(tx *store.Tx, got *[]answer, id string, least int) error {
			return tx.Ask(ctx, func(r store.Row) error {
				var a answer
				err := r.Scan(&a.id, &a.n, &a.no)
				if errors.Is(err, store.ErrNoRows) {
					err = nil
				}
				*got = append(*got, a)
				return err
			}, `select id, n, cast(null as bigint) from things where id = $1 and n >= $2 order by id`, id, least)
		}
		var got []answer
		err := db.Write(ctx, func(tx *store.Tx) error {
			err := errors.Join(ask(tx, &got, "b", 1), ask(tx, &got, "nobody", 1), ask(tx, &got, "a", 1))
			if err == nil {
				err = tx.Answered(ctx)
			}
			if want := []answer{{id: "b", n: 2}, {}, {id: "a", n: 1}}; !slices.Equal(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		err = db.Write(ctx, func(tx *store.Tx) error {
			for range 3 {
				err := tx.Ask(ctx, func(store.Row) error { asked++; return errUnmet }, `select n from things where id = $1`, "a")
				if err != nil {
					return err
				}
			}
			return tx.Later(ctx, `update things set n = 7`)
		})
		if n := storetest.Count(t, db, `select count(*) from things where n = 7`); !errors.Is(err, errUnmet) || asked != 1 || n != 0 {
			t.Errorf("%v after %d answers, %d changed", err, asked, n)
		}
	})
}
