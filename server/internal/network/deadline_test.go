package network

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// A deadline that is set is set, and one that is taken back is: whichever way it came.
func TestReadDeadlines(t *testing.T) {
	t.Parallel()
	l := listen(t, 10, 10)
	go func() {
		c := dial(t, l.Addr().String())
		defer c.Close()
		_, _ = c.Read(make([]byte, 1)) // until the other side is closed
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var none time.Time
	for name, set := range map[string]func(time.Time) error{"read": c.SetReadDeadline, "both": c.SetDeadline} {
		for _, clear := range []func(time.Time) error{c.SetReadDeadline, c.SetDeadline} {
			if err := errors.Join(clear(none), clear(none), set(time.Now().Add(-time.Second)), clear(none), set(time.Unix(1, 0))); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: it is not bounded: %v", name, err)
			}
			if err := clear(none); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				_, err := c.Read(make([]byte, 1))
				done <- err
			}()
			select {
			case err := <-done:
				t.Errorf("%s: it is still bounded: %v", name, err)
			case <-time.After(20 * time.Millisecond):
				_ = c.SetReadDeadline(time.Unix(1, 0)) // call it back
				var timeout net.Error
				if err := <-done; !errors.As(err, &timeout) || !timeout.Timeout() {
					t.Errorf("%s: called back with %v", name, err)
				}
				_ = c.SetReadDeadline(none)
			}
		}
	}
}
