package server

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

var (
	listUsable = prometheus.NewDesc("rogito_trusted_list_usable", "Whether the list is in use: signed by whom it should be, and not past its next update.", []string{"territory"}, nil)
	listFailed = prometheus.NewDesc("rogito_trusted_list_failed", "Whether its last refresh failed.", []string{"territory"}, nil)
	listAge    = prometheus.NewDesc("rogito_trusted_list_age_seconds", "Time since it was fetched.", []string{"territory"}, nil)
)

// Describe lists what Collect can say.
func (m listMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- listUsable
	ch <- listFailed
	ch <- listAge
}

// Collect shows every list. A country may have several: the worst counts.
func (m listMetrics) Collect(ch chan<- prometheus.Metric) {
	worst := map[string]report.ListState{}
	for _, l := range m.lists.State() {
		if w, ok := worst[l.Territory]; !ok || w.Usable && !l.Usable || l.Error != "" {
			worst[l.Territory] = l
		}
	}
	for territory, l := range worst {
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, territory)
		}
		gauge(listUsable, oneIf(l.Usable))
		gauge(listFailed, oneIf(l.Error != ""))
		if !l.FetchedAt.IsZero() {
			gauge(listAge, time.Since(l.FetchedAt).Seconds())
		}
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
