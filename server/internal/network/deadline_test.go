package network

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// The deadlines that net/http sets for a request, over and over, are set for the
// first and not again; an earlier one always is.
func TestDeadlineIsSetWhenItMustBe(t *testing.T) {
	t.Parallel()
	var set []time.Time
	d := deadline{set: func(at time.Time) error { set = append(set, at); return nil }}
	for range 100 {
		err := errors.Join(d.want(time.Now().Add(idleTime)), d.want(time.Time{}), d.want(time.Now().Add(requestTime)))
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(set) != 1 || time.Until(set[0]) > wakeUp {
		t.Fatalf("set %d times", len(set))
	}
	soon := time.Now().Add(time.Second)
	if _ = d.want(soon); len(set) != 2 || !set[1].Equal(soon) {
		t.Errorf("an earlier one was not set: %v", set)
	}
	if d.early(errors.New("another")) || !d.early(os.ErrDeadlineExceeded) {
		t.Error("one that is not there yet is over")
	}
	past := time.Unix(1, 0)
	if _ = d.want(past); !set[len(set)-1].Equal(past) || d.early(os.ErrDeadlineExceeded) {
		t.Error("one in the past does not end what waits")
	}
}

// A deadline that was left as it was ends nothing before the one that is wanted, which
// does; and whoever waits can be ended at any time.
func TestDeadlineOfConnection(t *testing.T) {
	t.Parallel()
	ours, theirs := accepted(t, listen(t, 2, 2))
	begun := time.Now()
	ours.SetReadDeadline(begun.Add(20 * time.Millisecond))
	ours.SetReadDeadline(begun.Add(120 * time.Millisecond)) // the first one stays
	if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) < 120*time.Millisecond {
		t.Errorf("ended after %v: %v", time.Since(begun), err)
	}
	ours.SetReadDeadline(time.Time{})
	ended := make(chan error)
	go func() {
		_, err := ours.Read(make([]byte, 1))
		ended <- err
	}()
	ours.SetReadDeadline(time.Unix(1, 0)) // as net/http ends a reading
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	ours.SetReadDeadline(time.Time{})
	if _, err := theirs.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if n, err := ours.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// halting takes a part of what is written, and then says that it is too late.
type halting struct {
	net.Conn
	taken []byte
}

func (h *halting) Write(p []byte) (int, error) {
	if len(p) > 3 {
		h.taken = append(h.taken, p[:3]...)
		return 3, os.ErrDeadlineExceeded
	}
	h.taken = append(h.taken, p...)
	return len(p), nil
}

// What is written beyond a deadline that stayed arrives whole and once; one that is
// over ends it.
func TestDeadlineOfWriting(t *testing.T) {
	t.Parallel()
	h := &halting{}
	c := &clientConn{Conn: h, writes: deadline{set: func(time.Time) error { return nil }}}
	if n, err := c.Write([]byte("0123456789")); n != 10 || err != nil || string(h.taken) != "0123456789" {
		t.Errorf("%d, %v: %q", n, err, h.taken)
	}
	c.SetWriteDeadline(time.Unix(1, 0))
	if n, err := c.Write([]byte("0123456789")); n != 3 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d, %v", n, err)
	}
}
