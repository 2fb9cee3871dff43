package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"rogito.dev/rogito/server/internal/disk"
)

// Until the first release the schema is one file, changed in place. From then on
// migrations only go forward and only add (a column with a default, a table, an
// index), so that servers of the release before go on while the first new one starts.
//
//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are written in the words of PostgreSQL. What only one engine can do is
// in lines that begin with its name, a comment for the other.
var (
	forSQLite   = strings.NewReplacer("bigint", "integer", "bytea", "blob", "-- sqlite: ", "")
	forPostgres = strings.NewReplacer(" without rowid", "", "-- postgres: ", "")
)

// migrateLock is the advisory lock of servers that start together.
const migrateLock = 0x726f6769746f // "rogito"

func (e *sqliteEngine) migrate(ctx context.Context) error {
	unlock, err := disk.Lock(e.path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	return migrate(ctx, e.writes, goose.DialectSQLite3, forSQLite)
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
	return migrate(ctx, db, goose.DialectPostgres, forPostgres)
}

// migrate raises a database to the schema of this program. One that is newer, or
// older than the files here reach back, is refused: the program would start and then
// fail at every call.
func migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, words *strings.Replacer) error {
	written, err := migrationsIn(words)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db, nil, goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(written...))
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

// migrationsIn returns the migrations in the words of an engine.
func migrationsIn(words *strings.Replacer) (all []*goose.Migration, _ error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, words.Replace(string(text)))
			return err
		}}, nil))
	}
	return all, nil
}
