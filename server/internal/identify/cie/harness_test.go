package cie_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cie"
	"rogito.dev/rogito/server/internal/identify/cie/demo"
)

// world is a relying party and the demonstration federation on one server.
type world struct {
	*cie.CIE
	t      *testing.T
	demo   *demo.Demo
	base   string
	config cie.Config
	now    time.Time
	// rewrite, where it is set, replaces what the federation answers.
	rewrite func(path string, status int, body string) (int, string)
	hits    map[string]int // requests by path
	mu      sync.Mutex
	mux     *http.ServeMux
	guard   *fetch.Guard
}

func newWorld(t *testing.T, change ...func(*cie.Config)) *world {
	t.Helper()
	w := &world{t: t, now: time.Now(), hits: map[string]int{}}
	mux := http.NewServeMux()
	w.mux = mux
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w.base = server.URL
	now := func() time.Time { return w.now }
	var err error
	if w.demo, err = demo.New(w.base+"/demo/cie", now); err != nil {
		t.Fatal(err)
	}
	if w.config, err = w.demo.Settings(t.TempDir(), w.base); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&w.config)
	}
	w.guard, err = fetch.New(fetch.Config{AllowPrivate: []string{strings.TrimPrefix(w.base, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	w.CIE, err = cie.New(w.config, cie.Deps{Client: w.client(), Plain: w.plain, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	inner := http.StripPrefix("/demo/cie", w.demo.Handler())
	mux.HandleFunc("/demo/cie/", func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.hits[r.URL.Path]++
		w.mu.Unlock()
		rec := httptest.NewRecorder()
		inner.ServeHTTP(rec, r)
		status, body := rec.Code, rec.Body.String()
		if w.rewrite != nil {
			status, body = w.rewrite(strings.TrimPrefix(r.URL.Path, "/demo/cie"), status, body)
		}
		for k, v := range rec.Header() {
			rw.Header()[k] = v
		}
		rw.WriteHeader(status)
		_, _ = rw.Write([]byte(body))
	})
	mux.Handle("GET /.well-known/openid-federation", w.Handler())
	mux.Handle("GET /cie/resolve", w.Handler())
	return w
}

func (w *world) client() *http.Client { return w.guard.Client(10 * time.Second) }

func (w *world) plain(u *url.URL) bool { return w.guard.Named(u) }

// login goes to the provider as a browser would, picks a person, and returns
// what comes to the callback.
func (w *world) login(d *identify.Departure, form url.Values) url.Values {
	w.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(d.URL)
	if err != nil {
		w.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		w.t.Fatalf("the login page answers with %d", resp.StatusCode)
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		w.t.Fatal(err)
	}
	form.Set("request", u.Query().Get("request"))
	u.RawQuery = ""
	resp, err = client.PostForm(u.String(), form)
	if err != nil {
		w.t.Fatal(err)
	}
	resp.Body.Close()
	to, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to.String(), w.base+"/cie/callback?") {
		w.t.Fatalf("status %d to %s", resp.StatusCode, to)
	}
	return to.Query()
}

func mario() url.Values { return url.Values{"person": {"0"}, "do": {"identify"}} }

// journey is a whole one.
func (w *world) journey() (*identify.Departure, url.Values, *identify.Answer, error) {
	w.t.Helper()
	d, err := w.Start(context.Background(), "")
	if err != nil {
		return nil, nil, nil, err
	}
	back := w.login(d, mario())
	a, err := w.Finish(context.Background(), d.State, back)
	return d, back, a, err
}

// refused demands a refusal for a reason, with both sentences.
func refused(t *testing.T, what string, err error, reason string) {
	t.Helper()
	var r *identify.Refusal
	if !errors.As(err, &r) {
		t.Errorf("%s: %v, want a refusal (%s)", what, err, reason)
		return
	}
	if r.Reason != reason {
		t.Errorf("%s: refused for %q, want %q", what, r.Reason, reason)
	}
	if len(r.English) < 60 || len(r.Italian) < 60 || r.English == r.Italian {
		t.Errorf("%s: sentences %q, %q", what, r.English, r.Italian)
	}
}
