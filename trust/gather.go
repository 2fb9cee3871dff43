package trust

import (
	"context"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/report"
)

// Bounds per document.
const (
	maxCertificates = 4096
	maxEvidence     = 2048
	maxFetches      = 48
	responderDepth  = 3
)

// gathering collects the facts about the certificates of one document.
type gathering struct {
	store   *Store
	ctx     context.Context
	now     time.Time
	pool    *pool
	ev      evidence
	facts   *report.Facts
	fetches int
	network bool
	since   time.Time // for answers that go into a document: how old they may be
	asked   map[string]bool
	noted   map[string]bool
	held    map[*byte]bool // evidence already read, by address, since signers share it
	ocsps   int            // responses whose certificates are in the pool
}

// Gather completes the facts of documents: paths of every signer and time-stamping unit, and
// revocation data for every certificate on them. It never fails: what is unavailable is missing
// from the facts, with a note.
func (s *Store) Gather(ctx context.Context, facts *report.Facts, now time.Time) {
	g := s.gathering(ctx, now, facts)
	var leaves []*pkix.Certificate
	for _, l := range facts.Layers {
		if l.Document != nil {
			g.collect(l.Document, &leaves)
		}
	}
	for _, leaf := range leaves {
		if ctx.Err() != nil {
			break
		}
		g.leaf(leaf, 0)
	}
	if err := ctx.Err(); err != nil {
		g.note(finding.GatheringEnded, err)
	} else if g.pool.work.over {
		g.note(finding.TooMuchEvidence)
	}
	facts.TrustState = s.State()
}

func (s *Store) gathering(ctx context.Context, now time.Time, facts *report.Facts) *gathering {
	facts.Version, facts.GatheredAt = 1, now
	facts.Certificates = map[string]*report.Certificate{}
	facts.Paths = map[string][]*report.Path{}
	facts.Revocations = map[string][]*report.Revocation{}
	return &gathering{
		store: s, ctx: ctx, now: now, pool: newPool(newWork(ctx)), facts: facts, network: s.Client != nil,
		asked: map[string]bool{}, noted: map[string]bool{}, held: map[*byte]bool{},
	}
}

func (g *gathering) note(k *finding.Kind, values ...any) {
	n := k.Problem("", values...)
	if !g.noted[n.Text] && len(g.noted) < 50 {
		g.noted[n.Text] = true
		g.facts.Notes = append(g.facts.Notes, n)
	}
}

// collect adds the certificates and evidence of a document and lists the certificates that need a
// path.
func (g *gathering) collect(d *ades.Document, leaves *[]*pkix.Certificate) {
	g.evidence(d.Evidence)
	for _, t := range d.Timestamps {
		g.signature(t.Signature, leaves)
	}
	for _, s := range d.Signatures {
		g.signature(s, leaves)
	}
}

func (g *gathering) signature(s *ades.Signature, leaves *[]*pkix.Certificate) {
	if s == nil {
		return
	}
	g.evidence(s.Evidence)
	if s.SigningCertificate != nil {
		if c := g.add(s.SigningCertificate); c != nil && !slices.ContainsFunc(*leaves, c.Equal) {
			*leaves = append(*leaves, c)
		}
	}
	for _, t := range s.Timestamps {
		g.signature(t.Signature, leaves)
	}
	for _, c := range s.CounterSignatures {
		g.signature(c, leaves)
	}
}

func (g *gathering) add(der []byte) *pkix.Certificate {
	c, err := pkix.ParseCertificate(der)
	if err != nil {
		g.note(finding.CertUnreadable, err)
		return nil
	}
	if len(g.pool.byID) < maxCertificates {
		g.pool.add(c)
	}
	return c
}

func (g *gathering) evidence(list []ades.Evidence) {
	for _, e := range list {
		if len(e.Raw) == 0 || g.held[&e.Raw[0]] {
			continue
		}
		g.held[&e.Raw[0]] = true
		if e.Kind == ades.EvidenceCertificate {
			g.add(e.Raw)
			continue
		}
		if len(g.ev.seen) >= maxEvidence {
			g.note(finding.TooMuchRevocationData, maxEvidence)
			return
		}
		if g.ctx.Err() != nil {
			return
		}
		if !g.store.addEvidence(&g.ev, e.Kind, e.Origin, e.Raw, g.pool.work) {
			g.note(finding.EvidenceUnreadable, strings.ToUpper(string(e.Kind)), e.Origin)
		}
	}
	g.responders()
}

// responders adds the certificates of the responses added since the last call.
func (g *gathering) responders() {
	for ; g.ocsps < len(g.ev.ocsps); g.ocsps++ {
		o := g.ev.ocsps[g.ocsps]
		for _, der := range o.Certificates[:min(len(o.Certificates), 16)] {
			g.add(der)
		}
	}
}

// leaf finds the paths of a certificate and the revocation data along them.
func (g *gathering) leaf(c *pkix.Certificate, depth int) {
	if _, done := g.facts.Paths[c.ID()]; done {
		return
	}
	founds := g.paths(c)
	for _, f := range founds {
		g.facts.Paths[c.ID()] = append(g.facts.Paths[c.ID()], f.facts)
	}
	reliable := false
	for _, f := range founds {
		for _, cert := range f.certs {
			g.describe(cert)
		}
		// Revocation data is fetched for the paths up to the first with a trusted anchor; the
		// others use only what the document carries.
		g.gatherAlong(f, depth, !reliable)
		reliable = reliable || f.anchor != nil && (f.anchor.Operator || slices.ContainsFunc(f.anchor.Services, func(s *report.Service) bool { return s.GrantedAt(g.now) }))
	}
}

// paths finds the paths of a certificate, and fetches missing issuers.
func (g *gathering) paths(c *pkix.Certificate) []foundPath {
	founds := g.store.pathsOf(c, g.pool)
	for round := 0; g.network && g.ctx.Err() == nil && round < 4 && founds[0].anchor == nil; round++ {
		if !g.climb(founds[0].certs) {
			break
		}
		founds = g.store.pathsOf(c, g.pool)
	}
	return founds
}

// climb fetches the issuer of a path's last certificate. It is false if there is nothing new.
func (g *gathering) climb(c chain) bool {
	top := c[len(c)-1]
	if g.store.selfSigned(top, g.pool.work) || g.asked["up"+top.ID()] || g.fetches >= maxFetches {
		return false
	}
	g.asked["up"+top.ID()] = true
	g.fetches++
	certs, err := g.store.fetchIssuers(g.ctx, top, g.now)
	if err != nil {
		if err != errNoAddress {
			g.note(finding.IssuerNotFetched, describe(top), err)
		}
		return false
	}
	for _, n := range certs {
		g.pool.add(n)
	}
	return true
}

// gatherAlong gathers revocation data for every certificate below the end of a path.
func (g *gathering) gatherAlong(f foundPath, depth int, fetch bool) {
	for i, cert := range f.certs[:len(f.certs)-1] {
		issuer := f.certs[i+1]
		if g.ctx.Err() != nil {
			return
		}
		if _, done := g.facts.Revocations[cert.ID()]; done {
			continue
		}
		revs := g.store.revocations(cert, issuer, &g.ev, g.pool)
		exempt := cert.OCSPNoCheck && depth > 0 && i == 0 // the responder's certificate needs no revocation data
		if g.network && fetch && f.anchor != nil && !exempt && !g.current(revs) {
			if all := g.fetchRevocation(cert, issuer); all != nil {
				revs = all
			}
		}
		g.facts.Revocations[cert.ID()] = revs
		for _, r := range revs {
			signer := g.pool.byID[r.Signer]
			if signer == nil || r.SignerIsIssuer {
				continue
			}
			g.describe(signer)
			if depth < responderDepth {
				g.leaf(signer, depth+1)
			}
		}
	}
}

// current reports whether there is data that is valid now.
func (g *gathering) current(revs []*report.Revocation) bool {
	return slices.ContainsFunc(revs, func(r *report.Revocation) bool {
		return !r.NextUpdate.IsZero() && r.NextUpdate.After(g.now) && !r.ThisUpdate.After(g.now)
	})
}

// fetchRevocation asks OCSP first and falls back to the revocation list. It returns all statements
// about the certificate known by then, or nil if nothing was fetched.
func (g *gathering) fetchRevocation(cert, issuer *pkix.Certificate) []*report.Revocation {
	if g.asked[cert.ID()] || g.fetches >= maxFetches {
		return nil
	}
	g.asked[cert.ID()] = true
	g.fetches++
	b, err := g.store.fetchOCSP(g.ctx, cert, issuer, g.now, g.since)
	if err == nil && g.store.addEvidence(&g.ev, ades.EvidenceOCSP, fromNetwork, b, g.pool.work) {
		g.responders()
		if revs := g.store.revocations(cert, issuer, &g.ev, g.pool); len(revs) > 0 {
			return revs
		}
	}
	if err != nil && err != errNoAddress {
		g.note(finding.OCSPNotFetched, describe(cert), err)
	}
	g.fetches++
	l, err := g.store.fetchCRL(g.ctx, cert, g.now)
	if err != nil {
		if err != errNoAddress {
			g.note(finding.CRLNotFetched, describe(cert), err)
		}
		return nil
	}
	g.ev.addList(l)
	return g.store.revocations(cert, issuer, &g.ev, g.pool)
}

// describe adds a certificate to the facts.
func (g *gathering) describe(c *pkix.Certificate) {
	if g.facts.Certificates[c.ID()] == nil {
		g.facts.Certificates[c.ID()] = certificateFacts(c, g.store.selfSigned(c, g.pool.work))
	}
}

// fromNetwork is the origin of evidence that is not in the document.
const fromNetwork = "network"
