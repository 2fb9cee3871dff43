package network

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"rogito.dev/rogito/server/internal/peer"
)

// limitListener bounds the connections that are open at once, in all and of one
// address. Where there are too many, the one that has waited longest for its
// client is closed for the new one. Where none waits for its client, all being
// at work: one of an address that has its share is refused, any other waits in
// the system's queue.
type limitListener struct {
	net.Listener
	most, share int
	proxies     peer.Proxies // not counted by their address: each speaks for many

	mu      sync.Mutex
	changed *sync.Cond // a connection has ended, or waits for its client
	open    map[*clientConn]struct{}
	from    map[netip.Addr]int
	closed  bool
}

// Limit bounds the connections of a listener.
func Limit(ln net.Listener, most, share int, proxies peer.Proxies) *limitListener {
	l := &limitListener{Listener: ln, most: most, share: share, proxies: proxies, open: map[*clientConn]struct{}{}, from: map[netip.Addr]int{}}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// Accept waits for a connection, and for another to end where there are too many.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if cc := l.admit(c); cc != nil {
			return cc, nil
		}
		_ = c.Close() // a client with too many of them
	}
}

func (l *limitListener) admit(c net.Conn) *clientConn {
	remote, err := netip.ParseAddrPort(c.RemoteAddr().String())
	counted := err == nil && !l.proxies.Trusts(remote.Addr().Unmap())
	addr := peer.Network(remote.Addr())
	l.mu.Lock()
	defer l.mu.Unlock()
	if counted && l.from[addr] >= l.share && !l.evict(func(o *clientConn) bool { return o.from == addr }) {
		return nil
	}
	for len(l.open) >= l.most && !l.evict(func(*clientConn) bool { return true }) {
		if l.closed {
			return nil
		}
		again := time.AfterFunc(100*time.Millisecond, l.changed.Broadcast) // one may be slow by now
		l.changed.Wait()
		again.Stop()
	}
	cc := &clientConn{Conn: c, Listen: l}
	if counted {
		cc.from = addr
		l.from[addr]++
	}
	l.open[cc] = struct{}{}
	return cc
}

// evict closes the connection among these that has waited longest for its
// client.
func (l *limitListener) evict(among func(*clientConn) bool) bool {
	var found *clientConn
	least := time.Now().UnixNano()
	for c := range l.open {
		if since := c.waits.Load(); since != 0 && since <= least && among(c) {
			found, least = c, since
		}
	}
	if found == nil {
		return false
	}
	l.forget(found)
	_ = found.Conn.Close() // its client can connect again
	return true
}

func (l *limitListener) forget(c *clientConn) {
	if _, open := l.open[c]; !open {
		return
	}
	delete(l.open, c)
	if l.from[c.from]--; l.from[c.from] <= 0 {
		delete(l.from, c.from)
	}
	l.changed.Broadcast()
}

func (l *limitListener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}

// clientConn knows since when it waits for its client.
type clientConn struct {
	net.Conn
	Listen *limitListener
	from   netip.Addr
	waits  atomic.Int64 // since when, in Unix nanoseconds; 0: it does not
}

// connState is for http.Server: a connection waits for its client when it is new
// or idle.
func connState(c net.Conn, state http.ConnState) {
	cc := clientConnOf(c)
	switch {
	case cc == nil:
	case state == http.StateNew:
		cc.WaitsForClient(time.Now())
	case state == http.StateIdle:
		cc.waits.Store(time.Now().UnixNano())
		cc.Listen.changed.Signal()
	default:
		cc.waits.Store(0)
	}
}

func clientConnOf(c net.Conn) *clientConn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	cc, _ := c.(*clientConn)
	return cc
}

// slowAfter is how long a client that is new, sends a body or takes an answer may
// stand still before its connection may be closed for another's.
const slowAfter = 250 * time.Millisecond

// WaitsForClient implements peer.Waiter.
func (c *clientConn) WaitsForClient(since time.Time) {
	if since.IsZero() {
		c.waits.Store(0)
		return
	}
	c.waits.Store(since.Add(slowAfter).UnixNano())
}

// connContext is the server's ConnContext.
func connContext(ctx context.Context, c net.Conn) context.Context {
	ctx = context.WithValue(ctx, resetsKey{}, &resets{conn: c})
	if cc := clientConnOf(c); cc != nil {
		ctx = peer.WithWaiter(ctx, cc)
	}
	return ctx
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
	c.Listen.mu.Lock()
	c.Listen.forget(c)
	c.Listen.mu.Unlock()
	return c.Conn.Close()
}
