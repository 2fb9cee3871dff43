package server

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// startTelemetry sends traces where the configuration says. Without an
// endpoint it costs nothing. The function it returns sends what is left.
func startTelemetry(ctx context.Context, cfg TelemetryConfig, version string) (wrap func(http.Handler) http.Handler, stop func(context.Context) error, err error) {
	if cfg.Endpoint == "" {
		return func(h http.Handler) http.Handler { return h }, func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(cfg.Endpoint))
	if err != nil {
		return nil, nil, fmt.Errorf("telemetry: %w", err)
	}
	provider := trace.NewTracerProvider(
		trace.WithBatcher(exporter),
		trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(cfg.Sample))),
		trace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "rogito"),
			attribute.String("service.version", version))),
	)
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	wrap = func(h http.Handler) http.Handler {
		return otelhttp.NewHandler(h, "http", otelhttp.WithTracerProvider(provider))
	}
	return wrap, provider.Shutdown, nil
}
