package trust

import (
	"context"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
)

// Strict is validate with what a path for web servers is held to as well: the
// certificate profile of RFC 5280 section 4, which signers' certificates break
// often and without harm, and a bound on the intermediates.
func Strict(path []*pkix.Certificate, intermediates int) []string {
	var out []string
	problem := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, p := range validate(path, true, false, newWork(context.Background())) {
		out = append(out, p.Text)
	}
	for i, c := range path {
		conformance(c, i == 0, i == len(path)-1, problem)
		if len(c.BadExtensions) > 0 {
			problem("%s: extensions %q cannot be read or occur twice", describe(c), c.BadExtensions)
		}
		if i > 0 && i < len(path)-1 && !c.SelfIssued() {
			intermediates--
		}
	}
	if intermediates < 0 {
		problem("path is too long")
	}
	return out
}

// AllPaths lists the anchored paths of a leaf.
func (s *Store) AllPaths(leaf []byte, ev []ades.Evidence) [][]*pkix.Certificate {
	pool := newPool(newWork(context.Background()))
	for _, e := range ev {
		if c, err := pkix.ParseCertificate(e.Raw); err == nil && e.Kind == ades.EvidenceCertificate {
			pool.add(c)
		}
	}
	c, err := pkix.ParseCertificate(leaf)
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
