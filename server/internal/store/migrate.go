package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"rogito.dev/rogito/server/internal/disk"
)

// Until the first release the schema is one file for each engine, changed in place.
// From then on migrations only go forward and only add (a column with a default, a
// table, an index), so that servers of the release before go on while the first new
// one starts.
//
//go:embed migrations
var migrations embed.FS

// migrateLock is the advisory lock of servers that start together.
const migrateLock = 0x726f6769746f // "rogito"

func (e *sqliteEngine) migrate(ctx context.Context) error {
	unlock, err := disk.Lock(e.path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	return migrate(ctx, e.writes, goose.DialectSQLite3, "migrations/sqlite")
}

func (e *postgresEngine) migrate(ctx context.Context) error {
	// The lock lasts as long as this transaction: one of a session would be lost in a
	// pooler that shares sessions.
	tx, err := e.pool.Begin(ctx)
	if err != nil {
		return postgresError(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(migrateLock)); err != nil {
		return postgresError(err)
	}
	db := stdlib.OpenDBFromPool(e.pool)
	defer db.Close()
	return migrate(ctx, db, goose.DialectPostgres, "migrations/postgres")
}

// migrate raises a database to the schema of this program. One that is newer, or
// older than the files here reach back, is refused: the program would start and then
// fail at every call.
func migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, dir string) error {
	files, err := fs.Sub(migrations, dir)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	has, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	all := p.ListSources()
	first, last := all[0].Version, all[len(all)-1].Version
	switch {
	case has > last:
		return fmt.Errorf("the database has schema %d and this program knows schema %d: a newer rogito has written to it; install that version or a later one, or restore a backup from before", has, last)
	case has > 0 && has < first:
		return fmt.Errorf("the database has schema %d, and this program can only raise schema %d or later: it is from before the first release", has, first)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}
