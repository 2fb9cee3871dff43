package monitor

import (
	"fmt"
	"testing"

	"rogito.dev/rogito/server/internal/api"
)

// TestObserveIsBounded: a client cannot make metrics series at will.
func TestObserveIsBounded(t *testing.T) {
	m := NewMetrics("v1")
	for i := range 1000 {
		m.Observe(api.Observation{Method: fmt.Sprint("M", i), Status: 405, Code: 102})
	}
	if n := len(*m.known.Load()); n != 2 { // beside the one of /metrics
		t.Errorf("%d series", n)
	}
}
