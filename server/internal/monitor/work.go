package monitor

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rogito.dev/rogito/report"
)

// work is what the service did since it was started.
type work struct {
	signatures, verifications, callbacks *prometheus.CounterVec
	timestamps, providers                *prometheus.HistogramVec
	checkpoints                          prometheus.Counter // that failed
}

func newWork() work {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	w := work{
		checkpoints: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "rogito_audit_failures_total", Help: "Attempts to order, sign, time-stamp or witness the audit log that failed.",
		}),
		signatures:    counter("rogito_signatures_total", "Signature records that ended here.", "kind", "format", "state"),
		verifications: counter("rogito_verifications_total", "Documents that were verified, by the verdict on them.", "indication"),
		callbacks:     counter("rogito_callbacks_total", "Attempts to deliver a callback.", "result"),
		timestamps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rogito_timestamp_request_seconds", Help: "Time that a time-stamp authority took to answer a request.",
			Buckets: []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5},
		}, []string{"authority", "result"}),
		providers: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rogito_provider_request_seconds", Help: "Time that a provider of remote keys took to answer a call.",
			Buckets: []float64{.005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"provider", "operation", "result"}),
	}
	for _, i := range []report.Indication{report.TotalPassed, report.TotalFailed, report.Indeterminate} {
		w.verifications.WithLabelValues(string(i))
	}
	return w
}

func (w *work) register(r *prometheus.Registry) {
	r.MustRegister(w.signatures, w.verifications, w.callbacks, w.timestamps, w.providers, w.checkpoints)
}

// Words are the values that labels may have: their series are there before
// anything happened, so that the first time is a step up from zero.
type Words struct {
	Kinds, Formats, Ends []string // of signatures
	Results              []string // of callbacks
	Authorities          []string // of time-stamps
	// Calls are those that sign, of providers of remote keys, by their names.
	Calls map[string][]string
}

// NoFormat is the format of a record that ended before its document was seen.
const NoFormat = "none"

// Expect makes the series of the words.
func (m *Metrics) Expect(w Words) {
	for _, kind := range w.Kinds {
		for _, format := range slices.Concat(w.Formats, []string{NoFormat}) {
			for _, end := range w.Ends {
				m.work.signatures.WithLabelValues(kind, format, end)
			}
		}
	}
	for _, r := range w.Results {
		m.work.callbacks.WithLabelValues(r)
	}
	for _, a := range w.Authorities {
		for _, r := range stampResults {
			m.work.timestamps.WithLabelValues(a, r)
		}
	}
	for provider, calls := range w.Calls {
		for _, call := range calls {
			for _, r := range []string{"ok", "refused", "silent", "unsent"} {
				m.work.providers.WithLabelValues(provider, call, r)
			}
		}
	}
}

// Signed counts a record that ended.
func (m *Metrics) Signed(kind, format, state string) {
	if format == "" {
		format = NoFormat
	}
	m.work.signatures.WithLabelValues(kind, format, state).Inc()
}

// Verified counts a verdict.
func (m *Metrics) Verified(i report.Indication) {
	m.work.verifications.WithLabelValues(string(i)).Inc()
}

// CheckpointFailed counts a failed step of the audit log.
func (m *Metrics) CheckpointFailed() { m.work.checkpoints.Inc() }

// CalledBack counts an attempt to deliver a callback.
func (m *Metrics) CalledBack(result string) { m.work.callbacks.WithLabelValues(result).Inc() }

var stampResults = []string{"ok", "error"}

// Stamped counts a request to a time-stamp authority.
func (m *Metrics) Stamped(authority string, took time.Duration, err error) {
	result := stampResults[0]
	if err != nil {
		result = stampResults[1]
	}
	m.work.timestamps.WithLabelValues(authority, result).Observe(took.Seconds())
}

// Provider counts the calls to a provider of remote keys.
func (m *Metrics) Provider(name string) func(operation, result string, took time.Duration) {
	return func(operation, result string, took time.Duration) {
		m.work.providers.WithLabelValues(name, operation, result).Observe(took.Seconds())
	}
}

// Set shows a value under its labels.
type Set func(value float64, labels ...string)

// Watch shows a gauge that is read when it is scraped. One that cannot be read,
// as while the database is away, has no values then.
func (m *Metrics) Watch(name, help string, labels []string, read func(context.Context, Set) error) {
	m.Registry.MustRegister(&gauge{prometheus.NewDesc(name, help, labels, nil), read})
}

type gauge struct {
	desc *prometheus.Desc
	read func(context.Context, Set) error
}

// Describe and Collect make it a prometheus.Collector.
func (g *gauge) Describe(ch chan<- *prometheus.Desc) { ch <- g.desc }

// readTime is how long the database may take to answer for a gauge.
const readTime = 2 * time.Second

// Collect reads the values.
func (g *gauge) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	_ = g.read(ctx, func(v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, v, labels...)
	})
}
