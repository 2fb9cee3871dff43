package server

import (
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/keys"
)

// codeOf is the one-time password of a secret, some steps from now.
func codeOf(t testing.TB, secret string, steps int) string {
	t.Helper()
	code, err := keys.Code(secret, time.Now().Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return code
}
