package store

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Tx is a transaction, good for the time of the function it was given to.
type Tx struct {
	Querier
	engine   engine
	postgres *postgresTx // nil on SQLite
	sql      *sql.Tx     // nil on PostgreSQL
	after    []func()
	carried  carried
}

// carried is a value that writes which share a commit hand on, and what stores it.
type carried struct {
	value  any
	settle func(tx *Tx) error
}

// OnCommit has fn called after the transaction is durable, in order; never if
// it is rolled back.
func (t *Tx) OnCommit(fn func()) { t.after = append(t.after, fn) }

// Carry hands a value on to the later writes that share this one's commit, and has settle store
// the last one before the commit, once for all. A write that needs the value asks Carried
// before the database, and must not modify it: a write that is rolled back leaves the previous
// value. On PostgreSQL, where writes share no commit, settle is called at once.
func (t *Tx) Carry(value any, settle func(tx *Tx) error) error {
	if t.postgres != nil {
		return settle(t)
	}
	t.carried = carried{value, settle}
	return nil
}

// Carried is the value that was carried last; nil where there is none.
func (t *Tx) Carried() any { return t.carried.value }

// Later runs a statement whose outcome is not needed at once. On PostgreSQL it
// travels with those after it, at the latest with the commit; where it fails,
// so does the transaction.
func (t *Tx) Later(ctx context.Context, query string, args ...any) error {
	return t.LaterOr(ctx, nil, query, args...)
}

// LaterOr is Later for a statement whose failure has a meaning of its own.
func (t *Tx) LaterOr(ctx context.Context, wrap func(error) error, query string, args ...any) error {
	if t.postgres != nil {
		t.postgres.waiting = append(t.postgres.waiting, statement{query: query, args: args, wrap: wrap})
		return ctx.Err()
	}
	_, err := t.Exec(ctx, query, args...)
	if err != nil && wrap != nil {
		err = wrap(err)
	}
	return err
}

// Expect is Later for an insert, update or delete (without returning) that must
// affect so many rows. Where it does not, the transaction fails with the error
// given: here, or when it commits.
func (t *Tx) Expect(ctx context.Context, rows int64, otherwise error, query string, args ...any) error {
	if t.postgres != nil {
		t.postgres.expect(rows, otherwise, query, args)
		return ctx.Err()
	}
	n, err := t.Exec(ctx, query, args...)
	if err == nil && n != rows {
		err = otherwise
	}
	return err
}

// Ask is Later for a query of one row, which judge reads. An error of judge fails the
// transaction, at the latest before the commit. Consecutive queries are one statement on
// PostgreSQL; Answered has them judged now. Judge may ask further.
func (t *Tx) Ask(ctx context.Context, judge func(Row) error, query string, args ...any) error {
	if t.postgres != nil {
		t.postgres.ask(query, args, judge)
		return ctx.Err()
	}
	return judge(t.QueryRow(ctx, query, args...))
}

// Answered returns when everything that was asked has been judged.
func (t *Tx) Answered(ctx context.Context) error {
	if t.postgres == nil {
		return nil
	}
	return postgresError(t.postgres.answered(ctx))
}

// Share takes locks of these names, shared with others, until the transaction ends. Later
// statements see what was changed under Alone.
func (t *Tx) Share(ctx context.Context, names ...string) error {
	return t.lock(ctx, "pg_advisory_xact_lock_shared", names...)
}

// Alone takes a lock of that name, exclusively, until the transaction ends. Shared locks do not
// overtake it, as they would with a lock on a row.
func (t *Tx) Alone(ctx context.Context, name string) error {
	return t.lock(ctx, "pg_advisory_xact_lock", name)
}

// lock has nothing to do on SQLite, which runs one write at a time.
func (t *Tx) lock(ctx context.Context, function string, names ...string) error {
	if t.postgres == nil {
		return nil
	}
	calls, args := make([]string, len(names)), make([]any, len(names))
	for i, name := range names {
		h := fnv.New64a()
		_, _ = io.WriteString(h, name)
		calls[i], args[i] = fmt.Sprintf("%s($%d)", function, i+1), int64(h.Sum64())
	}
	return t.Later(ctx, `select `+strings.Join(calls, ", "), args...)
}

func (t *Tx) committed() {
	for _, fn := range t.after {
		fn()
	}
}

// sqlQuerier runs on database/sql: the readers of SQLite.
type sqlQuerier struct {
	on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
}

func (q sqlQuerier) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := q.on.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, sqliteError(err)
	}
	return res.RowsAffected()
}

func (q sqlQuerier) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	rows, err := q.on.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, sqliteError(err)
	}
	return sqlRows{rows}, nil
}

// QueryRow is not cut short by its caller's context: for one that can end, database/sql and the
// driver each start a goroutine, which together cost more than finding a row by its key.
func (q sqlQuerier) QueryRow(ctx context.Context, query string, args ...any) Row {
	if err := ctx.Err(); err != nil {
		return failedRow{err}
	}
	return sqlRow{q.on.QueryRowContext(context.WithoutCancel(ctx), query, args...)}
}

type sqlRows struct{ *sql.Rows }

func (r sqlRows) Close() { _ = r.Rows.Close() }

func (r sqlRows) Scan(dest ...any) error { return sqliteError(r.Rows.Scan(dest...)) }

func (r sqlRows) Err() error { return sqliteError(r.Rows.Err()) }

type sqlRow struct{ row *sql.Row }

func (r sqlRow) Scan(dest ...any) error { return sqliteError(r.row.Scan(dest...)) }

// sqlTxQuerier runs in the write transaction of SQLite. A statement there is
// not cut short by its caller's context: SQLite rolls back the whole
// transaction of an interrupted statement, which others share. A caller that
// has gone is noticed between statements instead.
type sqlTxQuerier struct{ q sqlQuerier }

func (q sqlTxQuerier) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return q.q.Exec(context.WithoutCancel(ctx), query, args...)
}

func (q sqlTxQuerier) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return q.q.Query(context.WithoutCancel(ctx), query, args...)
}

func (q sqlTxQuerier) QueryRow(ctx context.Context, query string, args ...any) Row {
	return q.q.QueryRow(ctx, query, args...)
}

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// Pool is the connections of PostgreSQL, for tests and measurements; nil on SQLite.
func (d *DB) Pool() *pgxpool.Pool {
	if e, ok := d.engine.(*postgresEngine); ok {
		return e.pool
	}
	return nil
}
