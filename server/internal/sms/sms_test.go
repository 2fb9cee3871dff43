package sms

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/fetch"
)

// gateway answers with a status and remembers the last request.
func gateway(t *testing.T, status int) (address string, last *http.Request, body *string) {
	t.Helper()
	last, body = new(http.Request), new(string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		*last, *body = *r, string(b)
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s.URL, last, body
}

func guard(t *testing.T, address string) *fetch.Guard {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	g, err := fetch.New(fetch.Config{AllowPrivate: []string{u.Host}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

const text = `Codice 123456: "firma" & {to}`

func TestSend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config Config
		path   string // of the URL
		media  string
		body   string
	}{
		"JSON": {Config{Method: "POST", Body: `{"to":"{to}","text":"{text}"}`}, "/", "application/json", `{"to":"+39333","text":"Codice 123456: \"firma\" \u0026 {to}"}`},
		"form": {Config{Method: "PUT", Body: "to={to}&text={text}"}, "/", "application/x-www-form-urlencoded", "to=%2B39333&text=Codice+123456%3A+%22firma%22+%26+%7Bto%7D"},
		"GET":  {Config{Method: "GET"}, "/send?to={to}&text={text}", "", ""},
	} {
		address, last, body := gateway(t, http.StatusAccepted)
		c.config.URL, c.config.Headers = address+c.path, map[string]string{"Authorization": "Bearer x"}
		if err := c.config.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := New(c.config, guard(t, address)).Send(t.Context(), Message{ID: "a", To: "+39333", Text: text}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if last.Method != c.config.Method || *body != c.body || last.Header.Get("Content-Type") != c.media || last.Header.Get("Authorization") != "Bearer x" {
			t.Errorf("%s: %s %s %q", name, last.Method, last.Header, *body)
		}
		if name == "GET" && (last.URL.Query().Get("to") != "+39333" || last.URL.Query().Get("text") != text) {
			t.Errorf("%s: %s", name, last.URL)
		}
	}
}

// No error tells the message or the number, whatever went wrong.
func TestFailures(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	send := func(address string, g *fetch.Guard) error {
		c := Config{URL: address + "/?to={to}&text={text}", Method: "GET"}
		return New(c, g).Send(context.Background(), Message{ID: "a", To: "+39333444555", Text: "Codice 123456"})
	}
	quiet := func(err error) {
		t.Helper()
		if err == nil || strings.Contains(err.Error(), "123456") || strings.Contains(err.Error(), "39333444555") {
			t.Errorf("%v", err)
		}
	}
	for status, refused := range map[int]bool{400: true, 403: true, 408: false, 429: false, 500: false, 302: false} {
		address, _, _ := gateway(t, status)
		err := send(address, guard(t, address))
		if quiet(err); errors.Is(err, ErrRefused) != refused {
			t.Errorf("%d: %v", status, err)
		}
	}
	quiet(send("http://"+closed.Addr().String(), guard(t, "http://"+closed.Addr().String())))
	address, last, _ := gateway(t, 200)
	none, err := fetch.New(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if quiet(send(address, none)); last.Method != "" {
		t.Error("a private address was reached")
	}
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := NewOutbox(dir).Send(t.Context(), Message{ID: "x-1", To: "+39333", Text: text}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "x-1.txt"))
	if err != nil || string(b) != "To: +39333\n\n"+text+"\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"no address": {URL: "gateway", Method: "POST", Body: "{to}{text}"},
		"a method":   {URL: "https://g.example", Method: "DELETE", Body: "{to}{text}"},
		"no text":    {URL: "https://g.example", Method: "POST", Body: "to={to}"},
		"no number":  {URL: "https://g.example", Method: "POST", Body: "text={text}"},
		"no JSON":    {URL: "https://g.example", Method: "POST", Body: `{"to":{to},"text":{text}}`},
		"a header":   {URL: "https://g.example", Method: "POST", Body: "{to}{text}", Headers: map[string]string{"A": "b\r\nC: d"}},
	} {
		if c.Check() == nil {
			t.Errorf("%s passes", name)
		}
	}
	if err := (&Config{}).Check(); err != nil {
		t.Error(err)
	}
}
