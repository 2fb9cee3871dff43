package trust

import (
	"bytes"
	"slices"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/memo"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/report"
)

// evidence is parsed revocation data.
type evidence struct {
	ocsps  []ocspItem
	crls   []crlItem
	deltas []crlItem // the delta lists among crls
	seen   map[string]bool
}

type ocspItem struct {
	id, origin string
	size       int
	*pkix.OCSPResponse
}

type crlItem struct {
	id, origin string
	*pkix.CRL
}

// addEvidence adds a piece of revocation data. It is false if the data cannot be parsed.
func (s *Store) addEvidence(e *evidence, kind ades.EvidenceKind, origin string, raw []byte, w *budget) bool {
	id := ades.FactID(raw)
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	if e.seen[id] {
		return true
	}
	e.seen[id] = true
	if !w.reserve(len(raw)) {
		return false
	}
	switch kind {
	case ades.EvidenceOCSP:
		o := memoized(&s.parsed, "ocsp "+id, raw, pkix.ParseOCSPResponse)
		if o == nil {
			return false
		}
		e.ocsps = append(e.ocsps, ocspItem{id, origin, len(raw), o})
	case ades.EvidenceCRL:
		c := memoized(&s.parsed, "crl "+id, raw, pkix.ParseCRL)
		if c == nil {
			return false
		}
		e.addCRL(crlItem{id, origin, c})
	}
	return true
}

// addList adds a fetched list.
func (e *evidence) addList(l *list) {
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	if !e.seen[l.id] {
		e.seen[l.id] = true
		e.addCRL(crlItem{l.id, fromNetwork, l.CRL})
	}
}

func (e *evidence) addCRL(c crlItem) {
	e.crls = append(e.crls, c)
	if c.DeltaBase != nil {
		e.deltas = append(e.deltas, c)
	}
}

// revocations finds every statement about a certificate of an issuer.
func (s *Store) revocations(cert, issuer *pkix.Certificate, e *evidence, pool *pool) []*report.Revocation {
	var out []*report.Revocation
	for _, o := range e.ocsps {
		if !pool.work.look(o.size) {
			break
		}
		out = append(out, s.fromOCSP(cert, issuer, o, pool)...)
	}
	for _, c := range e.crls {
		if c.DeltaBase == nil && pool.work.look(len(cert.Raw)+sizeOf(c.IDP)) {
			out = append(out, s.fromCRL(cert, issuer, c, e, pool)...)
		}
	}
	slices.SortStableFunc(out, func(a, b *report.Revocation) int { return b.ThisUpdate.Compare(a.ThisUpdate) })
	return boundStatements(out, pool.work)
}

// boundStatements bounds the statements about a certificate: the newest are kept, and all that are
// not "good".
func boundStatements(list []*report.Revocation, w *budget) []*report.Revocation {
	n := 0
	out := slices.DeleteFunc(list, func(r *report.Revocation) bool {
		n++
		return n > maxKept && r.Status == string(pkix.Good)
	})
	if !spend(w, &w.statements, len(out)) {
		return slices.DeleteFunc(out, func(r *report.Revocation) bool { return r.Status == string(pkix.Good) })
	}
	return out
}

// fromOCSP returns what a response says about a certificate if its responder may speak for the
// issuer (RFC 6960, 4.2.2.2): the issuer itself, a delegated responder, or a status service of a
// trusted list. Whether that service is of the same provider is judged with the path.
func (s *Store) fromOCSP(cert, issuer *pkix.Certificate, o ocspItem, pool *pool) (out []*report.Revocation) {
	if o.CriticalUnknown {
		return nil
	}
	var responder *pkix.Certificate
	var authorized bool
	for i := range o.Responses {
		r := &o.Responses[i]
		if r.CriticalUnknown || r.SerialNumber.Cmp(cert.SerialNumber) != 0 {
			continue
		}
		if !pool.work.look(len(issuer.RawSPKI) + len(cert.RawIssuer) + len(issuer.RawSubject)) { // they are hashed
			break
		}
		if !r.About(cert, issuer) {
			continue
		}
		if responder == nil {
			if responder, authorized = s.responder(issuer, o, pool); responder == nil {
				return nil
			}
			pool.add(responder)
		}
		status := r.Status
		if len(r.CertHash) > 0 && r.CertHashAlgorithm.Available() && !bytes.Equal(oid.Sum(r.CertHashAlgorithm, cert.Raw), r.CertHash) {
			status = pkix.StatusUnknown
		}
		out = append(out, &report.Revocation{
			ID: o.id, Kind: "ocsp", Origin: o.origin, Status: string(status),
			RevokedAt: r.RevokedAt, Reason: r.Reason, ThisUpdate: r.ThisUpdate, NextUpdate: r.NextUpdate, ProducedAt: o.ProducedAt,
			Algorithm: pkix.Algorithm(o.SignatureAlgorithm, 0, responder.PublicKey),
			Signer:    responder.ID(), SignerIsIssuer: bytes.Equal(responder.RawSPKI, issuer.RawSPKI),
			CoversExpired: r.ArchiveCutoff, Unauthorized: !authorized,
		})
	}
	return out
}

// responder finds who signed a response, and whether they are authorized by the issuer; an
// authorized one is preferred.
func (s *Store) responder(issuer *pkix.Certificate, o ocspItem, pool *pool) (c *pkix.Certificate, authorized bool) {
	candidates := []*pkix.Certificate{issuer}
	for _, der := range o.Certificates[:min(len(o.Certificates), 16)] {
		if c, err := pkix.ParseCertificate(der); err == nil {
			candidates = append(candidates, c)
		}
	}
	if o.ResponderName != nil {
		if n, err := pkix.ParseName(o.ResponderName); err == nil {
			key := n.Canonical()
			candidates = append(candidates, s.find(key, o.ResponderName)...)
			named := pool.bySubject[key]
			candidates = append(candidates, named[:min(len(named), maxCandidates)]...)
		}
	} else {
		for _, c := range pool.byID {
			if c.HasExtUsage(pkix.EKUOCSPSigning) && pool.work.allow(1) {
				candidates = append(candidates, c)
			}
		}
	}
	var other *pkix.Certificate
	for _, c := range candidates {
		if !pool.work.look(len(o.ResponderName) + len(c.RawSubject)) {
			break
		}
		if !o.RespondedBy(c) || !s.check(o.id+c.ID(), pool.work, c, func() bool { return o.CheckSignatureFrom(c) == nil }) {
			continue
		}
		if s.maySpeak(c, issuer, o, pool) {
			return c, true
		}
		other = c
	}
	return other, false
}

func (s *Store) maySpeak(c, issuer *pkix.Certificate, o ocspItem, pool *pool) bool {
	if bytes.Equal(c.RawSPKI, issuer.RawSPKI) {
		return true
	}
	if o.ProducedAt.Before(c.NotBefore) || o.ProducedAt.After(c.NotAfter) {
		return false
	}
	if !c.HasUsage(pkix.DigitalSignature) && !c.HasUsage(pkix.NonRepudiation) {
		return false
	}
	if c.IssuerKey() == issuer.SubjectKey() && c.HasExtUsage(pkix.EKUOCSPSigning) && s.signed(c, issuer, pool.work) {
		return true
	}
	a := s.anchor(c, c)
	return a != nil && slices.ContainsFunc(a.Services, (*report.Service).Answers)
}

// allReasons are the bits of ReasonFlags that a list may omit.
const allReasons uint16 = 0x1fe

// fromCRL is RFC 5280, 6.3.3 for one complete list: what it says about a certificate, and what each
// available delta list makes of that. All are kept, since a delta list does not unsay a revocation
// for good.
func (s *Store) fromCRL(cert, issuer *pkix.Certificate, c crlItem, e *evidence, pool *pool) []*report.Revocation {
	reasons, inScope := scope(cert, c.CRL)
	if !inScope || c.CriticalUnknown {
		return nil
	}
	signer := s.crlSigner(issuer, c, pool)
	if signer == nil {
		return nil
	}
	r := &report.Revocation{
		ID: c.id, Kind: "crl", Origin: c.origin, Status: string(pkix.Good),
		ThisUpdate: c.ThisUpdate, NextUpdate: c.NextUpdate, ProducedAt: c.ThisUpdate,
		Algorithm: pkix.Algorithm(c.SignatureAlgorithm, 0, signer.PublicKey),
		Signer:    signer.ID(), SignerIsIssuer: bytes.Equal(signer.RawSPKI, issuer.RawSPKI),
		CoversExpired: c.ExpiredCertsOnCRL,
	}
	if reasons != allReasons {
		r.Reasons = reasons
	}
	if !s.apply(r, cert, c, pool.work) {
		return nil
	}
	out := []*report.Revocation{r}
	for _, d := range e.deltas {
		if !pool.work.look(sizeOf(d.IDP)+sizeOf(c.IDP)) || !deltaOf(d.CRL, c.CRL) || !d.ThisUpdate.After(c.ThisUpdate) ||
			!s.check(d.id+signer.ID(), pool.work, signer, func() bool { return d.CheckSignatureFrom(signer) == nil }) { // both are from one key (6.3.3 (c))
			continue
		}
		changed := *r
		changed.ID, changed.Base, changed.Origin = d.id, c.id, d.origin
		changed.ThisUpdate, changed.NextUpdate, changed.ProducedAt = d.ThisUpdate, d.NextUpdate, d.ThisUpdate
		changed.Algorithm = pkix.Algorithm(d.SignatureAlgorithm, 0, signer.PublicKey)
		if !s.apply(&changed, cert, d, pool.work) || changed.Status == string(pkix.Good) && changed.Algorithm != r.Algorithm {
			continue // "good" rests on both
		}
		out = append(out, &changed)
	}
	return out
}

// memoized parses a value that retains its bytes, once. It returns nil if the value cannot be
// parsed.
func memoized[T any](m *memo.Memo[string, any], id string, raw []byte, parse func([]byte) (*T, error)) *T {
	if v, known := m.Get(id); known {
		p, _ := v.(*T)
		return p
	}
	v, err := parse(raw)
	if err != nil {
		v = nil
	}
	m.Put(id, v, len(raw))
	return v
}

// apply copies what a list says into r. It is false if the list cannot be read.
func (s *Store) apply(r *report.Revocation, cert *pkix.Certificate, c crlItem, w *budget) bool {
	found, known := s.listed.Get(c.id + cert.ID())
	if !known {
		if !spend(w, &w.scan, c.Size()) {
			return false
		}
		var err error
		if found.Entry, found.listed, err = c.Find(cert); err != nil {
			return false
		}
		if c.Size() > keptInMemory {
			s.listed.Put(c.id+cert.ID(), found, 0)
		}
	}
	entry := found.Entry
	switch {
	case !found.listed:
	case entry.Reason == pkix.ReasonRemoveFromCRL && c.DeltaBase != nil: // only in a delta list (RFC 5280, 5.3.1)
		r.Status, r.RevokedAt, r.Reason = string(pkix.Good), time.Time{}, 0
	default:
		r.Status, r.RevokedAt, r.Reason = string(pkix.Revoked), entry.RevokedAt, entry.Reason
	}
	return true
}

// listedEntry is the entry of a list for a certificate.
type listedEntry struct {
	pkix.Entry
	listed bool
}

// deltaOf reports whether d updates the complete list c (RFC 5280, 5.2.4).
func deltaOf(d, c *pkix.CRL) bool {
	if d.DeltaBase == nil || d.CriticalUnknown || d.Number == nil || c.Number == nil || d.IssuerKey() != c.IssuerKey() {
		return false
	}
	return sameIDP(d.IDP, c.IDP) && c.Number.Cmp(d.DeltaBase) >= 0 && c.Number.Cmp(d.Number) <= 0
}

func sameIDP(a, b *pkix.IssuingDistributionPoint) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.OnlyUsers != b.OnlyUsers || a.OnlyCAs != b.OnlyCAs || a.OnlyReasons != b.OnlyReasons || a.Indirect != b.Indirect {
		return false
	}
	return slices.Equal(pointNames(a.Point, nil), pointNames(b.Point, nil))
}

// crlSigner finds the certificate whose key signed a list: the issuer's, or another with the list's
// issuer name, which then needs a path of its own.
func (s *Store) crlSigner(issuer *pkix.Certificate, c crlItem, pool *pool) *pkix.Certificate {
	var candidates []*pkix.Certificate
	if issuer.SubjectKey() == c.IssuerKey() {
		candidates = append(candidates, issuer)
	}
	candidates = append(append(candidates, s.find(c.IssuerKey(), c.RawIssuer)...), pool.bySubject[c.IssuerKey()]...)
	for _, k := range candidates[:min(len(candidates), maxCandidates)] {
		// A signer of lists for another authority must have the cRLSign usage; without key usage an
		// authority may only sign its own.
		if !k.HasUsage(pkix.CRLSign) || !k.HasKeyUsage && !bytes.Equal(k.RawSPKI, issuer.RawSPKI) {
			continue
		}
		if s.check(c.id+k.ID(), pool.work, k, func() bool { return c.CheckSignatureFrom(k) == nil }) {
			return k
		}
	}
	return nil
}

// scope reports whether a list covers a certificate, and for which reasons.
func scope(cert *pkix.Certificate, c *pkix.CRL) (uint16, bool) {
	idp := c.IDP
	direct := cert.IssuerKey() == c.IssuerKey()
	if idp == nil {
		return allReasons, direct && !onlyIndirect(cert)
	}
	ca := cert.BasicConstraints != nil && cert.BasicConstraints.IsCA
	if idp.OnlyAttributeCerts || (idp.OnlyUsers && ca) || (idp.OnlyCAs && !ca) || (!direct && !idp.Indirect) {
		return 0, false
	}
	reasons := allReasons
	if idp.OnlyReasons != 0 {
		reasons &= idp.OnlyReasons
	}
	points := cert.CRLDistributionPoints
	if len(points) == 0 {
		points = []pkix.DistributionPoint{{Names: []pkix.GeneralName{{Tag: directoryName, Raw: cert.RawIssuer}}}}
	}
	theirs := map[string]bool{}
	for _, n := range pointNames(idp.Point, c.Issuer) {
		theirs[n] = true
	}
	for _, p := range points {
		if !pointMatches(p, theirs, cert, c, direct) {
			continue
		}
		if p.Reasons != 0 {
			reasons &= p.Reasons
		}
		return reasons, true
	}
	return 0, false
}

// onlyIndirect reports whether every distribution point names another CRL issuer.
func onlyIndirect(cert *pkix.Certificate) bool {
	for _, p := range cert.CRLDistributionPoints {
		if len(p.CRLIssuer) == 0 || slices.Contains(keys(p.CRLIssuer), cert.IssuerKey()) {
			return false
		}
	}
	return len(cert.CRLDistributionPoints) > 0
}

// keys returns the directory names of a list in canonical form.
func keys(names []pkix.GeneralName) []string {
	var out []string
	for _, g := range names {
		if g.Tag != directoryName {
			continue
		}
		if n, err := pkix.ParseName(g.Raw); err == nil {
			out = append(out, n.Canonical())
		}
	}
	return out
}

// pointMatches is step (b) of RFC 5280, 6.3.3 for one distribution point; theirs are the names of
// the list's.
func pointMatches(p pkix.DistributionPoint, theirs map[string]bool, cert *pkix.Certificate, c *pkix.CRL, direct bool) bool {
	if len(p.CRLIssuer) > 0 {
		if !slices.Contains(keys(p.CRLIssuer), c.IssuerKey()) {
			return false
		}
		if !direct && !c.IDP.Indirect {
			return false
		}
	} else if !direct {
		return false
	}
	if len(theirs) == 0 {
		return true
	}
	base := cert.Issuer
	if len(p.CRLIssuer) > 0 {
		base = c.Issuer
	}
	ours := pointNames(p, base)
	if len(ours) == 0 {
		ours = keys(p.CRLIssuer)
	}
	return slices.ContainsFunc(ours, func(n string) bool { return theirs[n] })
}

// sizeOf is about how many bytes the names of a distribution point have.
func sizeOf(p *pkix.IssuingDistributionPoint) (n int) {
	if p == nil {
		return 0
	}
	for _, g := range p.Point.Names {
		n += len(g.Raw)
	}
	return n + len(p.Point.Relative)
}

// pointNames returns the names of a distribution point in canonical form.
func pointNames(p pkix.DistributionPoint, base pkix.Name) []string {
	out := keys(p.Names)
	for _, g := range p.Names {
		if g.Tag != directoryName {
			out = append(out, string(rune(g.Tag))+string(g.Raw))
		}
	}
	if p.Relative != nil {
		if n, err := base.Relative(p.Relative); err == nil {
			out = append(out, n.Canonical())
		}
	}
	return out
}
