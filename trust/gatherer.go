package trust

import (
	"context"
	"slices"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/report"
)

// Gatherer collects the validation data of level LT. It implements ades.Gatherer.
type Gatherer struct {
	Store *Store
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Large, if set, is called for revocation data of more than a megabyte that goes into a
	// document, which grows by as much.
	Large func(ctx context.Context, subject string, size int64)
}

var _ ades.Gatherer = (*Gatherer)(nil)

// Gather finds chains and revocation data for the leaves, up to an anchor, or a self-signed
// certificate if there is no anchor. Missing data is listed per certificate in an
// *ades.MissingError.
func (g *Gatherer) Gather(ctx context.Context, leaves [][]byte, carried ades.Bundle) (ades.Bundle, error) {
	now := time.Now()
	if g.Now != nil {
		now = g.Now()
	}
	w := &collector{g: g.Store.gathering(ctx, now, new(report.Facts)), seen: map[string]bool{}, large: g.Large}
	w.g.since = now.Truncate(time.Second) // times in answers have whole seconds
	for _, der := range carried.Certificates {
		w.g.add(der)
	}
	for _, raw := range carried.OCSPs {
		g.Store.addEvidence(&w.g.ev, ades.EvidenceOCSP, "document", raw, w.g.pool.work)
	}
	for _, raw := range carried.CRLs {
		g.Store.addEvidence(&w.g.ev, ades.EvidenceCRL, "document", raw, w.g.pool.work)
	}
	for _, der := range leaves {
		c, err := pkix.ParseCertificate(der)
		if err != nil {
			return ades.Bundle{}, err
		}
		w.g.pool.add(c)
		w.prove(c, 0)
	}
	if len(w.missing) > 0 {
		return w.out, &ades.MissingError{Missing: w.missing}
	}
	return w.out, nil
}

// Chain orders the certificates that came with a leaf into a path, each issued by the next. Missing
// issuers are fetched from the addresses in the certificates.
func (s *Store) Chain(ctx context.Context, leaf []byte, others [][]byte, now time.Time) (path [][]byte, err error) {
	g := s.gathering(ctx, now, new(report.Facts))
	c, err := g.start(leaf, others)
	if err != nil {
		return nil, err
	}
	for _, issuer := range g.paths(c)[0].certs[1:] {
		path = append(path, issuer.Raw)
	}
	return path, nil
}

// Known returns what is known of a certificate without network access: its paths, and what trusted
// lists say of the certificates on them.
func (s *Store) Known(ctx context.Context, leaf []byte, others [][]byte, now time.Time) (*report.Facts, error) {
	facts := new(report.Facts)
	g := s.gathering(ctx, now, facts)
	c, err := g.start(leaf, others)
	if err != nil {
		return nil, err
	}
	g.network = false
	g.leaf(c, 0)
	facts.TrustState = s.State()
	return facts, nil
}

// Revoked returns a statement that a certificate is revoked or suspended, or nil if none can be
// obtained now. The responder is always asked again; a cached revocation list is used until it
// expires.
func (s *Store) Revoked(ctx context.Context, leaf []byte, others [][]byte, now time.Time) (*report.Revocation, error) {
	facts := new(report.Facts)
	g := s.gathering(ctx, now, facts)
	c, err := g.start(leaf, others)
	if err != nil {
		return nil, err
	}
	for _, url := range c.OCSPServers {
		s.cache().remove("ocsp " + url + " " + c.ID())
	}
	g.leaf(c, 0)
	for _, r := range facts.Revocations[c.ID()] {
		if r.Status == "revoked" && !r.Unauthorized && !r.RevokedAt.After(now) && !r.Lifted(facts.Revocations[c.ID()]) {
			return r, nil
		}
	}
	return nil, nil
}

// start puts a certificate and those that came with it into the pool.
func (g *gathering) start(leaf []byte, others [][]byte) (*pkix.Certificate, error) {
	c, err := pkix.ParseCertificate(leaf)
	if err != nil {
		return nil, err
	}
	g.pool.add(c)
	for _, der := range others {
		g.add(der)
	}
	return c, nil
}

// largeEvidence is the size from which Gatherer.Large is called.
const largeEvidence = 1 << 20

type collector struct {
	g       *gathering
	out     ades.Bundle
	seen    map[string]bool
	missing []ades.Missing
	large   func(ctx context.Context, subject string, size int64)
}

func (w *collector) firstTime(id string) bool {
	if w.seen[id] {
		return false
	}
	w.seen[id] = true
	return true
}

func (w *collector) lacks(c *pkix.Certificate, what, why string) {
	w.missing = append(w.missing, ades.Missing{Subject: c.SubjectDN(), Lacks: what, Reason: why})
}

// prove collects the chain of a certificate and revocation data along it.
func (w *collector) prove(c *pkix.Certificate, depth int) {
	if !w.firstTime("proved " + c.ID()) {
		return
	}
	best := w.g.paths(c)[0]
	path := best.certs
	top := path[len(path)-1]
	if best.anchor == nil && !w.g.store.selfSigned(top, w.g.pool.work) {
		w.lacks(top, "issuer certificate", w.reason("its issuer is not in the document, among the anchors or at an address it names"))
	}
	for _, cert := range path {
		if w.firstTime("cert " + cert.ID()) {
			w.out.Certificates = append(w.out.Certificates, cert.Raw)
		}
	}
	for i, cert := range path[:len(path)-1] {
		if cert.OCSPNoCheck && depth > 0 && i == 0 {
			continue // the responder's certificate needs no revocation data
		}
		w.revocation(cert, path[i+1], depth)
	}
}

// reason returns the last note of the gathering, which says what went wrong.
func (w *collector) reason(fallback string) string {
	if n := w.g.facts.Notes; len(n) > 0 {
		return n[len(n)-1].Text
	}
	return fallback
}

func (w *collector) revocation(cert, issuer *pkix.Certificate, depth int) {
	if !w.firstTime("rev " + cert.ID()) {
		return
	}
	revs := w.g.store.revocations(cert, issuer, &w.g.ev, w.g.pool)
	if w.g.network && !w.g.current(revs) {
		if all := w.g.fetchRevocation(cert, issuer); all != nil {
			revs = all
		}
	}
	revs = slices.DeleteFunc(revs, func(r *report.Revocation) bool { return r.Unauthorized || r.Status == "unknown" })
	if len(revs) == 0 {
		w.lacks(cert, "revocation data", w.reason("it names no address that could be asked"))
		return
	}
	best := revs[0]
	for _, id := range []string{best.ID, best.Base} {
		if err := w.addEvidence(cert, id); err != nil {
			w.lacks(cert, "revocation data", err.Error())
			return
		}
	}
	if signer := w.g.pool.byID[best.Signer]; signer != nil && !best.SignerIsIssuer && depth < responderDepth {
		w.prove(signer, depth+1)
	}
}

// addEvidence adds the evidence with that id, about a certificate, to the bundle.
func (w *collector) addEvidence(about *pkix.Certificate, id string) error {
	if !w.firstTime("ev " + id) {
		return nil
	}
	for _, o := range w.g.ev.ocsps {
		if o.id == id {
			w.out.OCSPs = append(w.out.OCSPs, o.Raw)
			return nil
		}
	}
	for _, c := range w.g.ev.crls {
		if c.id != id {
			continue
		}
		raw, err := c.Bytes()
		if err != nil {
			return err
		}
		if w.large != nil && c.Size() > largeEvidence {
			w.large(w.g.ctx, about.SubjectDN(), c.Size())
		}
		w.out.CRLs = append(w.out.CRLs, raw)
		return nil
	}
	return nil
}
