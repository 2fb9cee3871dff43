package authority_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
	"rogito.dev/rogito/tsp"
)

// What fails before a protocol is spoken is refused in the envelope; what is
// spoken badly gets the protocol's own refusal.
func TestTimestampAuthorityRefusals(t *testing.T) {
	t.Parallel()
	s := sitetest.NewSite(t)
	for name, c := range map[string]struct {
		method, mediaType, body string
		status, code            int
	}{
		"no media type":    {"POST", "", "x", 415, 103},
		"JSON":             {"POST", "application/json", "{}", 415, 103},
		"a form":           {"POST", "application/x-www-form-urlencoded", "x", 415, 103},
		"wrong method":     {"GET", "", "", 405, 102},
		"too large":        {"POST", "application/timestamp-query", strings.Repeat("x", 1<<20), 413, 101},
		"too large, other": {"POST", "application/pdf", strings.Repeat("x", 1<<20), 415, 103},
	} {
		t.Run(name, func(t *testing.T) {
			resp, b := s.Raw(c.method, "/tsa", c.body, "Content-Type", c.mediaType)
			var a sitetest.Answer
			if err := json.Unmarshal(b, &a); err != nil || resp.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("%v: %s %q", err, resp.Header.Get("Content-Type"), b)
			}
			if resp.Status != c.status || a.Error == nil || *a.Error != c.code || a.Success || a.Message == "" || resp.Header.Get("X-Request-Id") == "" {
				t.Errorf("%d %s", resp.Status, b)
			}
		})
	}
	for _, body := range []string{"", "junk", "\x30\x80", "{}"} {
		resp, b := s.Raw("POST", "/tsa", body, "Content-Type", "application/timestamp-query; charset=x")
		var status *tsp.StatusError
		_, err := tsp.ParseResponse(b)
		if resp.Status != http.StatusOK || resp.Header.Get("Content-Type") != "application/timestamp-reply" || !errors.As(err, &status) || status.Failure != 5 {
			t.Errorf("%q: %d %q: %v; want badDataFormat", body, resp.Status, resp.Header.Get("Content-Type"), err)
		}
	}
}
