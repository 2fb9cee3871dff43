package tsl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/report"
)

// maxPivots bounds the walk: the EU needed three in six years.
const maxPivots = 16

var errNoAnchors = errors.New("tsl: no certificate of the Official Journal is configured, so no list can be believed")

// lotl gets the list of lists and believes it if the configured certificates
// signed it, or signed the first of a line of pivots of which each names the
// signers of the next.
func (s *Set) lotl(ctx context.Context, get source, old *snapshot) (*held, error) {
	h, err := s.freshLOTL(ctx, get)
	if err == nil {
		return h, nil
	}
	kept := old.find(s.config.LOTL)
	if kept == nil {
		kept = &held{ListState: report.ListState{Territory: "EU", URL: s.config.LOTL}}
	} else {
		copied := *kept
		kept = &copied
	}
	kept.Error = err.Error()
	return kept, err
}

func (s *Set) freshLOTL(ctx context.Context, get source) (*held, error) {
	if len(s.anchors) == 0 {
		return nil, errNoAnchors
	}
	b, at, err := get(ctx, s.config.LOTL)
	if err != nil {
		return nil, err
	}
	l, err := Parse(b)
	if err != nil {
		return nil, err
	}
	if err := l.Check(); err != nil {
		return nil, err
	}
	if !l.IsLOTL() {
		return nil, errors.New("tsl: not a list of lists")
	}
	signers, err := s.signers(ctx, get, l)
	if err != nil {
		return nil, err
	}
	if _, err := l.Verify(signers); err != nil {
		return nil, err
	}
	s.keep(s.config.LOTL, b)
	return hold(l, s.config.LOTL, at), nil
}

// signers walks the pivots from the oldest, which the configured certificates
// must have signed, to the newest. The list names the newest first and ends
// with the Official Journal.
func (s *Set) signers(ctx context.Context, get source, l *List) ([]*pkix.Certificate, error) {
	if _, err := l.Verify(s.anchors); err == nil {
		return s.anchors, nil
	}
	var pivots []string
	for _, u := range l.URIs {
		if strings.HasSuffix(strings.ToLower(u), ".xml") && u != s.config.LOTL && !slices.Contains(pivots, u) {
			pivots = append(pivots, u)
		}
	}
	if len(pivots) > maxPivots {
		return nil, fmt.Errorf("tsl: %d pivots are too many", len(pivots))
	}
	slices.Reverse(pivots)
	current := s.anchors
	for _, url := range pivots {
		b, _, err := get(ctx, url)
		if err != nil {
			return nil, fmt.Errorf("tsl: pivot %s: %w", url, err)
		}
		next, err := s.pivot(b, current)
		if err != nil {
			// Pivots from before the configured certificates are no use and no harm.
			if len(current) > 0 && sameCertificates(current, s.anchors) {
				continue
			}
			return nil, fmt.Errorf("tsl: pivot %s: %w", url, err)
		}
		s.keep(url, b)
		current = next
	}
	return current, nil
}

// pivot believes a pivot and returns the signers that it names for the list
// of lists.
func (s *Set) pivot(b []byte, signers []*pkix.Certificate) ([]*pkix.Certificate, error) {
	l, err := verified(b, signers)
	if err != nil {
		return nil, err
	}
	for _, p := range l.Pointers {
		if p.URL == s.config.LOTL || (p.Type == typeLOTL && p.Territory == l.Territory) {
			if len(p.Certificates) > 0 {
				return p.Certificates, nil
			}
		}
	}
	return nil, errors.New("it names no signer of the list of lists")
}

func sameCertificates(a, b []*pkix.Certificate) bool {
	return slices.EqualFunc(a, b, func(x, y *pkix.Certificate) bool { return x.Equal(y) })
}
