package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

var errRecorded = errors.New("recorded, not dialled")

// recording returns a guard whose dialler and resolver write down what passed
// and connect to nothing: no packet leaves.
func recording(t *testing.T, allow ...string) (*Guard, *[]string) {
	t.Helper()
	g, err := New(Config{AllowPrivate: allow})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	passed := &[]string{}
	g.dialled = func(_, address string) error {
		mu.Lock()
		defer mu.Unlock()
		*passed = append(*passed, address)
		return errRecorded
	}
	g.resolver = &net.Resolver{PreferGo: true, Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		*passed = append(*passed, "look-up at "+address)
		return nil, errRecorded
	}}
	return g, passed
}

// forbiddenHosts is the table of forbidden addresses (docs/reliability.md, row 35): none of these
// may be connected to, however it is written.
var forbiddenHosts = []string{
	"127.0.0.1", "127.0.0.2", "127.255.255.254", "127.1", "127.0.1", "2130706433", "0x7f000001",
	"0x7f.0.0.1", "0177.0.0.1", "0177.0x0.0.1", "017700000001", "0x7F.1", "127.0.0.1.",
	"localhost", "LOCALHOST", "localhost.", "a.localhost", "a.localhost.", "１２７.0.0.1", "ⓛocalhost", "127。0。0。1",
	"0.0.0.0", "0", "0.1.2.3", "00", "0x0", "0x",
	"10.0.0.1", "10.255.255.255", "167772161", "172.16.0.1", "172.31.255.254", "192.168.0.1", "192.168.1", "0xc0a80001",
	"169.254.169.254", "169.254.1.1", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376",
	"100.64.0.1", "100.100.100.200", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
	"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "192.88.99.1",
	"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::ffff:a9fe:a9fe]",
	"[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[2001::1]",
	"[fe80::1]", "[fe80::1%25eth0]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]", "[100::1]", "[::1%25lo]", "[::ffff:0:7f00:1]",
	"256.1.1.1", "1.2.3.4.5", "127.0.0.0x", "999999999999", "1.2.3.08",
}

func TestNothingPrivateIsDialled(t *testing.T) {
	if len(forbiddenHosts) < 60 {
		t.Fatalf("the table has only %d hosts", len(forbiddenHosts))
	}
	g, passed := recording(t)
	for _, host := range forbiddenHosts {
		for _, port := range []string{"", ":8080"} {
			raw := "http://" + host + port + "/x"
			if err := g.Check(raw); err == nil {
				t.Errorf("%s passes the check without a look-up", raw)
			}
			err := g.Document(context.Background(), Request{URL: raw}, Limits{}, io.Discard)
			var no *Refused
			if !errors.As(err, &no) {
				t.Errorf("%s: %v, want a refusal", raw, err)
			}
		}
	}
	if len(*passed) != 0 {
		t.Errorf("dialled: %v", *passed)
	}
}

// The dialled address is judged even when the check without a look-up is
// passed: this is what a name that resolves to a private address meets.
func TestTheDialledAddressIsJudged(t *testing.T) {
	g, passed := recording(t)
	for _, host := range forbiddenHosts {
		host = strings.Trim(strings.ReplaceAll(host, "%25", "%"), "[]")
		a, ok := anyAddress(strings.TrimSuffix(host, "."))
		if !ok {
			continue
		}
		conn, err := g.DialContext(context.Background(), "tcp", net.JoinHostPort(a.String(), "80"))
		if err == nil {
			conn.Close()
		}
		var no *Refused
		if !errors.As(err, &no) {
			t.Errorf("dial %s: %v, want a refusal", a, err)
		}
	}
	if len(*passed) != 0 {
		t.Errorf("dialled: %v", *passed)
	}
}

func TestPublicAddressesPass(t *testing.T) {
	g, passed := recording(t)
	for _, host := range []string{"8.8.8.8", "1.1.1.1:8443", "[2606:4700::1111]", "134744072", "[64:ff9b::808:808]"} {
		raw := "http://" + host + "/"
		if err := g.Check(raw); err != nil && !strings.Contains(host, "64:ff9b") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if _, err := g.DialContext(context.Background(), "tcp", "8.8.8.8:80"); !errors.Is(err, errRecorded) {
		t.Errorf("dial of a public address: %v", err)
	}
	if len(*passed) != 1 {
		t.Errorf("dialled %v, want one", *passed)
	}
}

func TestSchemesAndForms(t *testing.T) {
	g, _ := recording(t)
	for _, raw := range []string{
		"file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "unix:///run/x", "data:text/plain,x",
		"javascript:alert(1)", "//example.com/", "example.com", "", "http://", "http:///x", "http:example.com",
		"http://user@example.com/", "http://user:pw@example.com/", "http://exa mple.com/", "http://[::1", "http://example.com:99999999999/x\x00",
	} {
		if g.Check(raw) == nil {
			t.Errorf("%q passes", raw)
		}
	}
	for _, raw := range []string{"http://example.com/", "https://example.com:8443/a?b#c", "HTTPS://EXAMPLE.COM/"} {
		if err := g.Check(raw); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestOnlyWhatTheOperatorListed(t *testing.T) {
	g, passed := recording(t, "127.0.0.1:9000", "intranet.example", "[fd00::1]:80", "localhost:7000")
	yes := []string{"http://127.0.0.1:9000/", "http://0x7f.1:9000/", "http://intranet.example:1/", "http://[fd00::1]/", "http://localhost:7000/"}
	no := []string{"http://127.0.0.1:9001/", "http://127.0.0.1/", "http://127.0.0.2:9000/", "http://localhost:9000/", "http://[fd00::1]:81/"}
	for _, raw := range yes {
		if err := g.Check(raw); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range no {
		if g.Check(raw) == nil {
			t.Errorf("%s passes", raw)
		}
	}
	if _, err := g.DialContext(context.Background(), "tcp", "127.0.0.1:9000"); !errors.Is(err, errRecorded) {
		t.Errorf("dial of a listed address: %v", err)
	}
	if _, err := g.DialContext(context.Background(), "tcp", "127.0.0.1:9001"); errors.Is(err, errRecorded) {
		t.Error("a port that is not listed was dialled")
	}
	if len(*passed) != 1 {
		t.Errorf("dialled %v", *passed)
	}
	if _, err := New(Config{AllowPrivate: []string{"http://x/"}}); err == nil {
		t.Error("an entry that is a URL is accepted")
	}
}

// A resolver that does not answer must not open the door.
func TestFailsClosedWithoutResolver(t *testing.T) {
	g, passed := recording(t)
	g.resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("resolver down")
	}}
	err := g.Document(context.Background(), Request{URL: "http://rebind.example/"}, Limits{}, io.Discard)
	var f *Failed
	if !errors.As(err, &f) || len(*passed) != 0 {
		t.Errorf("%v, dialled %v", err, *passed)
	}
}

func server(t *testing.T, h http.HandlerFunc) (*Guard, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, _ := url.Parse(s.URL)
	g, err := New(Config{AllowPrivate: []string{u.Host}})
	if err != nil {
		t.Fatal(err)
	}
	return g, s.URL
}

func TestDocument(t *testing.T) {
	g, base := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/plain":
			io.WriteString(w, "hello "+r.Header.Get("X-Key"))
		case "/post":
			b, _ := io.ReadAll(r.Body)
			io.WriteString(w, r.Method+" "+string(b)+" "+r.Header.Get("Content-Type"))
		case "/redirect":
			http.Redirect(w, r, "/plain", http.StatusFound)
		case "/missing":
			http.NotFound(w, r)
		case "/endless":
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		case "/lying":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "short")
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 1000 {
				if _, err := z.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, "packed")
			z.Close()
		case "/slow":
			for range 50 {
				w.Write([]byte("x"))
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
		}
	})
	get := func(r Request) (string, error) {
		var b bytes.Buffer
		limits := Limits{Bytes: 1 << 20}
		if r.URL == "/slow" {
			limits.Time = 500 * time.Millisecond
		}
		r.URL = base + r.URL
		err := g.Document(context.Background(), r, limits, &b)
		return b.String(), err
	}
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{URL: "/plain", Headers: []string{"X-Key: v"}}, "hello v"},
		{Request{URL: "/post", Post: true, Body: "a=b"}, "POST a=b application/x-www-form-urlencoded"},
		{Request{URL: "/gzip"}, "packed"},
	} {
		if got, err := get(c.r); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", c.r.URL, got, err)
		}
	}
	for _, c := range []struct{ path, why string }{
		{"/redirect", "302"},
		{"/missing", "404"},
		{"/endless", "size limit"},
		{"/bomb", "size limit"},
		{"/lying", "cut short"},
		{"/slow", "too long"},
	} {
		if _, err := get(Request{URL: c.path}); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %q", c.path, err, c.why)
		}
	}
}

func TestHeadersThatSmuggleAreRefused(t *testing.T) {
	for _, line := range []string{
		"X: a\r\nHost: evil", "X: a\nb", "Host: evil", "host: evil", "Transfer-Encoding: chunked", "Content-Length: 3",
		"Connection: close", "TE: trailers", "Upgrade: h2c", "Proxy-Authorization: x", "Expect: 100-continue",
		"no colon", ": empty", "Bad Name: x", "X\r: y", "X: \x00",
	} {
		if _, _, err := HeaderLine(line); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
	if n, v, err := HeaderLine("authorization:  Bearer x "); err != nil || n != "Authorization" || v != "Bearer x" {
		t.Errorf("%q %q %v", n, v, err)
	}
}

func TestOwnAddressIsAnsweredInProcess(t *testing.T) {
	g, passed := recording(t)
	base, _ := url.Parse("http://127.0.0.1:8080")
	g.Answer(base, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		io.WriteString(w, r.URL.Path+" "+string(b))
	}), "/pki/", "/tsa")
	resp, err := g.Client(time.Second).Post("http://127.0.0.1:8080/tsa", "x/y", strings.NewReader("q"))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	if string(b) != "/tsa q" {
		t.Errorf("%q", b)
	}
	for _, raw := range []string{"http://127.0.0.1:8080/tokens", "http://127.0.0.1:8080/tsax", "http://127.0.0.1:8081/tsa"} {
		if g.Check(raw) == nil {
			t.Errorf("%s passes", raw)
		}
	}
	if len(*passed) != 0 {
		t.Errorf("dialled %v", *passed)
	}
}
