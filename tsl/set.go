package tsl

import (
	"bytes"
	"cmp"
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

// Config says which lists to use and whom to trust.
type Config struct {
	// LOTL is the address of the list of lists; empty means EULOTL.
	LOTL string
	// Anchors are the certificates (DER) that sign the list of lists; nil means
	// OfficialJournal.
	Anchors [][]byte
	// Client fetches; nil means that only cached lists are used.
	Client *http.Client
	// Dir caches lists between runs; empty means no cache.
	Dir string
	// Grace is how long a list is usable after its NextUpdate; zero means not at all.
	Grace time.Duration
	// Territories to use; empty means all.
	Territories []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Set has the lists of a scheme. It answers from memory; only Load, Refresh and Import read lists,
// never a query. It implements trust.Listed.
type Set struct {
	config  Config
	anchors [][]byte
	refresh sync.Mutex // held while building a snapshot
	loaded  string     // state of the folder when it was last read
	current atomic.Pointer[snapshot]
}

// snapshot is an immutable state of all lists.
type snapshot struct {
	lists     []*trustedList
	bySubject map[string][]*identity
	byID      map[string][]*identity
}

// trustedList is one list with its state.
type trustedList struct {
	report.ListState
	list *List
}

// identity is a service with one of its certificates.
type identity struct {
	cert     *pkix.Certificate
	service  *Service
	provider string
	list     *List
}

// NewSet returns a set without lists: no one is trusted until Load or Refresh.
func NewSet(c Config) (*Set, error) {
	c.LOTL = cmp.Or(c.LOTL, EULOTL)
	if c.Anchors == nil {
		c.Anchors = OfficialJournal()
	}
	s := &Set{config: c, anchors: c.Anchors}
	for _, der := range c.Anchors {
		if _, err := pkix.ParseCertificate(der); err != nil {
			return nil, fmt.Errorf("tsl: anchor: %w", err)
		}
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

// Refresh fetches every list. A list that fails keeps its last good state, and so does one for
// which an older issue was fetched; the error names those that failed. It is a *LOTLError if the
// list of lists failed.
func (s *Set) Refresh(ctx context.Context) error {
	if s.config.Client == nil {
		return errors.New("tsl: no network allowed")
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	s.refresh.Lock()
	defer s.refresh.Unlock()
	s.reload(ctx)
	err := s.update(ctx, published{s}, true)
	s.loaded = s.folder()
	return err
}

// Run keeps the lists current until the context ends: it loads them from disk at once, fetches them
// when the oldest is that old, and loads them again when another process has changed the cache.
// Failures show in State.
func (s *Set) Run(ctx context.Context, every time.Duration) {
	_ = s.Load(ctx)
	retry := firstRetry
	due := time.NewTimer(s.wait(every))
	defer due.Stop()
	var changed <-chan time.Time
	if s.config.Dir != "" {
		watch := time.NewTicker(watchFolder)
		defer watch.Stop()
		changed = watch.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			s.refresh.Lock()
			s.reload(ctx)
			s.refresh.Unlock()
		case <-due.C:
			pause := every
			if s.config.Client != nil && s.Refresh(ctx) != nil {
				pause = min(every, retry)
				retry = 2 * pause // at most about every
			} else {
				retry = firstRetry
			}
			due.Reset(pause)
		}
	}
}

// wait is the time until the oldest list has to be fetched again.
func (s *Set) wait(every time.Duration) time.Duration {
	oldest := s.now()
	lists := s.current.Load().lists
	for _, h := range lists {
		if h.FetchedAt.Before(oldest) {
			oldest = h.FetchedAt
		}
	}
	if len(lists) == 0 {
		return 0
	}
	return max(0, every-s.now().Sub(oldest))
}

const (
	// firstRetry is the pause after a failed refresh, doubled each time up to the regular interval.
	firstRetry = time.Minute
	// watchFolder is how often the cache is checked for changes.
	watchFolder = 5 * time.Second
)

// Loaded reports whether there is a list of lists.
func (s *Set) Loaded() bool {
	h := s.current.Load().lotl()
	return h != nil && h.list != nil
}

// lotl is the list of lists; nil if none was looked for.
func (n *snapshot) lotl() *trustedList {
	if len(n.lists) == 0 {
		return nil
	}
	return n.lists[0]
}

// find returns the list of a territory.
func (n *snapshot) find(territory string) *trustedList {
	for _, h := range n.lists[min(1, len(n.lists)):] {
		if h.Territory == territory {
			return h
		}
	}
	return nil
}

// anchorTypes are the services whose certificates may be anchors.
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
	for _, der := range s.Identities {
		c, err := pkix.ParseCertificate(der)
		if err != nil {
			continue
		}
		i := &identity{c, s, provider, l}
		n.bySubject[c.SubjectKey()] = append(n.bySubject[c.SubjectKey()], i)
		n.byID[c.ID()] = append(n.byID[c.ID()], i)
	}
}

// Find returns the certificates (DER) of services with a subject, given as a DER Name.
func (s *Set) Find(subject []byte) [][]byte {
	bySubject := s.current.Load().bySubject
	if len(bySubject) == 0 { // no lists, or not loaded yet: parsing the name was 5 % of a verification
		return nil
	}
	name, err := pkix.ParseName(subject)
	if err != nil {
		return nil
	}
	var out [][]byte
	seen := map[string]bool{}
	for _, i := range bySubject[name.Canonical()] {
		if !seen[i.cert.ID()] {
			seen[i.cert.ID()] = true
			out = append(out, i.cert.Raw)
		}
	}
	return out
}

// Services returns the services of a certificate (DER), or of another with the same name and key.
// Qualifiers are those that apply to the leaf.
func (s *Set) Services(anchor, leaf []byte) []*report.Service {
	n := s.current.Load()
	if len(n.bySubject) == 0 { // as in Find
		return nil
	}
	a, err := pkix.ParseCertificate(anchor)
	if err != nil {
		return nil
	}
	ids := n.byID[a.ID()]
	if ids == nil {
		for _, i := range n.bySubject[a.SubjectKey()] {
			if bytes.Equal(i.cert.RawSPKI, a.RawSPKI) {
				ids = append(ids, i)
			}
		}
	}
	if ids == nil { // true of most certificates of a path
		return nil
	}
	l, err := pkix.ParseCertificate(leaf)
	if err != nil {
		return nil
	}
	var out []*report.Service
	for _, i := range ids {
		out = append(out, s.facts(i, l))
	}
	return out
}

func (s *Set) facts(i *identity, leaf *pkix.Certificate) *report.Service {
	f := &report.Service{
		Territory: i.list.Territory, Provider: i.provider, Name: i.service.Name, Type: i.service.Type,
		ListIssue: i.list.Issued, ListNext: i.list.NextUpdate,
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

// State of every list, the list of lists first.
func (s *Set) State() []report.ListState {
	var out []report.ListState
	for _, h := range s.current.Load().lists {
		st := h.ListState
		st.Usable = s.usable(h)
		out = append(out, st)
	}
	return out
}

func (s *Set) usable(h *trustedList) bool {
	return h.list != nil && !h.list.NextUpdate.IsZero() && !s.now().After(h.list.NextUpdate.Add(s.config.Grace))
}

// Recognised returns the certificates (DER) of the services of a type that the list of a territory
// currently recognises at national level; none if that list is not usable.
func (s *Set) Recognised(territory, serviceType string) [][]byte {
	h := s.current.Load().find(territory)
	if h == nil || !s.usable(h) {
		return nil
	}
	var out [][]byte
	for _, p := range h.list.Providers {
		for _, service := range p.Services {
			if service.Type == serviceType && service.Status == "recognisedatnationallevel" {
				out = append(out, service.Identities...)
			}
		}
	}
	return out
}
