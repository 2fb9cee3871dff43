package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

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
