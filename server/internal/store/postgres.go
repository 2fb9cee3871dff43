package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
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

// LeastConnections to PostgreSQL are those of a migration: one holds the lock, the other works.
const LeastConnections = 2

func openPostgres(ctx context.Context, cfg Config) (engine, error) {
	c, err := pgxpool.ParseConfig(cfg.Database)
	if err != nil {
		return nil, errors.New("malformed postgres:// URL") // the parser's text may quote the password
	}
	if cfg.MaxConns > 0 || !setInURL(cfg.Database, "pool_max_conns") {
		c.MaxConns = int32(min(cfg.maxConns(), math.MaxInt32))
	}
	if c.MaxConns < LeastConnections {
		return nil, fmt.Errorf("database.connections, or pool_max_conns in the address, is less than %d", LeastConnections)
	}
	c.MinConns = min(c.MinConns, c.MaxConns)
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
	if !setInURL(cfg.Database, "target_session_attrs") && os.Getenv("PGTARGETSESSIONATTRS") == "" {
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	var others atomic.Pointer[pgxpool.Pool] // known once connections may be open
	c.ConnConfig.OnPgError = func(_ *pgconn.PgConn, err *pgconn.PgError) bool { return keep(others.Load(), err) }
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	others.Store(pool)
	e := &postgresEngine{pool: pool, log: cfg.Log}
	if err := e.examine(ctx); err != nil {
		e.pool.Close()
		return nil, err
	}
	return e, nil
}

// setInURL says whether the operator set a parameter in the address.
func setInURL(address, name string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Query().Has(name)
}

// keep reports whether a connection is usable after an error. One to a server that became
// read-only, or to another session than ours, would fail again and again; and if one leads to a
// demoted server, the others may too.
func keep(others *pgxpool.Pool, err *pgconn.PgError) bool {
	if slices.Contains(elsewhere, err.Code) {
		if others != nil {
			go others.Reset()
		}
		return false
	}
	return !strings.EqualFold(err.Severity, "FATAL")
}

// elsewhere are the errors of a connection that does not lead where it should: to a server
// that takes no writes, or to a session without what was prepared.
var elsewhere = []string{
	"25006", // read_only_sql_transaction
	"26000", // invalid_sql_statement_name
	"42P05", // duplicate_prepared_statement
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

// pulse is one statement, so that nobody who is stopped in the middle holds the row.
func (e *postgresEngine) pulse(ctx context.Context, now time.Time) error {
	_, err := e.pool.Exec(ctx, pulse, now.UnixMilli())
	return postgresError(err)
}

func (e *postgresEngine) close() { e.pool.Close() }

// write runs fn, again where the database says that it lost a race with
// another transaction (a deadlock, a serialization failure), or that it is not the one
// to write to, and nothing of it was kept.
func (e *postgresEngine) write(ctx context.Context, fn func(*Tx) error) error {
	const tries = 5
	for try := 1; ; try++ {
		err := e.writeOnce(ctx, fn)
		if err == nil || try == tries {
			return err
		}
		if !again(err) {
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

// again says that nothing of a transaction was kept, and that another try may go better.
func again(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01" || slices.Contains(elsewhere, e.Code))
}

// postgresError distinguishes a database that is unreachable, read-only, full or slow from a
// mistake of ours.
func postgresError(err error) error {
	var refused *pgconn.PgError
	var dial *pgconn.ConnectError
	switch {
	case err == nil, errors.Is(err, pgx.ErrNoRows), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &dial): // for whatever reason
		return fault.Storage(err)
	case errors.As(err, &refused):
		if isAway(refused.Code) {
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

// isAway says that an error tells of the state of the database and not of the statement: by
// its class, or by its code. The names are those of PostgreSQL's list of error codes.
func isAway(code string) bool {
	switch code[:2] {
	case "08", // connection_exception
		"40", // transaction_rollback: after all tries
		"53", // insufficient_resources
		"57", // operator_intervention
		"58": // system_error
		return true
	}
	switch code {
	case "25P03", // idle_in_transaction_session_timeout
		"25P04",          // transaction_timeout
		"42501",          // insufficient_privilege
		"42P01",          // undefined_table: one that every release has is not there
		"55006", "55P03", // object_in_use, lock_not_available
		"XX001", "XX002": // data_corrupted, index_corrupted
		return true
	}
	return slices.Contains(elsewhere, code)
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
