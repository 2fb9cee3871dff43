package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/console"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cns"
	"rogito.dev/rogito/server/internal/network"
)

// IdentifyConfig is about finding out who the holder of a certificate is.
type IdentifyConfig struct {
	Signature SignatureIdentifyConfig `yaml:"signature"`
	CNS       cns.Config              `yaml:"cns"`
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
	m := &identify.Methods{Verifier: s.sig.verifier, Accept: identify.Accept(c.Signature.Accept), Address: s.cfg.PublicURL, TextPDF: console.TextPDF}
	if m.Accept == "" && s.sandboxed {
		m.Accept = identify.AcceptTrusted
	}
	if c.CNS.Listen != "" || c.CNS.Header != "" {
		card, err := cns.New(c.CNS, s.cardDeps())
		if err != nil {
			return nil, err
		}
		m.Elsewhere = append(m.Elsewhere, card)
	}
	return m, nil
}

func (s *Server) cardDeps() cns.Deps {
	d := cns.Deps{Listed: func() [][]byte { return s.sig.lists.Recognised("IT", "IdV") }}
	if !s.cfg.Network.Offline {
		d.Client = s.sig.guard.Client(10 * time.Second)
	}
	return d
}

// mountPages mounts the pages for people, with the addresses that the methods
// have.
func (s *Server) mountPages(a *api.API) {
	p := console.New(s.sig.enroll, s.cfg.PublicURL, s.sandboxed, s.spool, s.log)
	var more []string
	for method, pattern := range map[string]string{"spid": "/spid/acs", "cie": "/cie/callback"} {
		if s.sig.identify.Method(method) != nil {
			more = append(more, pattern)
		}
	}
	if s.sig.identify.Method("cns") != nil {
		p.Cards = &console.Cards{URL: s.cfg.cardURL(), Shown: s.card}
		more = append(more, "/cns/*")
	}
	api.MountPages(a, p, more...)
}

// cardURL is where people show their cards.
func (c *Config) cardURL() string {
	if c.Identify.CNS.URL == "" {
		return "https://" + c.Identify.CNS.Listen
	}
	return strings.TrimSuffix(c.Identify.CNS.URL, "/")
}

type cardKey struct{}

// serveCards opens the listener that asks for a card, and never demands one. A
// connection serves one request, and no session is taken up again: each visit
// shows the card anew.
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
