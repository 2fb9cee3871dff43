package adestest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/internal/limits"
)

// Handler serves the PKI: /tsa, /ocsp/{ca}, /crl/{ca}.crl, /ca/{ca}.cer.
func (p *PKI) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/tsa", p.Unit)
	mux.HandleFunc("GET /ca/{file}", p.serveCertificate)
	mux.HandleFunc("GET /crl/{file}", p.serveCRL)
	mux.HandleFunc("POST /ocsp/{ca}", p.serveOCSP)
	mux.HandleFunc("GET /ocsp/{ca}/{request...}", p.serveOCSP)
	return mux
}

// HTTP is a client that reaches the PKI, and nothing else, without a socket.
func (p *PKI) HTTP() *http.Client { return &http.Client{Transport: inProcess{p.Handler(), p.base}} }

type inProcess struct {
	handler http.Handler
	base    string
}

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.String(), t.base) {
		return nil, fmt.Errorf("adestest: %s is outside the PKI", r.URL.Host)
	}
	w := httptest.NewRecorder()
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = io.NopCloser(bytes.NewReader(nil))
	}
	t.handler.ServeHTTP(w, in)
	return w.Result(), nil
}

func (p *PKI) serveCertificate(w http.ResponseWriter, r *http.Request) {
	a, ok := p.cas[strings.TrimSuffix(r.PathValue("file"), ".cer")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/pkix-cert")
	_, _ = w.Write(a.Certificate.Raw)
}

func (p *PKI) serveCRL(w http.ResponseWriter, r *http.Request) {
	der, err := p.CRL(strings.TrimSuffix(r.PathValue("file"), ".crl"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/pkix-crl")
	_, _ = w.Write(der)
}

func (p *PKI) serveOCSP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/ocsp-response")
	body, err := ocspRequest(w, r)
	if err != nil {
		_, _ = w.Write(ca.Unsuccessful(1))
		return
	}
	answer, err := p.OCSP(r.PathValue("ca"), body)
	if err != nil {
		answer = ca.Unsuccessful(2)
	}
	_, _ = w.Write(answer)
}

func ocspRequest(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Method == http.MethodPost {
		return io.ReadAll(http.MaxBytesReader(w, r.Body, limits.OCSPRequest))
	}
	text, err := url.PathUnescape(r.PathValue("request"))
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(text)
}

// CRL is the current revocation list of an authority: "root", "issuing",
// "time" or "rogue".
func (p *PKI) CRL(name string) ([]byte, error) {
	a, ok := p.cas[name]
	if !ok {
		return nil, fmt.Errorf("adestest: no authority %q", name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a.number++
	now := p.Now()
	l := ca.List{Number: big.NewInt(now.Unix()*1000 + a.number), ThisUpdate: now, NextUpdate: now.Add(24 * time.Hour)}
	l.Revoked = slices.Collect(maps.Values(p.revoked))
	return a.Issuer.CRL(l)
}

// OCSP answers an encoded request to an authority's responder.
func (p *PKI) OCSP(name string, request []byte) ([]byte, error) {
	a, ok := p.cas[name]
	if !ok || a.responder.Certificate == nil {
		return nil, fmt.Errorf("adestest: no responder %q", name)
	}
	req, err := ca.ParseOCSPRequest(request)
	if err != nil {
		return ca.Unsuccessful(1), nil
	}
	now := p.Now()
	times := ca.OCSP{ThisUpdate: now, ProducedAt: now, NextUpdate: now.Add(time.Hour)}
	return a.responder.Answer(req, times, func(c ca.CertID) ca.Status { return p.status(a, c) })
}

func (p *PKI) status(a *authority, c ca.CertID) ca.Status {
	if !c.Matches(a.Certificate) {
		return ca.Status{Unknown: true}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.revoked[c.Serial.String()]
	if !ok {
		return ca.Status{}
	}
	return ca.Status{RevokedAt: r.At, Reason: r.Reason}
}
