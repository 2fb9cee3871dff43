package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"runtime"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"rogito.dev/rogito/server/internal/fault"
)

// sqliteEngine has one connection that writes and a pool that reads. The
// write-ahead log lets both work at once; synchronous=FULL makes a commit
// survive a power cut.
type sqliteEngine struct {
	path    string
	writes  *sql.DB
	reads   *sql.DB
	log     *slog.Logger
	pending chan *groupWrite
	quit    chan struct{}
	stopped sync.WaitGroup
	mu      sync.RWMutex // held to hand in a write; taken whole to close
	closed  bool
}

func openSQLite(cfg Config) (engine, error) {
	path := DatabaseFile(cfg.data())
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // never readable by others, not even for a moment
	if err != nil {
		return nil, err
	}
	_ = f.Close()
	writes, err := openSQL(sqliteDSN(path, "immediate", 0))
	if err != nil {
		return nil, err
	}
	writes.SetMaxOpenConns(1)
	reads, err := openSQL(sqliteDSN(path, "deferred", 1))
	if err != nil {
		return nil, err
	}
	reads.SetMaxOpenConns(cfg.maxConns())
	reads.SetMaxIdleConns(cfg.maxConns())
	e := &sqliteEngine{
		path: path, writes: writes, reads: reads, log: cfg.Log,
		pending: make(chan *groupWrite, maxGroup), quit: make(chan struct{}),
	}
	e.stopped.Add(1)
	go e.loop()
	return e, nil
}

func sqliteDSN(path, lock string, queryOnly int) string {
	q := url.Values{"_txlock": {lock}, "_pragma": {
		"busy_timeout(15000)",
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
		"temp_store(MEMORY)",
		"wal_autocheckpoint(4000)", // 16 MB: a page that is changed often is copied a quarter as often
		"secure_delete(ON)",        // what is deleted is overwritten
		fmt.Sprintf("query_only(%d)", queryOnly),
	}}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

func (c Config) maxConns() int {
	if c.MaxConns > 0 {
		return c.MaxConns
	}
	return max(8, 4*runtime.GOMAXPROCS(0))
}

func (e *sqliteEngine) reader() Querier { return sqlQuerier{e.reads} }

func (e *sqliteEngine) view(ctx context.Context, fn func(Querier) error) error {
	tx, err := e.reads.BeginTx(ctx, nil)
	if err != nil {
		return sqliteError(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return fn(sqlQuerier{tx})
}

func (e *sqliteEngine) pulse(ctx context.Context, now time.Time) error {
	return e.write(ctx, func(tx *Tx) error {
		_, err := tx.Exec(ctx, pulse, now.UnixMilli())
		return err
	})
}

func (e *sqliteEngine) close() {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return
	}
	e.closed = true
	e.mu.Unlock()
	close(e.quit)
	e.stopped.Wait()
	_ = e.reads.Close()
	_ = e.writes.Close() // the last connection folds the log back into the file
}

// sqliteError distinguishes broken storage from a mistake of ours.
func sqliteError(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fault.Storage(err)
	}
	return err
}

// Snapshot writes a consistent copy of the embedded database in a data folder.
func Snapshot(ctx context.Context, data, to string) error {
	db, err := sql.Open("sqlite", sqliteDSN(DatabaseFile(data), "deferred", 0))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, `vacuum into ?`, to)
	return err
}
