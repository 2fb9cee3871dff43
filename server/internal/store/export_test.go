package store

import (
	"context"
	"database/sql"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// MigrateTo brings a database to a version of the schema from before.
func MigrateTo(ctx context.Context, db *sql.DB, dialect Dialect, version int64) error {
	dir, engine := "migrations/sqlite", goose.DialectSQLite3
	if dialect == PostgreSQL {
		dir, engine = "migrations/postgres", goose.DialectPostgres
	}
	files, err := fs.Sub(migrations, dir)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(engine, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = p.UpTo(ctx, version)
	return err
}
