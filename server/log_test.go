package server

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/fault"
)

func TestLogHidesSecrets(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		log, flush := newLogger(LogConfig{Level: "debug", Format: format}, &b)
		log.Info("x", "password", "canary", "api_key", "canary", "token", "canary", "certificate_password", "canary",
			"url", "https://user:canary@host/path?token=canary&a=b",
			"error", errors.New("dial postgres://me:canary@db/x: Authorization: Bearer canary"),
			"header", "Basic canary==")
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
	log, flush := newLogger(LogConfig{Level: "info", Format: "json"}, &b)
	log.With("a", 1).InfoContext(fault.WithRequestID(t.Context(), "abc"), "hello", "token_id", "kept")
	flush()
	if !strings.Contains(b.String(), `"request":"abc"`) || !strings.Contains(b.String(), `"kept"`) {
		t.Error(b.String())
	}
}
