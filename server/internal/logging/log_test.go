package logging

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

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

func TestLogNamesTheRequest(t *testing.T) {
	var b bytes.Buffer
	log, flush := New(Config{Level: "info", Format: "json"}, &b)
	log.With("a", 1, "pause", 90*time.Second).InfoContext(context.WithValue(t.Context(), fault.RequestKey(), "abc"), "hello", "token_id", "kept")
	flush()
	if !strings.Contains(b.String(), `"request":"abc"`) || !strings.Contains(b.String(), `"kept"`) || !strings.Contains(b.String(), `"pause":"1m30s"`) {
		t.Error(b.String())
	}
}
