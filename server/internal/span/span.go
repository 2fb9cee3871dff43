// Package span measures where the time of a request goes: a step of work is a span of its trace
// (OpenTelemetry) and an observation of its latency, and the record that it is about is known to
// every line of the log.
package span

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Step is a kind of work whose time is measured.
type Step string

// The steps.
const (
	DatabaseRead  Step = "database read"
	DatabaseWrite Step = "database write"
	BlobRead      Step = "blob read"
	BlobWrite     Step = "blob write"
	Key           Step = "key"
	Timestamp     Step = "timestamp"
	Job           Step = "job"
	Callback      Step = "callback"
)

var steps = []Step{DatabaseRead, DatabaseWrite, BlobRead, BlobWrite, Key, Timestamp, Job, Callback}

// Seconds are the latencies of the steps, for the metrics of the server.
var Seconds = func() *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "rogito_step_seconds", Help: "Time of a step of work, whatever it belongs to.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	}, []string{"step", "result"})
	for _, s := range steps {
		h.WithLabelValues(string(s), "ok")
		h.WithLabelValues(string(s), "error")
	}
	return h
}()

// Running are the steps under way: jobs are the workers that are busy.
var Running = func() *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rogito_steps_running", Help: "Steps of work that are under way."}, []string{"step"})
	for _, s := range steps {
		g.WithLabelValues(string(s))
	}
	return g
}()

var tracer = otel.Tracer("rogito.dev/rogito/server")

// Start begins a step. The function that it returns ends it, with the error that it
// ended in; texts of errors are not part of a trace, since traces go to another program.
func Start(ctx context.Context, s Step, attributes ...attribute.KeyValue) (context.Context, func(error)) {
	begin := time.Now()
	running := Running.WithLabelValues(string(s))
	running.Inc()
	ctx, t := tracer.Start(ctx, string(s), trace.WithAttributes(attributes...))
	if id := RecordOf(ctx); id != "" && t.IsRecording() {
		t.SetAttributes(attribute.String("rogito.record", id))
	}
	return ctx, func(err error) {
		result := "ok"
		if err != nil {
			result = "error"
			t.SetStatus(codes.Error, "")
		}
		t.End()
		running.Dec()
		Seconds.WithLabelValues(string(s), result).Observe(time.Since(begin).Seconds())
	}
}

// Do is a step that is a function.
func Do(ctx context.Context, s Step, fn func(ctx context.Context) error) error {
	ctx, end := Start(ctx, s)
	err := fn(ctx)
	end(err)
	return err
}

// Route names the span of a request by its route, and not only by its method.
func Route(ctx context.Context, method, route string) {
	if t := trace.SpanFromContext(ctx); t.IsRecording() && route != "" {
		t.SetName(method + " " + route)
		t.SetAttributes(attribute.String("http.route", route))
	}
}

// TraceID is the id of the trace that ctx belongs to, or "".
func TraceID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.HasTraceID() {
		return c.TraceID().String()
	}
	return ""
}

// Subject is what a request or a job turns out to be about.
type Subject struct{ record atomic.Pointer[string] }

type subjectKey struct{}

// SubjectKey is the key under which a context carries its Subject.
func SubjectKey() any { return subjectKey{} }

// With is a context with a subject, which will be known later.
func With(ctx context.Context) context.Context {
	return context.WithValue(ctx, subjectKey{}, &Subject{})
}

// SetRecord says which record the work of ctx is about.
func SetRecord(ctx context.Context, record string) {
	if s, ok := ctx.Value(subjectKey{}).(*Subject); ok {
		s.record.Store(&record)
		trace.SpanFromContext(ctx).SetAttributes(attribute.String("rogito.record", record))
	}
}

// RecordOf is the record that the work of ctx is about, or "".
func RecordOf(ctx context.Context) string {
	if s, ok := ctx.Value(subjectKey{}).(*Subject); ok {
		if id := s.record.Load(); id != nil {
			return *id
		}
	}
	return ""
}
