package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"rogito.dev/rogito/server/internal/disk"
)

// Migrations only go forward and only add: a column with a default, a table,
// an index. What a release no longer reads is dropped two releases later, so
// that the binary of the release before runs on the new schema. 0008 and 0009,
// which make tables anew, are older than the first release.
//
//go:embed migrations
var migrations embed.FS

// migrateLock is the advisory lock of nodes that start together.
const migrateLock = 0x726f6769746f // "rogito"

func (e *sqliteEngine) migrate(ctx context.Context) error {
	unlock, err := disk.Lock(e.path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if err := migrateOwn(ctx, e.writes, goose.DialectSQLite3, "migrations/sqlite"); err != nil {
		return err
	}
	return migrateQueue(ctx, riversqlite.New(e.writes), e.log)
}

func (e *postgresEngine) migrate(ctx context.Context) error {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return postgresError(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(migrateLock)); err != nil {
		return postgresError(err)
	}
	defer func() {
		_, _ = conn.Exec(context.WithoutCancel(ctx), "select pg_advisory_unlock($1)", int64(migrateLock))
	}()
	db := stdlib.OpenDBFromPool(e.pool)
	defer db.Close()
	if err := migrateOwn(ctx, db, goose.DialectPostgres, "migrations/postgres"); err != nil {
		return err
	}
	return migrateQueue(ctx, riverpgxv5.New(e.pool), e.log)
}

// migrateOwn allows out-of-order numbers: branches add theirs side by side.
func migrateOwn(ctx context.Context, db *sql.DB, dialect goose.Dialect, dir string) error {
	files, err := fs.Sub(migrations, dir)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db, files, goose.WithAllowOutofOrder(true), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

func migrateQueue[TTx any](ctx context.Context, driver riverdriver.Driver[TTx], log *slog.Logger) error {
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet(log)})
	if err != nil {
		return err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("queue schema: %w", err)
	}
	return nil
}

// quiet keeps the warnings of a library and drops its news.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}
