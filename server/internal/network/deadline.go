package network

import (
	"errors"
	"os"
	"sync"
	"time"
)

// deadline is one of a connection that is set when it must be. net/http sets four
// for every request, most of them later than the one before, and each costs as much
// as finding out who calls (all of them 4 % of a lookup). So an earlier one
// stays, and whoever it ends too early sets the one that is wanted and goes on.
type deadline struct {
	set func(time.Time) error

	mu     sync.Mutex
	wanted time.Time // zero: none
	is     time.Time // that the connection has
}

// wakeUp is the latest that a connection is given. An idle one wakes up as often; the
// deadlines of its next request are later.
const wakeUp = requestTime

func (d *deadline) want(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	if t.IsZero() && d.is.IsZero() || !d.is.IsZero() && (t.IsZero() || !t.Before(d.is)) {
		return nil
	}
	return d.put(t)
}

func (d *deadline) put(t time.Time) error {
	if soon := time.Now().Add(wakeUp); t.IsZero() || soon.Before(t) {
		t = soon
	}
	d.is = t
	return d.set(t)
}

// early reports that an error is of a deadline before the one that is wanted, which
// is set then.
func (d *deadline) early(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return (d.wanted.IsZero() || time.Now().Before(d.wanted)) && d.put(d.wanted) == nil
}

// SetReadDeadline implements net.Conn.
func (c *clientConn) SetReadDeadline(t time.Time) error { return c.reads.want(t) }

// SetWriteDeadline implements net.Conn.
func (c *clientConn) SetWriteDeadline(t time.Time) error { return c.writes.want(t) }

// SetDeadline implements net.Conn.
func (c *clientConn) SetDeadline(t time.Time) error {
	return errors.Join(c.reads.want(t), c.writes.want(t))
}

// Read implements net.Conn.
func (c *clientConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if n > 0 || err == nil || !c.reads.early(err) {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *clientConn) Write(p []byte) (sent int, err error) {
	for {
		n, err := c.Conn.Write(p[sent:])
		if sent += n; err == nil || !c.writes.early(err) {
			return sent, err
		}
	}
}
