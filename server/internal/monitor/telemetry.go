package monitor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"rogito.dev/rogito/server/internal/logging"
)

// TelemetryConfig sends traces.
type TelemetryConfig struct {
	Endpoint string  `yaml:"endpoint" doc:"OTLP/HTTP address for traces, e.g. http://localhost:4318; empty: none"`
	Sample   float64 `yaml:"sample" doc:"share of requests that are traced, 0 to 1"`
}

// StartTelemetry sends traces where the configuration says. Without an
// endpoint it costs nothing. The function it returns sends what is left.
func StartTelemetry(ctx context.Context, cfg TelemetryConfig, version string, safePath func(path, route string) string) (wrap func(http.Handler) http.Handler, stop func(context.Context) error, err error) {
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
		// A trace names method and path of its request, which may hold a token: it is
		// shown others, and the handler behind it the real ones.
		type asked struct{}
		traced := otelhttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if real, ok := r.Context().Value(asked{}).(*http.Request); ok {
				r.Method, r.URL, r.RequestURI = real.Method, real.URL, real.RequestURI
			}
			h.ServeHTTP(w, r)
		}), "http", otelhttp.WithTracerProvider(provider))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			shown := r.WithContext(context.WithValue(r.Context(), asked{}, r))
			shown.URL = &url.URL{Path: safePath(r.URL.Path, "")}
			shown.Method, shown.RequestURI = logging.SafeMethod(r.Method), shown.URL.Path
			traced.ServeHTTP(w, shown)
		})
	}
	return wrap, provider.Shutdown, nil
}
