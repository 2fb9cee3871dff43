// Package apitest holds real answers to the OpenAPI document the server
// itself publishes: what is sent and is not described fails the test, and so
// does what is described otherwise.
package apitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// T is what a test needs to offer; *testing.T does.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Contract is a document to hold answers to.
type Contract struct {
	doc    *openapi3.T
	routes []route
}

type route struct {
	path    string
	pattern *regexp.Regexp
}

// New reads and validates a document (3.1 or 3.0, JSON). Members that it does
// not describe are refused in answers, although clients are told to ignore
// them.
func New(t T, spec []byte) *Contract {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(spec)
	if err != nil {
		t.Fatalf("load the OpenAPI document: %v", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatalf("the OpenAPI document is not valid: %v", err)
	}
	c := &Contract{doc: doc}
	for path := range doc.Paths.Map() {
		c.routes = append(c.routes, route{path, pattern(path)})
	}
	for _, s := range doc.Components.Schemas {
		strict(s)
	}
	return c
}

// Fetch reads the document from a running server.
func Fetch(t T, base string) *Contract {
	t.Helper()
	resp, err := http.Get(base + "/openapi.json")
	if err != nil {
		t.Fatalf("fetch the OpenAPI document: %v", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("fetch the OpenAPI document: %v", err)
	}
	return New(t, b)
}

var variable = regexp.MustCompile(`\\\{[^/]+?\\\}`)

func pattern(path string) *regexp.Regexp {
	return regexp.MustCompile("^" + variable.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
}

// strict refuses members that a named object does not describe.
func strict(ref *openapi3.SchemaRef) {
	s := ref.Value
	if s == nil || ref.Ref != "" || len(s.Properties) == 0 || s.AdditionalProperties.Schema != nil || s.AdditionalProperties.Has != nil {
		return
	}
	no := false
	s.AdditionalProperties.Has = &no
	for _, p := range s.Properties {
		strict(p)
	}
}

// Check holds one answer to the document. The body is given apart, since it
// can be read only once.
func (c *Contract) Check(t T, req *http.Request, status int, header http.Header, body []byte) {
	t.Helper()
	path, item := c.find(req.URL.Path, req.Method)
	if item == nil {
		return // a page, or an unknown route: not in the document
	}
	op := item.GetOperation(req.Method)
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: req,
			Route:   &routers.Route{Spec: c.doc, Path: path, PathItem: item, Method: req.Method, Operation: op},
		},
		Status:  status,
		Header:  header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	in.SetBodyBytes(body)
	if status == http.StatusNotModified {
		return
	}
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		t.Errorf("%s %s answered what the document does not describe: %v\n%s", req.Method, path, brief(err.Error()), brief(string(body)))
	}
}

func (c *Contract) find(path, method string) (string, *openapi3.PathItem) {
	var best string
	for _, r := range c.routes {
		item := c.doc.Paths.Value(r.path)
		if !r.pattern.MatchString(path) || item.GetOperation(method) == nil {
			continue
		}
		// Of several, the one with the fewest variables is what the router takes.
		if best == "" || strings.Count(r.path, "{") < strings.Count(best, "{") {
			best = r.path
		}
	}
	if best == "" {
		return "", nil
	}
	return best, c.doc.Paths.Value(best)
}

func brief(s string) string {
	if len(s) > 2000 {
		return s[:2000] + "…"
	}
	return s
}

// Transport checks every answer that passes through it.
func (c *Contract) Transport(t T, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return checking{t, c, next}
}

type checking struct {
	t    T
	c    *Contract
	next http.RoundTripper
}

func (r checking) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	r.c.Check(r.t, req, resp.StatusCode, resp.Header, body)
	return resp, nil
}
