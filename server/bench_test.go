package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/server"
)

// An authenticated call of the whole server beside a bare handler, over the
// same kind of connections in the same run: the ratio is what counts. The log
// goes to a file, as it would.

func BenchmarkBare(b *testing.B) {
	body := []byte(`{"data":{},"success":true,"message":"No OMI zone found for latitude 1 and longitude 1","error":null}`)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})}
	go srv.Serve(ln)
	defer srv.Close()
	benchGet(b, ln.Addr().String(), "/", "none")
}

func BenchmarkAuthenticated(b *testing.B) {
	addr, token := benchServer(b)
	benchGet(b, addr, "/IT-omi/publications", token)
}

func BenchmarkLookupNotFound(b *testing.B) {
	addr, token := benchServer(b)
	benchGet(b, addr, "/IT-omi?latitude=1&longitude=1", token)
}

func benchServer(b *testing.B) (addr, token string) {
	b.Helper()
	log, err := os.CreateTemp(b.TempDir(), "log")
	if err != nil {
		b.Fatal(err)
	}
	cfg := testDefaults()
	cfg.Listen, cfg.Data, cfg.Limits.Reserve, cfg.OMI.FreePerDay = "127.0.0.1:0", b.TempDir(), -1, -1
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, cfg, server.Streams{Out: &bytes.Buffer{}, Err: log, Ready: func(u string) { ready <- u }})
	}()
	b.Cleanup(func() { cancel(); <-ended; log.Close() })
	select {
	case u := <-ready:
		return strings.TrimPrefix(u, "http://"), server.ReadSandbox(cfg.Data).Token
	case err := <-ended:
		b.Fatal(err)
	case <-time.After(30 * time.Second):
		b.Fatal("not ready")
	}
	return "", ""
}

func benchGet(b *testing.B, addr, path, token string) {
	drive(b, addr, []byte("GET "+path+" HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer "+token+"\r\nUser-Agent: bench\r\n\r\n"), "", b.N)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// drive times a request that is sent a number of times. Every answer must be a
// 200 with the text in it.
func drive(b *testing.B, addr string, request []byte, text string, times int) {
	b.ResetTimer()
	b.StartTimer()
	send(b, addr, request, text, times)
	b.StopTimer()
}

// send sends a request a number of times over 32 connections, with a client
// that does next to nothing, since both share the processors.
func send(t testing.TB, addr string, request []byte, text string, times int) {
	var left atomic.Int64
	left.Store(int64(times))
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			r := bufio.NewReader(conn)
			for left.Add(-1) >= 0 {
				conn.Write(request)
				if err := checkAnswer(r, text); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// checkAnswer reads one answer with a Content-Length.
func checkAnswer(r *bufio.Reader, text string) error {
	length := 0
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("%s", line)
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
		if len(line) == 2 {
			break
		}
	}
	if text == "" {
		_, err := r.Discard(length)
		return err
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	if !bytes.Contains(body, []byte(text)) {
		return fmt.Errorf("%s", body)
	}
	return nil
}
