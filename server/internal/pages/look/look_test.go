package look

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/fault"
)

type shown struct {
	Head
	Name string
	At   time.Time
}

func testSet() (*Site, *Set) {
	site := NewSite(Options{Sandbox: true, Version: "v1", Sections: []Section{{"/check", T("Check", "Verifica"), T("a", "b")}}})
	return site, site.Set(fstest.MapFS{
		"page/hello.html": {Data: []byte(`{{define "hello"}}{{template "top" .}}<h1>{{say .Title}}</h1>{{template "problem" .}}
<p id="name">{{t "Hello %s" "Ciao %s" .Name}}</p>{{when .At}}
{{template "field" field "Name" "q" "Label" (t "Search" "Cerca") "Required" true "Value" .Name}}
{{template "empty" empty "Title" (t "Nothing yet" "Ancora nulla")}}{{template "bottom" .}}{{end}}`)},
		"page/hello.js": {Data: []byte("export {}\n")},
	})
}

func get(h http.HandlerFunc, target string, header ...string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRender(t *testing.T) {
	_, set := testSet()
	serve := func(w http.ResponseWriter, r *http.Request) {
		set.Render(w, r, http.StatusOK, "hello", &shown{Head: Head{Title: T("A page", "Una pagina"), Section: "/check"}, Name: `<img src=x onerror=alert(1)>"`, At: time.Date(2026, 11, 1, 9, 5, 0, 0, time.UTC)})
	}
	for _, c := range []struct{ target, header, cookie, want string }{
		{"/hello", "it-IT,it;q=0.9,en;q=0.8", "", "it"},
		{"/hello", "de", "", "en"},
		{"/hello?lang=it", "en", "", "it"},
		{"/hello", "en", "rogito-lang=it", "it"},
		{"/hello?lang=en", "it", "rogito-lang=it", "en"},
		{"/hello?lang=xx", "it", "", "it"},
	} {
		res := get(serve, c.target, "Accept-Language", c.header, "Cookie", c.cookie)
		page := body(t, res)
		if got := res.Header.Get("Content-Language"); got != c.want || !strings.Contains(page, `<html lang="`+c.want+`">`) {
			t.Errorf("%v: %s", c, got)
		}
		want := map[string]string{"it": `1º novembre 2026, 09:05 UTC">1º novembre 2026, 10:05 CET`, "en": `1 November 2026, 09:05 UTC">1 November 2026, 09:05 UTC`}[c.want]
		if !strings.Contains(page, `<time class="at" datetime="2026-11-01T09:05:00Z" title="`+want+`</time>`) {
			t.Errorf("%v: no date %q", c, want)
		}
		if strings.Contains(page, "<img src=x") {
			t.Errorf("%v: markup of a name is markup of the page", c)
		}
		if csp := res.Header.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("policy %q", csp)
		}
		if remembered := strings.Contains(res.Header.Get("Set-Cookie"), "rogito-lang="); remembered != (c.target == "/hello?lang=it" || c.target == "/hello?lang=en") {
			t.Errorf("%v: cookie %q", c, res.Header.Get("Set-Cookie"))
		}
	}
	for _, path := range []string{"//evil.example/check", "/\\\\evil.example", "///evil.example"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = path
		w := httptest.NewRecorder()
		serve(w, r)
		if strings.Contains(w.Body.String(), `href="//`) {
			t.Errorf("%s leads elsewhere", path)
		}
	}
	page := body(t, get(serve, "/hello?x=1&lang=it"))
	if !strings.Contains(page, `href="/hello?lang=en&amp;x=1" hreflang="en"`) {
		t.Error("the link to the other language is missing")
	}
}

func TestFail(t *testing.T) {
	site, _ := testSet()
	site.JSON = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusTeapot) }
	limited := &fault.Error{Code: fault.LimitReached, Text: "too many", RetryAfter: 1500 * time.Millisecond}
	fail := func(err error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { site.Fail(w, r, err) }
	}
	res := get(fail(limited), "/check", "Accept", "text/html", "Accept-Language", "it")
	page := body(t, res)
	if res.StatusCode != 429 || res.Header.Get("Retry-After") != "2" || !strings.Contains(page, `role="alert"`) || !strings.Contains(page, "Aspetta un minuto") {
		t.Errorf("429: %d %q\n%s", res.StatusCode, res.Header.Get("Retry-After"), page)
	}
	if res := get(fail(limited), "/check", "Accept", "application/json"); res.StatusCode != http.StatusTeapot {
		t.Errorf("a client that asked for JSON got %d", res.StatusCode)
	}
	res = get(fail(errors.New("secret of the server")), "/check")
	if page := body(t, res); res.StatusCode != 500 || strings.Contains(page, "secret of") || !strings.Contains(page, `role="alert"`) {
		t.Errorf("an accident: %d\n%s", res.StatusCode, page)
	}
	res = get(site.NotFound, "/check/nowhere")
	if page := body(t, res); res.StatusCode != 404 || !strings.Contains(page, `role="alert"`) {
		t.Errorf("404: %d", res.StatusCode)
	}
	posted := httptest.NewRequest(http.MethodPost, "http://here/check", nil)
	posted.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	site.Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was let in") })).ServeHTTP(w, posted)
	if w.Code != 403 || !strings.Contains(w.Body.String(), `role="alert"`) {
		t.Errorf("another site's form: %d", w.Code)
	}
}

func TestStatic(t *testing.T) {
	site, _ := testSet()
	for name, kind := range map[string]string{"style.css": "text/css", "hello.js": "text/javascript", "icon.svg": "image/svg+xml"} {
		res := get(site.Static, site.assets()+name)
		if !strings.HasPrefix(res.Header.Get("Content-Type"), kind) || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %v", name, res.Header)
		}
		if res := get(site.Static, "/pages/"+name); res.StatusCode != 200 || strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s without a version: %v", name, res.Header)
		}
		if res := get(site.Static, "/pages/0123456789ab/"+name); res.StatusCode != 404 {
			t.Errorf("%s of another version: %d", name, res.StatusCode)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		l    paper.Lang
		n    any
		want string
	}{
		{paper.Italian, 1234567, "1.234.567"},
		{paper.English, 1234.5, "1,234.5"},
		{paper.Italian, 1234.5, "1.234,5"},
		{paper.Italian, -999, "-999"},
		{paper.English, "-1000", "-1,000"},
	} {
		if got := Number(c.l, c.n); got != c.want {
			t.Errorf("Number(%s, %v) = %s, not %s", c.l, c.n, got, c.want)
		}
	}
}
