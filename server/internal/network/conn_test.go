package network

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"rogito.dev/rogito/server/internal/peer"
)

// accepted is a connection as the server has it and its other end.
func accepted(t *testing.T, l *limitListener) (ours *clientConn, theirs net.Conn) {
	t.Helper()
	theirs = dial(t, l.Addr().String())
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*clientConn), theirs
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func listen(t *testing.T, most, share int, proxies ...string) *limitListener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var trusted peer.Proxies
	for _, p := range proxies {
		trusted = append(trusted, netip.MustParsePrefix(p))
	}
	l := Limit(ln, most, share, trusted)
	t.Cleanup(func() { l.Close() })
	return l
}

// cut says whether the server has closed a connection.
func cut(t *testing.T, c net.Conn) bool {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// The connection that has kept the server waiting longest makes room: new, idle, or slow with a
// body. One that is being answered, or sends at a good rate, does not.
func TestTheSlowestMakesRoom(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]func(*clientConn){
		"new":            func(c *clientConn) { connState(c, http.StateNew); c.waits.Add(-int64(slowAfter)) },
		"idle":           func(c *clientConn) { connState(c, http.StateIdle) },
		"slow with body": func(c *clientConn) { c.WaitsForClient(time.Now().Add(-slowAfter)) },
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, 3, 100)
			works, _ := accepted(t, l)
			connState(works, http.StateActive)
			sends, _ := accepted(t, l)
			connState(sends, http.StateActive)
			sends.WaitsForClient(time.Now().Add(time.Minute))
			slow, theirs := accepted(t, l)
			waits(slow)
			accepted(t, l)
			if !cut(t, theirs) {
				t.Error("the slow one is still there")
			}
			if _, open := l.open[works]; !open {
				t.Error("one that was being answered was closed")
			}
			if _, open := l.open[sends]; !open {
				t.Error("one that was sending was closed")
			}
		})
	}
}

// An address has its share; its own connections make room, and where all are at
// work the new one is closed. Proxies have no share.
func TestConnectionsOfAnAddressAreLimited(t *testing.T) {
	t.Parallel()
	l := listen(t, 100, 2)
	first, theirs := accepted(t, l)
	connState(first, http.StateIdle)
	second, _ := accepted(t, l)
	connState(second, http.StateActive)
	third, _ := accepted(t, l)
	connState(third, http.StateActive)
	if !cut(t, theirs) {
		t.Error("the idle one is still there")
	}
	refused := dial(t, l.Addr().String())
	got := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			got <- c
		}
	}()
	if !cut(t, refused) {
		t.Error("a third connection at work was taken")
	}
	second.Close()
	second.Close() // frees one place, not two
	dial(t, l.Addr().String())
	(<-got).Close()
	if n := len(l.open); n != 1 {
		t.Errorf("%d are open", n)
	}

	behind := listen(t, 100, 1, "127.0.0.0/8")
	for range 3 {
		c, _ := accepted(t, behind)
		connState(c, http.StateActive)
	}
	if n := len(behind.open); n != 3 {
		t.Errorf("%d connections of a proxy are open", n)
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	for _, waits := range []bool{true, false} { // for its turn, when the listener is closed
		synctest.Test(t, func(t *testing.T) {
			clients := make(chan net.Conn, 3)
			for range cap(clients) {
				c, _ := net.Pipe()
				clients <- c
			}
			l := Limit(&pipes{clients, make(chan struct{})}, 1, 100, nil)
			accepted := make(chan error, 1)
			accept := func() (c net.Conn) {
				c, err := l.Accept()
				accepted <- err
				return c
			}
			first := accept()
			if err := <-accepted; err != nil {
				t.Fatal(err)
			}
			connState(first, http.StateActive)
			go accept()
			synctest.Wait()
			if len(accepted) > 0 {
				t.Fatal("one too many:", <-accepted)
			}
			first.Close()
			if err := <-accepted; err != nil {
				t.Fatal(err)
			}
			go accept()
			if waits {
				synctest.Wait()
			}
			l.Close()
			if err := <-accepted; !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		})
	}
}
