package abuse_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// smuggled is a second request that hides in the first, for a reader who
// takes the first one's end to be elsewhere than a proxy before it.
const smuggled = "GET /healthz?smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

// Pairs of requests that two readers may take apart differently: the corpus of
// CL.TE, TE.CL, TE.TE, CL.0 and the ways to misspell each. None of them may
// have its second half answered.
func smugglingCorpus() map[string]string {
	post := func(body string, headers ...string) string {
		return "POST /verify HTTP/1.1\r\nHost: a\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n" + body
	}
	chunked := "0\r\n\r\n" + smuggled
	te := func(line string) string { return post(chunked, "Content-Length: 5", line) }
	cl := func(line string) string { return post(smuggled, line) }
	all := map[string]string{
		"CL.TE":                    post(chunked, "Content-Length: 5", "Transfer-Encoding: chunked"),
		"TE.CL":                    post(chunked, "Transfer-Encoding: chunked", "Content-Length: 5"),
		"two lengths":              post("abc"+smuggled, "Content-Length: 3", "Content-Length: 47"),
		"lengths in a list":        post("abc"+smuggled, "Content-Length: 3, 47"),
		"chunk too long":           post("5\r\nabc\r\n0\r\n\r\n"+smuggled, "Transfer-Encoding: chunked"),
		"chunk size with a prefix": post("0x3\r\nabc\r\n0\r\n\r\n"+smuggled, "Transfer-Encoding: chunked"),
		"chunk size with a sign":   post("+3\r\nabc\r\n0\r\n\r\n"+smuggled, "Transfer-Encoding: chunked"),
		"chunk size of 17 digits":  post("00000000000000003\r\nabc\r\n0\r\n\r\n"+smuggled, "Transfer-Encoding: chunked"),
		"chunk without its end":    post("3\r\nabcXX0\r\n\r\n"+smuggled, "Transfer-Encoding: chunked"),
		"chunk size, bare LF":      post("3\nabc\r\n0\r\n\r\n"+smuggled, "Transfer-Encoding: chunked"),
		"chunk extension, bare LF": post("3;a=\nabc\r\n0\r\n\r\n"+smuggled, "Transfer-Encoding: chunked"),
		"old version, chunked":     "POST /verify HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n" + chunked,
		"bare CR in a header":      "POST /verify HTTP/1.1\r\nHost: a\r\nX: b\rTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + chunked,
		"NUL in a header":          te("X: \x00"),
		"two hosts":                "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + smuggled,
		"no host":                  "GET /healthz HTTP/1.1\r\n\r\n" + smuggled,
		"space before the colon":   "GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n" + smuggled,
		"folded header":            te("Transfer-Encoding:\r\n chunked"),
		"name with a space":        "GET /healthz HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n" + smuggled,
		"no version":               "GET /healthz\r\n\r\n" + smuggled,
		"strange version":          "GET /healthz HTTP/1.1x\r\nHost: a\r\n\r\n" + smuggled,
		"upgrade to h2c":           "POST /verify HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"trailer of framing":       post("3\r\nabc\r\n0\r\nContent-Length: 99\r\n\r\n"+smuggled, "Transfer-Encoding: chunked", "Trailer: Content-Length"),
	}
	for _, odd := range []string{
		"Transfer-Encoding: xchunked", "Transfer-Encoding : chunked", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: identity, chunked",
		"Transfer-Encoding: chunked, chunked", "Transfer-Encoding:\x0bchunked", "Transfer-Encoding: \x0cchunked", "Transfer-Encoding:\tchunked",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: x", "Transfer-Encoding: x\r\nTransfer-Encoding: chunked", " Transfer-Encoding: chunked", "X: y\nTransfer-Encoding: chunked",
		"Transfer-Encoding: \"chunked\"", "Transfer-Encoding: CHUNKED", "transfer-encoding: chunked", "Transfer_Encoding: chunked", "Transfer-Encoding\r\n: chunked", "Transfer-Encoding: cow",
	} {
		all[fmt.Sprintf("TE %q", odd)] = te(odd)
	}
	for _, odd := range []string{
		"Content-Length: +0", "Content-Length: -1", "Content-Length: 0x0", "Content-Length: 0 0", "Content-Length: ", "Content-Length: 1e1", "Content-Length: 0\r\nContent-Length: 47",
		"Content-Length: 99999999999999999999", "Content-Length: ０", "Content-Length : 0", "Content-Length: 0,", "Content-Length: 0\x00",
	} {
		all[fmt.Sprintf("CL %q", odd)] = cl(odd)
	}
	return all
}

// Requests that two readers may take differently are refused, or the
// connection ends with their answer: what hides behind them is never served.
func TestSmugglingCorpus(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	corpus := smugglingCorpus()
	if len(corpus) < 50 {
		t.Fatalf("only %d pairs", len(corpus))
	}
	for name, raw := range corpus {
		if n, text := answersTo(t, r.Addr, raw); strings.Contains(text, " 200 OK") {
			t.Errorf("%s: served, %d answers:\n%s", name, n, text)
		}
	}
	// What is no trick still works, two on one connection.
	n, text := answersTo(t, r.Addr, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"+"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	if n != 2 {
		t.Errorf("two plain requests: %d answers:\n%s", n, text)
	}
}

// answersTo sends bytes and counts the answers that come back.
func answersTo(t *testing.T, addr, raw string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(1500 * time.Millisecond))
	io.WriteString(conn, raw)
	var text strings.Builder
	in := bufio.NewReader(io.TeeReader(conn, &text))
	n := 0
	for {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return n, text.String()
		}
		n++
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}
