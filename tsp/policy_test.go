package tsp_test

import (
	"context"
	"crypto"
	"strings"
	"testing"

	"rogito.dev/rogito/tsp"
)

// A policy that was typed wrongly is an error of the configuration, not an
// accident.
func TestPolicyThatIsNone(t *testing.T) {
	c := tsp.Client{Servers: []tsp.Server{{URL: "http://127.0.0.1:1/", Policy: "gold"}}}
	_, err := c.Stamp(context.Background(), crypto.SHA256, make([]byte, 32))
	if err == nil || !strings.Contains(err.Error(), "gold") {
		t.Errorf("error %v", err)
	}
}
