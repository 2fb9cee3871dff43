// Package fetch is the only way by which the service and the commands reach addresses from
// untrusted input: remote documents, callbacks, time-stamp authorities, images, and the revocation
// data that certificates point to.
//
// The guard checks the address that is dialled, after the look-up and for every connection, so DNS
// rebinding has no effect. What can be rejected without a look-up is rejected before. Redirects are
// not followed.
package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// Config of the guard. The zero value allows no private addresses.
type Config struct {
	// AllowPrivate lists private destinations that the operator allows: HOST or HOST:PORT, a name
	// or an address.
	AllowPrivate []string
	// Teach is advice about --allow-private in a refusal, for callers who are the operator: in a
	// sandbox, and at the command line. Empty for none.
	Teach string
}

// Refused means that an address may not be reached. Its text may be shown to the caller: it
// contains nothing that the caller did not write.
type Refused struct {
	Why     string
	private bool // the operator could list it
}

func (r *Refused) Error() string { return r.Why }

func refuse(format string, args ...any) error {
	return &Refused{Why: fmt.Sprintf(format, args...)}
}

// Guard allows public addresses, and those listed by the operator.
type Guard struct {
	allowed  []endpoint
	own      []ownSite
	guardian *ssrf.Guardian
	resolver *net.Resolver
	teach    string
	// dialled, set by tests, is called with an address that passed the guard instead of dialling
	// it.
	dialled func(network, address string) error
}

type endpoint struct {
	host string
	port string // empty: any
}

type ownSite struct {
	base    *url.URL
	paths   []string
	handler http.Handler
}

// New returns a guard, or an error if an entry of the configuration is invalid.
func New(c Config) (*Guard, error) {
	g := &Guard{teach: c.Teach, guardian: ssrf.New(ssrf.WithAnyPort(), ssrf.WithNetworks("tcp4", "tcp6"))}
	for _, entry := range c.AllowPrivate {
		e, err := parseEndpoint(strings.TrimSpace(entry))
		if err != nil {
			return nil, fmt.Errorf("network.allow_private: %w", err)
		}
		g.allowed = append(g.allowed, e)
	}
	return g, nil
}

func parseEndpoint(entry string) (endpoint, error) {
	host, port := entry, ""
	if h, p, err := net.SplitHostPort(entry); err == nil {
		host, port = h, p
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "" || strings.ContainsAny(host, "/@ ") || strings.Trim(port, "0123456789") != "" {
		return endpoint{}, fmt.Errorf("%q is not HOST or HOST:PORT", entry)
	}
	return endpoint{host: normalHost(host), port: port}, nil
}

// Answer makes a handler serve requests below one of the paths of a base address in process,
// without dialling: the server's own /pki and /tsa.
func (g *Guard) Answer(base *url.URL, h http.Handler, paths ...string) {
	g.own = append(g.own, ownSite{base: base, paths: paths, handler: h})
}

func (g *Guard) listed(host, port string) bool {
	host = normalHost(host)
	return slices.ContainsFunc(g.allowed, func(e endpoint) bool { return e.host == host && (e.port == "" || e.port == port) })
}

// Named reports whether the operator listed an address by name, or it is the server's own: plain
// http is acceptable there.
func (g *Guard) Named(u *url.URL) bool {
	return g.ownSiteOf(u) != nil || g.listed(u.Hostname(), portOf(u))
}

// Check rejects what can be judged without a look-up: the scheme, user information, and a host that
// is an address or localhost. It returns *Refused, or nil.
func (g *Guard) Check(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return refuse("the address cannot be read")
	}
	return g.CheckURL(u)
}

// CheckURL is Check for a parsed address.
func (g *Guard) CheckURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return refuse("the address is not http or https")
	}
	if u.Opaque != "" || u.Hostname() == "" {
		return refuse("the address has no host")
	}
	if u.User != nil {
		return refuse("the address carries a user name")
	}
	if g.Named(u) {
		return nil
	}
	err := g.checkHost(u.Hostname())
	if no := (*Refused)(nil); g.teach != "" && errors.As(err, &no) && no.private {
		return refuse("%s; to let it be reached, %s --allow-private %s", no.Why, g.teach, net.JoinHostPort(u.Hostname(), portOf(u)))
	}
	return err
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

func (g *Guard) ownSiteOf(u *url.URL) http.Handler {
	for _, s := range g.own {
		if u.Scheme != s.base.Scheme || !strings.EqualFold(u.Hostname(), s.base.Hostname()) || portOf(u) != portOf(s.base) {
			continue
		}
		rest, ok := strings.CutPrefix(u.Path, strings.TrimSuffix(s.base.Path, "/"))
		for _, p := range s.paths {
			if ok && (rest == p || strings.HasPrefix(rest, strings.TrimSuffix(p, "/")+"/")) {
				return s.handler
			}
		}
	}
	return nil
}

// DialContext connects to an address that passes the guard. It is for http.Transport.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Resolver: g.resolver}
	listed := g.listed(host, port)
	d.Control = func(network, address string, c syscall.RawConn) error {
		if !listed {
			if err := g.judge(network, address, c); err != nil {
				return err
			}
		}
		if g.dialled != nil {
			return g.dialled(network, address)
		}
		return nil
	}
	conn, err := d.DialContext(ctx, network, address)
	if no, ok := errors.AsType[*Refused](err); ok {
		return nil, no
	}
	return conn, err
}

func (g *Guard) judge(network, address string, c syscall.RawConn) error {
	if err := g.guardian.Safe(network, address, c); err != nil {
		return refuse("the host has an address that may not be reached")
	}
	ap, err := parseAddrPort(address)
	if err != nil || embedsSpecial(g.guardian, ap) {
		return refuse("the host has an address that may not be reached")
	}
	return nil
}

// Client returns an HTTP client restricted by the guard: no proxy, no redirects, no transparent
// decompression, and a limit on the whole exchange.
func (g *Guard) Client(timeout time.Duration) *http.Client { return g.ClientTLS(timeout, nil) }

// ClientTLS is Client with a TLS configuration, for a server whose certificate is from a private
// authority.
func (g *Guard) ClientTLS(timeout time.Duration, c *tls.Config) *http.Client {
	t := &http.Transport{
		TLSClientConfig:        c,
		DialContext:            g.DialContext,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	return &http.Client{
		Transport:     &guarded{g, t},
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type guarded struct {
	g    *Guard
	next http.RoundTripper
}

func (t *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.g.CheckURL(r.URL); err != nil {
		return nil, err
	}
	if h := t.g.ownSiteOf(r.URL); h != nil {
		return serveInProcess(h, r)
	}
	return t.next.RoundTrip(r)
}

// OwnOnly returns a client that only reaches this server itself, in process: for operators who
// forbid every fetch.
func (g *Guard) OwnOnly(timeout time.Duration) *http.Client {
	c := g.Client(timeout)
	c.Transport = ownOnly{g}
	return c
}

type ownOnly struct{ g *Guard }

func (t ownOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if h := t.g.ownSiteOf(r.URL); h != nil {
		return serveInProcess(h, r)
	}
	return nil, refuse("the operator forbids fetching")
}
