// Package store keeps rows in SQLite (embedded, the default) or PostgreSQL.
//
// It knows engines, transactions and migrations, and nothing of accounts or
// signatures: each package above owns its SQL and writes it once, in the subset
// both engines understand ($1 placeholders, returning, on conflict … do update
// … where, text, bigint, boolean; times as epoch milliseconds).
//
// The two engines differ in one thing a caller must mind: SQLite runs one
// write at a time, PostgreSQL runs many at READ COMMITTED. So a row is never
// read and then written on the strength of what was read: state changes are
// compare-and-set (update … where state = $1) and counters move in one
// statement, and the number of rows affected is the verdict.
package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/span"
)

// ErrNoRows is what Row.Scan returns where there is no row, on both engines.
var ErrNoRows = sql.ErrNoRows

// Config says where the rows are.
type Config struct {
	// Database is "sqlite" (a file in Data; also the meaning of "") or a
	// postgres:// URL.
	Database string
	// Data is the folder of the embedded database. It is made where it does not
	// exist.
	Data string
	// Reserve is the free disk space, in bytes, below which nothing new is
	// taken in. Zero means 5 % of the disk, at most 1 GiB; negative means none.
	Reserve int64
	// MaxConns bounds the connections to PostgreSQL, or the readers of
	// SQLite. Zero means what pool_max_conns says in the URL, or else 4 for each
	// processor, at least 8.
	MaxConns int
	// Log of what the database does beside its statements; nil is silent.
	Log *slog.Logger
}

// Row is one row asked for; the error of the query comes with Scan.
type Row interface {
	Scan(dest ...any) error
}

// Rows is an answer read row by row. Close may be called twice. In a
// transaction it must be read or closed before the next statement: PostgreSQL
// has one conversation at a time on a connection.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close()
}

// Querier runs SQL: a pool of readers, or a transaction.
type Querier interface {
	// Exec runs a statement and returns the number of rows it affected.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) Row
}

// engine is what SQLite and PostgreSQL each do in their own way.
type engine interface {
	reader() Querier
	view(ctx context.Context, fn func(Querier) error) error
	write(ctx context.Context, fn func(*Tx) error) error
	migrate(ctx context.Context) error
	pulse(ctx context.Context, now time.Time) error
	close()
}

// DB is an open database, migrated to this binary's schema.
type DB struct {
	engine  engine
	dialect Dialect
	disk    *disk.Reserve
}

// Dialect names an engine, for the few places that must know.
type Dialect string

// The two engines.
const (
	SQLite     Dialect = "sqlite"
	PostgreSQL Dialect = "postgres"
)

// Open opens the database and brings its schema up to date. Migrations only
// add, so that binaries of the release before keep working beside this one.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(cfg.data(), 0o700); err != nil {
		return nil, fmt.Errorf("store: make data folder: %w", err)
	}
	db := &DB{dialect: SQLite, disk: disk.NewReserve(cfg.data(), cfg.Reserve)}
	var err error
	switch {
	case cfg.Database == "" || cfg.Database == "sqlite":
		db.engine, err = openSQLite(cfg)
	case strings.HasPrefix(cfg.Database, "postgres://"), strings.HasPrefix(cfg.Database, "postgresql://"):
		db.dialect, db.disk = PostgreSQL, nil // the database's disk is not ours to watch
		db.engine, err = openPostgres(ctx, cfg)
	default:
		return nil, fmt.Errorf("store: database is neither sqlite nor a postgres:// URL")
	}
	if err != nil {
		return nil, fmt.Errorf("store: open %s: %w", db.dialect, err)
	}
	if err := db.engine.migrate(ctx); err != nil {
		db.engine.close()
		if isDamaged(err) {
			err = fmt.Errorf("%w: the file is damaged; keep it, and restore the last backup (rogito restore)", err)
		}
		return nil, fmt.Errorf("store: migrate: %w", err)
	}
	return db, nil
}

func (c Config) data() string {
	if c.Data == "" {
		return "data"
	}
	return c.Data
}

// DatabaseFile is the path of the embedded database in a data folder.
func DatabaseFile(data string) string { return filepath.Join(data, "rogito.db") }

// Dialect says which engine serves.
func (d *DB) Dialect() Dialect { return d.dialect }

// Read is the pool of readers. What it reads is committed.
func (d *DB) Read() Querier { return d.engine.reader() }

// View runs fn on one state of the database, whatever is committed meanwhile.
// Rows must be read or closed before the next query.
func (d *DB) View(ctx context.Context, fn func(q Querier) error) error {
	ctx, end := span.Start(ctx, span.DatabaseRead)
	err := d.engine.view(ctx, fn)
	end(err)
	return err
}

// Write runs fn in a transaction: all of it is durable when Write returns nil,
// none of it when it returns an error. An error of fn comes back as it is.
//
// fn must be quick (on SQLite every other writer waits for it), must not call
// Write again, and must have no effect but through tx, since it is run again
// when PostgreSQL asks for a retry. Effects that follow belong in tx.OnCommit.
// Writes that arrive together on SQLite are committed together, with one sync
// of the disk for all.
func (d *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	if err := d.disk.Check(ctx); err != nil {
		return err
	}
	ctx, end := span.Start(ctx, span.DatabaseWrite)
	err := d.engine.write(ctx, fn)
	end(err)
	return err
}

// Able says what keeps anything new from being stored, as far as is known without a
// question to the database.
func (d *DB) Able(ctx context.Context) error { return d.disk.Check(ctx) }

// pulse writes the one row that says that the database takes writes.
const pulse = `insert into pulse (id, at) values (1, $1) on conflict (id) do update set at = excluded.at`

// Ready says what keeps the database from taking work in, or nil. It writes: a database
// may answer every question, and take nothing.
func (d *DB) Ready(ctx context.Context) error {
	if err := d.disk.Check(ctx); err != nil {
		return err
	}
	return fault.Storage(d.engine.pulse(ctx, time.Now()))
}

// Close waits for writes under way and closes the database.
func (d *DB) Close() { d.engine.close() }

// Millis is a time as it is stored: milliseconds since 1970; zero for the zero
// time.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Time is the opposite of Millis.
func Time(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
