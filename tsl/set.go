package tsl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/report"
)

// EULOTL is where the Commission publishes the list of lists.
const EULOTL = "https://ec.europa.eu/tools/lotl/eu-lotl.xml"

// Config says which lists to keep and whom to believe.
type Config struct {
	// LOTL is the address of the list of lists; empty means EULOTL.
	LOTL string
	// Anchors are the certificates (DER) that the Official Journal names as
	// signers of the list of lists. Without any, no list is trusted.
	Anchors [][]byte
	// Client fetches; nil means that only what is cached is used.
	Client *http.Client
	// Dir is where lists are kept between runs; empty means nowhere.
	Dir string
	// Grace is how long a list is good after its NextUpdate; zero means not.
	Grace time.Duration
	// Territories to keep; empty means all.
	Territories []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Set keeps the lists of a scheme. It answers from memory; Load and Refresh
// fill it, and never on anybody's request. It implements trust.Listed.
type Set struct {
	config  Config
	anchors []*pkix.Certificate
	refresh sync.Mutex
	current atomic.Pointer[snapshot]
}

// snapshot is what is known at one moment.
type snapshot struct {
	lists     []*held
	bySubject map[string][]*identity
	byID      map[string][]*identity
}

// held is one list with its state.
type held struct {
	report.ListState
	list *List
}

// identity is a service seen from one of its certificates.
type identity struct {
	cert     *pkix.Certificate
	service  *Service
	provider string
	list     *List
}

// NewSet returns a set without lists: nobody is trusted until Load or Refresh.
func NewSet(c Config) (*Set, error) {
	if c.LOTL == "" {
		c.LOTL = EULOTL
	}
	s := &Set{config: c}
	for _, der := range c.Anchors {
		cert, err := pkix.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("tsl: anchor: %w", err)
		}
		s.anchors = append(s.anchors, cert)
	}
	s.current.Store(new(snapshot))
	return s, nil
}

func (s *Set) now() time.Time {
	if s.config.Now != nil {
		return s.config.Now()
	}
	return time.Now()
}

// Load takes what is cached on disk, without the network. Lists are verified
// like fresh ones.
func (s *Set) Load(ctx context.Context) error { return s.update(ctx, s.cachedFile) }

// Refresh fetches every list. One that fails keeps its last good state; the
// error says which did.
func (s *Set) Refresh(ctx context.Context) error {
	if s.config.Client == nil {
		return errors.New("tsl: no network allowed")
	}
	return s.update(ctx, s.fetch)
}

// Run refreshes until the context ends, at once and then ever again. Failures
// show in State.
func (s *Set) Run(ctx context.Context, every time.Duration) {
	_ = s.Load(ctx)
	for soon := firstRetry; ; {
		pause := every
		if s.config.Client != nil && s.Refresh(ctx) != nil {
			pause = min(every, soon)
			soon = 2 * pause // never far beyond every
		} else {
			soon = firstRetry
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// firstRetry is the pause after a refresh that failed, doubled each time up to
// that between two that did not.
const firstRetry = time.Minute

// source gives the bytes of a list and when they were fetched.
type source func(ctx context.Context, url string) ([]byte, time.Time, error)

// update builds a new snapshot and swaps it in whole.
func (s *Set) update(ctx context.Context, get source) error {
	s.refresh.Lock()
	defer s.refresh.Unlock()
	old := s.current.Load()
	lotl, err := s.lotl(ctx, get, old)
	next := &snapshot{lists: []*held{lotl}}
	errs := []error{err}
	if lotl.list != nil {
		pointers := s.national(lotl.list)
		results := make([]*held, len(pointers))
		var wg sync.WaitGroup
		gate := make(chan struct{}, 4)
		for i, p := range pointers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				gate <- struct{}{}
				defer func() { <-gate }()
				results[i] = s.one(ctx, get, p, old)
			}()
		}
		wg.Wait()
		for _, h := range results {
			next.lists = append(next.lists, h)
			if h.Error != "" {
				errs = append(errs, fmt.Errorf("tsl: list of %s: %s", h.Territory, h.Error))
			}
		}
	}
	next.index()
	s.current.Store(next)
	return errors.Join(errs...)
}

// national lists the pointers to keep: XML lists of other territories, the
// first of each.
func (s *Set) national(lotl *List) []Pointer {
	var out []Pointer
	seen := map[string]bool{lotl.Territory: true}
	for _, p := range lotl.Pointers {
		wanted := len(s.config.Territories) == 0 || slices.Contains(s.config.Territories, p.Territory)
		if !wanted || seen[p.Territory] || p.Type == typeLOTL || strings.Contains(p.MimeType, "pdf") {
			continue
		}
		seen[p.Territory] = true
		out = append(out, p)
	}
	return out
}

// one gets a national list and checks it against its pointer. On failure the
// last good one stays.
func (s *Set) one(ctx context.Context, get source, p Pointer, old *snapshot) *held {
	b, at, err := get(ctx, p.URL)
	var l *List
	if err == nil {
		l, err = verified(b, p.Certificates)
	}
	if err == nil && !sameTerritory(l.Territory, p.Territory) {
		err = fmt.Errorf("the list is for %s", l.Territory)
	}
	if err == nil {
		s.keep(p.URL, b)
		return hold(l, p.URL, at)
	}
	h := old.find(p.URL)
	if h == nil || !signedBy(h.list, p.Certificates) {
		h = &held{ListState: report.ListState{Territory: p.Territory, URL: p.URL}}
	} else {
		copied := *h
		h = &copied
	}
	h.Error = err.Error()
	return h
}

func signedBy(l *List, certs []*pkix.Certificate) bool {
	if l == nil {
		return false
	}
	_, err := l.Verify(certs)
	return err == nil
}

// sameTerritory knows that Greece is EL to the Commission and GR to ISO, and
// the United Kingdom UK and GB.
func sameTerritory(a, b string) bool {
	norm := strings.NewReplacer("GR", "EL", "GB", "UK")
	return norm.Replace(a) == norm.Replace(b)
}

func verified(b []byte, signers []*pkix.Certificate) (*List, error) {
	l, err := Parse(b)
	if err != nil {
		return nil, err
	}
	if err := l.Check(); err != nil {
		return nil, err
	}
	if _, err := l.Verify(signers); err != nil {
		return nil, err
	}
	return l, nil
}

func hold(l *List, url string, at time.Time) *held {
	h := &held{list: l, ListState: report.ListState{
		Territory: l.Territory, URL: url, Sequence: l.Sequence, Issued: l.Issued, NextUpdate: l.NextUpdate, FetchedAt: at,
	}}
	for _, p := range l.Providers {
		h.Services += len(p.Services)
	}
	return h
}

func (n *snapshot) find(url string) *held {
	for _, h := range n.lists {
		if h.URL == url {
			return h
		}
	}
	return nil
}

// anchorTypes are the services whose identities may end a path.
var anchorTypes = []string{"CA/", "TSA", "Certstatus/", "NationalRootCA-QC"}

func (n *snapshot) index() {
	n.bySubject, n.byID = map[string][]*identity{}, map[string][]*identity{}
	for _, h := range n.lists {
		if h.list == nil {
			continue
		}
		for _, p := range h.list.Providers {
			for i := range p.Services {
				n.enter(&p.Services[i], p.Name, h.list)
			}
		}
	}
}

func (n *snapshot) enter(s *Service, provider string, l *List) {
	if !slices.ContainsFunc(anchorTypes, func(t string) bool { return strings.HasPrefix(s.Type, t) }) {
		return
	}
	for _, c := range s.Identities {
		i := &identity{c, s, provider, l}
		n.bySubject[c.SubjectKey()] = append(n.bySubject[c.SubjectKey()], i)
		n.byID[c.ID()] = append(n.byID[c.ID()], i)
	}
}

// Find returns the identities of services with a subject.
func (s *Set) Find(subjectKey string) []*pkix.Certificate {
	var out []*pkix.Certificate
	for _, i := range s.current.Load().bySubject[subjectKey] {
		if !slices.ContainsFunc(out, i.cert.Equal) {
			out = append(out, i.cert)
		}
	}
	return out
}

// Services returns the services that a certificate identifies: it, or another
// of the same name and key. Qualifiers are those that hold for the leaf.
func (s *Set) Services(anchor, leaf *pkix.Certificate) []*report.Service {
	n := s.current.Load()
	ids := n.byID[anchor.ID()]
	if ids == nil {
		for _, i := range n.bySubject[anchor.SubjectKey()] {
			if bytes.Equal(i.cert.RawSPKI, anchor.RawSPKI) {
				ids = append(ids, i)
			}
		}
	}
	var out []*report.Service
	for _, i := range ids {
		out = append(out, s.facts(i, leaf))
	}
	return out
}

func (s *Set) facts(i *identity, leaf *pkix.Certificate) *report.Service {
	f := &report.Service{
		Territory: i.list.Territory, Provider: i.provider, Name: i.service.Name, Type: i.service.Type,
		ListStale: s.stale(i.list), ListIssue: i.list.Issued, ListNext: i.list.NextUpdate,
	}
	if !i.list.NextUpdate.IsZero() {
		f.ListUntil = i.list.NextUpdate.Add(s.config.Grace)
	}
	for _, inst := range append([]Instance{i.service.Instance}, i.service.History...) {
		f.Periods = append(f.Periods, report.Period{
			From: inst.From, Status: inst.Status, Uses: inst.Uses, Qualifiers: inst.qualifiers(leaf),
		})
	}
	return f
}

func (s *Set) stale(l *List) bool {
	return l.NextUpdate.IsZero() || s.now().After(l.NextUpdate.Add(s.config.Grace))
}

// State of every list, the list of lists first.
func (s *Set) State() []report.ListState {
	var out []report.ListState
	for _, h := range s.current.Load().lists {
		st := h.ListState
		st.Usable = h.list != nil && !s.stale(h.list)
		out = append(out, st)
	}
	return out
}
