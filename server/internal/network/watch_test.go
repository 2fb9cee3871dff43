package network

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// watched is a server whose listener looks at its connections when it is told to.
type watched struct {
	*limitListener
	t   *testing.T
	now time.Time
}

func watchServer(t *testing.T, h http.HandlerFunc) *watched {
	l := listen(t, 10, 10)
	srv := NewServer(&Config{Limits: Limits{Timeout: time.Minute}}, h, slog.New(slog.DiscardHandler))
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return &watched{l, t, time.Now()}
}

// reach waits until the only connection is in a phase, and has the listener see it.
func (w *watched) reach(phase uint32) {
	w.t.Helper()
	for range 1000 {
		w.mu.Lock()
		for c := range w.open {
			if c.phase() == phase {
				w.mu.Unlock()
				w.sweep(w.now)
				return
			}
		}
		w.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatalf("never came to phase %d", phase)
}

// later looks again after a time.
func (w *watched) later(d time.Duration) {
	w.now = w.now.Add(d)
	w.sweep(w.now)
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func answered(t *testing.T, c net.Conn) bool {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err == nil && res.StatusCode == http.StatusOK
}

const request = "GET / HTTP/1.1\r\nHost: here\r\n\r\n"

// A client has its time for a header, from its first byte, however it sends it, and
// between requests.
func TestConnectionsHaveTheirTime(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		begin func(w *watched, c net.Conn)
		time  time.Duration
	}{
		"silent": {func(w *watched, c net.Conn) { w.reach(asking) }, requestTime},
		"drips": {func(w *watched, c net.Conn) {
			send(t, c, "GET / HT")
			w.reach(asking)
			send(t, c, "TP/1.1\r\nHost: ")
		}, requestTime},
		"idle": {func(w *watched, c net.Conn) {
			send(t, c, request)
			answered(t, c)
			w.reach(idle)
		}, idleTime},
		"drips after a request": {func(w *watched, c net.Conn) {
			send(t, c, request)
			answered(t, c)
			w.reach(idle)
			w.later(idleTime / 2)
			send(t, c, "GET / ")
			w.reach(asking)
		}, requestTime},
	} {
		t.Run(name, func(t *testing.T) {
			w := watchServer(t, func(http.ResponseWriter, *http.Request) {})
			c := dial(t, w.Addr().String())
			row.begin(w, c)
			w.later(row.time - time.Second)
			if n := len(w.open); n != 1 {
				t.Fatalf("%d open before the time is over", n)
			}
			w.later(time.Second)
			c.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("still open: %v", err)
			}
		})
	}
}

// An answer that is late is not sent, unless its handler set another time.
func TestAnswersHaveTheirTime(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		goOn := make(chan struct{})
		w := watchServer(t, func(w http.ResponseWriter, _ *http.Request) {
			if own {
				_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Hour))
			}
			<-goOn
		})
		c := dial(t, w.Addr().String())
		send(t, c, request)
		if own {
			w.reach(unwatched)
		} else {
			w.reach(answering)
		}
		w.later(2 * time.Minute)
		close(goOn)
		if got := answered(t, c); got != own {
			t.Errorf("answered %v, with a time of its own %v", got, own)
		}
	}
}

// A body that no handler reads has a time too.
func TestUnreadBodiesHaveTheirTime(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "x"} {
		w := &deadlines{ResponseWriter: httptest.NewRecorder()}
		r, err := http.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		boundBody(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if set := !w.read.IsZero(); set != (body != "") {
			t.Errorf("body %q: deadline %v", body, w.read)
		}
	}
}

type deadlines struct {
	http.ResponseWriter
	read time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = t; return nil }
