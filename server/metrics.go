package server

import (
	"context"
	"crypto"
	"math/big"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rogito.dev/rogito/server/internal/callback"
	cschttp "rogito.dev/rogito/server/internal/csc/http"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/monitor"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/span"
	"rogito.dev/rogito/tsp"
)

// Names of time-stamp authorities that have no address of the operator's: the
// embedded one, and all those that callers choose, who must not make series.
const (
	embeddedAuthority = "embedded"
	callersAuthority  = "of a caller"
)

// expect has every series of the service there from the start.
func (s *Server) expect() {
	w := monitor.Words{
		Formats: request.Formats(), Ends: []string{string(ledger.Done), string(ledger.Error)}, Results: callback.Results,
		Authorities: []string{embeddedAuthority, callersAuthority}, Calls: map[string][]string{},
	}
	for name, p := range s.cfg.Signing.Providers {
		w.Calls[name] = signingCalls[p.Kind]
	}
	for _, k := range keys.Kinds {
		w.Kinds = append(w.Kinds, string(k))
	}
	for _, setting := range []string{s.cfg.Signing.TimestampURL, s.cfg.Audit.TimestampURL} {
		for _, one := range authorities(setting) {
			w.Authorities = append(w.Authorities, authorityName(one))
		}
	}
	s.metrics.Expect(w)
}

// watch registers the gauges that are read from storage on each scrape.
func (s *Server) watch() {
	m := s.metrics
	m.Watch("rogito_jobs", "Jobs in a queue that are not done, by state.", []string{"queue", "state"}, s.countJobs)
	m.Watch("rogito_job_oldest_seconds", "How long the oldest job that waits in a queue has been due.", []string{"queue"}, s.oldestJobs)
	m.Watch("rogito_certificates", "Certificates, by kind and state.", []string{"kind", "state"}, s.countCertificates)
	m.Watch("rogito_certificates_expiring", "Certificates that can sign and end within the time.", []string{"within"}, func(ctx context.Context, set monitor.Set) error {
		n, err := s.sig.enroll.Ending(ctx, 30*24*time.Hour)
		if err == nil {
			set(float64(n), "30d")
		}
		return err
	})
	m.Watch("rogito_audit_lag_events", "Audit events that no signed checkpoint covers yet.", nil, func(ctx context.Context, set monitor.Set) error {
		n, err := s.sig.audit.Lag(ctx)
		if err == nil {
			set(float64(n))
		}
		return err
	})
	m.Watch("rogito_http_in_flight", "Requests that are being answered.", nil, func(_ context.Context, set monitor.Set) error {
		if s.inFlight != nil {
			set(float64(s.inFlight()))
		}
		return nil
	})
	m.Watch("rogito_database_connections", "Connections to PostgreSQL, by state; zero with SQLite.", []string{"state"}, func(_ context.Context, set monitor.Set) error {
		var inUse, idle, most int32
		if pool := s.db.Pool(); pool != nil {
			st := pool.Stat()
			inUse, idle, most = st.AcquiredConns(), st.IdleConns(), st.MaxConns()
		}
		set(float64(inUse), "in use")
		set(float64(idle), "idle")
		set(float64(most), "most")
		return nil
	})
	m.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "rogito_database_wait_seconds_total", Help: "Time that was waited for a connection to PostgreSQL.",
	}, func() float64 {
		if pool := s.db.Pool(); pool != nil {
			return pool.Stat().EmptyAcquireWaitTime().Seconds()
		}
		return 0
	}))
	m.Watch("rogito_disk_free_bytes", "Free space on the disk of the data folder.", nil, func(_ context.Context, set monitor.Set) error {
		free, _, err := disk.Space(s.cfg.Data)
		if err == nil {
			set(float64(free))
		}
		return err
	})
}

func (s *Server) countJobs(ctx context.Context, set monitor.Set) error {
	depths, err := s.jobs.Depths(ctx)
	if err != nil {
		return err
	}
	count := map[[2]string]int64{}
	for _, d := range depths {
		count[[2]string{d.Queue, d.State}] = d.Jobs
	}
	for _, q := range job.Names {
		for _, state := range job.States {
			set(float64(count[[2]string{q, state}]), q, state)
		}
	}
	return nil
}

func (s *Server) oldestJobs(ctx context.Context, set monitor.Set) error {
	depths, err := s.jobs.Depths(ctx)
	if err != nil {
		return err
	}
	oldest := map[string]time.Duration{}
	for _, d := range depths {
		if d.Waits() {
			oldest[d.Queue] = max(oldest[d.Queue], d.Oldest)
		}
	}
	for _, q := range job.Names {
		set(oldest[q].Seconds(), q)
	}
	return nil
}

func (s *Server) countCertificates(ctx context.Context, set monitor.Set) error {
	count, err := s.sig.enroll.Count(ctx)
	if err != nil {
		return err
	}
	for _, kind := range keys.Kinds {
		for _, state := range enroll.States {
			set(float64(count[enroll.Held{Kind: kind, State: state}]), string(kind), string(state))
		}
	}
	return nil
}

// ended counts a record that reached its end.
func (s *Server) ended(r *ledger.Record) {
	s.metrics.Signed(string(r.Kind()), string(r.Type), string(r.State))
}

// authorities are the addresses of a setting with time-stamp authorities.
func authorities(setting string) []string {
	return strings.FieldsFunc(setting, func(r rune) bool { return r == ',' || r == ' ' })
}

// authorityName is how an authority is called in the metrics: its host, since
// the rest of its address may be a secret.
func authorityName(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "unknown"
	}
	return u.Host
}

// stamper is the time-stamp authorities of a setting, or the embedded one.
func (s *Server) stamper(setting string) cschttp.Stamper {
	if setting == "" {
		return traced{measured{s.sig.authority.Stamper(), s.metrics}}
	}
	var servers []tsp.Server
	for _, u := range authorities(setting) {
		servers = append(servers, tsp.Server{URL: u})
	}
	client := signing.NewStamper(s.sig.guard.Client(5*time.Second), servers...)
	client.Observe = func(one tsp.Server, took time.Duration, err error) {
		s.metrics.Stamped(authorityName(one.URL), took, err)
	}
	return traced{client}
}

// traced is a stamper whose answers are steps of a trace.
type traced struct{ cschttp.Stamper }

func (t traced) Stamp(ctx context.Context, h crypto.Hash, digest []byte) (token []byte, err error) {
	err = span.Do(ctx, span.Timestamp, func(ctx context.Context) error {
		token, err = t.Stamper.Stamp(ctx, h, digest)
		return err
	})
	return token, err
}

func (t traced) StampNonce(ctx context.Context, h crypto.Hash, digest []byte, nonce *big.Int) (token []byte, err error) {
	err = span.Do(ctx, span.Timestamp, func(ctx context.Context) error {
		token, err = t.Stamper.StampNonce(ctx, h, digest, nonce)
		return err
	})
	return token, err
}

// measured is the embedded authority, with its answers counted.
type measured struct {
	cschttp.Stamper
	metrics *monitor.Metrics
}

func (m measured) Stamp(ctx context.Context, h crypto.Hash, digest []byte) ([]byte, error) {
	return m.StampNonce(ctx, h, digest, nil)
}

func (m measured) StampNonce(ctx context.Context, h crypto.Hash, digest []byte, nonce *big.Int) ([]byte, error) {
	begin := time.Now()
	token, err := m.Stamper.StampNonce(ctx, h, digest, nonce)
	m.metrics.Stamped(embeddedAuthority, time.Since(begin), err)
	return token, err
}
