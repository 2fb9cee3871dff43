// Package server is the Rogito service: its configuration and the one function
// that runs it. Its parts are internal packages; this one connects them.
//
// [Load] reads a configuration, [Run] serves until its context ends, and
// [Open] gives commands the same without the listener, so that they work
// beside a running server.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"rogito.dev/rogito/internal/version"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/logging"
	"rogito.dev/rogito/server/internal/memory"
	"rogito.dev/rogito/server/internal/monitor"
	"rogito.dev/rogito/server/internal/network"
	"rogito.dev/rogito/server/internal/peer"
	"rogito.dev/rogito/server/internal/upload"
)

// Streams are where a command talks to: what was asked for goes to Out,
// everything else to Err.
type Streams struct {
	Out, Err io.Writer
	Terminal bool             // a person reads Out: the sandbox's secrets may be shown
	Ready    func(url string) // called once the server answers; may be nil
	Program  string           // how the commands of the welcome are typed; empty: rogito
}

// Run serves until ctx ends, then drains: it turns unready, lets running
// requests end, stops the jobs and closes the stores.
func Run(ctx context.Context, cfg Config, std Streams) error {
	err := run(ctx, cfg, std)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // told to end while starting
	}
	return err
}

func run(ctx context.Context, cfg Config, std Streams) (err error) {
	if err := cfg.readSecrets(); err != nil {
		return err
	}
	log, flush := logging.New(cfg.Log, std.Err)
	defer flush()
	memory.NoCoreDumps(log)
	listening := cfg.network()
	listening.Log = log
	ln, err := network.Listen(ctx, listening)
	if err != nil {
		return err
	}
	defer ln.Close()
	cfg.defaultPublicURL(ln.Addr())
	s, err := open(ctx, cfg, log, true)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.sig.authority.Register(disk.Reclaiming(ctx), s.sig.audit); err != nil {
		return err
	}
	listening.ACME.Open(s.master)
	s.sweepSpool()
	welcome, err := s.firstStart(ctx)
	if err != nil {
		return err
	}
	a := s.newAPI()
	s.inFlight = a.InFlight
	wrap, stopTelemetry, err := monitor.StartTelemetry(ctx, cfg.Telemetry, version.Number, a.SafePath)
	if err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, stopTelemetry(stop))
	}()
	stopMetrics, err := s.serveMetrics(ctx)
	if err != nil {
		return err
	}
	defer stopMetrics()
	stopCards, err := s.serveCards(ctx, a)
	if err != nil {
		return err
	}
	defer stopCards()
	if err := s.start(ctx); err != nil {
		return err
	}
	go memory.ScrubAfter(ctx, &s.dropped)
	s.health.Started.Store(true)
	log.Info("ready", "listen", ln.Addr().String(), "url", cfg.PublicURL, "version", version.Number)
	welcome.print(std)
	if std.Ready != nil {
		std.Ready(cfg.PublicURL)
	}
	err = network.Serve(ctx, network.NewServer(listening, network.AllowOrigins(cfg.CORS, wrap(api.Peer(a.Handler()))), log), ln, func() {
		s.health.Draining.Store(true)
		log.Info("draining")
	}, cfg.Limits.Drain)
	log.Info("stopped")
	return err
}

// defaultPublicURL fills in the public URL from the port that was opened.
func (c *Config) defaultPublicURL(addr net.Addr) {
	if c.PublicURL != "" {
		c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
		return
	}
	scheme := "http"
	if c.TLS.On() {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
			host = "localhost"
		}
		c.PublicURL = scheme + "://" + net.JoinHostPort(host, port)
	}
}

// OwnAddress is where a server of this configuration answers on its own machine,
// and a client for it. The certificate is for the name that others use, and who
// listens on the configured port of this machine is not in doubt: it is not
// compared.
func OwnAddress(cfg Config) (string, *http.Client) {
	host, port, err := net.SplitHostPort(cfg.Listen)
	if ip, bad := netip.ParseAddr(host); err == nil && (host == "" || bad == nil && ip.IsUnspecified()) {
		host = "localhost"
	}
	scheme, transport := "http", &http.Transport{DisableKeepAlives: true}
	if cfg.TLS.On() {
		scheme, transport.TLSClientConfig = "https", &tls.Config{InsecureSkipVerify: true} //nolint:gosec // said above
	}
	if names := cfg.TLS.ACME.Domains; len(names) > 0 { // a certificate is chosen by the name
		transport.TLSClientConfig.ServerName = names[0]
	}
	return scheme + "://" + net.JoinHostPort(host, port), &http.Client{Transport: transport}
}

// readSecrets replaces the names of secret files by what is in them.
func (c *Config) readSecrets() error {
	read := func(key, path string, dst *string) error {
		if path == "" || *dst != "" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		*dst = strings.TrimSpace(string(b))
		return nil
	}
	if err := read("s3.secret_key_file", c.S3.SecretKeyFile, &c.S3.SecretKey); err != nil {
		return err
	}
	if err := read("ses.password_file", c.SES.PasswordFile, &c.SES.Password); err != nil {
		return err
	}
	if err := read("mail.password_file", c.Mail.PasswordFile, &c.Mail.Password); err != nil {
		return err
	}
	var password string
	if err := read("database_password_file", c.DatabasePasswordFile, &password); err != nil || password == "" {
		return err
	}
	u, err := url.Parse(c.Database)
	if err != nil || u.User == nil {
		return errors.New("database_password_file: database has no user in its URL")
	}
	u.User = url.UserPassword(u.User.Username(), password)
	c.Database = u.String()
	return nil
}

// proxies are the networks of trusted_proxies.
func (c *Config) proxies() (all peer.Proxies) {
	for _, p := range c.TrustedProxies {
		if n, err := prefix(p); err == nil { // check has seen to that
			all = append(all, n)
		}
	}
	return all
}

// newAPI puts every operation in its place.
func (s *Server) newAPI() *api.API {
	a := api.New(api.Options{
		Version:     version.Number,
		PublicURL:   s.cfg.PublicURL,
		Log:         s.log,
		Gate:        s.accounts,
		Idempotency: s.idempotency,
		SpoolDir:    s.spool,
		Limits:      upload.Limits{Body: s.cfg.Limits.Body},
		MaxInFlight: s.cfg.Limits.InFlight,
		Timeout:     s.cfg.Limits.Timeout,
		Proxies:     s.cfg.proxies(),
		Observe:     s.observe,
		Words:       s.exampleWords,
	})
	a.Mount("/healthz", http.HandlerFunc(s.health.Healthy))
	a.Mount("/readyz", http.HandlerFunc(s.health.Ready))
	if s.cfg.Metrics.Listen == "" {
		a.Mount("/metrics", monitor.LoopbackOnly(s.metrics.Handler(), a.NotFound))
	}
	s.register(a)
	return a
}

// serveMetrics opens the listener of /metrics, if it has its own.
func (s *Server) serveMetrics(ctx context.Context) (stop func(), err error) {
	if s.cfg.Metrics.Listen == "" {
		return func() {}, nil
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", s.cfg.Metrics.Listen)
	if err != nil {
		return nil, fmt.Errorf("metrics.listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", s.metrics.Handler())
	srv := network.NewServer(s.cfg.network(), mux, s.log)
	go srv.Serve(network.Limit(ln, s.cfg.Limits.Connections, s.cfg.Limits.PerAddress, s.cfg.proxies()))
	return func() { srv.Close() }, nil
}
