// Package trust builds and validates certification paths (RFC 5280) to the operator's anchors and
// those of EU trusted lists, and finds revocation data for them (RFC 6960, RFC 5280, section 5): in
// the documents, in a cache, and, if allowed, on the network through an http.Client guarded by the
// caller.
//
// It gathers facts and gives no verdict: whether a certificate was valid at a time is for package
// policy to decide. Most callers want [Store]; [Gatherer] is for creating level LT.
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

// Listed provides the contents of trusted lists. *tsl.Set implements it.
type Listed interface {
	// Services returns the services that a certificate (DER) identifies, with respect to the leaf
	// to be judged.
	Services(anchor, leaf []byte) []*report.Service
	// Find returns the service certificates (DER) with that subject (a DER Name), which can be used
	// as anchors.
	Find(subject []byte) [][]byte
	// State of every list.
	State() []report.ListState
}

// Store is a set of anchors with what is needed to reach them. Its zero value trusts no one and
// fetches nothing. Its fields are set before it is first used, and not after.
type Store struct {
	// Lists are trusted lists; nil means none.
	Lists Listed
	// Client fetches revocation data and issuers; nil forbids every fetch. The caller must guard it
	// against internal addresses: those in certificates may come from an attacker.
	Client *http.Client
	// Offline makes reports say that fetching is forbidden although there is a client (one that
	// only reaches the server's own addresses).
	Offline bool
	// FetchTimeout bounds one fetch; zero means 10 seconds.
	FetchTimeout time.Duration
	// Cache keeps fetched data; nil means a cache in the store's memory.
	Cache *Cache

	mu      sync.RWMutex
	anchors map[string]*pkix.Certificate
	checked memo.Memo[string, bool]        // signatures by a certificate's key
	parsed  memo.Memo[string, any]         // lists (*pkix.CRL) and answers (*pkix.OCSPResponse); nil: it cannot be parsed
	names   map[string][]*pkix.Certificate // anchors by subject
	own     Cache
	listed  memo.Memo[string, listedEntry] // entries of stored lists for certificates
	flight  singleflight.Group
}

// ErrNoCertificate means that a file of anchors has no certificate.
var ErrNoCertificate = errors.New("trust: no certificate found")

// AddAnchor adds a trusted certificate (DER): a root, an issuer, or a signer's own.
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

// AddAnchors adds every certificate of a file, PEM or DER, as an anchor.
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

// Certificates returns the certificates of a PEM file, or the one of a DER file.
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

// Signers returns up to most operator's anchors (DER) that are not authorities: each may be the
// certificate of a signer who did not include it.
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

// State of the store, for facts and readiness checks.
func (s *Store) State() report.TrustState {
	s.mu.RLock()
	st := report.TrustState{OperatorAnchors: len(s.anchors), Offline: s.Offline || s.Client == nil}
	s.mu.RUnlock()
	if s.Lists != nil {
		st.Lists = s.Lists.State()
	}
	return st
}

// anchor says why a certificate is trusted; nil if it is not.
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

// find returns the anchors with a subject, given in canonical form and as DER.
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

// signed reports whether issuer's key verifies child's signature.
func (s *Store) signed(child, issuer *pkix.Certificate, w *budget) bool {
	return s.check(child.ID()+issuer.ID(), w, issuer, func() bool { return child.CheckSignatureFrom(issuer) == nil })
}

// selfSigned reports whether a certificate's own key verifies its signature.
func (s *Store) selfSigned(c *pkix.Certificate, w *budget) bool {
	return c.SelfIssued() && s.signed(c, c, w)
}

// check caches the results of signature checks by a certificate's key. With no work left the result
// is false, and not cached.
func (s *Store) check(key string, w *budget, by *pkix.Certificate, do func() bool) bool {
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
