package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"rogito.dev/rogito/internal/redact"
	"rogito.dev/rogito/server/internal/fault"
)

// check is one thing that must work before the server is ready.
type check struct {
	name string
	run  func(context.Context) error
}

// Health answers /healthz and /readyz.
type Health struct {
	mu       sync.Mutex
	checks   []check
	Started  atomic.Bool
	Draining atomic.Bool
	Log      *slog.Logger // told why the server is not ready any more, with causes; nil: nobody is

	facts  map[string]func() any // shown beside "ready", and no reason against it
	last   map[string]string     // what was wrong when last looked
	looked time.Time
}

// Add names one more thing to check.
func (h *Health) Add(name string, run func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, check{name, run})
}

// Show puts something good to know into the answer of /readyz.
func (h *Health) Show(name string, fact func() any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.facts == nil {
		h.facts = map[string]func() any{}
	}
	h.facts[name] = fact
}

func (h *Health) shown() map[string]any {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]any{"ready": true}
	for name, fact := range h.facts {
		out[name] = fact()
	}
	return out
}

// Healthy says that the process runs, and nothing more: whoever restarts it
// for a database that is away makes things worse.
func (h *Health) Healthy(w http.ResponseWriter, _ *http.Request) {
	writeHealth(w, http.StatusOK, map[string]any{"healthy": true})
}

// Ready says whether to send requests here, and if not, what is missing.
func (h *Health) Ready(w http.ResponseWriter, r *http.Request) {
	wrong := h.Wrong(r.Context())
	if len(wrong) == 0 {
		writeHealth(w, http.StatusOK, h.shown())
		return
	}
	w.Header().Set("Retry-After", "1")
	writeHealth(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "reasons": wrong})
}

// Wrong runs the checks, at most once a second however often it is asked.
func (h *Health) Wrong(ctx context.Context) map[string]string {
	if h.Draining.Load() {
		return map[string]string{"server": "shutting down"}
	}
	if !h.Started.Load() {
		return map[string]string{"server": "starting"}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.looked) < time.Second {
		return h.last
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	wrong := map[string]string{}
	for _, c := range h.checks {
		if err := c.run(ctx); err != nil {
			wrong[c.name] = reason(err)
			if h.Log != nil && h.last[c.name] == "" {
				h.Log.WarnContext(ctx, "not ready", "part", c.name, "error", err)
			}
		}
	}
	if h.Log != nil && len(wrong) == 0 && len(h.last) > 0 {
		h.Log.InfoContext(ctx, "ready again")
	}
	h.last, h.looked = wrong, time.Now()
	return wrong
}

// reason is what may be told of a check that failed: the path is public.
func reason(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Text
	}
	return redact.Text(err.Error())
}

func writeHealth(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}
