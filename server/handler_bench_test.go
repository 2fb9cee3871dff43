package server

import (
	"context"
	"net/http"
	"os"
	"testing"

	"rogito.dev/rogito/internal/yardstick"
	"rogito.dev/rogito/server/internal/logging"
)

// What a call costs above net/http: everything from the request's headers to the
// last byte of the answer, without a line. By processor time, since by the clock it
// is mostly what else the machine does.
func BenchmarkLookupHandler(b *testing.B) {
	benchHandler(b, "/IT-omi?latitude=38.6&longitude=17.6&geometry=none")
}

func BenchmarkWalletHandler(b *testing.B) { benchHandler(b, "/wallet") }

func benchHandler(b *testing.B, path string) {
	log, err := os.CreateTemp(b.TempDir(), "log")
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	cfg := Defaults()
	cfg.Trust.Lists = false
	cfg.Data, cfg.Limits.Reserve = b.TempDir(), -1
	logger, flush := logging.New(cfg.Log, log)
	defer flush()
	s, err := open(context.Background(), cfg, logger, false)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := s.firstStart(context.Background()); err != nil {
		b.Fatal(err)
	}
	h := s.newAPI().Handler()
	ctx, stop := context.WithCancel(context.Background()) // as the requests of net/http have it
	defer stop()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	r.RemoteAddr = "127.0.0.1:1234"
	r.Header.Set("Authorization", "Bearer "+ReadSandbox(cfg.Data).Token)
	r.Header.Set("User-Agent", "bench")
	w := &counting{h: make(http.Header)}
	b.ReportAllocs()
	begun := yardstick.Processor()
	for b.Loop() {
		clear(w.h)
		h.ServeHTTP(w, r)
	}
	b.ReportMetric(float64(yardstick.Processor()-begun)/float64(b.N), "cpu-ns/op")
	if w.status != 0 || w.n == 0 {
		b.Fatalf("status %d, %d bytes", w.status, w.n)
	}
}

// counting is a ResponseWriter that throws everything away.
type counting struct {
	h         http.Header
	n, status int
}

func (c *counting) Header() http.Header { return c.h }
func (c *counting) WriteHeader(s int)   { c.status = s }
func (c *counting) Write(p []byte) (int, error) {
	c.n = len(p)
	return len(p), nil
}
