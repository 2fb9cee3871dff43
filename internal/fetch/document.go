package fetch

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Request is a caller's request to fetch a document.
type Request struct {
	URL     string
	Post    bool     // POST instead of GET
	Headers []string // "Name: value"
	Body    string   // of a POST
}

// Limits on one fetch; zero means 100 MB and 20 seconds.
type Limits struct {
	Bytes int64
	Time  time.Duration
}

// ErrTooLarge means that the fetched document is over its limit.
var ErrTooLarge = errors.New("the document is over the size limit")

// Failed means that a fetch failed for a reason that the caller may be told.
type Failed struct {
	Why string
	Err error
}

func (f *Failed) Error() string { return f.Why }
func (f *Failed) Unwrap() error { return f.Err }

// Document fetches a document into w, within the limits. Errors are *Refused,
// *Failed or ErrTooLarge; anything else comes from w.
func (g *Guard) Document(ctx context.Context, r Request, l Limits, w io.Writer) error {
	if err := g.Check(r.URL); err != nil {
		return err
	}
	req, err := r.build(ctx)
	if err != nil {
		return err
	}
	client := g.Client(cmp.Or(l.Time, 20*time.Second))
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return explain(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &Failed{Why: fmt.Sprintf("the host answered %d", resp.StatusCode)}
	}
	return copyLimited(w, resp, cmp.Or(l.Bytes, 100_000_000))
}

func (r Request) build(ctx context.Context) (*http.Request, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if r.Post {
		method, body = http.MethodPost, strings.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL, body)
	if err != nil {
		return nil, refuse("the address cannot be read")
	}
	req.Header.Set("User-Agent", "rogito")
	if r.Post {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, line := range r.Headers {
		name, value, err := HeaderLine(line)
		if err != nil {
			return nil, err
		}
		req.Header.Set(name, value)
	}
	return req, nil
}

func copyLimited(w io.Writer, resp *http.Response, limit int64) error {
	if resp.ContentLength > limit {
		return ErrTooLarge
	}
	body := io.Reader(resp.Body)
	switch enc := strings.ToLower(resp.Header.Get("Content-Encoding")); enc {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(io.LimitReader(resp.Body, limit))
		if err != nil {
			return &Failed{Why: "the answer claims gzip and is not", Err: err}
		}
		body = z
	default:
		return &Failed{Why: "the answer has an encoding that was not asked for"}
	}
	src := &reader{r: body}
	n, err := io.Copy(w, io.LimitReader(src, limit+1))
	if src.err != nil {
		return explain(src.err)
	}
	if err != nil {
		return err
	}
	if n > limit {
		return ErrTooLarge
	}
	return nil
}

// reader records its error, to distinguish a network failure from one of the disk.
type reader struct {
	r   io.Reader
	err error
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// explain describes an error in a few words, without addresses that the caller did not write.
func explain(err error) error {
	if no, ok := errors.AsType[*Refused](err); ok {
		return no
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return &Failed{Why: "the host name is not known", Err: err}
	case errors.As(err, &dns):
		return &Failed{Why: "the host name could not be looked up", Err: err}
	case isTimeout(err):
		return &Failed{Why: "the host took too long", Err: err}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Failed{Why: "the answer was cut short", Err: err}
	}
	return &Failed{Why: "the host could not be reached", Err: err}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// Headers that would change how a message is framed or routed.
var forbidden = map[string]bool{
	"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true,
	"Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Authorization": true,
	"Proxy-Connection": true, "Te": true, "Trailer": true, "Upgrade": true, "Expect": true,
	"Http2-Settings": true, "Accept-Encoding": true,
}

// HeaderLine splits "Name: value" and rejects headers that allow request smuggling.
func HeaderLine(line string) (name, value string, err error) {
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return "", "", refuse("a header is not \"Name: value\"")
	}
	value = strings.TrimSpace(value)
	return http.CanonicalHeaderKey(name), value, CheckHeader(name, value)
}

// CheckHeader rejects headers that allow request smuggling: line breaks, Host, framing and
// hop-by-hop headers.
func CheckHeader(name, value string) error {
	if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
		return refuse("a header has characters that may not stand there")
	}
	if forbidden[http.CanonicalHeaderKey(name)] {
		return refuse("the header %s may not be set", http.CanonicalHeaderKey(name))
	}
	return nil
}
