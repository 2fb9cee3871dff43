package store

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

func isNetwork(err error) bool {
	var op net.Error
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNREFUSED) ||
		strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "closed pool")
}

// isDamaged says that the file of SQLite is not one, or not whole.
func isDamaged(err error) bool {
	var s *sqlite.Error
	return errors.As(err, &s) && (s.Code()&0xff == sqlite3.SQLITE_CORRUPT || s.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// IsConflict says whether a statement met a row with the same key.
func IsConflict(err error) bool {
	var p *pgconn.PgError
	if errors.As(err, &p) {
		return p.Code == "23505"
	}
	var s *sqlite.Error
	return errors.As(err, &s) && (s.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || s.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// IsOrphan says whether a statement referred to a row that is not there.
func IsOrphan(err error) bool {
	var p *pgconn.PgError
	if errors.As(err, &p) {
		return p.Code == "23503"
	}
	var s *sqlite.Error
	return errors.As(err, &s) && s.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
}
