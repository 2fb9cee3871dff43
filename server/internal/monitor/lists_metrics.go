package monitor

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rogito.dev/rogito/report"
)

// listMetrics show the trusted lists, so that one that is broken or old can
// raise an alarm.
type listMetrics struct {
	lists interface{ State() []report.ListState }
}

const (
	listUsableHelp = "Whether the list is in use: signed by whom it should be, and not past its next update."
	listFailedHelp = "Whether its last refresh failed."
	listAgeHelp    = "Time since the list was fetched or confirmed."
)

var (
	listUsable = prometheus.NewDesc("rogito_trust_list_usable", listUsableHelp, []string{"territory"}, nil)
	listFailed = prometheus.NewDesc("rogito_trust_list_failed", listFailedHelp, []string{"territory"}, nil)
	listAge    = prometheus.NewDesc("rogito_trust_list_age_seconds", listAgeHelp, []string{"territory"}, nil)
)

// Describe lists what Collect can say.
func (m listMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- listUsable
	ch <- listFailed
	ch <- listAge
}

// Collect shows every list. A country may have several: the worst counts.
func (m listMetrics) Collect(ch chan<- prometheus.Metric) {
	type state struct {
		unusable, failed bool
		fetched          time.Time // of the oldest; zero: none was
	}
	worst := map[string]state{}
	for _, l := range m.lists.State() {
		w := worst[l.Territory]
		w.unusable = w.unusable || !l.Usable
		w.failed = w.failed || l.Error != ""
		if w.fetched.IsZero() || !l.FetchedAt.IsZero() && l.FetchedAt.Before(w.fetched) {
			w.fetched = l.FetchedAt
		}
		worst[l.Territory] = w
	}
	for territory, w := range worst {
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, territory)
		}
		gauge(listUsable, oneIf(!w.unusable))
		gauge(listFailed, oneIf(w.failed))
		if !w.fetched.IsZero() {
			gauge(listAge, time.Since(w.fetched).Seconds())
		}
	}
}

// WatchLists shows the lists, and before any is loaded that they will be shown.
func (m *Metrics) WatchLists(lists interface {
	State() []report.ListState
	Loaded() bool
},
) {
	m.Registry.MustRegister(listMetrics{lists})
	m.declare(
		declaration{"rogito_trust_list_usable", "gauge", listUsableHelp, lists.Loaded},
		declaration{"rogito_trust_list_failed", "gauge", listFailedHelp, lists.Loaded},
		declaration{"rogito_trust_list_age_seconds", "gauge", listAgeHelp, lists.Loaded},
	)
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
