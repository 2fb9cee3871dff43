package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/peer"
)

// TestWaitingTakesNoPlace: clients that stall in the middle of a body do not keep others out, and
// are served when they go on.
func TestWaitingTakesNoPlace(t *testing.T) {
	a := testAPI(Options{MaxInFlight: 2, Timeout: time.Minute, Patience: time.Minute})
	h := a.Handler()
	var wg sync.WaitGroup
	var bodies []*io.PipeWriter
	answers := make(chan int, 8)
	for range 8 {
		r, w := io.Pipe()
		bodies = append(bodies, w)
		wg.Go(func() {
			req := httptest.NewRequest("POST", "/things", r)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer good")
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, req)
			r.Close()
			answers <- rec.Code
		})
		if _, err := io.WriteString(w, `{"name":`); err != nil { // returns when it was read
			t.Fatal(err)
		}
		await.Until(t, "it waits for more", func() bool { return len(a.places) == 0 })
	}
	if w, _ := ask(t, h, "GET", "/things", ""); w.Code != 200 {
		t.Errorf("eight who wait keep others out: %d %s", w.Code, w.Body)
	}
	for _, w := range bodies {
		if _, err := io.WriteString(w, `"a"}`); err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	wg.Wait()
	close(answers)
	for code := range answers {
		if code != 201 && code != 200 {
			t.Errorf("one who waited got %d", code)
		}
	}
	if n := len(a.places); n != 0 {
		t.Errorf("%d places are lost", n)
	}
}

// waits counts how often a connection waited for its client.
type waits struct{ n atomic.Int32 }

func (w *waits) WaitsForClient(since time.Time) {
	if !since.IsZero() {
		w.n.Add(1)
	}
}

// pipes is a listener whose connections are in memory, so that a test has its own
// clock.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { close(p); return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestServersOwnTime: what a server takes between two pieces of a body is not held
// against its client, however little of it has come.
func TestServersOwnTime(t *testing.T) {
	const patience = 300 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		a := testAPI(Options{MaxInFlight: 2, Timeout: time.Minute, Patience: patience})
		var reads waits
		s := &http.Server{
			Handler:     a.Handler(),
			ConnContext: func(ctx context.Context, _ net.Conn) context.Context { return peer.WithWaiter(ctx, &reads) },
		}
		defer s.Close()
		l := make(pipes)
		go s.Serve(l)
		c, theirs := net.Pipe()
		defer c.Close()
		l <- theirs
		c.SetDeadline(time.Now().Add(time.Minute))
		const body = `{"name":"a"}`
		fmt.Fprintf(c, "POST /things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:3])
		synctest.Wait()
		if reads.n.Load() < 2 || len(a.places) > 0 {
			t.Fatal("it does not wait for more")
		}
		a.places <- struct{}{} // others take its place
		a.places <- struct{}{}
		io.WriteString(c, body[3:6])
		time.Sleep(3 * patience)
		<-a.places
		<-a.places
		time.Sleep(patience / 10)
		io.WriteString(c, body[6:])
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
			t.Errorf("%q %v", line, err)
		}
	})
}

// TestHangingUpGivesThePlaceBack: places are counted exactly, however a request
// ends.
func TestHangingUpGivesThePlaceBack(t *testing.T) {
	a := testAPI(Options{MaxInFlight: 2, Timeout: time.Minute, Patience: time.Minute})
	s := httptest.NewServer(a.Handler())
	defer s.Close()
	for range 20 {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "POST /things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{")
		c.Close()
	}
	await.Until(t, "no place is lost", func() bool { return len(a.places) == 0 })
}
