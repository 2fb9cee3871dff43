package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresTx is a transaction that talks to the server as seldom as it can:
// statements whose outcome is not needed wait for the next one whose is, or for
// the commit, and all travel together. A statement each way was measured at
// more than half of what a signature costs.
type postgresTx struct {
	conn    *pgxpool.Conn
	begun   bool
	asked   bool // the outcome of something that waits may forbid the commit
	waiting []statement
}

// statement waits to be sent.
type statement struct {
	query string
	args  []any
	// take gets the outcome; nil where nobody looks at it.
	take func(pgx.BatchResults) error
	// judge reads the first row of a query; others may be asked in the same statement.
	judge func(Row) error
	// wrap gives an error its meaning; nil leaves it as it is.
	wrap func(error) error
}

var beginning = statement{query: "begin"}

// flush sends what waits, and s behind it. The first error is the one returned:
// what comes after it is not run.
func (t *postgresTx) flush(ctx context.Context, last ...statement) error {
	all := append(t.waiting, last...)
	t.waiting, t.asked = nil, false
	if len(all) == 0 {
		return nil
	}
	if !t.begun {
		t.begun = true
		all = append([]statement{beginning}, all...)
	}
	all = t.joined(all)
	b := &pgx.Batch{}
	for _, s := range all {
		b.Queue(s.query, s.args...)
	}
	results := t.conn.SendBatch(ctx, b)
	for _, s := range all {
		if err := s.outcome(results); err != nil {
			_ = results.Close() // says the same again
			return err
		}
	}
	return results.Close()
}

func (s *statement) outcome(results pgx.BatchResults) (err error) {
	if s.take != nil {
		err = s.take(results)
	} else {
		_, err = results.Exec()
	}
	if err != nil && s.wrap != nil {
		err = s.wrap(postgresError(err))
	}
	return err
}

// rows takes the number of rows that a statement affects.
func rows(n *int64) func(pgx.BatchResults) error {
	return func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		*n = tag.RowsAffected()
		return err
	}
}

// expect adds a statement that must affect so many rows. What travels behind it may be
// run before that is known, but for the commit, which is sent afterwards.
func (t *postgresTx) expect(rows int64, otherwise error, query string, args []any) {
	t.asked = true
	t.waiting = append(t.waiting, statement{query: query, args: args, take: func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		if err == nil && tag.RowsAffected() != rows {
			err = otherwise
		}
		return err
	}})
}

func (t *postgresTx) Exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = t.flush(ctx, statement{query: query, args: args, take: rows(&n)})
	return n, postgresError(err)
}

func (t *postgresTx) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	if err := t.ready(ctx); err != nil {
		return nil, postgresError(err)
	}
	rows, err := t.conn.Query(ctx, query, args...)
	if err != nil {
		return nil, postgresError(err)
	}
	return pgxRows{rows}, nil
}

// ready has everything sent, and the transaction begun.
func (t *postgresTx) ready(ctx context.Context) error {
	if !t.begun {
		t.begun = true
		t.waiting = append([]statement{beginning}, t.waiting...)
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
	scan := func(results pgx.BatchResults) error { return results.QueryRow().Scan(dest...) }
	return postgresError(r.tx.flush(r.ctx, statement{query: r.query, args: r.args, take: scan}))
}

// answered returns when everything that was asked has been judged. A judge
// may ask further.
func (t *postgresTx) answered(ctx context.Context) error {
	for t.asked {
		if err := t.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// commit ends the transaction.
func (t *postgresTx) commit(ctx context.Context) error {
	if !t.begun && len(t.waiting) == 0 {
		return nil
	}
	if err := t.answered(ctx); err != nil {
		return err
	}
	err := t.flush(ctx, statement{query: "commit", take: committed})
	if err == nil {
		t.begun = false
	}
	return err
}

// committed makes sure that it was not a transaction that had failed before.
func committed(r pgx.BatchResults) error {
	tag, err := r.Exec()
	if err == nil && tag.String() != "COMMIT" {
		err = pgx.ErrTxCommitRollback
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
