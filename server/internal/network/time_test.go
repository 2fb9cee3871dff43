package network

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are in memory, so that a test has its own
// clock.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// serveOne serves one connection and returns the client's end of it.
func serveOne(t *testing.T, h http.HandlerFunc) (*http.Server, net.Conn) {
	t.Helper()
	l := &pipes{make(chan net.Conn), make(chan struct{})}
	srv := NewServer(&Config{Limits: Limits{Timeout: time.Minute}}, h, slog.New(slog.DiscardHandler))
	go srv.Serve(Limit(l, 10, 10, nil))
	ours, theirs := net.Pipe()
	l.conns <- theirs
	return srv, ours
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// answered reads one answer.
func answered(c net.Conn) bool {
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err == nil && res.StatusCode == http.StatusOK
}

const request = "GET / HTTP/1.1\r\nHost: here\r\n\r\n"

// A client has its time for a header, from its first byte, however it sends it; for a
// body that no handler reads; and between requests.
func TestConnectionsHaveTheirTime(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		begin func(c net.Conn)
		time  time.Duration
	}{
		"silent": {func(net.Conn) {}, requestTime},
		"drips": {func(c net.Conn) {
			send(t, c, "GET / HT")
			time.Sleep(requestTime / 2)
			send(t, c, "TP/1.1\r\nHost: ")
		}, requestTime / 2},
		"idle": {func(c net.Conn) {
			send(t, c, request)
			answered(c)
		}, idleTime},
		"drips after a request": {func(c net.Conn) {
			send(t, c, request)
			answered(c)
			time.Sleep(idleTime / 2)
			send(t, c, "GET / ")
		}, requestTime},
		"unread body": {func(c net.Conn) {
			send(t, c, strings.Replace(request, "\r\n\r\n", "\r\nContent-Length: 9\r\n\r\n", 1))
		}, requestTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, c := serveOne(t, func(http.ResponseWriter, *http.Request) {})
				defer srv.Close()
				defer c.Close()
				row.begin(c)
				var ended time.Time
				go func() {
					_, _ = io.Copy(io.Discard, c)
					ended = time.Now()
				}()
				time.Sleep(row.time - time.Second)
				synctest.Wait()
				if !ended.IsZero() {
					t.Fatal("closed before the time is over")
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if ended.IsZero() {
					t.Error("still open")
				}
			})
		})
	}
}

// An answer that is late is not sent, unless its handler set another time.
func TestAnswersHaveTheirTime(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"late": false, "with a time of its own": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, c := serveOne(t, func(w http.ResponseWriter, _ *http.Request) {
					if own {
						_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Hour))
					}
					time.Sleep(3 * time.Minute)
				})
				defer srv.Close()
				defer c.Close()
				send(t, c, request)
				if got := answered(c); got != own {
					t.Errorf("answered %v", got)
				}
			})
		})
	}
}
