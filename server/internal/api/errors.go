package api

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/hint"
	"rogito.dev/rogito/server/internal/upload"
)

// problem is RFC 9457's way to say the same.
type problem struct {
	Type      string     `json:"type" doc:"a page that explains the code"`
	Title     string     `json:"title" doc:"the meaning of the code"`
	Status    int        `json:"status" doc:"HTTP status"`
	Detail    string     `json:"detail" doc:"what went wrong this time"`
	Code      fault.Code `json:"code" doc:"the code of the envelope's error"`
	RequestID string     `json:"requestId" doc:"as in X-Request-Id"`
}

// Fail answers an error as an operation does, for pages whose client asked for
// JSON.
func (a *API) Fail(w http.ResponseWriter, r *http.Request, err error) { a.fail(w, r, err) }

// fail answers an error. What is no fault is an accident: the client learns
// the request id, the log learns the rest.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) { a.failAs(w, r, nil, err) }

// failAs is fail in the form of an operation.
func (a *API) failAs(w http.ResponseWriter, r *http.Request, op *Op, err error) {
	f := a.refusal(r, err)
	if c := callFrom(r.Context()); c != nil {
		if f.HTTP() == http.StatusUnprocessableEntity || f.HTTP() == http.StatusBadRequest {
			told := *f // the fault may be a value that others share
			told.Text = c.withIgnored(f.Text, true)
			f = &told
		}
		c.code, c.message = f.Code, f.Text
	}
	h := w.Header()
	after := f.RetryAfter
	if after == 0 && f.HTTP() == http.StatusServiceUnavailable { // it always says when to come back
		after = retrySoon
	}
	if after > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	status, foreign := f.HTTP(), any(nil)
	if op != nil && op.Refuse != nil {
		status, foreign = op.Refuse(f)
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="rogito"`)
	}
	h.Del("ETag")
	h.Set("Cache-Control", "no-store")
	if foreign != nil {
		b, _ := json.Marshal(foreign)
		h["Content-Type"] = jsonType
		w.WriteHeader(status)
		w.Write(b)
		return
	}
	h.Set("Link", "</docs/errors#"+f.Code.Error()+`>; rel="help"`) // what to do about it
	if strings.Contains(r.Header.Get("Accept"), "application/problem+json") {
		writeProblem(w, r, f, status)
		return
	}
	b := append(make([]byte, 0, 256), `{"data":null,"success":false,"message":`...)
	b, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(f.Text, "\uFFFD"))
	b = append(b, `,"error":`...)
	b = strconv.AppendInt(b, int64(f.Code), 10)
	b = append(b, '}')
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(b))}
	w.WriteHeader(status)
	w.Write(b)
}

func writeProblem(w http.ResponseWriter, r *http.Request, f *fault.Error, status int) {
	b, _ := json.Marshal(problem{
		Type:      "/docs/errors#" + f.Code.Error(),
		Title:     fault.Meaning(f.Code),
		Status:    status,
		Detail:    strings.ToValidUTF8(f.Text, "\uFFFD"),
		Code:      f.Code,
		RequestID: fault.RequestID(r.Context()),
	})
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	w.Write(b)
}

// refusal turns any error into one that a client may read.
func (a *API) refusal(r *http.Request, err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		if f.HTTP() >= 500 {
			a.log.ErrorContext(r.Context(), "refused", "code", int(f.Code), "text", f.Text, "error", f.Err)
		}
		return f
	}
	if f := fromBody(err); f != nil {
		return f
	}
	ctx := r.Context()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return &fault.Error{Code: fault.Unavailable, Text: "the request was given up", Status: statusClientGone}
	}
	id := fault.RequestID(ctx)
	a.log.ErrorContext(ctx, "internal error", "error", err)
	if errors.Is(err, context.DeadlineExceeded) {
		return &fault.Error{Code: fault.Unavailable, Text: "the request took too long (request " + id + ")", RetryAfter: retrySoon}
	}
	return &fault.Error{Code: fault.Internal, Text: "internal error (request " + id + ")"}
}

// statusClientGone is for the log: the client does not read this answer.
const statusClientGone = 499

// fromBody maps what reading a body can meet.
func fromBody(err error) *fault.Error {
	var (
		syn   *upload.SyntaxError
		field *upload.FieldError
		large *http.MaxBytesError
	)
	switch {
	case errors.As(err, &syn):
		return fault.New(fault.BadBody, "%s", syn.Text)
	case errors.As(err, &field):
		return fault.New(fault.BadBody, "%s %s", field.Field, field.Text)
	case errors.As(err, &large):
		return fault.New(fault.TooLarge, "the body is larger than %d bytes", large.Limit)
	case errors.Is(err, upload.ErrTooLong):
		return fault.New(fault.TooLarge, "the body or a document in it is over the limit")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &fault.Error{Code: fault.BadBody, Text: "the body did not arrive in time", Status: http.StatusRequestTimeout}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.New(fault.BadBody, "the body ends before its announced length")
	}
	return nil
}

// NotFound answers that there is no such route, and which one is near.
func (a *API) NotFound(w http.ResponseWriter, r *http.Request) {
	text := "no such route: " + r.Method + " " + shortPath(r.URL.Path)
	if near := a.nearRoute(r.URL.Path); near != "" {
		text += "; did you mean " + near + "?"
	}
	a.fail(w, r, fault.New(fault.NoRoute, "%s", text))
}

// nearRoute is the operation whose path is nearest to one that is none: as many
// segments, fixed ones alike.
func (a *API) nearRoute(path string) string {
	asked := strings.Split(strings.Trim(path, "/"), "/")
	if len(path) > 512 {
		return ""
	}
	best, most := "", 0
	for i := range a.ops {
		op := &a.ops[i]
		segments := strings.Split(strings.Trim(op.Path, "/"), "/")
		if op.Refuse != nil || len(segments) != len(asked) {
			continue
		}
		score := 0
		for j, s := range segments {
			switch {
			case s == asked[j]:
				score += 4
			case strings.Contains(s, "{"):
				score++
			case hint.Near(asked[j], []string{s}) != "":
				score += 3
			default:
				score = -100
			}
		}
		if score > most && score >= 3 {
			best, most = op.Method+" "+op.Path, score
		}
	}
	return best
}

// NotFor answers methods with 405 on a path that a wider pattern would take.
func (a *API) NotFor(pattern string, methods ...string) {
	for _, m := range methods {
		a.never = append(a.never, m+" "+pattern)
		a.router.Method(m, pattern, http.HandlerFunc(a.methodNotAllowed))
	}
}

func (a *API) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		if at := chi.NewRouteContext(); a.router.Match(at, m, r.URL.Path) && !slices.Contains(a.never, m+" "+at.RoutePattern()) {
			allowed = append(allowed, m)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	a.fail(w, r, &fault.Error{
		Code: fault.NoRoute, Status: http.StatusMethodNotAllowed,
		Text: r.Method + " is not for " + shortPath(r.URL.Path) + "; these are: " + strings.Join(allowed, ", "),
	})
}

func shortPath(p string) string {
	if len(p) > 100 {
		p = p[:100] + "…"
	}
	return strings.ToValidUTF8(p, "\uFFFD")
}
