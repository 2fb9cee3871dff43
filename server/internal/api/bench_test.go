package api

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
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
	RegisterEncoded[struct{}, thing](a, Op{Method: "GET", Path: "/encoded", ID: "encoded"},
		func(ctx context.Context, r *http.Request, out *Encoded) error {
			out.Buf = AppendEnvelope(out.Buf, data, "")
			return nil
		})
	return a.Handler()
}

func benchHTTP(b *testing.B, h http.Handler, path string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	go srv.Serve(ln)
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var bad atomic.Int64
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, _ := http.NewRequest("GET", "http://"+ln.Addr().String()+path, nil)
			req.Header.Set("Authorization", "Bearer good")
			resp, err := client.Do(req)
			if err != nil {
				bad.Add(1)
				continue
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 200 {
				bad.Add(1)
			}
		}
	})
	if bad.Load() > 0 {
		b.Fatalf("%d requests failed", bad.Load())
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
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
