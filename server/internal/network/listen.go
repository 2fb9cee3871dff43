// Package network listens, and bounds what a client's connections may take: how
// many they are, how long they are waited for, and how often they take a
// request back.
package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/crypto/acme"

	"rogito.dev/rogito/server/internal/peer"
)

// Config is what the listener has to know.
type Config struct {
	Listen  string // address and port
	TLS     TLSConfig
	Limits  Limits
	Proxies peer.Proxies // networks of trusted_proxies
	ACME    *ACMECache   // keeps the certificates that ACME obtains
	Log     *slog.Logger
	AskCard bool // ask for a client's certificate, of any issuer, in every connection
}

// Limits bound what one client can take.
type Limits struct {
	Connections int           // open at once
	PerAddress  int           // of one address
	Timeout     time.Duration // of one request
}

// TLSConfig makes the server speak TLS itself, without a proxy before it.
type TLSConfig struct {
	Cert     string `yaml:"cert" doc:"file with the certificate chain (PEM); empty: no TLS"`
	Key      string `yaml:"key" doc:"file with the private key (PEM)"`
	ClientCA string `yaml:"client_ca" doc:"file with the authorities of client certificates (PEM); with it clients may present one, which security levels can ask for"`

	ACME ACMEConfig `yaml:"acme"`
}

// On says whether the server speaks TLS.
func (c TLSConfig) On() bool { return c.Cert != "" || len(c.ACME.Domains) > 0 }

// Check finds what contradicts itself.
func (c TLSConfig) Check() error {
	switch {
	case (c.Cert == "") != (c.Key == ""):
		return errors.New("tls.cert and tls.key belong together: set both or none")
	case c.Cert != "" && len(c.ACME.Domains) > 0:
		return errors.New("tls.cert and tls.acme.domains exclude one another: a certificate of yours, or one by ACME")
	case c.ClientCA != "" && !c.On():
		return errors.New("tls.client_ca needs tls.cert and tls.key, or tls.acme: client certificates exist only with TLS")
	}
	return nil
}

// Listen opens the port, with TLS where the configuration has it and a bound
// on the connections open at once.
func Listen(ctx context.Context, cfg *Config) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	ln = Limit(ln, cfg.Limits.Connections, cfg.Limits.PerAddress, cfg.Proxies)
	if !cfg.TLS.On() {
		return ln, nil
	}
	tc, err := tlsConfig(ctx, cfg)
	if err != nil {
		ln.Close()
		return nil, err
	}
	if cfg.AskCard {
		tc.ClientAuth, tc.SessionTicketsDisabled = tls.RequestClientCert, true
	}
	return tls.NewListener(ln, tc), nil
}

func tlsConfig(ctx context.Context, all *Config) (*tls.Config, error) {
	cfg := all.TLS
	tc := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if len(cfg.ACME.Domains) > 0 {
		m, err := cfg.ACME.manager(all.ACME)
		if err != nil {
			return nil, err
		}
		if cfg.ACME.HTTP != "" {
			if err := serveHTTP01(ctx, cfg.ACME.HTTP, m); err != nil {
				return nil, err
			}
		}
		tc.GetCertificate = (&reporting{Manager: m, domains: cfg.ACME.Domains, log: all.Log}).get
		tc.NextProtos = append(tc.NextProtos, acme.ALPNProto)
	} else {
		pair := &reloading{cfg: cfg}
		if _, err := pair.get(nil); err != nil {
			return nil, err
		}
		tc.GetCertificate = pair.get
	}
	if cfg.ClientCA == "" {
		return tc, nil
	}
	pem, err := os.ReadFile(cfg.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("tls.client_ca: %w", err)
	}
	tc.ClientCAs = x509.NewCertPool()
	if !tc.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("tls.client_ca: no certificate in %s", cfg.ClientCA)
	}
	// The client may present one; operations that need it check later.
	tc.ClientAuth = tls.VerifyClientCertIfGiven
	return tc, nil
}

// Bounds on every client that keeps the server waiting. The API gives more time to one that
// sends a body or reads an answer at a decent rate.
const (
	requestTime = 10 * time.Second // from the first byte of a request to the end of its header, and of a body that is not read
	idleTime    = 2 * time.Minute  // between requests
	frameTime   = 30 * time.Second // HTTP/2: for a client to take anything at all, and to answer a ping
)

// maxHeader is the bytes of a request's header.
const maxHeader = 64 << 10

// NewServer sets the bounds on headers and time. The write time runs from the end
// of a request's header to the end of its answer.
func NewServer(cfg *Config, h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:        endResets(h, log),
		MaxHeaderBytes: maxHeader,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ReadTimeout:    requestTime,
		WriteTimeout:   cfg.Limits.Timeout + time.Minute,
		IdleTimeout:    idleTime,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 32, WriteByteTimeout: frameTime, SendPingTimeout: idleTime, PingTimeout: frameTime,
		},
		ConnState:   connState,
		ConnContext: connContext,
	}
}

// Serve answers until ctx ends, then lets running requests end, for at most
// the time of limits.drain.
func Serve(ctx context.Context, srv *http.Server, ln net.Listener, drain func(), patience time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	drain()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := srv.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		srv.Close()
		return errors.New("some requests did not end in time and were cut off")
	}
	return err
}
