package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"rogito.dev/rogito/internal/redact"
	"rogito.dev/rogito/server/internal/fault"
)

// Health answers /healthz and /readyz.
type Health struct {
	mu       sync.Mutex
	checks   []*Check
	Started  atomic.Bool
	Draining atomic.Bool
	Log      *slog.Logger // gets the reasons why the server is no longer ready; may be nil

	facts map[string]func() any // shown beside "ready", and no reason against it
	last  map[string]string     // what was wrong when last asked
}

// Add has one more thing checked.
func (h *Health) Add(c *Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, c)
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

// Healthy says that the process runs, and nothing more: what restarts it
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

// Wrong asks the checks, all at once.
func (h *Health) Wrong(ctx context.Context) map[string]string {
	if h.Draining.Load() {
		return map[string]string{"server": "shutting down"}
	}
	if !h.Started.Load() {
		return map[string]string{"server": "starting"}
	}
	h.mu.Lock()
	checks := slices.Clone(h.checks)
	h.mu.Unlock()
	found := make([]error, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() { found[i] = c.Ask(context.WithoutCancel(ctx)) })
	}
	all.Wait()
	wrong := map[string]string{}
	for i, err := range found {
		if err != nil {
			wrong[checks[i].Name] = reason(err)
		}
	}
	h.logChanges(ctx, checks, found, wrong)
	return wrong
}

// logChanges has the log say what has become wrong, and when all is well again.
func (h *Health) logChanges(ctx context.Context, checks []*Check, found []error, wrong map[string]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, err := range found {
		if h.Log != nil && err != nil && h.last[checks[i].Name] == "" {
			h.Log.WarnContext(ctx, "not ready", "part", checks[i].Name, "error", err)
		}
	}
	if h.Log != nil && len(wrong) == 0 && len(h.last) > 0 {
		h.Log.InfoContext(ctx, "ready again")
	}
	h.last = wrong
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
