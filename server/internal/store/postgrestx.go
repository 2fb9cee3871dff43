package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresTx is a transaction that talks to the server as seldom as it can:
// statements whose outcome is not needed wait for the next one whose is, or for
// the commit, and all travel together. A statement each way was measured at
// more than half of what a signature costs.
type postgresTx struct {
	conn  *pgxpool.Conn
	begun bool
	// What waits. Of a statement that must be looked at before anything is kept
	// it says so: the commit cannot travel with it.
	waiting  *pgx.Batch
	expected bool
}

func (t *postgresTx) queue(query string, args ...any) *pgx.QueuedQuery {
	if t.waiting == nil {
		t.waiting = &pgx.Batch{}
	}
	if !t.begun {
		t.begun = true
		t.waiting.Queue("begin")
	}
	return t.waiting.Queue(query, args...)
}

// flush sends what waits. The first error is the one returned: what comes after
// it is not run.
func (t *postgresTx) flush(ctx context.Context) error {
	if t.waiting == nil {
		return nil
	}
	b := t.waiting
	t.waiting, t.expected = nil, false
	return t.conn.SendBatch(ctx, b).Close()
}

func (t *postgresTx) later(query string, args []any) {
	t.queue(query, args...)
}

func (t *postgresTx) expect(rows int64, otherwise error, query string, args []any) {
	t.expected = true
	t.queue(query, args...).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != rows {
			return otherwise
		}
		return nil
	})
}

func (t *postgresTx) Exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	t.queue(query, args...).Exec(func(tag pgconn.CommandTag) error {
		n = tag.RowsAffected()
		return nil
	})
	return n, postgresError(t.flush(ctx))
}

func (t *postgresTx) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	if err := t.ready(ctx); err != nil {
		return nil, postgresError(err)
	}
	rows, err := t.conn.Query(ctx, query, args...)
	return rows, postgresError(err)
}

// ready has everything sent, and the transaction begun.
func (t *postgresTx) ready(ctx context.Context) error {
	if !t.begun {
		t.begun = true
		t.waiting = &pgx.Batch{}
		t.waiting.Queue("begin")
	}
	return t.flush(ctx)
}

func (t *postgresTx) QueryRow(ctx context.Context, query string, args ...any) Row {
	return postgresTxRow{tx: t, ctx: ctx, query: query, args: args}
}

// postgresTxRow is asked for when it is scanned.
type postgresTxRow struct {
	tx    *postgresTx
	ctx   context.Context
	query string
	args  []any
}

func (r postgresTxRow) Scan(dest ...any) error {
	r.tx.queue(r.query, r.args...).QueryRow(func(row pgx.Row) error { return row.Scan(dest...) })
	return postgresError(r.tx.flush(r.ctx))
}

// commit ends the transaction. What must be looked at first is.
func (t *postgresTx) commit(ctx context.Context) error {
	if t.expected {
		if err := t.flush(ctx); err != nil {
			return err
		}
	}
	if !t.begun {
		return nil
	}
	t.queue("commit").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	err := t.flush(ctx)
	if err == nil {
		t.begun = false
	}
	return err
}

// end gives the connection back, without a trace of what was not committed.
func (t *postgresTx) end(ctx context.Context) {
	defer t.conn.Release()
	if !t.begun || t.conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	if _, err := t.conn.Exec(context.WithoutCancel(ctx), "rollback"); err != nil {
		_ = t.conn.Conn().Close(context.WithoutCancel(ctx)) // the server rolls back what has no connection
	}
}

// riverTx is a transaction as River's driver wants it.
type riverTx struct {
	tx    *postgresTx
	depth int // of savepoints
}

var errNotHere = errors.New("store: not for the queue to do")

func (r riverTx) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	if err := r.tx.ready(ctx); err != nil {
		return pgconn.CommandTag{}, err
	}
	return r.tx.conn.Exec(ctx, query, args...)
}

func (r riverTx) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	if err := r.tx.ready(ctx); err != nil {
		return nil, err
	}
	return r.tx.conn.Query(ctx, query, args...)
}

func (r riverTx) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	if err := r.tx.ready(ctx); err != nil {
		return failedRow{err}
	}
	return r.tx.conn.QueryRow(ctx, query, args...)
}

func (r riverTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	_ = r.tx.ready(ctx) // a transaction that failed says so again
	return r.tx.conn.SendBatch(ctx, b)
}

func (r riverTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, src pgx.CopyFromSource) (int64, error) {
	if err := r.tx.ready(ctx); err != nil {
		return 0, err
	}
	return r.tx.conn.CopyFrom(ctx, table, columns, src)
}

func (r riverTx) Prepare(ctx context.Context, name, query string) (*pgconn.StatementDescription, error) {
	return r.tx.conn.Conn().Prepare(ctx, name, query)
}

func (r riverTx) Conn() *pgx.Conn { return r.tx.conn.Conn() }

func (r riverTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }

// Begin sets a savepoint, as pgx does for a transaction within one.
func (r riverTx) Begin(ctx context.Context) (pgx.Tx, error) {
	inner := riverTx{r.tx, r.depth + 1}
	_, err := inner.Exec(ctx, fmt.Sprintf("savepoint river_%d", inner.depth))
	return inner, err
}

// Commit and Rollback are for savepoints only: the transaction itself is ended
// by who began it.
func (r riverTx) Commit(ctx context.Context) error {
	return r.endSavepoint(ctx, "release savepoint river_%d")
}

// Rollback goes back to the savepoint.
func (r riverTx) Rollback(ctx context.Context) error {
	return r.endSavepoint(ctx, "rollback to savepoint river_%d")
}

func (r riverTx) endSavepoint(ctx context.Context, how string) error {
	if r.depth == 0 {
		return errNotHere
	}
	_, err := r.Exec(ctx, fmt.Sprintf(how, r.depth))
	return err
}
