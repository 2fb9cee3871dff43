package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds on a client that keeps the server waiting. They are kept by a look at
// all connections once a second: net/http would set and lift four deadlines for
// each request, and a lookup then costs 10 % more processor time.
const (
	headerTime = 10 * time.Second // from the first byte of a request to the end of its header
	idleTime   = 2 * time.Minute  // between requests
)

// limitListener bounds the connections that are open at once. Where there are
// too many, the one that has waited longest for its client is closed for the new
// one; where none waits, new ones wait in the system's queue.
type limitListener struct {
	net.Listener
	slots  chan struct{}
	closed context.Context
	close  context.CancelFunc

	mu   sync.Mutex
	open map[*clientConn]struct{}
}

func limit(ln net.Listener, most int) *limitListener {
	l := &limitListener{Listener: ln, slots: make(chan struct{}, most), open: map[*clientConn]struct{}{}}
	l.closed, l.close = context.WithCancel(context.Background())
	go l.sweep()
	return l
}

// Accept waits for a connection, and for another to end where there are too many.
func (l *limitListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if err := l.acquire(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	cc := &clientConn{Conn: c}
	cc.release = sync.OnceFunc(func() {
		l.mu.Lock()
		delete(l.open, cc)
		l.mu.Unlock()
		<-l.slots
	})
	l.mu.Lock()
	l.open[cc] = struct{}{}
	l.mu.Unlock()
	return cc, nil
}

// acquire takes a slot, from an idle connection if need be.
func (l *limitListener) acquire() error {
	for {
		select {
		case l.slots <- struct{}{}:
			return nil
		default:
		}
		if idle := l.longestIdle(); idle != nil {
			_ = idle.Close() // its client can connect again
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

func (l *limitListener) longestIdle() (found *clientConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	least := int64(0)
	for c := range l.open {
		if since := c.idle.Load(); since != 0 && (found == nil || since < least) {
			found, least = c, since
		}
	}
	return found
}

// sweep closes the connections whose client takes too long.
func (l *limitListener) sweep() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-l.closed.Done():
			return
		case now := <-tick.C:
			for _, c := range l.overdue(now) {
				_ = c.Close()
			}
		}
	}
}

func (l *limitListener) overdue(now time.Time) (list []*clientConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		idle, header := c.idle.Load(), c.header.Load()
		if idle != 0 && (now.UnixNano()-idle > int64(idleTime) || header != 0 && now.UnixNano()-header > int64(headerTime)) {
			list = append(list, c)
		}
	}
	return list
}

func (l *limitListener) Close() error {
	l.close()
	return l.Listener.Close()
}

// clientConn knows since when it waits for its client.
type clientConn struct {
	net.Conn
	release func()
	idle    atomic.Int64 // since when, in Unix nanoseconds; 0: a request is being answered
	header  atomic.Int64 // since when a request's header arrives; 0: it does not
}

// connState is for http.Server, which says StateActive once a whole header was
// read.
func connState(c net.Conn, state http.ConnState) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if cc, ok := c.(*clientConn); ok {
		cc.waits(state)
	}
}

func (c *clientConn) waits(state http.ConnState) {
	c.idle.Store(0)
	c.header.Store(0)
	switch state {
	case http.StateNew: // the first header is expected at once
		now := time.Now().UnixNano()
		c.header.Store(now)
		c.idle.Store(now)
	case http.StateIdle:
		c.idle.Store(time.Now().UnixNano())
	}
}

func (c *clientConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.idle.Load() != 0 && c.header.Load() == 0 {
		c.header.Store(time.Now().UnixNano())
	}
	return n, err
}

// CloseWrite says that no more will come: so a refusal reaches a client that
// is still sending.
func (c *clientConn) CloseWrite() error {
	if c, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (c *clientConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
