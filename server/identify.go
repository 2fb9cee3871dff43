package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cie"
	"rogito.dev/rogito/server/internal/identify/cns"
	"rogito.dev/rogito/server/internal/identify/demo"
	"rogito.dev/rogito/server/internal/identify/spid"
	"rogito.dev/rogito/server/internal/network"
	"rogito.dev/rogito/server/internal/pages/consent"
	"rogito.dev/rogito/server/internal/pages/enrol"
)

// IdentifyConfig is about finding out who the holder of a certificate is.
type IdentifyConfig struct {
	Signature SignatureIdentifyConfig `yaml:"signature"`
	SPID      spid.Config             `yaml:"spid"`
	CIE       cie.Config              `yaml:"cie"`
	CNS       cns.Config              `yaml:"cns"`
	Demo      bool                    `yaml:"demo" doc:"sandbox: made-up identity providers for SPID, CIE and CNS on this server, under /demo/; refused in production"`
}

// SignatureIdentifyConfig is about statements signed with a certificate that
// the holder has already.
type SignatureIdentifyConfig struct {
	Accept string `yaml:"accept" doc:"certificates that may sign a statement: qualified, listed (of a service on a trusted list), trusted (any that this server trusts); empty: qualified, in the sandbox trusted"`
}

// check says what of the methods cannot work.
func (c *IdentifyConfig) check() error {
	k := c.CNS
	switch {
	case (k.Cert == "") != (k.Key == ""):
		return fmt.Errorf("identify.cns.cert and identify.cns.key belong together: set both or none")
	case k.Listen != "" && k.Cert == "" && k.Header == "":
		return fmt.Errorf("identify.cns.listen needs identify.cns.cert and identify.cns.key, or identify.cns.header behind a proxy")
	case k.Listen != "" && k.Cert == "" && k.URL == "", k.Header != "" && k.URL == "":
		return fmt.Errorf("identify.cns.header needs identify.cns.url: where people reach the proxy")
	}
	return nil
}

// identifications are the ways to find out who a holder is. In the sandbox any
// certificate that the server trusts may sign a statement.
func (s *Server) identifications() (*identify.Methods, error) {
	c := s.cfg.Identify
	m := &identify.Methods{Verifier: s.sig.verifier, Accept: identify.Accept(c.Signature.Accept), Held: s.sig.keys.Uses, Address: s.cfg.PublicURL, TextPDF: enrol.TextPDF}
	if m.Accept == "" && s.sandboxed {
		m.Accept = identify.AcceptTrusted
	}
	if c.Demo {
		if err := s.startDemo(); err != nil {
			return nil, fmt.Errorf("identify.demo: %w", err)
		}
		c = s.cfg.Identify
	}
	guard := s.sig.guard
	if c.SPID.EntityID != "" {
		one, err := spid.New(c.SPID, spid.Deps{Client: guard.Client(10 * time.Second), Log: s.log, PublicURL: s.cfg.PublicURL, AllowHTTP: s.plainHTTP})
		if err != nil {
			return nil, err
		}
		m.Elsewhere = append(m.Elsewhere, one)
	}
	if c.CIE.ClientID != "" {
		plain := func(u *url.URL) bool {
			return guard.Named(u) || s.demo.CIE() && strings.HasPrefix(u.String()+"/", s.cfg.PublicURL+"/")
		}
		one, err := cie.New(c.CIE, cie.Deps{Client: guard.Client(10 * time.Second), Log: s.log, Plain: plain})
		if err != nil {
			return nil, err
		}
		m.Elsewhere = append(m.Elsewhere, one)
	}
	if issuer := s.demo.CardIssuer(); c.CNS.Listen != "" || c.CNS.Header != "" || issuer != nil {
		var more [][]byte
		if issuer != nil {
			more = append(more, issuer)
		}
		one, err := cns.New(c.CNS, cns.Deps{Client: s.sig.trust.Client, Offline: s.cfg.Network.Offline, Listed: func() [][]byte { return s.sig.lists.Recognised("IT", "IdV") }}, more...)
		if err != nil {
			return nil, err
		}
		m.Elsewhere = append(m.Elsewhere, one)
	}
	return m, nil
}

// plainHTTP says whether a host may be talked to without TLS: this machine, and
// what the operator has named.
func (s *Server) plainHTTP(host string) bool {
	u := &url.URL{Scheme: "http", Host: host}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback() || s.sig.guard.Named(u)
}

// startDemo makes identity providers for the methods that are not configured,
// and configures those with them.
func (s *Server) startDemo() error {
	if !s.sandboxed {
		return errors.New("made-up people are for a sandbox, and this is none")
	}
	dir, err := os.MkdirTemp(s.cfg.Data, "demo-") // a command beside the server has its own
	if err != nil {
		return err
	}
	s.onClose(func() { _ = os.RemoveAll(dir) })
	c := &s.cfg.Identify
	methods := demo.Methods{SPID: &c.SPID, CIE: &c.CIE, CNS: &c.CNS, Metadata: func() []byte { return s.spid().NewMetadata() }}
	if s.demo, err = demo.New(methods, s.cfg.PublicURL, dir); err != nil {
		return err
	}
	for _, own := range s.bases() {
		s.sig.guard.Answer(own, s.demo, "/demo")
	}
	return nil
}

// spid is the method, or nil.
func (s *Server) spid() *spid.SPID {
	one, _ := s.sig.identify.Method("spid").(*spid.SPID)
	return one
}

// mountPages mounts the pages for people, with the addresses that the methods
// have.
func (s *Server) mountPages(a *api.API) {
	site := s.newSite(a)
	p := enrol.New(site, s.sig.enroll, s.cfg.PublicURL, s.sandboxed, s.spool, s.log)
	p.Buyer = func(ctx context.Context, id string) string {
		buyer, _ := s.accounts.ByID(ctx, id) // a page without it serves as well
		return buyer.Email
	}
	p.KeepYears, p.Tells = int(s.cfg.Retention.Evidence/(365*24*time.Hour)), s.sandboxed || s.mail != nil
	var more []string
	for _, one := range s.sig.identify.Elsewhere {
		switch one := one.(type) {
		case *spid.SPID:
			a.Mount("/spid/metadata", http.HandlerFunc(one.ServeMetadata))
			a.Mount("/spid/slo", http.HandlerFunc(one.ServeLogout), http.MethodGet, http.MethodPost)
		case *cie.CIE:
			a.Mount("/.well-known/openid-federation", one.Handler())
			a.Mount(cie.ResolvePath, one.Handler())
		}
		more = append(more, map[string]string{"spid": "/spid/acs", "cie": "/cie/callback", "cns": "/cns/*"}[one.Name()])
	}
	if len(s.sig.providers) > 0 {
		more = append(more, "/remote/callback")
	}
	p.Cards = &enrol.Cards{URL: s.cfg.cardURL(), Shown: s.card}
	if s.demo != nil {
		s.log.Warn("made-up identity providers answer under /demo/ (identify.demo): whoever reaches this server can be anybody here")
		a.Mount("/demo/*", s.demo, http.MethodGet, http.MethodHead, http.MethodPost)
	}
	if s.demo.CardIssuer() != nil {
		p.Cards.URL = s.cfg.PublicURL + "/demo"
		s.demo.ShowCards(func(r *http.Request) (givenName, surname, fiscalCode string) {
			if c, err := s.sig.enroll.ByLink(r.Context(), r.PathValue("id"), r.PathValue("secret")); err == nil {
				givenName, surname, fiscalCode = c.Ordered().GivenName, c.Ordered().Surname, c.Ordered().FiscalCode
			} else if v, err := s.sig.people.Find(r.Context(), r.PathValue("id"), r.PathValue("secret")); err == nil {
				givenName, surname = v.Person.Name, v.Person.Surname
			}
			return givenName, surname, fiscalCode
		}, p.Show)
	}
	api.MountPages(a, p, more...)
	s.mountSigners(a, site, p)
	a.Mount("/csc/oauth2/authorize", consent.New(site, s.sig.csc, s.cfg.PublicURL+"/csc"), http.MethodGet, http.MethodHead, http.MethodPost)
	if s.cfg.Console.Enabled {
		s.mountConsole(a, site)
	}
}

// cardURL is where people show their cards.
func (c *Config) cardURL() string {
	if c.Identify.CNS.URL == "" {
		host, port, _ := net.SplitHostPort(c.Identify.CNS.Listen)
		if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
			host = "localhost"
		}
		return "https://" + net.JoinHostPort(host, port)
	}
	return strings.TrimSuffix(c.Identify.CNS.URL, "/")
}

type cardKey struct{}

// serveCards opens the listener that asks for a card, and never demands one. A
// connection serves one request, and no session is taken up again: each visit
// shows the card again.
func (s *Server) serveCards(ctx context.Context, a *api.API) (stop func(), err error) {
	k := s.cfg.Identify.CNS
	if k.Listen == "" {
		return func() {}, nil
	}
	cfg := s.cfg.network()
	cfg.Listen, cfg.TLS, cfg.AskCard = k.Listen, network.TLSConfig{Cert: k.Cert, Key: k.Key}, true
	ln, err := network.Listen(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("identify.cns.listen: %w", err)
	}
	serve := api.Peer(a.Handler())
	srv := network.NewServer(cfg, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/cns/") && !strings.HasPrefix(r.URL.Path, "/pages/") {
			http.NotFound(w, r)
			return
		}
		if r.TLS != nil {
			var shown [][]byte
			for _, c := range r.TLS.PeerCertificates {
				shown = append(shown, c.Raw)
			}
			r = r.WithContext(context.WithValue(r.Context(), cardKey{}, shown))
		}
		serve.ServeHTTP(w, r)
	}), s.log)
	srv.SetKeepAlivesEnabled(false)
	go srv.Serve(ln)
	s.log.Info("cards are asked for", "listen", ln.Addr().String(), "url", s.cfg.cardURL())
	return func() { srv.Close() }, nil
}

// card is what a browser showed: to the listener of cards, or to a proxy that
// is trusted to say so.
func (s *Server) card(r *http.Request) [][]byte {
	if h := s.cfg.Identify.CNS.Header; h != "" {
		host, _, _ := net.SplitHostPort(api.DirectFrom(r.Context()))
		if peer, err := netip.ParseAddr(host); err == nil && s.cfg.proxies().Trusts(peer.Unmap().WithZone("")) {
			if shown := cns.FromHeader(r.Header.Values(h)); shown != nil {
				return shown
			}
		}
	}
	shown, _ := r.Context().Value(cardKey{}).([][]byte)
	return shown
}
