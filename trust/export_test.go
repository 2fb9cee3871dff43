package trust

import (
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
)

// AllPaths lists the anchored paths of a leaf.
func (s *Store) AllPaths(leaf []byte, ev []ades.Evidence) [][]*pkix.Certificate {
	pool := NewPool()
	for _, e := range ev {
		if c, err := s.certificate(e.Raw); err == nil && e.Kind == ades.EvidenceCertificate {
			pool.Add(c)
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
