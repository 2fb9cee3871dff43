package api

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// An id that a caller gives stands behind our own, and never in its place.
func TestRequestIDsAreOurs(t *testing.T) {
	ours := regexp.MustCompile(`^[0-9a-f]{24}(~[-_.0-9A-Za-z]{1,64})?$`)
	for given, kept := range map[string]bool{
		"": false, "abc-1": true, "0123456789abcdef01234567": true, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
		"a b": false, "a~b": false, "a\"b": false, "à": false, "a\x00": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["X-Request-Id"] = []string{given}
		id := requestID(r)
		if !ours.MatchString(id) || strings.HasSuffix(id, "~"+given) != kept || id == given {
			t.Errorf("%q: %q", given, id)
		}
	}
}
