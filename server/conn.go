package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// limitListener accepts so many connections at once and no more. Where there are too
// many, the one that has waited longest for its client to say something makes
// room; where none waits, further ones do, in the system's queue. Its
// connections are sparing with deadlines.
type limitListener struct {
	net.Listener
	slots  chan struct{}
	closed context.Context
	close  context.CancelFunc

	mu   sync.Mutex
	open map[*sparing]struct{}
}

func limit(ln net.Listener, most int) *limitListener {
	l := &limitListener{Listener: ln, slots: make(chan struct{}, most), open: map[*sparing]struct{}{}}
	l.closed, l.close = context.WithCancel(context.Background())
	return l
}

// Accept waits for a connection, and for another to end where there are too many.
func (l *limitListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if err := l.enter(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	s := &sparing{Conn: c}
	s.release = sync.OnceFunc(func() {
		l.mu.Lock()
		delete(l.open, s)
		l.mu.Unlock()
		<-l.slots
	})
	s.read.set, s.write.set = c.SetReadDeadline, c.SetWriteDeadline
	l.mu.Lock()
	l.open[s] = struct{}{}
	l.mu.Unlock()
	return s, nil
}

// enter takes a place, from an idle connection if need be.
func (l *limitListener) enter() error {
	for {
		select {
		case l.slots <- struct{}{}:
			return nil
		default:
		}
		if idle := l.longestIdle(); idle != nil {
			_ = idle.Close() // whoever it was can come again
			continue
		}
		select {
		case l.slots <- struct{}{}:
			return nil
		case <-time.After(100 * time.Millisecond): // one may be idle by now
		case <-l.closed.Done():
			return net.ErrClosed
		}
	}
}

func (l *limitListener) longestIdle() (found *sparing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	least := int64(0)
	for s := range l.open {
		if since := s.idle.Load(); since != 0 && (found == nil || since < least) {
			found, least = s, since
		}
	}
	return found
}

func (l *limitListener) Close() error {
	l.close()
	return l.Listener.Close()
}

// connState keeps track of which connections wait for their client; it is for
// http.Server.
func connState(c net.Conn, state http.ConnState) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	s, ok := c.(*sparing)
	if !ok {
		return
	}
	switch state {
	case http.StateNew, http.StateIdle:
		s.idle.Store(time.Now().UnixNano())
	case http.StateActive, http.StateHijacked, http.StateClosed:
		s.idle.Store(0)
	}
}

// sparing is a connection that sets few of the deadlines it is asked for. Where
// one is armed that comes sooner, it stays: should it pass while somebody
// waits, it is set anew and the wait goes on. net/http asks for seven in a
// request that takes ten microseconds, and each takes a part of one.
type sparing struct {
	net.Conn
	release     func()
	idle        atomic.Int64 // since when it waits for its client, as nanoseconds; 0: it does not
	read, write deadline
}

func (s *sparing) Read(p []byte) (int, error) {
	for {
		if !s.read.enter() {
			return 0, os.ErrDeadlineExceeded
		}
		n, err := s.Conn.Read(p)
		s.read.leave()
		if err == nil || n > 0 || !s.read.early(err) {
			return n, err
		}
	}
}

func (s *sparing) Write(p []byte) (n int, err error) {
	for {
		if !s.write.enter() {
			return n, os.ErrDeadlineExceeded
		}
		var k int
		k, err = s.Conn.Write(p[n:])
		s.write.leave()
		if n += k; err == nil || !s.write.early(err) {
			return n, err
		}
	}
}

func (s *sparing) SetReadDeadline(t time.Time) error  { return s.read.want(t) }
func (s *sparing) SetWriteDeadline(t time.Time) error { return s.write.want(t) }
func (s *sparing) SetDeadline(t time.Time) error {
	return errors.Join(s.read.want(t), s.write.want(t))
}

// CloseWrite says that no more will come: so a refusal reaches a client that
// is still sending.
func (s *sparing) CloseWrite() error {
	if c, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (s *sparing) Close() error {
	defer s.release()
	return s.Conn.Close()
}

// deadline is one direction's: the one asked for, and the one that is set,
// which is never later.
type deadline struct {
	mu     sync.Mutex
	set    func(time.Time) error
	inside int       // how many wait on the connection
	wanted time.Time // zero: none
	armed  time.Time // zero: none
	cut    bool      // to break off at once
	broken bool      // what is set is the cut, not armed
}

// started tells a deadline that is to break off, which is long ago, from one
// to come, without a look at the clock.
var started = time.Now()

func (d *deadline) want(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	d.cut = !t.IsZero() && t.Before(started)
	switch {
	case d.cut && (d.inside == 0 || d.broken):
		return nil // nobody to break off; who comes is told at the door
	case d.cut:
		d.broken = true
		return d.set(t)
	case !t.IsZero() && (d.armed.IsZero() || d.armed.After(t)):
		d.armed = t
	case !d.broken:
		return nil
	}
	d.broken = false
	return d.set(d.armed)
}

func (d *deadline) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cut {
		return false
	}
	d.inside++
	return true
}

func (d *deadline) leave() {
	d.mu.Lock()
	d.inside--
	d.mu.Unlock()
}

// early says whether err comes of a deadline before the one asked for, which
// is then set.
func (d *deadline) early(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cut || !d.wanted.IsZero() && !d.wanted.After(time.Now()) {
		return false
	}
	d.armed, d.broken = d.wanted, false
	return d.set(d.armed) == nil
}
