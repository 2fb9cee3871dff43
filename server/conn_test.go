package server

import (
	"errors"
	"io"
	"net"
	"os"
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

func in(d time.Duration) time.Time { return time.Now().Add(d) }

func TestDeadlinesArePutOff(t *testing.T) {
	t.Parallel()
	ours, _ := pair(t)
	start := time.Now()
	ours.SetReadDeadline(in(20 * time.Millisecond))
	ours.SetReadDeadline(in(200 * time.Millisecond))
	_, err := ours.Read(make([]byte, 1))
	if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took < 200*time.Millisecond || took > 5*time.Second {
		t.Errorf("%v after %v", err, took)
	}
	ours.SetReadDeadline(in(time.Hour))
	ours.SetReadDeadline(in(20 * time.Millisecond)) // sooner
	if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

func TestDeadlinesAreLifted(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	ours.SetReadDeadline(in(20 * time.Millisecond))
	ours.SetReadDeadline(time.Time{})
	time.AfterFunc(100*time.Millisecond, func() { theirs.Write([]byte("a")) })
	if n, err := ours.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Error(n, err)
	}
}

func TestReadIsCutOff(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	for range 3 {
		ours.SetReadDeadline(in(time.Hour))
		time.AfterFunc(20*time.Millisecond, func() { ours.SetReadDeadline(time.Unix(1, 0)) })
		if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("not cut off any more:", err)
		}
		ours.SetReadDeadline(time.Time{})
		theirs.Write([]byte("a"))
		if n, err := ours.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
}

// A write that an early deadline broke off in the middle goes on where it was.
func TestWriteGoesOn(t *testing.T) {
	t.Parallel()
	ours, theirs := pair(t)
	sent := make([]byte, 16<<20)
	for i := range sent {
		sent[i] = byte(i % 251)
	}
	got := make(chan []byte)
	go func() {
		time.Sleep(150 * time.Millisecond)
		b, _ := io.ReadAll(theirs)
		got <- b
	}()
	ours.SetWriteDeadline(in(20 * time.Millisecond))
	ours.SetWriteDeadline(in(time.Minute))
	if n, err := ours.Write(sent); n != len(sent) || err != nil {
		t.Error(n, err)
	}
	if err := ours.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Error(err)
	}
	if b := <-got; string(b) != string(sent) {
		t.Errorf("%d of %d bytes, or others", len(b), len(sent))
	}
	full, _ := pair(t)
	full.SetWriteDeadline(in(50 * time.Millisecond))
	if n, err := full.Write(sent); n == len(sent) || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(n, err)
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
