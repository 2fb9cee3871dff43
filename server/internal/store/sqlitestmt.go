package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"

	"modernc.org/sqlite"
)

// maxStatements bounds the statements that one connection keeps prepared. The
// packages above have a few dozen of their own.
const maxStatements = 160

// maxStatement is the longest statement kept: those of many rows at once are
// rarely met again.
const maxStatement = 4 << 10

// openSQL opens a pool whose connections keep their statements. Without that a
// signature over HTTP with a durable record cost 31 % more processor time (P-256
// on SQLite, 500 at a time, in turn with and without: 1.31, 1.31, 1.38).
func openSQL(dsn string) (*sql.DB, error) {
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(keepingConnector{c}), nil
}

type keepingConnector struct{ driver.Connector }

func (k keepingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := k.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := c.(sqliteConn)
	if !ok {
		_ = c.Close()
		return nil, errors.New("store: the SQLite driver lacks a part")
	}
	return &keepingConn{sqliteConn: inner, kept: map[string]*keptStmt{}}, nil
}

// sqliteConn is what database/sql asks of a connection.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// keepingConn is used by one goroutine at a time, as database/sql promises.
type keepingConn struct {
	sqliteConn
	kept map[string]*keptStmt
}

type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type keptStmt struct {
	sqliteStmt
	busy bool // its rows are still being read
}

// stmt is a statement to be used at once; nil means that this one is not kept,
// or is busy.
func (c *keepingConn) stmt(ctx context.Context, query string) *keptStmt {
	if s := c.kept[query]; s != nil {
		if s.busy {
			return nil
		}
		return s
	}
	if len(query) > maxStatement {
		return nil
	}
	p, err := c.sqliteConn.PrepareContext(ctx, unnamed(query))
	if err != nil {
		return nil // running it gives the error
	}
	inner, ok := p.(sqliteStmt)
	if !ok {
		_ = p.Close()
		return nil
	}
	c.makeRoom()
	s := &keptStmt{sqliteStmt: inner}
	c.kept[query] = s
	return s
}

// unnamed writes ? for $1, $2 and so on where each occurs once, in order. The
// driver asks SQLite for the name of every parameter each time it is bound, and
// compares; it is spared where there is none.
func unnamed(query string) string {
	var b strings.Builder
	rest := query
	for n := 1; ; n++ {
		i := strings.IndexByte(rest, '$')
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		name := "$" + strconv.Itoa(n)
		after, ok := strings.CutPrefix(rest[i:], name)
		if !ok || after != "" && after[0] >= '0' && after[0] <= '9' || strings.ContainsAny(query, "?'") {
			return query
		}
		b.WriteString(rest[:i])
		b.WriteByte('?')
		rest = after
	}
}

// makeRoom drops any statement that is not being read; what is often used is
// soon back.
func (c *keepingConn) makeRoom() {
	if len(c.kept) < maxStatements {
		return
	}
	for query, s := range c.kept {
		if !s.busy {
			_ = s.Close() // it only says again what its last use said
			delete(c.kept, query)
			return
		}
	}
}

func (c *keepingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 && !isSavepoint(query) {
		return c.sqliteConn.ExecContext(ctx, query, args) // schema changes, scripts
	}
	s := c.stmt(ctx, query)
	if s == nil {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	return s.ExecContext(ctx, args)
}

func (c *keepingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s := c.stmt(ctx, query)
	if s == nil {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.busy = true
	return &keptRows{Rows: rows, stmt: s}, nil
}

func (c *keepingConn) Close() error {
	for _, s := range c.kept {
		_ = s.Close() // as above
	}
	c.kept = nil
	return c.sqliteConn.Close()
}

type keptRows struct {
	driver.Rows
	stmt *keptStmt
}

func (r *keptRows) Close() error {
	err := r.Rows.Close()
	r.stmt.busy = false
	return err
}

const (
	savepoint = "savepoint one"
	backToIt  = "rollback to one"
	release   = "release one"
)

func isSavepoint(query string) bool {
	return query == savepoint || query == backToIt || query == release
}
