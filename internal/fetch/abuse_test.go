package fetch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// nameserver answers look-ups on loopback with what a function says: the
// addresses of the n-th question for a type, or a code.
func nameserver(t *testing.T, answer func(n int, v6 bool) ([]string, dnsmessage.RCode)) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	var four, six atomic.Int64
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			v6 := m.Questions[0].Type == dnsmessage.TypeAAAA
			count := &four
			if v6 {
				count = &six
			}
			k := int(count.Add(1)) - 1
			go func() {
				addrs, code := answer(k, v6)
				m.Response, m.RCode, m.Additionals = true, code, nil
				for _, a := range addrs {
					m.Answers = append(m.Answers, resource(m.Questions[0], netip.MustParseAddr(a)))
				}
				if out, err := m.Pack(); err == nil {
					pc.WriteTo(out, from)
				}
			}()
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

func resource(q dnsmessage.Question, a netip.Addr) dnsmessage.Resource {
	h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 0}
	if q.Type == dnsmessage.TypeAAAA {
		return dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}}
	}
	return dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}}
}

const publicAddress = "8.8.8.8"

// A name that changes its mind between two look-ups, or has good and bad
// addresses at once, is never connected to at the bad one.
func TestRebinding(t *testing.T) {
	for name, answer := range map[string]func(n int, v6 bool) ([]string, dnsmessage.RCode){
		"public first, private then": func(n int, v6 bool) ([]string, dnsmessage.RCode) {
			if v6 {
				return nil, 0
			}
			return []string{[]string{publicAddress, "127.0.0.1", "169.254.169.254", "10.0.0.1"}[n%4]}, 0
		},
		"both at once": func(_ int, v6 bool) ([]string, dnsmessage.RCode) {
			if v6 {
				return []string{"::1", "fd00:ec2::254"}, 0
			}
			return []string{publicAddress, "127.0.0.1", "192.168.1.1"}, 0
		},
		"private inside IPv6": func(_ int, v6 bool) ([]string, dnsmessage.RCode) {
			if v6 {
				return []string{"64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1"}, 0
			}
			return []string{publicAddress}, 0
		},
		"only private": func(_ int, v6 bool) ([]string, dnsmessage.RCode) {
			if v6 {
				return []string{"::1"}, 0
			}
			return []string{"127.0.0.1"}, 0
		},
	} {
		g, passed := recording(t)
		g.resolver = nameserver(t, answer)
		refused := 0
		for range 12 {
			err := g.Document(context.Background(), Request{URL: "http://rebind.example/x"}, Limits{Time: 5 * time.Second}, io.Discard)
			var no *Refused
			if errors.As(err, &no) {
				refused++
			}
			if err == nil {
				t.Errorf("%s: fetched", name)
			}
		}
		for _, a := range *passed {
			if a != publicAddress+":80" {
				t.Errorf("%s: dialled %s", name, a)
			}
		}
		if name == "public first, private then" && (refused != 9 || len(*passed) != 3) || name == "only private" && (refused != 12 || len(*passed) != 0) {
			t.Errorf("%s: %d refused, dialled %v", name, refused, *passed)
		}
	}
}

// Look-ups that take too long, fail, or never end are bounded by the time of
// the call.
func TestSlowAndFailingDNS(t *testing.T) {
	for name, c := range map[string]struct {
		code  dnsmessage.RCode
		delay time.Duration
		why   string
	}{
		"5 seconds": {0, 5 * time.Second, "too long|could not be looked up"},
		"for ever":  {0, time.Hour, "too long|could not be looked up"},
		"unknown":   {dnsmessage.RCodeNameError, 0, "not known"},
		"failing":   {dnsmessage.RCodeServerFailure, 0, "could not be looked up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, passed := recording(t)
			done := make(chan struct{})
			t.Cleanup(func() { close(done) })
			g.resolver = nameserver(t, func(int, bool) ([]string, dnsmessage.RCode) {
				select {
				case <-time.After(c.delay):
				case <-done:
				}
				return nil, c.code
			})
			begin := time.Now()
			err := g.Document(context.Background(), Request{URL: "http://slow.example/x"}, Limits{Time: 700 * time.Millisecond}, io.Discard)
			took := time.Since(begin)
			var f *Failed
			if !errors.As(err, &f) || !slices.ContainsFunc(strings.Split(c.why, "|"), func(w string) bool { return strings.Contains(f.Why, w) }) {
				t.Errorf("%v", err)
			}
			if took > time.Minute {
				t.Errorf("took %v", took)
			}
			client := g.Client(700 * time.Millisecond) // what time-stamps and callbacks go through
			begin = time.Now()
			if resp, err := client.Post("http://slow.example/x", "text/plain", strings.NewReader("x")); err == nil {
				resp.Body.Close()
				t.Error("answered")
			}
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("the client took %v", took)
			}
			if len(*passed) != 0 {
				t.Errorf("dialled %v", *passed)
			}
		})
	}
}

// A redirect is returned as the answer and not followed, whatever its target and code. What the
// caller sent reaches no other host.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var hits atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer target.Close()
	for _, to := range []string{target.URL + "/x", "http://127.0.0.1:1/", "http://169.254.169.254/latest/", "file:///etc/passwd", "gopher://x/", "//" + publicAddress + "/", "ftp://x/", "unix:///x", "/here"} {
		for _, code := range []int{301, 302, 303, 307, 308} {
			g, base := server(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/here" {
					hits.Add(1)
				}
				w.Header().Set("Location", to)
				w.WriteHeader(code)
			})
			for _, post := range []bool{false, true} {
				err := g.Document(context.Background(), Request{URL: base, Post: post, Headers: []string{"Authorization: Bearer secret", "Cookie: a=b"}}, Limits{}, io.Discard)
				var f *Failed
				if !errors.As(err, &f) || !strings.Contains(f.Why, fmt.Sprint(code)) {
					t.Errorf("%d to %s: %v", code, to, err)
				}
			}
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("followed %d times", n)
	}
}

// Whatever a caller writes into address, headers and body, one request goes
// out, to the host of the address, framed by us.
func TestNothingIsSmuggled(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	got := make(chan []byte, 1)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(300 * time.Millisecond))
				var all bytes.Buffer
				in := bufio.NewReader(io.TeeReader(c, &all))
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				io.Copy(io.Discard, r.Body)
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				io.Copy(io.Discard, in) // whatever else comes
				got <- all.Bytes()
			}()
		}
	}()
	host := ln.Addr().String()
	g, err := New(Config{AllowPrivate: []string{host}})
	if err != nil {
		t.Fatal(err)
	}
	evil := "x\r\n\r\nGET /evil HTTP/1.1\r\nHost: evil\r\n\r\n"
	for name, r := range map[string]Request{
		"body":                 {URL: "http://" + host + "/a", Post: true, Body: evil},
		"chunks in the body":   {URL: "http://" + host + "/a", Post: true, Body: "0\r\n\r\n" + evil},
		"escaped path":         {URL: "http://" + host + "/a%0d%0aHost:%20evil"},
		"escaped query":        {URL: "http://" + host + "/a?q=%0d%0aX:%20y"},
		"own content type":     {URL: "http://" + host + "/a", Post: true, Body: "{}", Headers: []string{"Content-Type: application/json"}},
		"a header given twice": {URL: "http://" + host + "/a", Headers: []string{"X: one", "X: two"}},
	} {
		if err := g.Document(context.Background(), r, Limits{Time: 3 * time.Second}, io.Discard); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wire := <-got
		in := bufio.NewReader(bytes.NewReader(wire))
		req, err := http.ReadRequest(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, _ := io.ReadAll(req.Body)
		rest, _ := io.ReadAll(in)
		if string(body) != r.Body || len(rest) != 0 || req.Host != host || strings.Contains(req.Header.Get("Host"), "evil") {
			t.Errorf("%s: %q", name, wire)
		}
	}
	for name, r := range map[string]Request{
		"raw line break in the path": {URL: "http://" + host + "/a\r\nX: y"},
		"raw space":                  {URL: "http://" + host + " evil/"},
		"host header":                {URL: "http://" + host + "/", Headers: []string{"Host: evil"}},
		"framing":                    {URL: "http://" + host + "/", Post: true, Body: "x", Headers: []string{"Transfer-Encoding: chunked"}},
		"length":                     {URL: "http://" + host + "/", Post: true, Body: "x", Headers: []string{"content-length: 0"}},
		"hop by hop":                 {URL: "http://" + host + "/", Headers: []string{"Connection: X-Forwarded-For"}},
		"line break in a header":     {URL: "http://" + host + "/", Headers: []string{"X: a\r\nY: b"}},
	} {
		err := g.Document(context.Background(), r, Limits{Time: time.Second}, io.Discard)
		var no *Refused
		if !errors.As(err, &no) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Bodies that do not end, are not as long as they say, or grow when unpacked:
// stopped at the limit, in memory that does not grow with them.
func TestBodiesThatLie(t *testing.T) {
	const limit = 8 << 20
	zeros := make([]byte, 1<<20)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 64 {
		z.Write(zeros)
	}
	z.Close()
	raw := func(head string, body func(io.Writer)) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
						return
					}
					io.WriteString(c, "HTTP/1.1 200 OK\r\n"+head+"\r\n\r\n")
					body(c)
				}()
			}
		}()
		return ln.Addr().String()
	}
	endless := func(w io.Writer) {
		for {
			if _, err := w.Write(zeros); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		host  string
		limit time.Duration
		why   string
		bytes int64
	}{
		"endless":             {raw("Connection: close", endless), 0, "size limit", limit + 1},
		"10 GB announced":     {raw("Content-Length: 10737418240", endless), 0, "size limit", 0},
		"endless chunks":      {raw("Transfer-Encoding: chunked", func(w io.Writer) { fmt.Fprintf(w, "%x\r\n", uint64(1)<<40); endless(w) }), 0, "size limit", limit + 1},
		"less than announced": {raw("Content-Length: 1000", func(w io.Writer) { io.WriteString(w, "short") }), 0, "cut short", 5},
		"more than announced": {raw("Content-Length: 5", func(w io.Writer) { io.WriteString(w, "hello, and more") }), 0, "", 5},
		"chunks cut short":    {raw("Transfer-Encoding: chunked", func(w io.Writer) { io.WriteString(w, "ff\r\nabc") }), 0, "cut short", 3},
		"gzip bomb":           {raw("Content-Encoding: gzip\r\nConnection: close", func(w io.Writer) { w.Write(bomb.Bytes()) }), 0, "size limit", limit + 1},
		"gzip of gzip":        {raw("Content-Encoding: gzip, gzip\r\nConnection: close", func(w io.Writer) { w.Write(bomb.Bytes()) }), 0, "not asked for", 0},
		"endless gzip header": {raw("Content-Encoding: gzip\r\nConnection: close", func(w io.Writer) { w.Write([]byte{0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 0}); endless(w) }), 0, "", 0},
		"a byte now and then": {raw("Connection: close", func(w io.Writer) { dribble(w) }), time.Second, "too long", -1},
	} {
		g, err := New(Config{AllowPrivate: []string{c.host}})
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var n counter
		begin := time.Now()
		err = g.Document(context.Background(), Request{URL: "http://" + c.host + "/"}, Limits{Bytes: limit, Time: c.limit}, &n)
		took := time.Since(begin)
		runtime.ReadMemStats(&after)
		if c.why == "" && name == "endless gzip header" {
			if err == nil {
				t.Errorf("%s: taken", name)
			}
		} else if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: %v", name, err)
		}
		if c.bytes >= 0 && int64(n) != c.bytes {
			t.Errorf("%s: %d bytes", name, n)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 2<<20 {
			t.Errorf("%s: %d bytes of memory", name, grown)
		}
		if took > time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func dribble(w io.Writer) {
	tick := time.Tick(100 * time.Millisecond)
	for range 100 {
		if _, err := w.Write([]byte("x")); err != nil {
			return
		}
		<-tick
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// A guard serves many at once; the table is judged the same from all of them.
func TestManyAtOnce(t *testing.T) {
	g, passed := recording(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, host := range forbiddenHosts {
				if g.Check("http://"+host+"/") == nil {
					t.Errorf("%s passes", host)
				}
			}
		})
	}
	wg.Wait()
	if len(*passed) != 0 {
		t.Errorf("dialled %v", *passed)
	}
}
