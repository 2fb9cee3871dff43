package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
)

func TestLogHidesSecrets(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		log, flush := New(Config{Level: "debug", Format: format}, &b)
		log.Info("x", "password", "canary", "api_key", "canary", "token", "canary", "certificate_password", "canary",
			"url", "https://user:canary@host/path?token=canary&a=b",
			"error", errors.New("dial postgres://me:canary@db/x: Authorization: Bearer canary"),
			"header", "Basic canary==", "text", "GET /token/rgt_canary", "refresh", "rgr_canary0", "webhook", "whsec_canary",
			"panic", struct{ Text string }{"rgk_canary"}, "list", []string{"a", "rgt_canary"})
		log.Info("message with rgt_canary in it")
		flush()
		if strings.Contains(b.String(), "canary") {
			t.Errorf("%s", b.String())
		}
		if !strings.Contains(b.String(), "host/path") {
			t.Errorf("too much is hidden: %s", b.String())
		}
	}
}

// TestAccessLineIsSlogs: the short way writes what the long one writes.
func TestAccessLineIsSlogs(t *testing.T) {
	var b bytes.Buffer
	log, flush := New(Config{Level: "info", Format: "json"}, &b)
	a := api.Access{
		Time: time.Now().Round(0), Level: slog.LevelError, ID: "id", Method: "G\"T", Path: "/a\"\n\x7f<ü>\u2028", Status: 500, Code: 104,
		Bytes: 12, Elapsed: 3456789 * time.Nanosecond, Account: "acc", Address: "::1",
	}
	r := slog.NewRecord(a.Time, a.Level, api.AccessLine, 0)
	r.AddAttrs(slog.String("request", a.ID), slog.String("method", a.Method), slog.String("path", a.Path),
		slog.Int("status", a.Status), slog.Int("code", int(a.Code)), slog.Int64("bytes", a.Bytes), slog.Float64("elapsed_ms", a.Milliseconds()),
		slog.String("account", a.Account), slog.String("address", a.Address))
	if err := log.Handler().Handle(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	AccessLog(log)(a)
	flush()
	long, short, _ := strings.Cut(strings.TrimSpace(b.String()), "\n")
	var x, y any
	if json.Unmarshal([]byte(long), &x) != nil || json.Unmarshal([]byte(short), &y) != nil || !reflect.DeepEqual(x, y) {
		t.Errorf("%s\n%s", long, short)
	}
	if !strings.Contains(short, `"elapsed_ms":3.456,`) {
		t.Errorf("the time taken: %s", short)
	}
	if text, _ := New(Config{Format: "text"}, &b); AccessLog(text) != nil {
		t.Error("JSON among text")
	}
}

func TestLogNamesTheRequest(t *testing.T) {
	var b bytes.Buffer
	log, flush := New(Config{Level: "info", Format: "json"}, &b)
	log.With("a", 1, "pause", 90*time.Second).InfoContext(context.WithValue(t.Context(), fault.RequestKey(), "abc"), "hello", "token_id", "kept")
	flush()
	if !strings.Contains(b.String(), `"request":"abc"`) || !strings.Contains(b.String(), `"kept"`) || !strings.Contains(b.String(), `"pause":"1m30s"`) {
		t.Error(b.String())
	}
}
