package trust

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/report"
)

// Bounds of path building: a hostile document may carry thousands of cross-certificates.
const (
	maxDepth      = 16
	maxCandidates = 24  // issuers tried per certificate
	maxPaths      = 32  // complete paths kept per leaf
	maxSteps      = 400 // signature checks per leaf
)

// pool is the set of certificates that paths may use: those of a document, the anchors, and fetched
// ones.
type pool struct {
	bySubject map[string][]*pkix.Certificate
	byID      map[string]*pkix.Certificate
	work      *budget
}

func newPool(w *budget) *pool {
	return &pool{bySubject: map[string][]*pkix.Certificate{}, byID: map[string]*pkix.Certificate{}, work: w}
}

// add adds a certificate that is not in the pool yet.
func (p *pool) add(c *pkix.Certificate) {
	if p.byID[c.ID()] != nil {
		return
	}
	p.byID[c.ID()] = c
	p.bySubject[c.SubjectKey()] = append(p.bySubject[c.SubjectKey()], c)
}

// issuers lists possible issuers of c, those with a matching key identifier first.
func (s *Store) issuers(c *pkix.Certificate, p *pool) []*pkix.Certificate {
	out := slices.Clone(p.bySubject[c.IssuerKey()])
	for _, a := range s.find(c.IssuerKey(), c.RawIssuer) {
		if p.byID[a.ID()] == nil {
			out = append(out, a)
		}
	}
	rank := func(i *pkix.Certificate) int {
		switch {
		case len(c.AuthorityKeyID) > 0 && bytes.Equal(i.SubjectKeyID, c.AuthorityKeyID):
			return 0
		case len(c.AuthorityKeyID) == 0 || len(i.SubjectKeyID) == 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(out, func(a, b *pkix.Certificate) int { return rank(a) - rank(b) })
	return out
}

// chain is a path under construction, leaf first.
type chain []*pkix.Certificate

// builder walks from a leaf up to every anchor that it can reach.
type builder struct {
	store *Store
	pool  *pool
	leaf  *pkix.Certificate
	steps int
	done  []foundPath
	loose []chain // paths without an anchor
}

type foundPath struct {
	certs  chain
	anchor *report.Anchor
	facts  *report.Path // set by pathsOf
}

// build returns the trusted paths of a leaf, or, if there are none, those without an anchor.
func (s *Store) build(leaf *pkix.Certificate, p *pool) []foundPath {
	b := &builder{store: s, pool: p, leaf: leaf}
	b.walk(chain{leaf})
	if len(b.done) > 0 {
		return b.done
	}
	for _, c := range b.loose {
		b.done = append(b.done, foundPath{certs: c})
	}
	if len(b.done) == 0 {
		b.done = []foundPath{{certs: chain{leaf}}}
	}
	return b.done
}

func (b *builder) walk(c chain) {
	top := c[len(c)-1]
	extended := false
	if a := b.store.anchor(top, b.leaf); a != nil {
		b.done = append(b.done, foundPath{certs: slices.Clone(c), anchor: a})
		// An operator's anchor ends the path. A service of a list may have been withdrawn, or
		// listed later than the one above it, so the search goes on (TS 119 615, clause 4.4, looks
		// at every CA of the path).
		if a.Operator || top.SelfIssued() {
			return
		}
		extended = true
	}
	if len(c) >= maxDepth || len(b.done) >= maxPaths {
		return
	}
	if !b.pool.work.allow(1 + len(b.pool.bySubject[top.IssuerKey()])) {
		return
	}
	issuers := b.store.issuers(top, b.pool)
	for _, i := range issuers[:min(len(issuers), maxCandidates)] {
		if c.contains(i) || b.steps >= maxSteps {
			continue
		}
		b.steps++
		if !b.store.signed(top, i, b.pool.work) {
			continue
		}
		extended = true
		b.walk(append(slices.Clone(c), i))
	}
	if !extended && len(b.loose) < maxPaths {
		b.loose = append(b.loose, slices.Clone(c))
	}
}

// contains reports whether the chain already has a certificate with the same name and key, which
// means a loop.
func (c chain) contains(n *pkix.Certificate) bool {
	return slices.ContainsFunc(c, func(have *pkix.Certificate) bool {
		return have.ID() == n.ID() || (have.SubjectKey() == n.SubjectKey() && bytes.Equal(have.RawSPKI, n.RawSPKI))
	})
}

// size is that of its certificates, in bytes.
func (c chain) size() (n int) {
	for _, cert := range c {
		n += len(cert.Raw)
	}
	return n
}

// pathsOf finds the paths of a leaf in a pool, with their problems by RFC 5280 apart from time and
// revocation. The best come first: those to an anchor without problems, shorter before longer.
func (s *Store) pathsOf(leaf *pkix.Certificate, pool *pool) []foundPath {
	founds := s.build(leaf, pool)
	for i, f := range founds {
		if !pool.work.look(f.certs.size()) { // a path that is not validated does not count
			f = foundPath{certs: chain{leaf}}
			founds[i] = f
		}
		// A trusted list may name the anchor as an issuer of certificates.
		listed := f.anchor != nil && slices.ContainsFunc(f.anchor.Services, (*report.Service).Issues)
		founds[i].facts = &report.Path{
			Anchor:   f.anchor,
			Complete: f.anchor != nil || s.selfSigned(f.certs[len(f.certs)-1], pool.work),
			Problems: validate(f.certs, f.anchor != nil, listed, pool.work),
		}
		for _, c := range f.certs {
			founds[i].facts.Certificates = append(founds[i].facts.Certificates, c.ID())
		}
	}
	rank := func(f foundPath) int {
		switch {
		case !f.facts.Complete:
			return 2
		case f.anchor != nil && len(f.facts.Problems) > 0:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(founds, func(a, b foundPath) int {
		return cmp.Or(rank(a)-rank(b), len(a.certs)-len(b.certs))
	})
	return founds
}

// describe names a certificate in messages.
func describe(c *pkix.Certificate) string {
	if cn := c.Subject.CommonName(); cn != "" {
		return cn
	}
	if dn := c.SubjectDN(); strings.TrimSpace(dn) != "" {
		return dn
	}
	return "certificate " + c.SerialNumber.String()
}
