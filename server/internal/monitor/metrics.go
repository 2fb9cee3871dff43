// Package monitor is what machines of the operator watch: metrics, traces, and
// whether the server is ready.
package monitor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/span"
)

// Metrics are the figures of the whole server; packages register theirs.
type Metrics struct {
	Registry *prometheus.Registry
	requests *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	work     work
	declared []declaration
}

// declaration is a metric that has no values yet: its TYPE line is shown all
// the same, so that alerts can name it.
type declaration struct {
	name, kind, help string
	present          func() bool // it has values by now
}

func (m *Metrics) declare(d ...declaration) { m.declared = append(m.declared, d...) }

// NewMetrics returns the metrics that every server has.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "rogito_http_request_seconds",
			Help:    "Time to answer a request.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "route", "status"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rogito_http_errors_total",
			Help: "Refusals by the code in the envelope.",
		}, []string{"code"}),
		work: newWork(),
	}
	m.Registry.MustRegister(m.requests, m.errors, span.Seconds, span.Running, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.work.register(m.Registry)
	m.Watch("rogito_build_info", "Which version this is; always 1.", []string{"version"}, func(_ context.Context, set Set) error {
		set(1, version)
		return nil
	})
	m.requests.WithLabelValues(http.MethodGet, "/metrics", "200") // asked before it was ever answered
	for _, row := range fault.Table {
		m.errors.WithLabelValues(row.Code.Error())
	}
	return m
}

// Observe counts a request by the pattern of its route, which is empty where none
// matched; code is 0 where it was no refusal.
func (m *Metrics) Observe(method, route string, status int, code fault.Code, elapsed time.Duration) {
	if !knownMethod(method) {
		method = "other" // a client must not be able to make series
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(elapsed.Seconds())
	if code != 0 {
		m.errors.WithLabelValues(code.Error()).Inc()
	}
}

func knownMethod(m string) bool {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return true
	}
	return false
}

// Handler answers /metrics.
func (m *Metrics) Handler() http.Handler {
	all := promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{DisableCompression: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all.ServeHTTP(w, r)
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			return
		}
		for _, d := range m.declared {
			if !d.present() {
				fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", d.name, d.help, d.name, d.kind)
			}
		}
	})
}

// LoopbackOnly hides a handler from everyone but this machine. A request that
// came through a proxy on this machine is not from this machine, whether the
// proxy is a trusted one (then r.RemoteAddr speaks of the client) or not.
func LoopbackOnly(h http.Handler, refuse http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.RemoteAddr) || r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" {
			refuse(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
