package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"

	"rogito.dev/rogito/server/internal/api/apitest"
)

func document31(t *testing.T, h http.Handler) []byte {
	t.Helper()
	w, _ := ask(t, h, "GET", "/openapi.json", "")
	if w.Code != 200 {
		t.Fatal(w.Body)
	}
	return w.Body.Bytes()
}

func TestAnswersFollowTheDocument(t *testing.T) {
	h := testAPI(Options{}).Handler()
	c := apitest.New(t, document31(t, h))
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/things", ""},
		{"GET", "/things/000000000000000000000001", ""},
		{"GET", "/things/000000000000000000000000", ""},
		{"GET", "/things/short", ""},
		{"GET", "/things?limit=0", ""},
		{"POST", "/things", `{"name":"x"}`},
		{"POST", "/things", `{"name":`},
		{"GET", "/forbidden", ""},
		{"GET", "/broken/accident", ""},
		{"GET", "/broken/busy", ""},
		{"GET", "/fast", ""},
	} {
		w, _ := ask(t, h, r.method, r.path, r.body)
		c.Check(t, httptest.NewRequest(r.method, r.path, nil), w.Code, w.Header(), w.Body.Bytes())
	}
}

// A check that cannot fail is none.
type counting struct {
	*testing.T
	failures int
}

func (c *counting) Errorf(string, ...any) { c.failures++ }

func TestContractNoticesLies(t *testing.T) {
	c := apitest.New(t, document31(t, testAPI(Options{}).Handler()))
	req := httptest.NewRequest("GET", "/things/000000000000000000000001", nil)
	header := http.Header{"Content-Type": {"application/json"}}
	const good = `{"data":{"id":"x","note":null,"part":{"name":"p"},"count":1},"success":true,"message":"","error":null}`
	for _, body := range []string{
		strings.Replace(good, `"id":"x"`, `"id":7`, 1),
		strings.Replace(good, `"note":null,`, ``, 1),
		strings.Replace(good, `"note":null`, `"note":null,"extra":1`, 1),
		strings.Replace(good, `"error":null`, `"error":5`, 1),
		strings.Replace(good, `"success":true`, `"success":false`, 1),
		strings.Replace(good, `"part":{"name":"p"}`, `"part":{}`, 1),
	} {
		n := &counting{T: t}
		c.Check(n, req, 200, header, []byte(body))
		if n.failures == 0 {
			t.Errorf("not noticed: %s", body)
		}
	}
	n := &counting{T: t}
	if c.Check(n, req, 200, header, []byte(good)); n.failures != 0 {
		t.Error("the good answer was refused")
	}
	if c.Check(n, req, 418, header, []byte(good)); n.failures == 0 {
		t.Error("an undescribed status was not noticed")
	}
}

func TestOldDocumentIsValid(t *testing.T) {
	h := testAPI(Options{}).Handler()
	w, _ := ask(t, h, "GET", "/openapi-3.0.json", "")
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.0.3" {
		t.Errorf("version %s", doc.OpenAPI)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Error(err)
	}
	if s := w.Body.String(); strings.Contains(s, `"null"`) {
		t.Error("3.0 knows no null type")
	}
}

func TestYAMLIsTheSameDocument(t *testing.T) {
	h := testAPI(Options{}).Handler()
	w, _ := ask(t, h, "GET", "/openapi.yaml", "")
	var fromYAML, fromJSON any
	if err := yaml.Unmarshal(w.Body.Bytes(), &fromYAML); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(document31(t, h), &fromJSON); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(fromYAML)
	b, _ := json.Marshal(fromJSON)
	if string(a) != string(b) {
		t.Error("they differ")
	}
}

// An answer has one form in the document, and the others are named: generators
// make one type of all that it may be.
func TestOneFormOfAnAnswer(t *testing.T) {
	a := testAPI(Options{})
	Register(a, Op{Method: "GET", Path: "/map", ID: "map", Produces: []string{"application/geo+json", "application/a"}},
		func(ctx context.Context, in *struct {
			Accept string `header:"Accept"`
		},
		) (Reply[thing], error) {
			return Found(thing{}), nil
		})
	doc := string(document31(t, a.Handler()))
	if strings.Contains(doc, `"application/a":`) || !strings.Contains(doc, `"x-also-produces":["application/geo+json","application/a"]`) {
		t.Error("the forms beside JSON are not only named")
	}
	if strings.Contains(doc, `"name":"Accept"`) {
		t.Error("Accept is no parameter in OpenAPI")
	}
}

func TestSchemaNames(t *testing.T) {
	doc := string(document31(t, testAPI(Options{}).Handler()))
	for _, want := range []string{`"ListThingsAnswer"`, `"Thing"`, `"Failure"`} {
		if !strings.Contains(doc, want) {
			t.Errorf("no schema %s", want)
		}
	}
	for _, bad := range []string{"EnvInterface", "Interface {}", "interface {}"} {
		if strings.Contains(doc, bad) {
			t.Errorf("a schema is called %s", bad)
		}
	}
}

func TestDocsPagesLoadNothingFromElsewhere(t *testing.T) {
	h := testAPI(Options{}).Handler()
	for _, path := range []string{"/docs", "/docs/reference/listThings", "/docs/errors"} {
		w, _ := ask(t, h, "GET", path, "", "Authorization", "")
		if w.Code != 200 || strings.Contains(w.Body.String(), "//cdn") || strings.Contains(w.Body.String(), "https://") {
			t.Errorf("%s: %d\n%s", path, w.Code, w.Body)
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "script-src 'self' 'unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
	}
	if w, _ := ask(t, h, "GET", "/docs/reference", ""); w.Code != 301 || w.Header().Get("Location") != "/docs#operations" {
		t.Errorf("the reference: %d %s", w.Code, w.Header().Get("Location"))
	}
	if w, _ := ask(t, h, "GET", "/docs/reference/nothing", ""); w.Code != 404 {
		t.Errorf("an operation that there is not: %d", w.Code)
	}
}

func ExampleRegister() {
	type input struct {
		Name string `query:"name" required:"true"`
	}
	type greeting struct {
		Text string `json:"text"`
	}
	a := New(Options{})
	Register(a, Op{Method: "GET", Path: "/hello", ID: "hello", Public: true},
		func(ctx context.Context, in *input) (Reply[greeting], error) {
			return Found(greeting{Text: "hello " + in.Name}), nil
		})
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/hello?name=world", nil))
	fmt.Println(w.Body)
	// Output: {"data":{"text":"hello world"},"success":true,"message":"","error":null}
}

func TestVersionIsSemantic(t *testing.T) {
	for build, want := range map[string]string{
		"1.2.3": "1.2.3", "v1.2.3": "1.2.3", "0.1.0-dev": "0.1.0-dev", "0.1.0-dev+9edbf20": "0.1.0-dev", "2.0.0-rc.1+x.y": "2.0.0-rc.1",
		"9edbf20": "0.0.0-dev", "dev": "0.0.0-dev", "": "0.0.0-dev", "01.2.3": "0.0.0-dev", "1.2": "0.0.0-dev",
	} {
		if got := semver(build); got != want {
			t.Errorf("%q: %s, want %s", build, got, want)
		}
	}
}
