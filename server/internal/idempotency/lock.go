package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"rogito.dev/rogito/server/internal/store"
)

// claimLocks tells the processes on one PostgreSQL which keys are being worked
// on: an advisory lock for each running call, all on one connection of this
// process's own. The locks of a process that dies go with its connection, so
// that nothing has to run out. Without the connection, and on SQLite, there are
// none: then the second of two calls loses at the primary key.
type claimLocks struct {
	db   *store.DB
	mu   sync.Mutex
	conn *pgx.Conn
}

// patience with the server for one lock.
const lockPatience = 5 * time.Second

// lockNumber is the advisory lock of a key.
func lockNumber(name string) int64 {
	sum := sha256.Sum256([]byte("rogito idempotency\x00" + name))
	return int64(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // any number will do
}

// take says false where another process holds the lock, and whether it is ours
// to give back.
func (l *claimLocks) take(name string) (free, held bool) {
	if l.db.Dialect() != store.PostgreSQL {
		return true, false
	}
	err := l.ask(`select pg_try_advisory_lock($1)`, lockNumber(name), &held)
	return err != nil || held, held
}

// giveBack does so. A lock that cannot be given back goes with its connection:
// kept, it would shut the other processes out for as long as this one lives.
func (l *claimLocks) giveBack(name string) {
	var was bool
	if l.ask(`select pg_advisory_unlock($1)`, lockNumber(name), &was) != nil {
		l.hangUp()
	}
}

func (l *claimLocks) hangUp() {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close(ctx) // closed, whatever it says
	}
}

// ask runs one statement. It is not cut off when its call is: that would end
// the connection, and every other call's lock with it.
func (l *claimLocks) ask(query string, number int64, answer *bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil || l.conn.IsClosed() {
		conn, err := pgx.ConnectConfig(ctx, l.db.Pool().Config().ConnConfig)
		if err != nil {
			return err
		}
		l.conn = conn
	}
	return l.conn.QueryRow(ctx, query, number).Scan(answer)
}
