package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/monitor"
	"rogito.dev/rogito/server/internal/network"
)

func TestStartsReady(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/openapi.json": 200, "/docs": 200, "/nowhere": 404} {
		if code, body := get(t, r.URL+path); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if !strings.Contains(r.Out.String(), r.URL) {
		t.Errorf("welcome: %s", r.Out)
	}
	if err := r.Stop(); err != nil {
		t.Errorf("stop: %v\n%s", err, r.Log)
	}
}

// TestDrain: a request that is running when the server is told to end gets its
// answer; the server is unready at once and takes no new connection.
func TestDrain(t *testing.T) {
	t.Parallel()
	inside, release := make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(inside)
		<-release
		io.WriteString(w, "done")
	})
	cfg := testDefaults()
	cfg.Listen = "127.0.0.1:0"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ln, err := network.Listen(ctx, cfg.NetworkConfig())
	if err != nil {
		t.Fatal(err)
	}
	hl := &monitor.Health{}
	hl.Started.Store(true)
	ended := make(chan error, 1)
	go func() {
		ended <- network.Serve(ctx, network.NewServer(cfg.NetworkConfig(), h, quiet()), ln, func() { hl.Draining.Store(true) }, 5*time.Second)
	}()
	answer := make(chan string, 1)
	go func() {
		resp, err := http.Get("http://" + ln.Addr().String())
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		answer <- string(b)
	}()
	<-inside
	cancel()
	await.Until(t, "it drains", hl.Draining.Load)
	asked := httptest.NewRecorder()
	if hl.Ready(asked, httptest.NewRequest("GET", "/readyz", nil)); asked.Code != http.StatusServiceUnavailable {
		t.Error("still ready")
	}
	close(release)
	if got := <-answer; got != "done" {
		t.Errorf("the running request got %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		t.Error("a new connection was taken")
	}
}

func TestDrainHasAnEnd(t *testing.T) {
	t.Parallel()
	inside := make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { close(inside); <-r.Context().Done() })
	cfg := testDefaults()
	cfg.Listen = "127.0.0.1:0"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ln, err := network.Listen(ctx, cfg.NetworkConfig())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- network.Serve(ctx, network.NewServer(cfg.NetworkConfig(), h, quiet()), ln, func() {}, 100*time.Millisecond)
	}()
	go http.Get("http://" + ln.Addr().String())
	<-inside
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a request was cut off, and nobody was told")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("still draining")
	}
}

func TestMetricsAreForThisMachine(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *server.Config) { c.TrustedProxies = []string{"127.0.0.0/8"} })
	get(t, r.URL+"/nowhere")
	if code, body := get(t, r.URL+"/metrics"); code != 200 || !strings.Contains(body, `rogito_http_errors_total{code="102"}`) {
		t.Errorf("%d %.200s", code, body)
	}
	req, _ := http.NewRequest("GET", r.URL+"/metrics", nil)
	req.Header.Set("X-Forwarded-For", "203.0.113.9")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 404 {
		t.Errorf("a stranger got %d", resp.StatusCode)
	}
}

func TestMetricsOnTheirOwnListener(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	r := start(t, func(c *server.Config) { c.Metrics.Listen = addr })
	if code, _ := get(t, "http://"+addr+"/metrics"); code != 200 {
		t.Errorf("%d", code)
	}
	if code, _ := get(t, r.URL+"/metrics"); code != 404 {
		t.Errorf("main listener: %d", code)
	}
}

func TestHeaderLimit(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	req, _ := http.NewRequest("GET", r.URL+"/healthz", nil)
	req.Header.Set("X-Large", strings.Repeat("x", 200<<10))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", resp.StatusCode)
	}
}

// TestSmuggling: requests that two readers may take differently are refused.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for name, raw := range map[string]string{
		"two lengths":        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
		"length and chunked": "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
		"odd encoding":       "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"two hosts":          "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"bare name":          "GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n",
		"bad length":         "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc",
	} {
		conn, err := net.Dial("tcp", r.Addr)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		io.WriteString(conn, raw)
		line, _ := bufio.NewReader(conn).ReadString('\n')
		conn.Close()
		if strings.Contains(line, " 200 ") {
			t.Errorf("%s: %q", name, line)
		}
	}
}

func TestTLSWithClientCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := selfSigned(t, dir)
	r := start(t, func(c *server.Config) { c.TLS = network.TLSConfig{Cert: certFile, Key: keyFile, ClientCA: certFile} })
	if !strings.HasPrefix(r.URL, "https://") {
		t.Fatal(r.URL)
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, certs := range map[string][]tls.Certificate{"without": nil, "with": {pair}} {
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, Certificates: certs}, // the test's own certificate
			ForceAttemptHTTP2: true,
		}}
		resp, err := client.Get(r.URL + "/healthz")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		resp.Body.Close()
		if resp.ProtoMajor != 2 {
			t.Errorf("%s: HTTP/%d", name, resp.ProtoMajor)
		}
		client.CloseIdleConnections()
	}
}
