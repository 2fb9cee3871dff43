package blackbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"rogito.dev/rogito/server/internal/api/apitest"
	"rogito.dev/rogito/server/internal/fault"
)

// watch is the transport of every client of the suite. Whatever comes back is
// held to the OpenAPI document that the server itself serves, and, where that
// says nothing (an unknown route, a wrong method), to the envelope; and it is
// written down, so that the suite can tell at its end what it never saw.
type watch struct {
	next     http.RoundTripper
	contract *apitest.Contract
	coverage *apitest.Coverage

	mu    sync.Mutex
	codes map[int]int // how often each code was met, in answers and in records
}

func newWatch(t testing.TB, next http.RoundTripper, base string) *watch {
	t.Helper()
	resp, err := (&http.Client{Transport: next}).Get(base + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	spec, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	c := apitest.New(t, spec)
	return &watch{next: next, contract: c, coverage: c.Cover(), codes: map[int]int{}}
}

// through is the same watch over another transport: one that presents a client
// certificate, say.
func (w *watch) through(next http.RoundTripper) http.RoundTripper { return &branch{w, next} }

type branch struct {
	*watch
	next http.RoundTripper
}

func (b *branch) RoundTrip(req *http.Request) (*http.Response, error) {
	return b.watch.roundTrip(b.next, req)
}

// RoundTrip sends a request and judges the answer.
func (w *watch) RoundTrip(req *http.Request) (*http.Response, error) { return w.roundTrip(w.next, req) }

type testKey struct{}

// during says which test a request belongs to, so that a bad answer fails that
// one.
func during(ctx context.Context, t testing.TB) context.Context {
	return context.WithValue(ctx, testKey{}, t)
}

func (w *watch) roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	t, _ := req.Context().Value(testKey{}).(testing.TB)
	if t == nil {
		return nil, fmt.Errorf("%s %s belongs to no test", req.Method, req.URL)
	}
	var sent []byte
	if req.GetBody != nil && req.ContentLength < 1<<20 {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		if sent, err = io.ReadAll(body); err != nil {
			return nil, err
		}
	}
	resp, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	w.judge(t, req, resp, answer)
	w.coverage.Note(req, sent, resp.StatusCode, resp.Header, answer)
	return resp, nil
}

// judge holds one answer to the document and to the envelope.
func (w *watch) judge(t testing.TB, req *http.Request, resp *http.Response, answer []byte) {
	t.Helper()
	if resp.Header.Get("X-Request-Id") == "" {
		t.Errorf("%s %s: no X-Request-Id", req.Method, req.URL.Path)
	}
	if req.Method == http.MethodHead {
		return
	}
	known := w.contract.Knows(req)
	if known {
		w.contract.Check(t, req, resp.StatusCode, resp.Header, answer)
	}
	mediaType := resp.Header.Get("Content-Type")
	switch {
	case strings.HasPrefix(mediaType, "application/problem+json"):
		w.note(answer, "code")
	case strings.HasPrefix(mediaType, "application/json"):
		w.note(answer, "error", "errorNumber")
		if known && req.URL.Path != "/token" || resp.StatusCode >= http.StatusBadRequest {
			envelope(t, req, resp.StatusCode, answer)
		}
	case resp.StatusCode >= http.StatusBadRequest && (known || !isPage(req.URL.Path)):
		t.Errorf("%s %s: %d as %q: %.200s", req.Method, req.URL.Path, resp.StatusCode, mediaType, answer)
	}
}

// isPage says that a path is for people, who read no JSON.
func isPage(path string) bool { return strings.HasPrefix(path, "/enrol/") }

// envelope checks the four members, their order, and that they agree.
func envelope(t testing.TB, req *http.Request, status int, answer []byte) {
	t.Helper()
	var names []string
	dec := json.NewDecoder(bytes.NewReader(answer))
	_, err := dec.Token()
	for err == nil && dec.More() {
		var name json.Token
		if name, err = dec.Token(); err != nil {
			break
		}
		names = append(names, fmt.Sprint(name))
		var skip json.RawMessage
		err = dec.Decode(&skip)
	}
	if err != nil || !slices.Equal(names, []string{"data", "success", "message", "error"}) {
		t.Errorf("%s %s: %v: %v: %.200s", req.Method, req.URL.Path, err, names, answer)
		return
	}
	var e struct {
		Data    json.RawMessage
		Success bool
		Message *string
		Error   *int
	}
	err = json.Unmarshal(answer, &e)
	good := err == nil && e.Message != nil && e.Success == (status < 300) && e.Success == (e.Error == nil)
	if good && !e.Success {
		good = string(e.Data) == "null" && *e.Message != "" && slices.Contains(statuses(fault.Code(*e.Error)), status)
	}
	if !good {
		t.Errorf("%s %s: %d: %.300s", req.Method, req.URL.Path, status, answer)
	}
}

// statuses are those that a code of the table may come with; none where it is
// for records only.
func statuses(code fault.Code) []int {
	i := slices.IndexFunc(fault.Table, func(r fault.Row) bool { return r.Code == code })
	switch {
	case i < 0 || fault.Table[i].Status == 0:
		return nil
	case code == 102:
		return []int{http.StatusNotFound, http.StatusMethodNotAllowed}
	}
	return []int{fault.Table[i].Status}
}

// note counts the codes in an answer, however deep the members lie.
func (w *watch) note(answer []byte, members ...string) {
	var x any
	if json.Unmarshal(answer, &x) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var walk func(x any)
	walk = func(x any) {
		switch x := x.(type) {
		case map[string]any:
			for k, v := range x {
				if n, ok := v.(float64); ok && slices.Contains(members, k) {
					w.codes[int(n)]++
				}
				walk(v)
			}
		case []any:
			for _, v := range x {
				walk(v)
			}
		}
	}
	walk(x)
}
