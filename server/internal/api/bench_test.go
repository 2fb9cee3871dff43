package api

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The two handlers run over the same loopback connections in the same run, so
// that their ratio means something on any machine.

func bareHandler() http.Handler {
	body := []byte(`{"data":{"id":"x","note":null,"part":null,"count":0},"success":true,"message":"","error":null}`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})
}

func trivialAPI(b *testing.B) http.Handler {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { null.Close() })
	a := New(Options{Gate: gate{}, Log: slog.New(slog.NewJSONHandler(null, nil)), Observe: func(Observation) {}})
	Register(a, Op{Method: "GET", Path: "/trivial", ID: "trivial"},
		func(ctx context.Context, in *struct{}) (Reply[thing], error) { return Found(thing{ID: "x"}), nil })
	data := []byte(`{"id":"x","note":null,"part":null,"count":0}`)
	RegisterRaw[struct{}](a, Op{Method: "GET", Path: "/encoded", ID: "encoded"},
		func(ctx context.Context, r *http.Request) (Reply[thing], error) {
			return Reply[thing]{JSON: func(b []byte) []byte { return append(b, data...) }}, nil
		})
	return a.Handler()
}

// benchHTTP drives a handler over 32 loopback connections with a client that
// does next to nothing, since both share the processors.
func benchHTTP(b *testing.B, h http.Handler, path string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute}
	go srv.Serve(ln)
	defer srv.Close()
	request := []byte("GET " + path + " HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer good\r\nUser-Agent: bench\r\n\r\n")
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 32 {
		wg.Go(func() {
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			r := bufio.NewReader(conn)
			for left.Add(-1) >= 0 {
				conn.Write(request)
				if err := skipAnswer(r); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// skipAnswer reads one answer with a Content-Length and checks that it is a 200.
func skipAnswer(r *bufio.Reader) error {
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
			_, err := r.Discard(length)
			return err
		}
	}
}

func BenchmarkHTTPBare(b *testing.B)    { benchHTTP(b, bareHandler(), "/trivial") }
func BenchmarkHTTPTrivial(b *testing.B) { benchHTTP(b, trivialAPI(b), "/trivial") }
func BenchmarkHTTPEncoded(b *testing.B) { benchHTTP(b, trivialAPI(b), "/encoded") }

// discard is a ResponseWriter that costs nothing, to see what we cost.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

func benchOverhead(b *testing.B, path string) {
	h := trivialAPI(b)
	req, _ := http.NewRequest("GET", "http://x"+path, nil)
	req.RemoteAddr = "127.0.0.1:1"
	req.Header.Set("Authorization", "Bearer good")
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(discard{make(http.Header)}, req)
	}
}

func BenchmarkOverheadTrivial(b *testing.B) { benchOverhead(b, "/trivial") }
func BenchmarkOverheadEncoded(b *testing.B) { benchOverhead(b, "/encoded") }
