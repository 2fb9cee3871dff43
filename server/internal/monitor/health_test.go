package monitor

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestReadySaysWhatIsWrong(t *testing.T) {
	h := &Health{}
	ask := func() (int, string) {
		w := httptest.NewRecorder()
		h.Ready(w, httptest.NewRequest("GET", "/readyz", nil))
		return w.Code, w.Body.String()
	}
	if code, body := ask(); code != 503 || !strings.Contains(body, "starting") {
		t.Errorf("%d %s", code, body)
	}
	h.Started.Store(true)
	h.Add("database", func(context.Context) error { return fmt.Errorf("dial postgres://me:canary@db: refused") })
	if code, body := ask(); code != 503 || !strings.Contains(body, "database") || !strings.Contains(body, "refused") || strings.Contains(body, "canary") {
		t.Errorf("%d %s", code, body)
	}
	h.Draining.Store(true)
	if code, body := ask(); code != 503 || !strings.Contains(body, "shutting down") {
		t.Errorf("%d %s", code, body)
	}
}
