package server

import (
	"errors"
	"net"
	"net/http"
	"testing"
	"time"
)

// pair is a connection as the server has it and its other end.
func pair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limit(ln, 1)
	t.Cleanup(func() { l.Close() })
	if theirs, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if ours, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// A connection is overdue when its header takes too long, or it says nothing.
func TestSlowClientsAreOverdue(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	c := ours.(*clientConn)
	connState(ours, http.StateNew)
	l := &limitListener{open: map[*clientConn]struct{}{c: {}}}
	overdue := func(after time.Duration) bool { return len(l.overdue(time.Now().Add(after))) == 1 }
	if overdue(headerTime-time.Second) || !overdue(headerTime+time.Second) {
		t.Error("a new connection that says nothing")
	}
	connState(ours, http.StateActive)
	if overdue(time.Hour) {
		t.Error("a request that is being answered")
	}
	connState(ours, http.StateIdle)
	if overdue(idleTime-time.Second) || !overdue(idleTime+time.Second) {
		t.Error("an idle connection")
	}
	theirs.Write([]byte("G"))
	if n, err := ours.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if overdue(headerTime-time.Second) || !overdue(headerTime+time.Second) {
		t.Error("a second header that takes its time")
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limit(ln, 1)
	for range 2 {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error)
	go func() {
		_, err := l.Accept()
		second <- err
	}()
	select {
	case err := <-second:
		t.Fatal("one too many:", err)
	case <-time.After(50 * time.Millisecond):
	}
	first.Close()
	first.Close() // frees one place, not two
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := l.Accept()
		second <- err
	}()
	l.Close()
	if err := <-second; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
