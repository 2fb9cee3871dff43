package monitor

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rogito.dev/rogito/report"
)

type stateOfLists []report.ListState

func (s stateOfLists) State() []report.ListState { return s }

// Of several lists of a country the worst counts, whatever their order.
func TestWorstListCounts(t *testing.T) {
	stale := report.ListState{Territory: "IT", FetchedAt: time.Now().Add(-time.Hour)}
	failed := report.ListState{Territory: "IT", Usable: true, Error: "no answer", FetchedAt: time.Now()}
	for _, lists := range []stateOfLists{{stale, failed}, {failed, stale}} {
		r := prometheus.NewRegistry()
		r.MustRegister(listMetrics{lists})
		families, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			got[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
		}
		if got["rogito_trust_list_usable"] != 0 || got["rogito_trust_list_failed"] != 1 || got["rogito_trust_list_age_seconds"] < 3600 {
			t.Errorf("%v", got)
		}
	}
}
