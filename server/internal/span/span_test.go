package span_test

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"rogito.dev/rogito/server/internal/span"
)

// figures counts the series of a metric, and adds up the gauges of those named.
func figures(t *testing.T, c prometheus.Collector, step span.Step) (series int, sum float64) {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range all {
		for _, m := range family.GetMetric() {
			series++
			if m.GetLabel()[0].GetValue() == string(step) {
				sum += m.GetGauge().GetValue()
			}
		}
	}
	return series, sum
}

// A step is a span of its request's trace, with the record that it is about and
// without the text of its error, and is counted.
func TestSteps(t *testing.T) {
	seen := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(seen))
	otel.SetTracerProvider(provider)
	ctx, request := provider.Tracer("test").Start(t.Context(), "POST")
	ctx = span.With(ctx)
	span.Route(ctx, "POST", "/EU-QES_automatic")
	span.SetRecord(ctx, "0123")
	before, _ := figures(t, span.Seconds, "")
	err := span.Do(ctx, span.Key, func(ctx context.Context) error {
		if _, n := figures(t, span.Running, span.Key); n != 1 {
			t.Errorf("%v keys are in use", n)
		}
		return span.Do(ctx, span.DatabaseWrite, func(context.Context) error { return errors.New("password=secret") })
	})
	request.End()
	if err == nil {
		t.Error("the error is lost")
	}
	spans := seen.Ended()
	if len(spans) != 3 || spans[0].Name() != "database write" || spans[1].Name() != "key" || spans[2].Name() != "POST /EU-QES_automatic" {
		t.Fatalf("%v", spans)
	}
	for _, s := range spans {
		if s.SpanContext().TraceID().String() != span.TraceID(ctx) {
			t.Errorf("%s is of another trace", s.Name())
		}
		if s.Status().Description != "" || len(s.Events()) > 0 {
			t.Errorf("%s tells %q", s.Name(), s.Status().Description)
		}
		found := false
		for _, a := range s.Attributes() {
			found = found || a.Key == "rogito.record" && a.Value.AsString() == "0123"
		}
		if !found {
			t.Errorf("%s does not name its record: %v", s.Name(), s.Attributes())
		}
	}
	if spans[0].Parent().SpanID() != spans[1].SpanContext().SpanID() {
		t.Error("a step within a step is not its child")
	}
	if n, _ := figures(t, span.Seconds, ""); n != before {
		t.Errorf("%d series, %d before: they are to be there from the start", n, before)
	}
	if _, n := figures(t, span.Running, span.Key); n != 0 {
		t.Errorf("%v keys are still in use", n)
	}
	if span.RecordOf(t.Context()) != "" || span.TraceID(t.Context()) != "" {
		t.Error("a context without a subject has one")
	}
	span.SetRecord(t.Context(), "x") // nothing to set it on
}
