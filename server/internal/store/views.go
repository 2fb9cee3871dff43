package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Views runs fn with readers that all see one state of the database, as many as
// asked for or fewer, at least one: each is for one goroutine at a time.
func (d *DB) Views(ctx context.Context, n int, fn func([]Querier) error) error {
	if n > 1 {
		var err error
		ran := false
		once := func(all []Querier) error { ran = true; return fn(all) }
		switch e := d.engine.(type) {
		case *sqliteEngine:
			err = e.views(ctx, n, once)
		case *postgresEngine:
			err = e.views(ctx, n, once)
		}
		if ran || ctx.Err() != nil {
			return err
		}
	}
	return d.View(ctx, func(q Querier) error { return fn([]Querier{q}) })
}

var errNoReader = errors.New("store: all readers are busy")

// views begins the readers while nothing can be committed, by this process or
// another: in a write that writes nothing.
func (e *sqliteEngine) views(ctx context.Context, n int, fn func([]Querier) error) error {
	var all []*sql.Tx
	defer func() {
		for _, tx := range all {
			_ = tx.Rollback() // nothing was written
		}
	}()
	err := e.write(ctx, func(*Tx) error {
		for len(all) < n {
			if e.reads.Stats().InUse >= e.reads.Stats().MaxOpenConnections {
				return errNoReader // who holds one may be waiting for this write
			}
			tx, err := e.reads.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			all = append(all, tx)
			var tables int
			if err := tx.QueryRowContext(ctx, `select count(*) from sqlite_schema limit 1`).Scan(&tables); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return sqliteError(err)
	}
	views := make([]Querier, len(all))
	for i, tx := range all {
		views[i] = sqlQuerier{tx}
	}
	return fn(views)
}

// views has the others see what the first one sees.
func (e *postgresEngine) views(ctx context.Context, n int, fn func([]Querier) error) error {
	var views []Querier
	var snapshot string
	for range n {
		tx, err := e.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return postgresError(err)
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing was written
		if snapshot == "" {
			err = tx.QueryRow(ctx, `select pg_export_snapshot()`).Scan(&snapshot)
		} else {
			_, err = tx.Exec(ctx, `set transaction snapshot '`+snapshot+`'`)
		}
		if err != nil {
			return postgresError(err)
		}
		views = append(views, pgxQuerier{tx})
	}
	return fn(views)
}
