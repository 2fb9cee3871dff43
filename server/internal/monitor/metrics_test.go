package monitor

import (
	"fmt"
	"testing"
)

// TestObserveIsBounded: a client cannot make metrics series at will.
func TestObserveIsBounded(t *testing.T) {
	m := NewMetrics("v1")
	for i := range 1000 {
		m.Observe(fmt.Sprint("M", i), "", 405, 102, 0)
	}
	if n := len(*m.known.Load()); n != 2 { // beside the one of /metrics
		t.Errorf("%d series", n)
	}
}
