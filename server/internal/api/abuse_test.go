package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/upload"
)

// brackets is deeply nested JSON, made while it is read so that it takes no memory.
type brackets struct{ n int }

func (b *brackets) Read(p []byte) (int, error) {
	if b.n == 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), b.n)]
	for i := range p {
		p[i] = '['
	}
	b.n -= len(p)
	return len(p), nil
}

// A body that is too deep is refused where it becomes so. What follows is read
// up to a bound, so that the client reads the refusal, and kept nowhere.
func TestDeepBodyCostsNothing(t *testing.T) {
	h := testAPI(Options{}).Handler()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const size = 3 * drainBytes
	body := &brackets{size}
	r := httptest.NewRequest("POST", "/things", body)
	r.Header.Set("Authorization", "Bearer good")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	if w.Code != 400 {
		t.Errorf("%d", w.Code)
	}
	if read := size - body.n; read > drainBytes+1<<16 {
		t.Errorf("%d bytes were read", read)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes allocated", grown)
	}
}

type uploadInput struct {
	Body Upload[struct {
		Doc upload.Text `json:"doc"`
	}]
}

func uploadServer(t *testing.T, opts Options) *httptest.Server {
	a := New(opts)
	Register(a, Op{Method: "POST", Path: "/upload", ID: "upload", Public: true, Form: struct{}{}},
		func(ctx context.Context, in *uploadInput) (Reply[int64], error) {
			if parts := in.Body.Form("doc"); len(parts) > 0 {
				doc, err := parts[0].Text.Document(0)
				if err != nil {
					return Reply[int64]{}, err
				}
				return Found(doc.Size()), nil
			}
			body, err := in.Body.Decode()
			if err != nil {
				return Reply[int64]{}, err
			}
			doc, err := body.Doc.Document(0)
			if err != nil {
				return Reply[int64]{}, err
			}
			return Found(doc.Size()), nil
		})
	srv := httptest.NewServer(a.Handler())
	t.Cleanup(srv.Close)
	return srv
}

func TestLargeUploadIsSpooled(t *testing.T) {
	dir := t.TempDir()
	srv := uploadServer(t, Options{SpoolDir: dir})
	const size = 40 << 20
	body := io.MultiReader(strings.NewReader(`{"doc":"`), &letters{size}, strings.NewReader(`"}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resp, err := http.Post(srv.URL+"/upload", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	runtime.ReadMemStats(&after)
	b, _ := io.ReadAll(resp.Body)
	if want := fmt.Sprintf(`{"data":%d,"success":true,"message":"","error":null}`, size/4*3); string(b) != want {
		t.Errorf("%s", b)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("%d bytes allocated for a body of %d", grown, size)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left on disk: %v", left)
	}
}

type letters struct{ n int }

func (l *letters) Read(p []byte) (int, error) {
	if l.n == 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), l.n)]
	for i := range p {
		p[i] = 'A'
	}
	l.n -= len(p)
	return len(p), nil
}

func TestBodyShorterThanAnnounced(t *testing.T) {
	srv := uploadServer(t, Options{})
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	io.WriteString(conn, "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{\"doc\":\"x")
	conn.(*net.TCPConn).CloseWrite()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, " 400 ") {
		t.Errorf("%q %v", line, err)
	}
}

// TestSlowBody: a client that stops sending is cut off, and costs a goroutine
// only until then; one that only dribbles has to keep up a mean rate.
func TestSlowBody(t *testing.T) {
	const patience = 300 * time.Millisecond
	srv := uploadServer(t, Options{Patience: patience})
	for name, dribble := range map[string]bool{"stops": false, "dribbles": true} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(time.Minute))
			begin := time.Now()
			io.WriteString(conn, "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{")
			if dribble {
				go func() {
					for range time.Tick(50 * time.Millisecond) {
						if _, err := io.WriteString(conn, " "); err != nil {
							return
						}
					}
				}()
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			if !strings.Contains(line, " 408 ") {
				t.Errorf("%q", line)
			}
			if took := time.Since(begin); took < patience {
				t.Errorf("after %v", took)
			}
		})
	}
}

// TestOverloadIsAnsweredEarly: what does not fit is told so while the others
// still run (they end only when the test says so), with when to come back;
// health is always answered.
func TestOverloadIsAnsweredEarly(t *testing.T) {
	a := testAPI(Options{MaxInFlight: 2, Timeout: time.Minute})
	a.Mount("/healthz", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	h := a.Handler()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/broken/slow", nil))
		})
	}
	await.Until(t, "two are being answered", func() bool { return len(a.places) == 2 })
	w, e := ask(t, h, "GET", "/things", "")
	if w.Code != 503 || *e.Error != 105 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w, _ := ask(t, h, "GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("health: %d", w.Code)
	}
	cancel()
	wg.Wait()
	if w, _ := ask(t, h, "GET", "/things", ""); w.Code != 200 {
		t.Errorf("did not recover: %d", w.Code)
	}
}

func TestTokensInPathsAreNotLogged(t *testing.T) {
	a := New(Options{})
	c := &call{route: "/token/{token}"}
	if got := a.SafePath("/token/canary", c.route); strings.Contains(got, "canary") {
		t.Error(got)
	}
}

// A handler that panics, refuses or outlives its client leaves nothing of the
// body behind: no file, and no open one without a name.
func TestNothingIsLeftOfABody(t *testing.T) {
	dir := t.TempDir()
	a := New(Options{SpoolDir: dir})
	ends := map[string]func() error{
		"ok": func() error { return nil }, "refuses": func() error { return fault.New(fault.BadField, "no") },
		"fails": func() error { return errors.New("no") }, "panics": func() error { panic("no") }, "aborts": func() error { panic(http.ErrAbortHandler) },
	}
	for how, end := range ends {
		Register(a, Op{Method: "POST", Path: "/" + how, ID: how, Public: true}, func(_ context.Context, in *uploadInput) (Reply[int64], error) {
			body, err := in.Body.Decode()
			if err != nil {
				return Reply[int64]{}, err
			}
			if _, err := body.Doc.Document(0); err != nil {
				return Reply[int64]{}, err
			}
			if open(t, dir) == 0 {
				t.Error("nothing is on disk")
			}
			return Found(int64(0)), end()
		})
	}
	srv := httptest.NewServer(a.Handler())
	defer srv.Close()
	for how := range ends {
		resp, err := http.Post(srv.URL+"/"+how, "application/json", io.MultiReader(strings.NewReader(`{"doc":"`), &letters{4 << 20}, strings.NewReader(`"}`)))
		if err == nil {
			resp.Body.Close()
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 || open(t, dir) != 0 {
			t.Errorf("%s: %d files with a name, %d open ones", how, len(left), open(t, dir))
		}
	}
}

// open counts the files that this process has open in a folder.
func open(t *testing.T, dir string) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("SKIPPED: no /proc to read open files from")
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}
