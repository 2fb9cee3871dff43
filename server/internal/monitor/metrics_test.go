package monitor

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestObserveIsBounded: a client cannot make metrics series at will.
func TestObserveIsBounded(t *testing.T) {
	m := NewMetrics("v1")
	for i := range 1000 {
		m.Observe(fmt.Sprint("M", i), "", 405, 102, 0)
	}
	series := make(chan prometheus.Metric, 1000)
	if m.requests.Collect(series); len(series) != 2 { // beside the one of /metrics
		t.Errorf("%d series", len(series))
	}
}
