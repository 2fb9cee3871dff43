package blackbox

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"rogito.dev/rogito/internal/await"
)

// A slow client of one kind: what it does with a connection until the server
// has enough of it, or the test. It comes back at once.
type slowClient func(a *slowness, c net.Conn)

// slowness is an attack of slow, large and half-finished requests.
type slowness struct {
	ctx   context.Context
	token string
}

// drip writes a byte in five seconds, of a text without an end.
func (a *slowness) drip(c net.Conn) {
	for {
		if _, err := c.Write([]byte("x")); err != nil || !a.wait(5*time.Second) {
			return
		}
	}
}

func (a *slowness) wait(d time.Duration) bool {
	select {
	case <-a.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// silent reads until the server closes.
func (a *slowness) silent(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func (a *slowness) post(path, header string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + a.token + "\r\n" + header + "\r\n"
}

const jsonBody, formBody = "Content-Type: application/json\r\n", "Content-Type: multipart/form-data; boundary=b\r\n"

// slowClients are the kinds over plain connections.
var slowClients = map[string]slowClient{
	"nothing at all": func(a *slowness, c net.Conn) { a.silent(c) },
	"slow header": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\nX: ")
		a.drip(c)
	},
	"slow body, no token": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, "POST /verify HTTP/1.1\r\nHost: a\r\n"+jsonBody+"Content-Length: 100000\r\n\r\n{")
		a.drip(c)
	},
	"slow body, no token, chunked": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, "POST /verify HTTP/1.1\r\nHost: a\r\n"+jsonBody+"Transfer-Encoding: chunked\r\n\r\nfffff\r\n{")
		a.drip(c)
	},
	"slow body": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, a.post("/EU-QES_automatic", jsonBody+"Content-Length: 1000000\r\n")+`{"inputDocuments":"`)
		a.drip(c)
	},
	"half a form": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, a.post("/verify", formBody+"Content-Length: 10000000\r\n")+
			"--b\r\nContent-Disposition: form-data; name=\"inputDocument\"; filename=\"a\"\r\n\r\n"+strings.Repeat("x", 300<<10))
		a.silent(c)
	},
	"half a chunked body": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, a.post("/verify", jsonBody+"Transfer-Encoding: chunked\r\n")+"10000\r\n"+`{"inputDocument":"`+strings.Repeat("x", 30<<10))
		a.silent(c)
	},
	"long body announced": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, a.post("/verify", jsonBody+"Content-Length: 200000000\r\n"))
		a.silent(c)
	},
	"100-continue and nothing": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, a.post("/verify", jsonBody+"Content-Length: 1000\r\nExpect: 100-continue\r\n"))
		a.silent(c)
	},
	"slow page": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, a.post("/enrol/000000000000000000000000/x", formBody+"Content-Length: 1000000\r\n")+"--b\r\n")
		a.drip(c)
	},
	"slow time-stamp": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, a.post("/tsa", "Content-Type: application/timestamp-query\r\nContent-Length: 1000\r\n")+"0")
		a.drip(c)
	},
	"answers not read": func(a *slowness, c net.Conn) {
		_ = c.(*net.TCPConn).SetReadBuffer(1)
		for range 200 {
			if _, err := io.WriteString(c, "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
				return
			}
		}
		a.wait(time.Hour)
	},
	"answers read slowly": func(a *slowness, c net.Conn) {
		_ = c.(*net.TCPConn).SetReadBuffer(1)
		_, _ = io.WriteString(c, "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n")
		for b := make([]byte, 1); a.wait(time.Second); {
			if _, err := c.Read(b); err != nil {
				return
			}
		}
	},
	"large upload, no token": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, "POST /verify HTTP/1.1\r\nHost: a\r\n"+jsonBody+"Content-Length: 20000000\r\n\r\n")
		for block := bytes.Repeat([]byte(" "), 64<<10); a.ctx.Err() == nil; {
			if _, err := c.Write(block); err != nil {
				break
			}
		}
		a.wait(time.Second)
	},
	"large upload": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, a.post("/verify", jsonBody+"Content-Length: "+strconv.Itoa(len(megabyte)+20)+"\r\n")+`{"inputDocument":"`)
		_, _ = c.Write(megabyte)
		_, _ = io.WriteString(c, `"}`)
		_, _ = c.Read(make([]byte, 1))
		a.wait(5 * time.Second)
	},
	"many small values": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, a.post("/verify", jsonBody+"Content-Length: "+strconv.Itoa(len(values)+10)+"\r\n"))
		_, _ = c.Write(values)
		a.silent(c)
	},
	"gzip": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, a.post("/verify", jsonBody+"Content-Encoding: gzip\r\nContent-Length: "+strconv.Itoa(len(zeros))+"\r\n")+string(zeros))
		_, _ = c.Read(make([]byte, 1))
		a.wait(time.Second)
	},
	"idle after a request": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
		a.silent(c)
	},
	"hangs up at work": func(a *slowness, c net.Conn) {
		_, _ = io.WriteString(c, a.post("/verify", jsonBody+"Content-Length: "+strconv.Itoa(200<<10+20)+"\r\n")+`{"inputDocument":"`)
		_, _ = c.Write(megabyte[:200<<10])
		_, _ = io.WriteString(c, `"}`)
		a.wait(20 * time.Millisecond)
		c.Close()
		a.wait(2 * time.Second)
	},
}

var (
	megabyte = bytes.Repeat([]byte("A"), 1<<20)
	values   = []byte("[" + strings.Repeat(`"0123456789012345678901234567890",`, 90_000))
)

// zeros is 100 MB in gzip.
var zeros = func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for block := make([]byte, 1<<20); b.Len() < 100<<10; {
		_, _ = z.Write(block)
	}
	z.Close()
	return b.Bytes()
}()

// slowSecurely are the kinds over TLS.
var slowSecurely = map[string]slowClient{
	"half a handshake": func(a *slowness, c net.Conn) {
		_, _ = c.Write([]byte{22, 3, 1, 2, 0, 1})
		a.silent(c)
	},
	"slow body over TLS": func(a *slowness, c net.Conn) {
		s := tls.Client(c, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // a test's own certificate
		_, _ = io.WriteString(s, a.post("/verify", jsonBody+"Content-Length: 1000000\r\n")+`{"inputDocument":"`)
		a.drip(s)
	},
	"HTTP/2, bodies that stall": func(a *slowness, c net.Conn) { a.streams(c, "POST", "/verify") },
	"HTTP/2, answers not taken": func(a *slowness, c net.Conn) { a.streams(c, "GET", "/openapi.json") },
	"HTTP/2, half a frame": func(a *slowness, c net.Conn) {
		s := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // a test's own certificate
		_, _ = io.WriteString(s, http2.ClientPreface+"\x00\x40\x00")
		a.silent(s)
	},
}

// streams opens a hundred requests on one connection and leaves them.
func (a *slowness) streams(c net.Conn, method, path string) {
	s := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // a test's own certificate
	_, _ = io.WriteString(s, http2.ClientPreface)
	f := http2.NewFramer(s, s)
	if f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1}) != nil {
		return
	}
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for id := uint32(1); id < 200; id += 2 {
		block.Reset()
		for _, h := range [][2]string{{":method", method}, {":scheme", "https"}, {":path", path}, {":authority", "a"}, {"authorization", "Bearer " + a.token}, {"content-type", "application/json"}} {
			_ = enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
		}
		if f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: method == "GET"}) != nil {
			return
		}
		if method == "POST" && f.WriteData(id, false, []byte("{")) != nil {
			return
		}
	}
	a.silent(s)
}

// TestSlowClients: whatever slow, large and half-finished requests many clients
// make, the server answers others within a second, keeps within its memory, and
// has nothing in its temporary folder afterwards. In the soak every kind has 300
// clients, one kind after the other; then 300 are of all kinds, once more with
// fewer connections than clients.
func TestSlowClients(t *testing.T) {
	await.All(t)
	soak := os.Getenv("ROGITO_TEST_SOAK") != ""
	few := newNode(t, sandboxed(t))
	few.env = append(few.env, "ROGITO_LIMITS_CONNECTIONS=100")
	secure := newNode(t, sandboxed(t))
	l := newLines(t)
	secure.args = append(secure.args, "--tls-cert", filepath.Join(l.dir, "server.pem"), "--tls-key", filepath.Join(l.dir, "server.key"))
	secure.secure = &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // a test's own certificate
	few.start()
	secure.start()
	if !soak {
		attack(t, few, "all, few connections", slowClients, 10, 3*time.Second)
		attack(t, secure, "all over TLS", slowSecurely, 10, 3*time.Second)
		return
	}
	plain := newNode(t, sandboxed(t))
	plain.start()
	for _, name := range slices.Sorted(maps.Keys(slowClients)) {
		attack(t, plain, name, map[string]slowClient{name: slowClients[name]}, 300, 12*time.Second)
	}
	for _, name := range slices.Sorted(maps.Keys(slowSecurely)) {
		attack(t, secure, name, map[string]slowClient{name: slowSecurely[name]}, 300, 12*time.Second)
	}
	attack(t, plain, "all", slowClients, 300/len(slowClients)+1, 20*time.Second)
	attack(t, few, "all, few connections", slowClients, 300/len(slowClients)+1, 20*time.Second)
	attack(t, secure, "all over TLS", slowSecurely, 300/len(slowSecurely), 20*time.Second)
}

// memoryBudget is what the server may have in the default configuration, in
// bytes, whatever clients do (docs/operating.md).
const memoryBudget = 700 << 20

func attack(t *testing.T, n *node, name string, kinds map[string]slowClient, clients int, d time.Duration) {
	t.Helper()
	_, before := n.probe(t, 500*time.Millisecond)
	ctx, stop := context.WithTimeout(context.Background(), d)
	defer stop()
	a := &slowness{ctx: ctx, token: sandbox(t, n.args[1]).Token}
	var wg sync.WaitGroup
	for _, behave := range kinds {
		for range clients {
			wg.Go(func() {
				for ctx.Err() == nil {
					c, err := new(net.Dialer).DialContext(ctx, "tcp", n.addr)
					if err != nil {
						a.wait(100 * time.Millisecond)
						continue
					}
					end := context.AfterFunc(ctx, func() { c.Close() })
					behave(a, c)
					end()
					c.Close()
				}
			})
		}
	}
	probes, slowest := n.probe(t, d)
	wg.Wait()
	t.Logf("%-40s %d clients of each kind: %d probes, the slowest %v (%v before), peak %d MB",
		name, clients, probes, slowest.Round(time.Millisecond), before.Round(time.Millisecond), n.peak(t)>>20)
	// Both ends share this machine with other tests: what it takes without an
	// attack is allowed on top.
	if probes == 0 || slowest > 5*time.Second+2*before {
		t.Errorf("%s: /healthz took %v", name, slowest)
	}
	if peak := n.peak(t); peak > memoryBudget {
		t.Errorf("%s: the server took %d MB", name, peak>>20)
	}
	n.emptySpool(t, name)
}

// probe asks for /healthz for a time, in a process of its own: in this one the
// clients of the attack would keep it waiting.
func (n *node) probe(t *testing.T, d time.Duration) (probes int, slowest time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestProber$", "-test.v")
	cmd.Env = append(os.Environ(), "ROGITO_TEST_PROBE="+n.url(), "ROGITO_TEST_PROBE_TIME="+d.String())
	out, err := cmd.CombinedOutput()
	_, found, ok := strings.Cut(string(out), "probed: ")
	if _, scan := fmt.Sscan(found, &probes, &slowest); err != nil || !ok || scan != nil {
		t.Errorf("%v: %s", err, out)
	}
	return probes, slowest
}

// TestProber is the other process of probe. It asks ten times a second, each
// time on a connection of its own.
func TestProber(t *testing.T) {
	url := os.Getenv("ROGITO_TEST_PROBE")
	if url == "" {
		t.Skip("SKIPPED: a part of TestSlowClients")
	}
	d, err := time.ParseDuration(os.Getenv("ROGITO_TEST_PROBE_TIME"))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a test's own certificate
	}}
	var probes int
	var slowest time.Duration
	tick := time.NewTicker(100 * time.Millisecond)
	for end := time.Now().Add(d); time.Now().Before(end); <-tick.C {
		begin := time.Now()
		resp, err := client.Get(url + "/healthz")
		took := time.Since(begin)
		if err != nil {
			t.Errorf("/healthz after %v: %v", took, err)
			continue
		}
		resp.Body.Close()
		slowest = max(slowest, took)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("/healthz: %d", resp.StatusCode)
		}
		probes++
	}
	fmt.Println("probed:", probes, int64(slowest))
}

// peak is the most memory that the process ever had, in bytes.
func (n *node) peak(t testing.TB) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	_, rest, ok := strings.Cut(string(status), "VmHWM:")
	if err != nil || !ok {
		t.Skip("SKIPPED: no /proc to read memory from")
	}
	kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kb << 10
}

// emptySpool makes sure that no temporary file is left, with a name or without.
func (n *node) emptySpool(t *testing.T, when string) {
	t.Helper()
	dir := filepath.Join(n.args[1], "spool")
	var left []string
	for range await.Within(await.Limit) {
		if left = n.spooled(t, dir); len(left) == 0 {
			return
		}
	}
	t.Errorf("%s: temporary files are left: %v", when, left)
}

// spooled lists the files in a folder, and those that the process has open and
// that were there.
func (n *node) spooled(t *testing.T, dir string) (left []string) {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, f := range names {
		left = append(left, f.Name())
	}
	if n.cmd == nil {
		return left
	}
	fds := fmt.Sprintf("/proc/%d/fd", n.cmd.Process.Pid)
	open, err := os.ReadDir(fds)
	if err != nil {
		t.Skip("SKIPPED: no /proc to read open files from")
	}
	for _, fd := range open {
		if to, err := os.Readlink(filepath.Join(fds, fd.Name())); err == nil && strings.HasPrefix(to, dir) {
			left = append(left, to)
		}
	}
	return left
}
