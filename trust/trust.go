// Package trust builds and validates certification paths (RFC 5280) towards
// the operator's anchors and those of EU trusted lists, and finds revocation
// data for them (RFC 6960, RFC 5280 section 5): in the documents, in a cache,
// and, where allowed, on the network through an http.Client that the caller
// guards.
//
// It gathers facts and gives no verdict: whether a certificate was good at a
// time is for package policy to say. [Store] is what most callers want;
// [Gatherer] serves the creation of LT levels.
package trust

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"rogito.dev/rogito/internal/memo"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/report"
)

// Listed answers for trusted lists. *tsl.Set implements it.
type Listed interface {
	// Services returns the services that a certificate (DER) identifies, as
	// seen from the leaf that is to be judged.
	Services(anchor, leaf []byte) []*report.Service
	// Find returns the identities (DER) of services with that subject, the DER
	// of a Name, usable as anchors.
	Find(subject []byte) [][]byte
	// State of every list.
	State() []report.ListState
}

// Store is a set of anchors with what is needed to reach them. Its zero value
// trusts nobody and fetches nothing.
type Store struct {
	// Lists are trusted lists; nil means none.
	Lists Listed
	// Client fetches revocation data and issuers; nil forbids every fetch. The
	// caller guards it: addresses in certificates are chosen by strangers.
	Client *http.Client
	// Offline tells reports that fetching is forbidden although there is a client
	// (one that reaches the server's own addresses only).
	Offline bool
	// FetchTimeout bounds one fetch; zero means 10 seconds.
	FetchTimeout time.Duration
	// Cache keeps what was fetched; nil means a cache in memory of the store's own.
	Cache *Cache

	mu      sync.RWMutex
	anchors map[string]*pkix.Certificate
	checked memo.Memo[string, bool]               // signatures by a certificate's key
	crls    memo.Memo[string, *pkix.CRL]          // nil: it cannot be read
	ocsps   memo.Memo[string, *pkix.OCSPResponse] // nil: it cannot be read
	facts   memo.Memo[string, *report.Certificate]
	names   map[string][]*pkix.Certificate // anchors by subject
	own     Cache
	listed  memo.Memo[string, listedEntry] // what stored lists say of certificates
	flight  singleflight.Group
}

// ErrNoCertificate says that a file of anchors holds no certificate.
var ErrNoCertificate = errors.New("trust: no certificate found")

// AddAnchor trusts a certificate (DER): a root, an issuer, or a signer's own.
func (s *Store) AddAnchor(der []byte) error {
	c, err := pkix.ParseCertificate(der)
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anchors == nil {
		s.anchors, s.names = map[string]*pkix.Certificate{}, map[string][]*pkix.Certificate{}
	}
	if s.anchors[c.ID()] == nil {
		s.anchors[c.ID()] = c
		s.names[c.SubjectKey()] = append(s.names[c.SubjectKey()], c)
	}
	return nil
}

// AddAnchors trusts every certificate of a file, PEM or DER.
func (s *Store) AddAnchors(file []byte) error {
	ders := Certificates(file)
	if len(ders) == 0 {
		return ErrNoCertificate
	}
	for _, der := range ders {
		if err := s.AddAnchor(der); err != nil {
			return err
		}
	}
	return nil
}

// Certificates takes the certificates out of a PEM file, or the one of a DER
// file.
func Certificates(file []byte) [][]byte {
	var out [][]byte
	for rest := file; ; {
		var b *pem.Block
		b, rest = pem.Decode(rest)
		if b == nil {
			break
		}
		if b.Type == "CERTIFICATE" || b.Type == "TRUSTED CERTIFICATE" || b.Type == "X509 CERTIFICATE" {
			out = append(out, b.Bytes)
		}
	}
	if len(out) == 0 {
		if c, err := pkix.ParseCertificate(file); err == nil {
			out = append(out, c.Raw)
		}
	}
	return out
}

// Signers are those of the operator's anchors that are no authorities, DER, at
// most so many: each may be the certificate of a signer who left it out.
func (s *Store) Signers(most int) [][]byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out [][]byte
	for _, c := range s.anchors {
		if len(out) < most && notAuthority(c) != "" {
			out = append(out, c.Raw)
		}
	}
	return out
}

// State of the store, for the facts and for readiness checks.
func (s *Store) State() report.TrustState {
	s.mu.RLock()
	st := report.TrustState{OperatorAnchors: len(s.anchors), Offline: s.Offline || s.Client == nil}
	s.mu.RUnlock()
	if s.Lists != nil {
		st.Lists = s.Lists.State()
	}
	return st
}

// anchor says why a certificate is trusted; nil when it is not.
func (s *Store) anchor(c, leaf *pkix.Certificate) *report.Anchor {
	s.mu.RLock()
	_, own := s.anchors[c.ID()]
	s.mu.RUnlock()
	a := &report.Anchor{Certificate: c.ID(), Source: report.FromOperator, Operator: own}
	if s.Lists != nil {
		if a.Services = s.Lists.Services(c.Raw, leaf.Raw); len(a.Services) > 0 {
			a.Source = report.FromTrustedList
			return a
		}
	}
	if own {
		return a
	}
	return nil
}

// find returns the anchors with a subject: its canonical form, and its DER.
func (s *Store) find(subjectKey string, subject []byte) []*pkix.Certificate {
	s.mu.RLock()
	out := s.names[subjectKey]
	s.mu.RUnlock()
	if s.Lists != nil {
		out = out[:len(out):len(out)]
		for _, der := range s.Lists.Find(subject) {
			if c, err := pkix.ParseCertificate(der); err == nil {
				out = append(out, c)
			}
		}
	}
	return out
}

// signed reports whether issuer's key made child's signature.
func (s *Store) signed(child, issuer *pkix.Certificate, w *work) bool {
	return s.check(child.ID()+issuer.ID(), w, issuer, func() bool { return child.CheckSignatureFrom(issuer) == nil })
}

// selfSigned reports whether a certificate's own key made its signature.
func (s *Store) selfSigned(c *pkix.Certificate, w *work) bool {
	return c.SelfIssued() && s.signed(c, c, w)
}

// check remembers the results of signature checks by a certificate's key. What
// there is no more work left for is not signed, and not remembered.
func (s *Store) check(key string, w *work, by *pkix.Certificate, do func() bool) bool {
	if ok, known := s.checked.Get(key); known {
		return ok
	}
	if !w.check(by.PublicKey) {
		return false
	}
	ok := do()
	s.checked.Put(key, ok, 0)
	return ok
}
