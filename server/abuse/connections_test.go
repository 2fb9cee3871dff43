package abuse_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/network"
)

// latency is the time that nineteen of twenty ordinary requests stay below,
// each on a connection of its own.
func latency(t *testing.T, url string, n int) time.Duration {
	t.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test's own certificate
	}}
	var all []time.Duration
	for range n {
		begin := time.Now()
		resp, err := client.Get(url + "/healthz")
		if err != nil {
			t.Fatalf("an ordinary request: %v", err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Fatalf("an ordinary request: %d", resp.StatusCode)
		}
		all = append(all, time.Since(begin))
	}
	slices.Sort(all)
	return all[n*95/100]
}

// undisturbed compares the latency under attack with the one before. Both ends
// and the attack share this machine, and with it perhaps other tests: the five
// seconds allowed on top are for that. A server that is shut out by an attack
// answers after ten seconds or never.
func undisturbed(t *testing.T, before, during time.Duration) {
	t.Helper()
	t.Logf("p95 %v before, %v during", before, during)
	if during > 2*before+5*time.Second {
		t.Errorf("ordinary requests take %v during the attack, %v before", during, before)
	}
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Connections that say nothing, or nothing more, are capped, and clients that do send find room.
// Ten thousand of them in the long version.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	most, idle := 200, 600
	if soaking() {
		var files syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
			t.Fatal(err)
		}
		idle = min(10_000, int(files.Max)/2-500) // both ends are in this process
		most = idle * 4 / 5
		t.Logf("%d connections, %d allowed", idle, most)
	}
	r := start(t, func(c *server.Config) { c.Limits.Connections = most })
	before := latency(t, r.URL, 100)
	var conns []net.Conn
	for i := range idle {
		c := dial(t, r.Addr)
		if i%2 == 0 { // half of them have been served once
			io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
		}
		conns = append(conns, c)
	}
	undisturbed(t, before, latency(t, r.URL, 100))
	if alive := alive(conns); alive > most {
		t.Errorf("%d connections are open, %d are allowed", alive, most)
	}
}

// alive counts the connections that the other end has not closed.
func alive(conns []net.Conn) (n int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() {
			c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				mu.Lock()
				n++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return n
}

// Headers that come a byte at a time are cut off after ten seconds, and other clients do not
// notice.
func TestSlowLoris(t *testing.T) {
	await.All(t)
	t.Parallel()
	r := start(t, func(c *server.Config) { c.Limits.Connections = 1000 })
	before := latency(t, r.URL, 100)
	end := time.Now().Add(time.Minute)
	var wg sync.WaitGroup
	for range 300 {
		c := dial(t, r.Addr)
		wg.Go(func() {
			io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\nX: ")
			for now := range time.Tick(200 * time.Millisecond) {
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
				if now.After(end) {
					break
				}
			}
			t.Error("a slow header is still read after a minute")
		})
	}
	undisturbed(t, before, latency(t, r.URL, 100))
	wg.Wait()
}

// framer is a bare HTTP/2 connection.
func framer(t *testing.T, r *running) (*http2.Framer, net.Conn) {
	t.Helper()
	c, err := tls.Dial("tcp", r.Addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // a test's own certificate
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	io.WriteString(c, http2.ClientPreface)
	f := http2.NewFramer(c, c)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, c)
	return f, c
}

func headerBlock(more ...string) []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	fields := append([]string{":method", "GET", ":scheme", "https", ":path", "/openapi.json", ":authority", "a"}, more...)
	for i := 0; i < len(fields); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

func tlsServer(t *testing.T) *running {
	t.Helper()
	cert, key := selfSigned(t, t.TempDir())
	return start(t, func(c *server.Config) { c.TLS = network.TLSConfig{Cert: cert, Key: key} })
}

// HTTP/2 requests that are taken back as soon as they are sent: the connection
// is cut off, and others are served.
func TestRapidReset(t *testing.T) {
	r := tlsServer(t)
	before := latency(t, r.URL, 30)
	most := 0
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	cut := 0
	wg.Go(func() {
		for block := headerBlock(); ctx.Err() == nil; cut++ { // and again on a new connection
			f, c := framer(t, r)
			for id := uint32(1); ; id += 2 {
				if id > 1_000_000 {
					t.Error("half a million requests were taken back on one connection")
					return
				}
				if f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: true}) != nil ||
					f.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
					break // cut off: as it should be
				}
			}
			c.Close()
		}
	})
	wg.Go(func() {
		for range await.Within(await.Limit) {
			most = max(most, runtime.NumGoroutine())
			if ctx.Err() != nil {
				return
			}
		}
	})
	during := latency(t, r.URL, 30)
	stop()
	wg.Wait()
	t.Logf("%d connections were cut off", cut)
	undisturbed(t, before, during)
	if most > 2000 {
		t.Errorf("%d goroutines", most)
	}
}

// Headers that never end, or that are too many, end the connection and fill no
// memory: HTTP/2 CONTINUATION floods and large header lists.
func TestEndlessHeaders(t *testing.T) {
	r := tlsServer(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f, c := framer(t, r)
	c.SetDeadline(time.Now().Add(10 * time.Second))
	err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headerBlock(), EndStream: true})
	sent := 0
	for junk := headerBlock("x-junk", strings.Repeat("j", 8<<10)); err == nil && sent < 64<<20; sent += len(junk) {
		err = f.WriteContinuation(1, false, junk)
	}
	if err == nil {
		t.Errorf("%d bytes of header were taken", sent)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 8<<20 {
		t.Errorf("grown by %d bytes", grown)
	}
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test's own certificate
	}}
	req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, r.URL+"/healthz", nil)
	for i := range 100 {
		req.Header.Set(fmt.Sprint("X-Large-", i), strings.Repeat("x", 2<<10))
	}
	if resp, err := client.Do(req); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("200 KB of headers: %d", resp.StatusCode)
		}
	}
}
