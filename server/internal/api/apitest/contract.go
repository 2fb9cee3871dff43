// Package apitest holds real answers to the OpenAPI document the server
// itself publishes: what is sent and is not described fails the test, and so
// does what is described otherwise.
package apitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
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

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema // by place
}

type route struct {
	path    string
	pattern *regexp.Regexp
}

// New reads and validates a document (3.1, JSON). Members that it does
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
	c := &Contract{doc: doc, compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	for path := range doc.Paths.Map() {
		c.routes = append(c.routes, route{path, pattern(path)})
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(spec))
	if err != nil {
		t.Fatalf("read the OpenAPI document: %v", err)
	}
	components, _ := root.(map[string]any)["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	for _, s := range schemas {
		strict(s)
	}
	if err := c.compiler.AddResource(documentURL, root); err != nil {
		t.Fatalf("read the OpenAPI document: %v", err)
	}
	return c
}

// problemJSON is RFC 9457's form of a refusal.
const problemJSON = "application/problem+json"

// documentURL is the name of the document among schemas; it is never fetched.
const documentURL = "https://openapi.invalid/openapi.json"

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
func strict(schema any) {
	s, _ := schema.(map[string]any)
	properties, _ := s["properties"].(map[string]any)
	if _, said := s["additionalProperties"]; said || len(properties) == 0 {
		return
	}
	s["additionalProperties"] = false
	for _, p := range properties {
		strict(p)
	}
}

// schema of an answer, compiled at its first use.
func (c *Contract) schema(path, method, status, mediaType string) (*jsonschema.Schema, error) {
	at := documentURL + "#"
	for _, part := range []string{"paths", path, strings.ToLower(method), "responses", status, "content", mediaType, "schema"} {
		at += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.compiled[at]; s != nil {
		return s, nil
	}
	s, err := c.compiler.Compile(at)
	if err == nil {
		c.compiled[at] = s
	}
	return s, err
}

// Check holds one answer to the document. The body is given apart, since it
// can be read only once.
func (c *Contract) Check(t T, req *http.Request, status int, header http.Header, body []byte) {
	t.Helper()
	path, item := c.find(req.URL.Path, req.Method)
	if item == nil || status == http.StatusNotModified {
		return // a page, or an unknown route: not in the document
	}
	op := item.GetOperation(req.Method)
	if err := c.judge(op, path, req.Method, strconv.Itoa(status), header, body); err != nil {
		t.Errorf("%s %s answered %d, which the document does not describe: %v\n%s", req.Method, path, status, brief(err.Error()), brief(string(body)))
	}
	if code := codeOf(header, body); status >= http.StatusBadRequest && !slices.Contains(described(op, strconv.Itoa(status)), strconv.Itoa(code)) {
		t.Errorf("%s %s answered %d with the code %d, which the document does not give it: %s", req.Method, path, status, code, brief(string(body)))
	}
}

func (c *Contract) judge(op *openapi3.Operation, path, method, status string, header http.Header, body []byte) error {
	r := op.Responses.Value(status)
	if r == nil {
		return errors.New("there is no such status")
	}
	if header.Get("Content-Type") == problemJSON && status[0] != '2' {
		return nil // every refusal can be had so, the document says
	}
	mediaType, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("media type %q: %w", header.Get("Content-Type"), err)
	}
	if slices.Contains(alsoProduced(r.Value), mediaType) {
		return nil // bytes, or a form of another's making
	}
	if r.Value.Content[mediaType] == nil {
		return fmt.Errorf("there is no media type %s", mediaType)
	}
	if !strings.HasSuffix(mediaType, "json") {
		return nil // bytes
	}
	s, err := c.schema(path, method, status, mediaType)
	if err != nil {
		return err
	}
	x, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	if err := s.Validate(x); err != nil {
		return err
	}
	return envelope(x, status[0] == '2')
}

// envelope holds an answer in the envelope to its description in the document in words, since
// generators know neither a type of null alone nor one of true.
func envelope(x any, good bool) error {
	m, _ := x.(map[string]any)
	if m["success"] == nil {
		return nil // there is none
	}
	if m["success"] != good || good && m["error"] != nil || !good && m["data"] != nil {
		return errors.New("a success has no error, and a failure no data")
	}
	return nil
}

// alsoProduced are the media types of an answer that are named beside its own.
func alsoProduced(r *openapi3.Response) []string {
	var all []string
	list, _ := r.Extensions["x-also-produces"].([]any)
	for _, one := range list {
		all = append(all, fmt.Sprint(one))
	}
	return all
}

// Knows says whether the document describes a call.
func (c *Contract) Knows(req *http.Request) bool {
	_, item := c.find(req.URL.Path, req.Method)
	return item != nil
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
