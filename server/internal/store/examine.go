package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// oldestPostgres is the oldest server whose SQL is ours.
const oldestPostgres = 13

// examineTime is how long a database has to show what it can do.
const examineTime = 30 * time.Second

// examine refuses a database, or a pooler before it, on which the program would start and then
// lose what it relies on: locks between transactions, what was prepared, durable commits.
func (e *postgresEngine) examine(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	a, err := e.pool.Acquire(ctx)
	if err != nil {
		return connectionRefused(err)
	}
	defer a.Release()
	if err := checkServer(ctx, a); err != nil {
		return err
	}
	b, err := e.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("a second connection: %w", connectionRefused(err))
	}
	defer b.Release()
	return checkSessions(ctx, a, b)
}

// connectionRefused says what to do where a pooler refuses a setting.
func connectionRefused(err error) error {
	var no *pgconn.PgError
	if errors.As(err, &no) && strings.Contains(no.Message, "startup parameter") {
		return fmt.Errorf("%w: the pooler before the database does not pass that on; name it in its ignore_startup_parameters", err)
	}
	return postgresError(err)
}

// checkServer looks at the server's version and at what it takes a commit for.
func checkServer(ctx context.Context, a *pgxpool.Conn) error {
	var product, commits string
	var version int
	err := a.QueryRow(ctx, `select version(), current_setting('server_version_num')::int / 10000, current_setting('synchronous_commit')`, pgx.QueryExecModeExec).Scan(&product, &version, &commits)
	if err != nil {
		return fmt.Errorf("ask for the version: %w", postgresError(err))
	}
	if version < oldestPostgres {
		return fmt.Errorf("PostgreSQL %d or later is needed, and this is %s", oldestPostgres, product)
	}
	if commits == "off" {
		return errors.New("the database acknowledges a commit before it is on disk: synchronous_commit is off, and a pooler before it does not pass on that it is to be on; set it for the database or its user")
	}
	return nil
}

// checkSessions looks at what two connections are to each other: whether a lock of one keeps
// the other out, and whether each is with the same session all the time.
func checkSessions(ctx context.Context, a, b *pgxpool.Conn) error {
	tx, err := a.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", postgresError(err))
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	name := rand.Int64()
	if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock($1)`, pgx.QueryExecModeExec, name); err != nil {
		return noLocks(ctx, b, err)
	}
	var taken bool
	if err := b.QueryRow(ctx, `select pg_try_advisory_xact_lock($1)`, pgx.QueryExecModeExec, name).Scan(&taken); err != nil || taken {
		return noLocks(ctx, b, err)
	}
	if mode := a.Conn().Config().DefaultQueryExecMode; mode != pgx.QueryExecModeCacheStatement {
		return nil // nothing is prepared: sessions may be anybody's
	}
	// While a has a session to itself, b prepares on another. Once a's is free, b gets either
	// where sessions are shared, and finds what it prepared where the pooler sees to that.
	prepared := fmt.Sprintf("rogito_%x", rand.Uint64()) // that nobody has left in a session
	if _, err := b.Conn().Prepare(ctx, prepared, `select pg_backend_pid()`); err != nil {
		return sharedSessions(err)
	}
	if err := tx.Rollback(ctx); err != nil {
		return fmt.Errorf("roll back: %w", postgresError(err))
	}
	for range 3 {
		var pid int
		if err := b.QueryRow(ctx, prepared).Scan(&pid); err != nil {
			return sharedSessions(err)
		}
	}
	return b.Conn().Deallocate(ctx, prepared)
}

// noLocks names the database that has no advisory locks, or only their names.
func noLocks(ctx context.Context, b *pgxpool.Conn, err error) error {
	product := "this database"
	_ = b.QueryRow(ctx, `select version()`, pgx.QueryExecModeExec).Scan(&product) // else it has no name
	missing := "advisory locks do not keep two transactions apart there (pg_advisory_xact_lock), and revoked keys could be used"
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("PostgreSQL is needed, and this is %s: %s: %w", product, missing, err)
	case err != nil:
		return postgresError(err)
	}
	return fmt.Errorf("PostgreSQL is needed, and this is %s: %s", product, missing)
}

// sharedSessions says what to do about a pooler in transaction mode.
func sharedSessions(err error) error {
	var no *pgconn.PgError
	if errors.As(err, &no) && (no.Code == "26000" || no.Code == "42P05") {
		return fmt.Errorf("a pooler before the database shares sessions between transactions and knows no prepared statements: set its max_prepared_statements (PgBouncer from 1.21 on), have it pool sessions, or add default_query_exec_mode=exec to the address: %w", err)
	}
	return fmt.Errorf("prepare a statement: %w", postgresError(err))
}
