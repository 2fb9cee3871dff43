package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// ACMEConfig has a certificate fetched and renewed (RFC 8555).
type ACMEConfig struct {
	Domains   []string `yaml:"domains" doc:"names of this server for which a certificate is obtained and renewed by ACME, e.g. sign.example.org; who sets this accepts the terms of the authority; empty: none"`
	Directory string   `yaml:"directory" doc:"address of the ACME authority; empty: Let's Encrypt"`
	CA        string   `yaml:"ca" doc:"file with the roots (PEM) of the authority's own TLS; empty: those of the system"`
	HTTP      string   `yaml:"http" doc:"address and port that answers HTTP-01 and sends browsers to https, e.g. :80; empty: only TLS-ALPN-01, on listen, which the authority must reach as port 443"`
}

const acmeTime = 30 * time.Second // for one request to the authority

// manager obtains the certificates and keeps them, with their keys.
func (c *ACMEConfig) manager(kept *ACMECache) (*autocert.Manager, error) {
	client := &acme.Client{DirectoryURL: c.Directory, UserAgent: "rogito", HTTPClient: &http.Client{Timeout: acmeTime}}
	if c.Directory == "" {
		client.DirectoryURL = autocert.DefaultACMEDirectory
	}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("tls.acme.ca: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.acme.ca: no certificate in %s", c.CA)
		}
		client.HTTPClient.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	}
	return &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: kept, HostPolicy: autocert.HostWhitelist(c.Domains...), Client: client,
	}, nil
}

// reporting logs why a certificate could not be obtained, once a minute: a handshake that fails is
// reported nowhere else.
type reporting struct {
	*autocert.Manager
	domains []string
	log     *slog.Logger
	mu      sync.Mutex
	told    time.Time
}

func (r *reporting) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	cert, err := r.GetCertificate(hello)
	if err != nil && slices.Contains(r.domains, hello.ServerName) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if time.Since(r.told) > time.Minute {
			r.told = time.Now()
			r.log.Error("no certificate from the ACME authority", "domain", hello.ServerName, "error", err)
		}
	}
	return cert, err
}

// serveHTTP01 answers the authority over plain HTTP, and everybody else with the
// way to https, until the context ends.
func serveHTTP01(ctx context.Context, addr string, m *autocert.Manager) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("tls.acme.http: %w", err)
	}
	srv := &http.Server{Handler: m.HTTPHandler(nil), ReadTimeout: requestTime, WriteTimeout: requestTime, IdleTimeout: requestTime, MaxHeaderBytes: 16 << 10}
	go srv.Serve(ln)
	context.AfterFunc(ctx, func() { srv.Close() })
	return nil
}

// Certificate is the one that the server shows: of the file, or the one of a
// domain that ACME has obtained.
func (c TLSConfig) Certificate(kept *ACMECache) (*x509.Certificate, error) {
	if c.Cert == "" {
		return kept.certificate(c.ACME.Domains[0])
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, err
	}
	return pair.Leaf, nil
}
