package api

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/logging"
	"rogito.dev/rogito/server/internal/peer"
	"rogito.dev/rogito/server/internal/span"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/upload"
)

const retrySoon = time.Second

// Observation is what metrics want to know of one request.
type Observation struct {
	Method  string
	Route   string // the pattern; "" where none matched
	Segment string // the route's first
	Status  int
	Code    fault.Code // of the envelope's error; 0 for none
	Message string     // of a refusal
	Elapsed time.Duration
	Caller  *account.Caller // nil if no authentication was needed, or it failed
}

// call is what is known of one request while it is answered, and the writer of its
// answer.
type call struct {
	http.ResponseWriter
	start   time.Time
	id      string
	route   string
	caller  *account.Caller
	status  int
	code    fault.Code
	message string
	size    int64
	ignored []unknownField
	subject span.Subject
	spool   *upload.Spool
	placed  atomic.Bool // among those that are answered at once
}

type callKey struct{}

// callContext is the context of a request: it knows the call, whose caller is found
// out only later.
type callContext struct {
	context.Context
	call *call
}

// Value answers for what the call holds.
func (c *callContext) Value(key any) any {
	switch key {
	case callKey{}:
		return c.call
	case account.CallerKey():
		if c.call.caller != nil {
			return c.call.caller
		}
	case fault.RequestKey():
		return c.call.id
	case span.SubjectKey():
		return &c.call.subject
	}
	return c.Context.Value(key)
}

func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// SetCaller sets the caller of the request that ctx belongs to, for pages with an
// authentication of their own: for the log, the statistics and CallerFrom.
func SetCaller(ctx context.Context, caller *account.Caller) {
	if c := callFrom(ctx); c != nil {
		c.caller = caller
	}
}

// SetHeader sets a header of the answer to the request that ctx belongs to,
// whether it will be a reply or a refusal.
func SetHeader(ctx context.Context, name, value string) {
	if c := callFrom(ctx); c != nil {
		c.Header().Set(name, value)
	}
}

func (c *call) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *call) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(p)
	c.size += int64(n)
	return n, err
}

func (c *call) accountID() string {
	if c.caller == nil {
		return ""
	}
	return c.caller.AccountID
}

// Unwrap lets http.ResponseController reach the connection.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush serves streams.
func (c *call) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// close frees what the body was spooled to.
func (c *call) close() {
	if c.spool != nil {
		c.spool.Close()
		c.spool = nil
	}
}

// observe wraps everything: the request id, the client's address, the limit on requests at
// once, the log line, the metrics, and the recovery from a panic.
func (a *API) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{ResponseWriter: w, id: requestID(r), start: time.Now()}
		c.Header().Set("X-Request-Id", c.id)
		if ambiguous(r) {
			c.Header().Set("Connection", "close")
		}
		r = r.WithContext(&callContext{r.Context(), c})
		if r.Body != nil && r.Body != http.NoBody {
			body := a.pacedBody(w, r)
			r.Body = body // of this copy: the server looks after its own
			defer body.leave(c, r)
		}
		connected := r.RemoteAddr
		r.RemoteAddr = a.opts.Proxies.Client(r)
		defer a.finish(c, r)
		a.serve(c, r, next, r.RemoteAddr != connected || r.ProtoMajor > 1)
	})
}

// serve answers a request if there is room for it; many is set where the
// connection may have others beside it.
func (a *API) serve(c *call, r *http.Request, next http.Handler, many bool) {
	if many && !unlimited(r.URL.Path) {
		leave, ok := a.crowd.enter(peer.Host(r.RemoteAddr), max(1, a.opts.MaxInFlight/2))
		if !ok {
			a.crowded(c, r, "too many requests at once from this address")
			return
		}
		defer leave()
	}
	if !unlimited(r.URL.Path) {
		select {
		case a.places <- struct{}{}:
			c.placed.Store(true)
			defer a.leave(c)
		default:
			a.crowded(c, r, "the server is busy")
			return
		}
	}
	defer a.recover(c, r)
	next.ServeHTTP(c, r)
}

// InFlight is how many requests are being answered, without health and metrics.
func (a *API) InFlight() int64 { return int64(len(a.places)) }

// leave gives up the place of a request, and says whether it had one.
func (a *API) leave(c *call) bool {
	had := c != nil && c.placed.Swap(false)
	if had {
		<-a.places
	}
	return had
}

// last gives the client time to read the rest of an answer after its handler is done.
func (a *API) last(c *call, r *http.Request, now time.Time) {
	if r.ProtoMajor > 1 {
		http.NewResponseController(c.ResponseWriter).SetWriteDeadline(now.Add(a.opts.Patience))
	}
	if w := peer.WaiterOf(r); w != nil {
		w.WaitsForClient(now)
	}
}

// crowded refuses a request for now. On HTTP/2 it resets the stream without an answer: a client
// that does not read answers would make each of them cost as much as a real one.
func (a *API) crowded(c *call, r *http.Request, why string) {
	if r.ProtoMajor > 1 {
		c.status = http.StatusServiceUnavailable // for the log
		panic(http.ErrAbortHandler)
	}
	a.fail(c, r, &fault.Error{Code: fault.Unavailable, Text: why, RetryAfter: retrySoon})
}

// ambiguous reports that a proxy before us may see another end of this request than we do. A
// length beside chunks is such a case (RFC 9112, section 6.1), and so are chunks in HTTP/1.0,
// of which net/http leaves no trace, and a header whose name some take for that of a length or
// an encoding. The connection is then closed after the answer, so that nothing hidden behind
// the request is served.
func ambiguous(r *http.Request) bool {
	return r.ProtoMajor == 1 && (r.ProtoMinor == 0 || len(r.TransferEncoding) > 0 ||
		r.Header["Transfer_encoding"] != nil || r.Header["Content_length"] != nil)
}

// unlimited are the paths that must answer even when the server is full.
func unlimited(path string) bool {
	return path == "/healthz" || path == "/readyz" || path == "/metrics"
}

func (a *API) recover(c *call, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	a.log.ErrorContext(r.Context(), "panic", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if c.status != 0 {
		panic(http.ErrAbortHandler)
	}
	a.fail(c, r, fault.New(fault.Internal, "internal error (request %s)", c.id))
}

func (a *API) finish(c *call, r *http.Request) {
	elapsed := time.Since(c.start)
	now := c.start.Add(elapsed)
	a.last(c, r, now)
	if c.status == 0 {
		c.status = http.StatusOK
	}
	span.Route(r.Context(), r.Method, c.route)
	if a.opts.Observe != nil {
		a.opts.Observe(Observation{
			Method: r.Method, Route: c.route, Segment: firstSegment(c.route), Status: c.status,
			Code: c.code, Message: c.message, Elapsed: elapsed, Caller: c.caller,
		})
	}
	level := slog.LevelInfo
	switch {
	case unlimited(r.URL.Path):
		level = slog.LevelDebug
	case c.status >= 500:
		level = slog.LevelError
	}
	if !a.log.Enabled(r.Context(), level) {
		return
	}
	a.log.LogAttrs(r.Context(), level, logging.AccessLine,
		slog.String("request", c.id),
		slog.String("method", logging.SafeMethod(r.Method)),
		slog.String("path", a.SafePath(r.URL.Path, c.route)),
		slog.Int("status", c.status),
		slog.Int("code", int(c.code)),
		slog.Int64("bytes", c.size),
		slog.Float64("elapsed_ms", float64(elapsed.Microseconds())/1000),
		slog.String("account", c.accountID()),
		slog.String("address", peer.Host(r.RemoteAddr)))
}

// SafePath is a path without possible secrets, whatever route it took, if any: words of our own
// routes and ids stay; the rest is replaced by the route's parameter name, or an ellipsis.
func (a *API) SafePath(path, route string) string {
	if path == route {
		return path
	}
	names := strings.Split(route, "/")
	parts := strings.SplitN(path, "/", maxSegments+1)
	for i, p := range parts {
		switch {
		case p == "" || a.words[p] || store.IsID(p):
		case i < len(names) && strings.HasPrefix(names[i], "{"):
			parts[i] = names[i]
		default:
			parts[i] = "…"
		}
	}
	return strings.Join(parts, "/")
}

// maxSegments of a path are logged.
const maxSegments = 10

// Know adds the words of a route to those that SafePath keeps.
func (a *API) Know(pattern string) {
	for part := range strings.SplitSeq(pattern, "/") {
		if !strings.ContainsAny(part, "{*") {
			a.words[part] = true
		}
	}
}

// requestID is 24 random digits, and after a tilde the caller's own id if it is well-formed:
// that one follows a request through several machines, but callers do not choose what the log
// is searched by.
func requestID(r *http.Request) string {
	var raw [12]byte
	binary.BigEndian.PutUint64(raw[:], requestSeed^mrand.Uint64())
	binary.BigEndian.PutUint32(raw[8:], mrand.Uint32())
	var b [24]byte
	hex.Encode(b[:], raw[:])
	if id := r.Header.Get("X-Request-Id"); id != "" && len(id) <= 64 && decent(id) && !account.LooksSecret(id) {
		return string(b[:]) + "~" + id
	}
	return string(b[:])
}

// requestSeed keeps ids of different processes apart; they need to be unique,
// not unguessable.
var requestSeed = func() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}()

func decent(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}
