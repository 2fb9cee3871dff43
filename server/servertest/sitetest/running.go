package sitetest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/draw/drawtest"
	"rogito.dev/rogito/server"
)

// Running is a server started for a test.
type Running struct {
	URL  string
	Addr string
	Stop func() error // ends it and waits
	Out  *bytes.Buffer
	Log  *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func Start(t *testing.T, change func(*server.Config)) *Running {
	t.Helper()
	cfg := TestDefaults()
	cfg.Listen, cfg.Data, cfg.Limits.Reserve = "127.0.0.1:0", t.TempDir(), -1
	drawtest.Share(t, cfg.Data)
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Running{Out: &bytes.Buffer{}, Log: &lockedBuffer{}}
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, cfg, server.Streams{Out: r.Out, Err: r.Log, Ready: func(u string) { ready <- u }})
	}()
	select {
	case r.URL = <-ready:
	case err := <-ended:
		t.Fatalf("did not start: %v\n%s", err, r.Log)
	case <-time.After(2 * time.Minute):
		t.Fatalf("not ready after two minutes\n%s", r.Log)
	}
	r.Addr = strings.TrimPrefix(strings.TrimPrefix(r.URL, "http://"), "https://")
	r.Stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { r.Stop() })
	return r
}

func Get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}
