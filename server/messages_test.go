package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/mail"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/sms"
)

// What is refused for ever is not tried again; an outage is. Neither error tells the code.
func TestMessenger(t *testing.T) {
	t.Parallel()
	status, said := http.StatusOK, ""
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		said = string(b)
		w.WriteHeader(status)
	}))
	defer gateway.Close()
	guard, err := fetch.New(fetch.Config{AllowPrivate: []string{strings.TrimPrefix(gateway.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	m := &messenger{sms: sms.New(sms.Config{URL: gateway.URL, Method: http.MethodPost, Body: `{"to":"{to}","text":"{text}"}`}, guard)}
	one := people.Message{ID: "1", Record: "r", Channel: ledger.BySMS, To: "+393331234567", Text: "Codice 123456"}
	if err := m.Send(context.Background(), one); err != nil || said != `{"to":"+393331234567","text":"Codice 123456"}` {
		t.Errorf("%v %s", err, said)
	}
	for code, forever := range map[int]bool{400: true, 503: false} {
		status = code
		if err := m.Send(context.Background(), one); err == nil || errors.Is(err, job.ErrGiveUp) != forever || strings.Contains(err.Error(), "123456") {
			t.Errorf("%d: %v", code, err)
		}
	}
	one.Channel = ledger.ByEmail
	if m.Offers(ledger.ByEmail) || !errors.Is(m.Send(context.Background(), one), job.ErrGiveUp) {
		t.Error("mail is sent without a server")
	}

	dir := t.TempDir()
	m = &messenger{mail.NewOutbox(dir, mail.Config{}), sms.NewOutbox(dir)}
	for _, channel := range []string{ledger.ByEmail, ledger.BySMS} {
		one.Channel, one.To, one.Subject = channel, "ada@example.org", "È ora"
		if err := m.Send(context.Background(), one); err != nil || !m.Offers(channel) {
			t.Errorf("%s: %v", channel, err)
		}
	}
	for _, name := range []string{"r-1.eml", "r-1.txt"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(b), "123456") {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
}

func TestOperatorLogo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for content, want := range map[string]string{
		"\x89PNG\r\n\x1a\nrest":                "operator.png",
		"<?xml version='1.0'?><svg></svg>":     "operator.svg",
		"<html><body>no picture</body>":        "",
		strings.Repeat("x", maxLogo+1):         "",
		"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01": "operator.jpg",
	} {
		path := filepath.Join(dir, "logo")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		name, _, err := picture(path, "operator")
		if name != want || (err == nil) != (want != "") {
			t.Errorf("%.20q: %q, %v", content, name, err)
		}
	}
}
