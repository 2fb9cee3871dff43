package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
)

// gate lets one token in, for two segments.
type gate struct{}

func (gate) Authenticate(_ context.Context, r *http.Request, basic bool) (*account.Caller, error) {
	if _, _, ok := r.BasicAuth(); ok && basic {
		return &account.Caller{AccountID: "a", Admin: true}, nil
	}
	if r.Header.Get("Authorization") != "Bearer good" {
		return nil, fault.New(fault.WrongToken, "wrong token")
	}
	return &account.Caller{AccountID: "a", TokenID: "t"}, nil
}

func (gate) Allows(_ *account.Caller, method, _, segment string) bool { return segment != "forbidden" }

type thing struct {
	ID    string  `json:"id"`
	Note  *string `json:"note"`
	Part  *part   `json:"part"`
	Count int     `json:"count"`
}

type part struct {
	Name string `json:"name"`
}

type listInput struct {
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"10" doc:"how many"`
	State string `query:"state" enum:"NEW,DONE"`
}

type thingInput struct {
	ID ID `path:"id"`
}

type makeInput struct {
	Body struct {
		Name  string `json:"name"`
		Count int    `json:"count"`
	}
}

func testAPI(opts Options) *API {
	if opts.Gate == nil {
		opts.Gate = gate{}
	}
	a := New(opts)
	Register(a, Op{Method: "GET", Path: "/things", ID: "listThings", Tag: "things"},
		func(ctx context.Context, in *listInput) (Reply[[]thing], error) {
			return Found(make([]thing, 0, in.Limit)), nil
		})
	Register(a, Op{Method: "GET", Path: "/things/{id}", ID: "readThing", Errors: []fault.Code{140}},
		func(ctx context.Context, in *thingInput) (Reply[*thing], error) {
			if in.ID == "000000000000000000000000" {
				return Reply[*thing]{}, fault.New(fault.NotFound, "no such thing")
			}
			return Found(&thing{ID: string(in.ID)}), nil
		})
	Register(a, Op{Method: "POST", Path: "/things", ID: "makeThing", Idempotent: true, MaxBody: 1 << 20},
		func(ctx context.Context, in *makeInput) (Reply[thing], error) {
			return Created(thing{ID: in.Body.Name, Count: in.Body.Count}), nil
		})
	Register(a, Op{Method: "GET", Path: "/forbidden", ID: "forbidden"},
		func(ctx context.Context, in *struct{}) (Reply[thing], error) { return Found(thing{}), nil })
	Register(a, Op{Method: "GET", Path: "/admin", ID: "admin", Admin: true, Basic: true},
		func(ctx context.Context, in *struct{}) (Reply[thing], error) { return Found(thing{}), nil })
	Register(a, Op{Method: "GET", Path: "/broken/{how}", ID: "broken", Public: true, Errors: []fault.Code{130}}, broken)
	RegisterRaw[struct{}](a, Op{Method: "GET", Path: "/fast", ID: "fast", Gzip: true},
		func(ctx context.Context, r *http.Request) (Reply[thing], error) {
			data := func(b []byte) []byte { return append(b, `{"id":"f","note":null,"part":null,"count":0}`...) }
			return Reply[thing]{JSON: data, ETag: `"v1"`}, nil
		})
	return a
}

func broken(ctx context.Context, in *struct {
	How string `path:"how"`
},
) (Reply[thing], error) {
	switch in.How {
	case "panic":
		panic("secret in a panic")
	case "accident":
		return Reply[thing]{}, io.ErrClosedPipe
	case "busy":
		return Reply[thing]{}, &fault.Error{Code: fault.LimitReached, Text: "slower", RetryAfter: 1500 * time.Millisecond}
	}
	<-ctx.Done()
	return Reply[thing]{}, ctx.Err()
}

type envelope struct {
	Data    json.RawMessage `json:"data"`
	Success bool            `json:"success"`
	Message string          `json:"message"`
	Error   *int            `json:"error"`
}

// ask sends one request and reads the envelope.
func ask(t *testing.T, h http.Handler, method, path, body string, header ...string) (*httptest.ResponseRecorder, envelope) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer good")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var e envelope
	if ct := w.Header().Get("Content-Type"); strings.HasPrefix(ct, "application/json") {
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
			t.Fatalf("%s %s: answer is not JSON: %v: %s", method, path, err, w.Body)
		}
	}
	if w.Header().Get("X-Request-Id") == "" {
		t.Errorf("%s %s: no X-Request-Id", method, path)
	}
	return w, e
}

func TestEnvelope(t *testing.T) {
	h := testAPI(Options{}).Handler()
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/things", "", `{"data":[],"success":true,"message":"","error":null}`},
		{"POST", "/things", `{"name":"x","count":2,"more":[1]}`, `{"data":{"id":"x","note":null,"part":null,"count":2},"success":true,"message":"Created","error":null}`},
		{"POST", "/things", `{"name":"x","cuont":2}`, `{"data":{"id":"x","note":null,"part":null,"count":0},"success":true,"message":"Created (ignored: cuont is unknown: did you mean count?)","error":null}`},
		{"GET", "/fast", "", `{"data":{"id":"f","note":null,"part":null,"count":0},"success":true,"message":"","error":null}`},
	} {
		w, _ := ask(t, h, c.method, c.path, c.body)
		if w.Code != 200 || w.Body.String() != c.want {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.path, w.Code, w.Body, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	h := testAPI(Options{Timeout: 50 * time.Millisecond}).Handler()
	deep := strings.Repeat("[", 1_000_000)
	for _, c := range []struct {
		name, method, path, body string
		status, code             int
		header                   []string
	}{
		{"no token", "GET", "/things", "", 401, 125, []string{"Authorization", ""}},
		{"scope", "GET", "/forbidden", "", 403, 126, nil},
		{"not an administrator", "GET", "/admin", "", 403, 131, nil},
		{"route", "GET", "/nowhere", "", 404, 102, nil},
		{"method", "PUT", "/things", "", 405, 102, nil},
		{"id", "GET", "/things/xyz", "", 400, 141, nil},
		{"id in capitals", "GET", "/things/AAAAAAAAAAAAAAAAAAAAAAAA", "", 400, 141, nil},
		{"record", "GET", "/things/000000000000000000000000", "", 404, 140, nil},
		{"limit too large", "GET", "/things?limit=101", "", 422, 160, nil},
		{"limit no number", "GET", "/things?limit=x", "", 422, 160, nil},
		{"limit empty", "GET", "/things?limit=", "", 422, 160, nil},
		{"limit twice", "GET", "/things?limit=1&limit=2", "", 422, 160, nil},
		{"enum", "GET", "/things?state=OLD", "", 422, 160, nil},
		{"query", "GET", "/things?limit=%zz", "", 422, 160, nil},
		{"empty body", "POST", "/things", "", 400, 100, nil},
		{"truncated", "POST", "/things", `{"name":"x"`, 400, 100, nil},
		{"inside a string", "POST", "/things", `{"name":"x`, 400, 100, nil},
		{"two values", "POST", "/things", `{} {}`, 400, 100, nil},
		{"trailing", "POST", "/things", `{}x`, 400, 100, nil},
		{"duplicate", "POST", "/things", `{"name":"a","name":"b"}`, 400, 100, nil},
		{"duplicate by escape", "POST", "/things", `{"name":"a","n\u0061me":"b"}`, 400, 100, nil},
		{"nested duplicate in an unknown member", "POST", "/things", `{"x":{"a":1,"a":1}}`, 400, 100, nil},
		{"UTF-8", "POST", "/things", "{\"name\":\"\xff\"}", 400, 100, nil},
		{"surrogate", "POST", "/things", `{"name":"\ud800"}`, 400, 100, nil},
		{"type", "POST", "/things", `{"name":7}`, 400, 100, nil},
		{"huge number", "POST", "/things", `{"count":` + strings.Repeat("9", 1000) + `}`, 400, 100, nil},
		{"deep", "POST", "/things", deep, 400, 100, nil},
		{"deep objects", "POST", "/things", strings.Repeat(`{"a":`, 40), 400, 100, nil},
		{"NaN", "POST", "/things", `{"count":NaN}`, 400, 100, nil},
		{"too large", "POST", "/things", `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, 413, 101, nil},
		{"long string in a short field", "POST", "/things", `{"name":"` + strings.Repeat("x", 100<<10) + `"}`, 400, 100, nil},
		{"many values", "POST", "/things", `[` + strings.Repeat("1,", 200_000) + `1]`, 400, 100, nil},
		{"media type", "POST", "/things", `name=x`, 415, 103, []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"charset", "POST", "/things", `{}`, 415, 103, []string{"Content-Type", "application/json; charset=latin1"}},
		{"encoding", "POST", "/things", `{}`, 415, 103, []string{"Content-Encoding", "gzip"}},
		{"panic", "GET", "/broken/panic", "", 500, 104, nil},
		{"accident", "GET", "/broken/accident", "", 500, 104, nil},
		{"too long", "GET", "/broken/slow", "", 503, 105, nil},
		{"busy", "GET", "/broken/busy", "", 429, 130, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, e := ask(t, h, c.method, c.path, c.body, c.header...)
			if w.Code != c.status || e.Error == nil || *e.Error != c.code {
				t.Fatalf("got %d %s, want %d with %d", w.Code, w.Body, c.status, c.code)
			}
			if e.Success || string(e.Data) != "null" || e.Message == "" {
				t.Errorf("not the envelope of a failure: %s", w.Body)
			}
			if strings.Contains(w.Body.String(), "secret") || strings.Contains(w.Body.String(), "pipe") {
				t.Errorf("an accident's text reached the client: %s", w.Body)
			}
		})
	}
}

func TestRetryAfterIsRoundedUp(t *testing.T) {
	w, _ := ask(t, testAPI(Options{}).Handler(), "GET", "/broken/busy", "")
	if got := w.Header().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After %q, want 2", got)
	}
}

func TestAllow(t *testing.T) {
	w, _ := ask(t, testAPI(Options{}).Handler(), "DELETE", "/things", "")
	if got := w.Header().Get("Allow"); got != "GET, HEAD, POST" {
		t.Errorf("Allow %q", got)
	}
}

func TestProblem(t *testing.T) {
	w, _ := ask(t, testAPI(Options{}).Handler(), "GET", "/things?limit=0", "", "Accept", "application/problem+json")
	var p problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	if w.Header().Get("Content-Type") != "application/problem+json" || p.Code != 160 || p.Status != 422 || p.RequestID != w.Header().Get("X-Request-Id") {
		t.Errorf("%v %+v", w.Header(), p)
	}
}

func TestNotModified(t *testing.T) {
	h := testAPI(Options{}).Handler()
	w, _ := ask(t, h, "GET", "/fast", "", "If-None-Match", `"v0", W/"v1"`)
	if w.Code != 304 || w.Body.Len() != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestBasicOnlyWhereAllowed(t *testing.T) {
	h := testAPI(Options{}).Handler()
	basic := []string{"Authorization", "Basic YTpi"}
	if w, _ := ask(t, h, "GET", "/admin", "", basic...); w.Code != 200 {
		t.Errorf("basic refused: %s", w.Body)
	}
	if w, _ := ask(t, h, "GET", "/things", "", basic...); w.Code != 401 {
		t.Errorf("basic accepted: %s", w.Body)
	}
}

// Null is no object: it would be taken for one without members.
func TestNullIsNoBody(t *testing.T) {
	h := testAPI(Options{}).Handler()
	for _, body := range []string{"null", " null\n", "7", "[]", `"x"`} {
		w, a := ask(t, h, "POST", "/things", body)
		if w.Code != 400 || a.Error == nil || *a.Error != 100 || !strings.Contains(a.Message, "body must be an object") {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestBodyOfGetIsIgnored(t *testing.T) {
	if w, _ := ask(t, testAPI(Options{}).Handler(), "GET", "/things", "{{{"); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestMountedForReading(t *testing.T) {
	a := New(Options{Gate: gate{}})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pki/root.pem", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	MountPKI(a, mux, 600)
	for request, want := range map[string]int{
		"GET /docs": 200, "HEAD /docs": 200, "POST /docs": 405, "DELETE /openapi.json": 405,
		"GET /pki/root.pem": 200, "GET /pki/other.pem": 404, "GET /tsa": 405,
	} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != want || want >= 400 && !strings.Contains(w.Body.String(), `"error":102`) {
			t.Errorf("%s: %d %.80s, want %d", request, w.Code, w.Body, want)
		}
	}
}
