package tsl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/report"
)

// maxPivots bounds the chain: the EU needed three in six years.
const maxPivots = 16

// candidate is a file that may be the wanted list.
type candidate struct {
	list *List
	raw  []byte
	at   time.Time // when it was fetched
}

// source provides lists: from their publishers, or from files.
type source interface {
	// lotl returns candidates for the list of lists, newest first; nothing and no error if the
	// source has none.
	lotl(ctx context.Context) ([]*candidate, error)
	// pivots of a list of lists, oldest first.
	pivots(ctx context.Context, lotl *List) ([]*candidate, error)
	// national returns candidates for the list of a pointer, newest first.
	national(ctx context.Context, p Pointer) ([]*candidate, error)
}

var (
	errMissing = errors.New("the list is not there")
	errOlder   = errors.New("tsl: older than the one held")
)

// update builds a new snapshot from a source and swaps it in. Lists that are missing from the
// source, or not trusted, keep their last good state. The caller holds s.refresh.
func (s *Set) update(ctx context.Context, src source, keep bool) error {
	old := s.current.Load()
	lotl, err := s.listOfLists(ctx, src, old, keep)
	next := &snapshot{lists: []*trustedList{lotl}}
	errs := []error{err}
	if lotl.list != nil {
		pointers := s.national(lotl.list)
		results := make([]*trustedList, len(pointers))
		var wg sync.WaitGroup
		gate := make(chan struct{}, 4)
		for i, p := range pointers {
			wg.Go(func() {
				gate <- struct{}{}
				defer func() { <-gate }()
				results[i] = s.updateNational(ctx, src, p, old, keep)
			})
		}
		wg.Wait()
		for _, h := range results {
			next.lists = append(next.lists, h)
			if h.Error != "" {
				errs = append(errs, fmt.Errorf("tsl: list of %s: %s", h.Territory, h.Error))
			}
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("tsl: %w", ctx.Err()) // partial updates are discarded
	}
	next.index()
	s.current.Store(next)
	return errors.Join(errs...)
}

// LOTLError means that the list of lists itself was unavailable or not trusted, so no other list
// can be verified.
type LOTLError struct{ Err error }

func (e *LOTLError) Error() string { return "tsl: list of lists: " + e.Err.Error() }

func (e *LOTLError) Unwrap() error { return e.Err }

// listOfLists reads the list of lists from a source; the last good one is kept if there is no
// better one.
func (s *Set) listOfLists(ctx context.Context, src source, old *snapshot, keep bool) (*trustedList, error) {
	last := old.lotl()
	found, err := src.lotl(ctx)
	if err == nil && len(found) == 0 {
		if last != nil && last.list != nil {
			return last, nil
		}
		err = errMissing
	}
	var errs []error
	if err != nil {
		errs = append(errs, err)
	}
	for _, c := range found {
		err := s.verifyLOTL(ctx, src, c, keep)
		if err == nil && last != nil && last.list != nil && c.list.OlderThan(last.list) {
			if !keep {
				return last, nil // the disk is older than memory
			}
			err = older(c.list, last.list)
		}
		if err == nil {
			if keep {
				s.writeCache(fileName(c.list.Territory), c.raw)
			}
			return newTrustedList(c, s.config.LOTL), nil
		}
		errs = append(errs, err)
	}
	err = &LOTLError{errors.Join(errs...)}
	kept := &trustedList{ListState: report.ListState{Territory: "EU", URL: s.config.LOTL}}
	if last != nil {
		*kept = *last
	}
	kept.Error = err.Error()
	return kept, err
}

// verifyLOTL trusts a list of lists if the anchors signed it, or signed the first of a chain of
// pivots, each of which names the signers of the next. The pivots that were needed are cached too.
func (s *Set) verifyLOTL(ctx context.Context, src source, c *candidate, keep bool) error {
	if err := c.list.Check(); err != nil {
		return err
	}
	if !c.list.IsLOTL() {
		return errors.New("tsl: not a list of lists")
	}
	err := c.verify(s.anchors)
	if err == nil {
		return nil
	}
	pivots, missing := src.pivots(ctx, c.list)
	signers := s.anchors
	var line []*candidate
	for _, p := range pivots {
		// Pivots from before the anchors, and those by unknown signers, are skipped.
		if next := s.named(p, signers); next != nil {
			signers, line = next, append(line, p)
		}
	}
	if err = c.verify(signers); err != nil {
		return errors.Join(err, missing)
	}
	for _, p := range line {
		if keep {
			s.writeCache(fileName(fmt.Sprintf("%s-%d", p.list.Territory, p.list.Sequence)), p.raw)
		}
	}
	return nil
}

// named returns the signers of the list of lists according to a pivot; nil if none of the known
// signers signed the pivot.
func (s *Set) named(p *candidate, signers [][]byte) [][]byte {
	if p.list.Check() != nil || !p.list.IsLOTL() || p.verify(signers) != nil {
		return nil
	}
	for _, o := range p.list.Pointers {
		if (o.URL == s.config.LOTL || o.Type == typeLOTL && o.Territory == p.list.Territory) && len(o.Certificates) > 0 {
			return o.Certificates
		}
	}
	return nil
}

// verify checks the signature and records its signer.
func (c *candidate) verify(signers [][]byte) error {
	signer, err := c.list.Verify(signers)
	if err == nil {
		c.list.signer = signer
	}
	return err
}

func older(l, held *List) error {
	return fmt.Errorf("%w: number %d of %s, held is number %d of %s", errOlder,
		l.Sequence, l.Issued.Format(time.DateOnly), held.Sequence, held.Issued.Format(time.DateOnly))
}

// national returns the pointers to use: XML lists of other territories, the first of each.
func (s *Set) national(lotl *List) []Pointer {
	var out []Pointer
	seen := map[string]bool{lotl.Territory: true}
	for _, p := range lotl.Pointers {
		wanted := len(s.config.Territories) == 0 || slices.Contains(s.config.Territories, p.Territory)
		if !wanted || seen[p.Territory] || p.Type == typeLOTL || strings.Contains(p.MediaType, "pdf") {
			continue
		}
		seen[p.Territory] = true
		out = append(out, p)
	}
	return out
}

// updateNational reads a national list and checks it against its pointer. On failure the last good
// one is kept, as long as the pointer still names its signer.
func (s *Set) updateNational(ctx context.Context, src source, p Pointer, old *snapshot, keep bool) *trustedList {
	last := old.find(p.Territory)
	found, err := src.national(ctx, p)
	if err == nil {
		err = errMissing
	}
	for _, c := range found {
		if err = s.verifyNational(c, p); err == nil && last != nil && last.list != nil && c.list.OlderThan(last.list) {
			if _, signed := last.list.Verify(p.Certificates); !keep && signed == nil {
				return last // the disk is older than memory
			}
			err = older(c.list, last.list)
		}
		if err == nil {
			if keep {
				s.writeCache(fileName(p.Territory), c.raw)
			}
			h := newTrustedList(c, p.URL)
			h.Territory = p.Territory
			return h
		}
	}
	h := &trustedList{ListState: report.ListState{Territory: p.Territory, URL: p.URL}}
	if last != nil && last.list != nil {
		if _, signed := last.list.Verify(p.Certificates); signed == nil {
			*h = *last
		}
	}
	h.Error = err.Error()
	return h
}

// verifyNational checks a national list against the pointer, which names its signers.
func (s *Set) verifyNational(c *candidate, p Pointer) error {
	if err := c.list.Check(); err != nil {
		return err
	}
	if c.list.IsLOTL() || !sameTerritory(c.list.Territory, p.Territory) {
		return fmt.Errorf("the list is for %s", c.list.Territory)
	}
	return c.verify(p.Certificates)
}

// sameTerritory compares territories: the Commission uses EL for Greece and UK for the United
// Kingdom, ISO uses GR and GB.
func sameTerritory(a, b string) bool {
	norm := strings.NewReplacer("GR", "EL", "GB", "UK")
	return norm.Replace(a) == norm.Replace(b)
}

// newTrustedList makes the state of a trusted list. It drops the XML, which is most of its size.
func newTrustedList(c *candidate, url string) *trustedList {
	l := c.list
	l.doc = nil
	h := &trustedList{list: l, ListState: report.ListState{
		Territory: l.Territory, URL: url, Sequence: l.Sequence, Issued: l.Issued, NextUpdate: l.NextUpdate, FetchedAt: c.at, Verified: true,
	}}
	for _, p := range l.Providers {
		h.Services += len(p.Services)
	}
	return h
}
