package store

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"rogito.dev/rogito/server/internal/fault"
)

// postgresEngine is a pool of connections; reads and writes share it.
type postgresEngine struct {
	pool *pgxpool.Pool
	log  *slog.Logger
}

func openPostgres(ctx context.Context, cfg Config) (engine, error) {
	c, err := pgxpool.ParseConfig(cfg.Database)
	if err != nil {
		return nil, errors.New("malformed postgres:// URL") // the parser's text may quote the password
	}
	c.MaxConns = int32(cfg.maxConns())
	c.MaxConnIdleTime = 5 * time.Minute
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	params := c.ConnConfig.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = "rogito"
	}
	if params["synchronous_commit"] == "" {
		params["synchronous_commit"] = "on" // whatever the server's default is, an answer follows the disk
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	return &postgresEngine{pool: pool, log: cfg.Log}, nil
}

func (e *postgresEngine) reader() Querier { return pgxQuerier{e.pool} }

func (e *postgresEngine) view(ctx context.Context, fn func(Querier) error) error {
	tx, err := e.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return postgresError(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing was written
	return fn(pgxQuerier{tx})
}

func (e *postgresEngine) ping(ctx context.Context) error { return e.pool.Ping(ctx) }

func (e *postgresEngine) close() { e.pool.Close() }

// write runs fn, again where the database says that it lost a race with
// another transaction (a deadlock, a serialization failure) and nothing of it
// was kept.
func (e *postgresEngine) write(ctx context.Context, fn func(*Tx) error) error {
	const tries = 5
	for try := 1; ; try++ {
		err := e.writeOnce(ctx, fn)
		if err == nil || try == tries {
			return err
		}
		if !lostRace(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try)*5*time.Millisecond + rand.N(10*time.Millisecond)):
		}
	}
}

func (e *postgresEngine) writeOnce(ctx context.Context, fn func(*Tx) error) error {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return postgresError(err)
	}
	ptx := &postgresTx{conn: conn}
	defer ptx.end(ctx)
	tx := &Tx{Querier: ptx, engine: e, postgres: ptx}
	if err := fn(tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// The outcome of a commit that was cut short would not be known.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := ptx.commit(bounded); err != nil {
		return postgresError(err)
	}
	tx.committed()
	return nil
}

func lostRace(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}

// postgresError tells a database that cannot be reached or is out of space
// from a mistake of ours.
func postgresError(err error) error {
	var refused *pgconn.PgError
	var dial *pgconn.ConnectError
	switch {
	case err == nil, errors.Is(err, pgx.ErrNoRows), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &dial): // for whatever reason
		return fault.Storage(err)
	case errors.As(err, &refused):
		switch refused.Code[:2] {
		case "08", "53", "57", "58": // connection, resources, operator, system
			return fault.Storage(err)
		}
		if refused.Code == "42P01" { // a table that every release has is not there
			return fault.Storage(err)
		}
		return err
	case pgconn.SafeToRetry(err), pgconn.Timeout(err), errors.Is(err, context.DeadlineExceeded):
		return fault.Storage(err)
	case isNetwork(err):
		return fault.Storage(err)
	}
	return err
}

// pgxQuerier runs on the pool.
type pgxQuerier struct {
	on interface {
		Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
		QueryRow(ctx context.Context, query string, args ...any) pgx.Row
	}
}

func (q pgxQuerier) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := q.on.Exec(ctx, query, args...)
	return tag.RowsAffected(), postgresError(err)
}

func (q pgxQuerier) Query(ctx context.Context, query string, args ...any) (Rows, error) {
	rows, err := q.on.Query(ctx, query, args...)
	if err != nil {
		return nil, postgresError(err)
	}
	return pgxRows{rows}, nil
}

func (q pgxQuerier) QueryRow(ctx context.Context, query string, args ...any) Row {
	return pgxRow{q.on.QueryRow(ctx, query, args...)}
}

// pgxRows tell of trouble that came while they were read as of any other.
type pgxRows struct{ pgx.Rows }

func (r pgxRows) Scan(dest ...any) error { return postgresError(r.Rows.Scan(dest...)) }

func (r pgxRows) Err() error { return postgresError(r.Rows.Err()) }

type pgxRow struct{ row pgx.Row }

func (r pgxRow) Scan(dest ...any) error { return postgresError(r.row.Scan(dest...)) }
