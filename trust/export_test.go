package trust

import (
	"context"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
)

// What the conformance tests ask for.
type Rules = rules

var Validate = validate

// AllPaths lists the anchored paths of a leaf.
func (s *Store) AllPaths(leaf []byte, ev []ades.Evidence) [][]*pkix.Certificate {
	pool := newPool(newWork(context.Background()))
	for _, e := range ev {
		if c, err := s.certificate(e.Raw); err == nil && e.Kind == ades.EvidenceCertificate {
			pool.add(c)
		}
	}
	c, err := s.certificate(leaf)
	if err != nil {
		return nil
	}
	var out [][]*pkix.Certificate
	for _, f := range s.build(c, pool) {
		if f.anchor != nil {
			out = append(out, f.certs)
		}
	}
	return out
}
