package policy

import (
	"time"

	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/report"
)

// chainVerdict is the X.509 certificate validation of clause 5.2.6 with the time reasoning of
// clauses 5.5 and 5.6.
type chainVerdict struct {
	verdict
	leaf     *report.Certificate
	path     *report.Path
	anchored bool
	// What is known of the leaf and its issuer.
	revoked         bool
	hold            bool
	revokedAt       time.Time
	known           bool // the revocation status of the leaf is known
	issuerKnown     bool
	issuerRevoked   bool
	issuerRevokedAt time.Time
	asked
}

// use is the purpose of the certificate at the end of a path. The types of listed services say
// which of these they cover (TS 119 612, clause 5.5.1).
type use int

const (
	toSign use = iota
	toStamp
	toAnswer // sign OCSP responses and revocation lists
)

// asked is the question that a chain is judged for.
type asked struct {
	use  use
	best time.Time // earliest proven time of the signed data
	need time.Time // time that revocation data must cover
	born time.Time // when the leaf is proven to have existed
}

// chain judges the paths of a certificate at the best proven time and returns the first good one,
// else the most promising.
//
// Revocation data must be fresh enough for need: the best time of a signature, or the time that a
// token states. A token is judged at the time of judgement or the time proven by a later token, but
// the revocation data inside a file is never renewed; asking for data fresher than the token would
// fail every LT signature a day after it was made.
func (j *judge) chain(leaf string, q asked) chainVerdict {
	key := chainKey{leaf, q, j.proofs}
	v, known := j.chains[key]
	if !known {
		v = j.judgeChain(leaf, q)
		if j.chains == nil {
			j.chains = map[chainKey]chainVerdict{}
		}
		j.chains[key] = v
	}
	return v
}

// chainKey identifies a question together with the proofs of existence known when it was answered.
type chainKey struct {
	leaf string
	asked
	proofs int
}

func (j *judge) judgeChain(leaf string, q asked) chainVerdict {
	none := chainVerdict{verdict: verdict{indication: report.Passed}, leaf: j.facts.Certificates[leaf], asked: q}
	paths := j.facts.Paths[leaf]
	if len(paths) > 0 {
		none.path = paths[0]
	}
	if none.leaf == nil || len(paths) == 0 || paths[0].Anchor == nil {
		none.lower(report.Indeterminate, report.NoCertificateChainFound)
		none.add("XCV", finding.NoTrustedPath)
		return none
	}
	var first *chainVerdict
	for _, p := range paths {
		v := j.judgePath(p, q)
		if v.passed() {
			return v
		}
		if first == nil || (first.sub == report.CertificateChainGeneral && v.sub != report.CertificateChainGeneral) {
			first = &v
		}
	}
	return *first
}

// judgePath judges one path.
func (j *judge) judgePath(p *report.Path, q asked) chainVerdict {
	v := chainVerdict{verdict: verdict{indication: report.Passed}, path: p, anchored: true, asked: q}
	v.leaf = j.facts.Certificates[p.Certificates[0]]
	for _, problem := range p.Problems {
		v.lower(report.Indeterminate, report.CertificateChainGeneral)
		v.messages = append(v.messages, message("XCV", problem))
	}
	// The anchor is trusted as it is: its expiry and revocation are not checked. A withdrawn
	// service is trusted for what is proven to be older (the sunset date of EN 319 102-1, 5.6.2.2).
	withdrawn := j.service(&v, p)
	j.authorities(&v, p)
	for i, m := range j.slide(p, q, withdrawn) {
		j.member(&v, m, i)
	}
	if !v.passed() && v.sub == report.OutOfBoundsNoPOE && v.known && !v.revoked {
		v.sub = report.OutOfBoundsNotRevoked
	}
	return v
}

// member judges one certificate below the anchor.
func (j *judge) member(v *chainVerdict, m member, depth int) {
	cert, r := m.cert, m.revocation
	if depth == 0 {
		v.known, v.revoked, v.hold, v.revokedAt = r.known, r.revoked, r.hold, r.at
	}
	if depth == 1 {
		v.issuerKnown, v.issuerRevoked, v.issuerRevokedAt = r.known, r.revoked, r.at
	}
	switch {
	case r.revoked && r.hold && !r.at.After(v.best):
		v.lower(report.Indeterminate, report.TryLater)
		v.add("XCV", finding.CertSuspended, cert.Called(), r.at)
	case r.revoked && !r.at.After(v.best) && depth == 0:
		v.lower(report.Indeterminate, report.RevokedNoPOE)
		v.add("XCV", finding.CertRevoked, cert.Called(), r.at)
	case r.revoked && !r.at.After(v.best):
		v.lower(report.Indeterminate, report.RevokedCANoPOE)
		v.add("XCV", finding.IssuerRevoked, cert.Called(), r.at)
	case r.revoked:
		v.add("XCV", finding.CertRevokedLater, cert.Called(), r.at)
	}
	j.validity(v, cert, depth)
	j.proven(v, m)
	v.merge(j.algorithm(finding.CertificateOf(cert.Called()), m.signed(), v.best))
}

// proven requires revocation data, and proof that the data and the certificate are from before
// their issuer became unreliable.
func (j *judge) proven(v *chainVerdict, m member) {
	r, cert, name := m.revocation, m.cert, m.cert.Called()
	switch {
	case m.forged:
		v.lower(report.Indeterminate, m.control.sub)
		v.add("XCV", finding.CertMayBeYounger, name, m.control.time, m.control.name)
	case !r.needed || r.known:
	case r.unproven:
		v.lower(report.Indeterminate, m.control.sub)
		v.add("XCV", finding.RevocationMayBeYounger, name, m.control.time, m.control.name)
	case r.expired:
		v.lower(report.Indeterminate, report.RevocationOutOfBoundsNoPOE)
		v.add("XCV", finding.RevocationSignerExpired, name)
	case r.future:
		v.lower(report.Indeterminate, report.TryLater)
		v.add("XCV", finding.RevocationInFuture, name, j.at)
	case r.stale:
		v.lower(report.Indeterminate, report.TryLater)
		v.add("XCV", finding.RevocationStale, cert.Called(), v.need)
	default:
		v.lower(report.Indeterminate, report.CertificateChainGeneral)
		missing := finding.RevocationMissing
		if cert.NoRevocationPointer {
			missing = finding.RevocationNowhere
		}
		v.add("XCV", missing, cert.Called())
	}
}

func (j *judge) validity(v *chainVerdict, cert *report.Certificate, depth int) {
	switch {
	case v.best.Before(cert.NotBefore) && depth == 0 && v.use == toSign:
		// Clause 5.5.4: the signature existed before its certificate was valid.
		v.lower(report.Failed, report.NotYetValid)
		v.add("XCV", finding.SignedBeforeCert, cert.Called(), cert.NotBefore)
	case v.best.Before(cert.NotBefore):
		v.lower(report.Indeterminate, report.NotYetValid)
		v.add("XCV", finding.CertNotYetValid, cert.Called(), cert.NotBefore)
	case v.best.Truncate(time.Second).After(cert.NotAfter): // validity has whole seconds
		v.lower(report.Indeterminate, report.OutOfBoundsNoPOE)
		v.add("XCV", finding.CertExpired, cert.Called(), cert.NotAfter)
	}
}
