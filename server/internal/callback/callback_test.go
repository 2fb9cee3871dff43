package callback

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A receiver that fails for ever is told 1 + retry times, and no more.
func TestAttemptsAreBounded(t *testing.T) {
	var hits atomic.Int64
	status := http.StatusInternalServerError
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.WriteHeader(status)
	}))
	defer srv.Close()
	u, _ := url.Parse(srv.URL)
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		g, err := fetch.New(fetch.Config{AllowPrivate: []string{u.Host}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ status, retry, want int }{{500, 3, 4}, {500, 0, 1}, {400, 5, 6}, {410, 5, 1}, {204, 5, 1}, {302, 1, 2}} {
			status = c.status
			hits.Store(0)
			s := New(db, m, g)
			s.Record = itsName
			ctx := context.Background()
			err := db.Write(ctx, func(tx *store.Tx) error {
				return s.Queue(ctx, tx, Message{Account: "a", Record: "r", Target: &Target{URL: srv.URL, Method: "JSON", Field: "data", Retry: c.retry}})
			})
			if err != nil {
				t.Fatal(err)
			}
			list, err := s.List(ctx, "a", "", 0, 1)
			if err != nil || len(list) != 1 {
				t.Fatal(err)
			}
			id := list[0].ID
			for range 10 {
				s.try(t, id)
			}
			if got := int(hits.Load()); got != c.want {
				t.Errorf("%d with retry %d: %d attempts, want %d", c.status, c.retry, got, c.want)
			}
			d, err := s.Find(ctx, "a", id)
			if err != nil || d.Active || d.CompletedAt.IsZero() || d.Status != c.status || d.Attempts != c.want {
				t.Errorf("%+v %v", d, err)
			}
			if _, err := s.Find(ctx, "b", id); err == nil {
				t.Error("another account sees the delivery")
			}
		}
	})
}

func TestPauses(t *testing.T) {
	s := &Sender{schedule: Schedule}
	for n, want := range Schedule {
		for range 100 {
			if got := s.pause(n); got < want*9/10 || got > want*11/10 {
				t.Fatalf("pause %d is %v, want about %v", n, got, want)
			}
		}
	}
	now := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"120": 2 * time.Minute, "999999": 24 * time.Hour, "-5": 0, "": 0, "soon": 0,
		"Sun, 15 Nov 2026 01:00:00 GMT": time.Hour, "Mon, 15 Nov 2027 01:00:00 GMT": 24 * time.Hour,
	} {
		if got := retryAfter(v, now); got != want {
			t.Errorf("Retry-After %q: %v, want %v", v, got, want)
		}
	}
}

type anywhere struct{}

func (anywhere) Check(string) error { return nil }

func TestParse(t *testing.T) {
	for text, code := range map[string]fault.Code{
		`{"url":"https://a.example/","retry":0,"method":"post","headers":[]}`: 0,
		`null`: 0, ``: 0, `"x"`: 704, `{"url":7}`: 704, `{"url":"nothing"}`: 704, `{"url":"https://a/","method":"PUT"}`: 704,
		`{"url":"https://a/","headers":{"Host":"x"}}`: 710, `{"url":"https://a/","headers":{"webhook-id":"x"}}`: 710,
		`{"Url":"https://a/"}`: 704, `{"url":"https://a/","headers":{"A":"1","a":"2"}}`: 709,
		`{"url":"https://a/","retry":1.5}`: 740, `{"url":"https://a/","custom":"` + strings.Repeat("x", 511) + `"}`: 730,
	} {
		_, err := Parse(jsontext.Value(text), anywhere{})
		var f *fault.Error
		if errors.As(err, &f) {
			got := f.Code
			if got != code {
				t.Errorf("%s: %d, want %d", text, got, code)
			}
		} else if code != 0 {
			t.Errorf("%s: %v, want %d", text, err, code)
		}
	}
}

// A member counts under its own name and no other: who reads a request by exact
// names, as a proxy or a log does, sees the address that is called.
func TestMembersByExactNames(t *testing.T) {
	for _, text := range []string{
		`{"url":"https://good.example/","Url":"https://evil.example/"}`, `{"URL":"https://evil.example/","url":"https://good.example/"}`,
		`{"url":"https://good.example/","\u0055rl":"https://evil.example/"}`, `{"url":"https://good.example/","url ":"https://evil.example/"}`,
		`{"url":"https://good.example/","uRL":null}`,
	} {
		target, err := Parse(jsontext.Value(text), anywhere{})
		if err != nil || target.URL != "https://good.example/" {
			t.Errorf("%s: %v %v", text, target, err)
		}
	}
}
