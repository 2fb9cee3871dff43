package network

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"
)

// watch is how far a connection without TLS has come, for whoever ends those that come
// no further. Timeouts of net/http are four deadlines for a request, each with looks at
// the clock and a timer: 2.4 µs of 17 with a bare handler, and GET /wallet takes
// 26.3 µs for 28.5 without, in turns. Here nobody looks at the clock but the listener,
// once a second.
type watch struct {
	turn   atomic.Uint32 // grows with every step; its last bits are the phase
	answer time.Duration // for an answer; does not change

	seen  uint32 // what the listener saw last,
	since time.Time
}

// The phases of a connection.
const (
	unwatched = iota // TLS, or a time that its handler has set
	asking           // from its first byte to the end of a request's header
	answering
	idle
	phases
)

func (w *watch) phase() uint32 { return w.turn.Load() % phases }

func (w *watch) enter(phase uint32) {
	w.turn.Store(w.turn.Load()/phases*phases + phases + phase) // by one goroutine at a time
}

func (w *watch) enterState(s http.ConnState, answer time.Duration) {
	switch s {
	case http.StateNew:
		w.answer = answer
		w.enter(asking)
	case http.StateActive:
		w.enter(answering)
	case http.StateIdle:
		w.enter(idle)
	}
}

// longest is what a phase may take.
func (w *watch) longest() time.Duration {
	switch w.seen % phases {
	case asking:
		return requestTime
	case answering:
		return w.answer
	}
	return idleTime
}

// Read notices the first byte of a request.
func (c *clientConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.phase() == idle {
		c.enter(asking)
	}
	return n, err
}

// SetWriteDeadline is for handlers who know better how long an answer may take, and
// for net/http at its end.
func (c *clientConn) SetWriteDeadline(t time.Time) error {
	if c.phase() == answering {
		c.enter(unwatched)
	}
	return c.Conn.SetWriteDeadline(t)
}

// SetReadDeadline keeps from the connection that it has no deadline where it had none: net/http says
// so three times for a request.
func (c *clientConn) SetReadDeadline(t time.Time) error {
	if t.IsZero() && !c.bounded.Load() {
		return nil
	}
	c.bounded.Store(!t.IsZero())
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline is that of both ways.
func (c *clientConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// sweepEvery is how much longer than its time a connection may stay.
const sweepEvery = time.Second

// sweep ends the connections that have not left their phase in time, and comes back
// while there are any. An answer that is not there in time is not sent any more.
func (l *limitListener) sweep(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		turn := c.turn.Load()
		switch {
		case turn != c.seen:
			c.seen, c.since = turn, now
		case turn%phases == unwatched || now.Sub(c.since) < c.longest():
		case turn%phases == answering:
			_ = c.Conn.SetWriteDeadline(time.Unix(1, 0)) // long ago
		default:
			l.forget(c)
			_ = c.Conn.Close()
		}
	}
	if len(l.open) > 0 {
		l.sweeper.Reset(sweepEvery)
	} else {
		l.sweeper = nil
	}
}

// boundBody bounds the time for a body that no handler reads, nor sets another time
// for.
func boundBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && r.Body != http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(requestTime))
		}
		next.ServeHTTP(w, r)
	})
}
