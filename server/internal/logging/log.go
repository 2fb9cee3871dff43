// Package logging writes the server's log: one line for every request, and no
// secret in any.
package logging

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/term"

	"rogito.dev/rogito/internal/redact"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/span"
)

// Config is about what the server says.
type Config struct {
	Level  string `yaml:"level" doc:"debug, info, warn or error"`
	Format string `yaml:"format" doc:"text or json; empty: text on a terminal, JSON otherwise"`
}

// New writes text to a terminal and JSON elsewhere, adds the request id
// that the context carries, and lets no secret through. The function it
// returns writes out what is still held back.
func New(cfg Config, w io.Writer) (*slog.Logger, func()) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		level = slog.LevelInfo
	}
	text := cfg.Format == "text"
	if f, ok := w.(*os.File); ok && cfg.Format == "" {
		text = term.IsTerminal(int(f.Fd()))
	}
	out := &bufferedLog{w: bufio.NewWriterSize(w, 64<<10)}
	make := func(replace func([]string, slog.Attr) slog.Attr) slog.Handler {
		opts := &slog.HandlerOptions{Level: level, ReplaceAttr: replace}
		if text {
			return slog.NewTextHandler(out, opts)
		}
		return slog.NewJSONHandler(out, opts)
	}
	return slog.New(requestHandler{Handler: make(hide), access: make(nil), out: out}), out.flush
}

// AccessLine is the message of the log line that every request leaves.
const AccessLine = "request"

// SafeMethod is a method that there is, or an ellipsis.
func SafeMethod(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "…"
}

// requestHandler names the request, the record and the trace a line belongs to. Lines of the
// access log take a short cut: there is one for every request, and they are known to contain
// no secret.
type requestHandler struct {
	slog.Handler
	access slog.Handler
	out    *bufferedLog
}

func (h requestHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := span.RecordOf(ctx); id != "" {
		r.AddAttrs(slog.String("record", id))
	}
	if id := span.TraceID(ctx); id != "" {
		r.AddAttrs(slog.String("trace", id))
	}
	if r.Message == AccessLine {
		return h.access.Handle(ctx, r)
	}
	if id := fault.RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("request", id))
	}
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.out.flush()
	}
	return err
}

func (h requestHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return requestHandler{h.Handler.WithAttrs(a), h.access.WithAttrs(a), h.out}
}

func (h requestHandler) WithGroup(name string) slog.Handler {
	return requestHandler{h.Handler.WithGroup(name), h.access.WithGroup(name), h.out}
}

// secretWords in the name of an attribute hide its value.
var secretWords = []string{"password", "token", "secret", "authorization", "api_key", "apikey", "otp", "pin", "master_key"}

// hide is the last guard: an attribute named like a secret is hidden
// whatever it holds, and credentials inside URLs and headers are cut out of
// any text.
func hide(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration { // with its unit: JSON would have bare nanoseconds
		return slog.String(a.Key, a.Value.Duration().String())
	}
	if a.Value.Kind() != slog.KindString && a.Value.Kind() != slog.KindAny {
		return a
	}
	name := strings.ToLower(a.Key)
	for _, w := range secretWords {
		if name == w || strings.HasSuffix(name, "_"+w) || strings.HasPrefix(name, w+"_") && !strings.HasSuffix(name, "_id") {
			return slog.String(a.Key, redact.Mark)
		}
	}
	switch v := a.Value.Any().(type) {
	case string:
		return slog.String(a.Key, redact.Text(v))
	case error:
		return slog.String(a.Key, Explain(v))
	case *url.URL:
		return slog.String(a.Key, redact.Text(v.String()))
	default:
		text := fmt.Sprintf("%+v", v)
		if clean := redact.Text(text); clean != text {
			return slog.String(a.Key, clean)
		}
	}
	return a
}

// Explain is the text of an error with its causes and without credentials.
func Explain(err error) string { return redact.Text(fault.Explain(err)) }
