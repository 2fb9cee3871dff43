package policy

import (
	"time"

	"rogito.dev/rogito/report"
)

// chainVerdict is the X.509 certificate validation of clause 5.2.6 with the
// time reasoning of clauses 5.5 and 5.6.
type chainVerdict struct {
	verdict
	leaf     *report.Certificate
	path     *report.Path
	anchored bool
	// What is known of the leaf and of its issuer.
	revoked         bool
	hold            bool
	revokedAt       time.Time
	known           bool // revocation status of the leaf is known
	issuerKnown     bool
	issuerRevoked   bool
	issuerRevokedAt time.Time
	asked
}

// asked says for which time a chain is judged.
type asked struct {
	best time.Time // the earliest proven time of what was signed
	need time.Time // the time that revocation data must speak for
	born time.Time // when the leaf is proven to have existed
}

// chain judges the paths of a certificate at the best proven time and returns
// the first good one, else the most promising.
//
// Revocation data must be fresh enough for need: the best time of a
// signature, the time that a token states. A token is judged at the time of
// judgement or of a later token's proof, but nobody renews the revocation data
// inside a file; asking for data fresher than the token would fail every
// LT signature a day after it was made.
func (j *judge) chain(leaf string, q asked) chainVerdict {
	none := chainVerdict{verdict: verdict{indication: report.Passed}, leaf: j.facts.Certificates[leaf], asked: q}
	paths := j.facts.Paths[leaf]
	if len(paths) > 0 {
		none.path = paths[0]
	}
	if none.leaf == nil || len(paths) == 0 || paths[0].Anchor == nil {
		none.lower(report.Indeterminate, report.NoCertificateChainFound)
		none.add(report.Error, "XCV", "The certificate does not lead to a trusted one.")
		return none
	}
	var first *chainVerdict
	for _, p := range paths {
		v := j.along(p, q)
		if v.passed() {
			return v
		}
		if first == nil || (first.sub == report.CertificateChainGeneral && v.sub != report.CertificateChainGeneral) {
			first = &v
		}
	}
	return *first
}

// along judges one path.
func (j *judge) along(p *report.Path, q asked) chainVerdict {
	v := chainVerdict{verdict: verdict{indication: report.Passed}, path: p, anchored: true, asked: q}
	v.leaf = j.facts.Certificates[p.Certificates[0]]
	for _, text := range p.Problems {
		v.lower(report.Indeterminate, report.CertificateChainGeneral)
		v.add(report.Error, "XCV", "%s.", text)
	}
	j.service(&v, p)
	// The anchor itself is trusted as it is: neither its validity nor its
	// revocation is asked for.
	for i, m := range j.slide(p, q) {
		j.member(&v, m, i)
	}
	if !v.passed() && v.sub == report.OutOfBoundsNoPOE && v.known && !v.revoked {
		v.sub = report.OutOfBoundsNotRevoked
	}
	return v
}

// service weighs the state of the trusted-list services behind an anchor.
func (j *judge) service(v *chainVerdict, p *report.Path) {
	if p.Anchor.Source != report.FromTrustedList {
		return
	}
	stale, granted := true, false
	for _, s := range p.Anchor.Services {
		stale = stale && staleAt(s, j.at)
		granted = granted || grantedAt(s, v.leaf.NotBefore) || grantedAt(s, v.best)
	}
	if stale {
		if j.policy.TrustedLists.Stale == "warn" {
			v.add(report.Warning, "XCV", "The trusted list is past its NextUpdate.")
		} else {
			v.lower(report.Indeterminate, report.TryLater)
			v.add(report.Error, "XCV", "The trusted list that vouches for the issuer is past its NextUpdate.")
		}
	}
	if !granted {
		v.lower(report.Indeterminate, report.NoCertificateChainFound)
		v.add(report.Error, "XCV", "The service that issued the certificate was not granted on its trusted list at that time.")
	}
}

// staleAt: the list was past its next update at the time of judgement. A list
// of the time that a verdict is asked for serves that verdict.
func staleAt(s *report.Service, at time.Time) bool {
	return s.ListStale && (s.ListNext.IsZero() || at.After(s.ListNext))
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
		v.add(report.Error, "XCV", "The certificate of %s was suspended on %s.", cert.SubjectCN, day(r.at))
	case r.revoked && !r.at.After(v.best) && depth == 0:
		v.lower(report.Indeterminate, report.RevokedNoPOE)
		v.add(report.Error, "XCV", "The certificate of %s was revoked on %s, and nothing proves that the signature is older.", cert.SubjectCN, day(r.at))
	case r.revoked && !r.at.After(v.best):
		v.lower(report.Indeterminate, report.RevokedCANoPOE)
		v.add(report.Error, "XCV", "The certificate of the authority %s was revoked on %s.", cert.SubjectCN, day(r.at))
	case r.revoked:
		v.add(report.Info, "XCV", "The certificate of %s was revoked on %s, after the signature is known to exist.", cert.SubjectCN, day(r.at))
	}
	j.validity(v, cert)
	j.proven(v, m)
	v.merge(j.algorithm("certificate of "+cert.SubjectCN, m.signed(), v.best))
}

// proven asks for revocation data, and for proof that it and the certificate
// are from before their issuer could no longer be relied on.
func (j *judge) proven(v *chainVerdict, m member) {
	r, cert, name := m.revocation, m.cert, m.cert.SubjectCN
	switch {
	case m.forged:
		v.lower(report.Indeterminate, m.control.sub)
		v.add(report.Error, "XCV", "Nothing proves that the certificate of %s is from before %s, since when %s cannot be relied on.", name, day(m.control.time), m.control.name)
	case !r.needed || r.known:
	case r.unproven:
		v.lower(report.Indeterminate, m.control.sub)
		v.add(report.Error, "XCV", "Nothing proves that the revocation data for %s is from before %s, since when %s cannot be relied on.", name, day(m.control.time), m.control.name)
	case r.stale:
		v.lower(report.Indeterminate, report.TryLater)
		v.add(report.Error, "XCV", "The revocation data for %s is too old for %s.", cert.SubjectCN, day(v.need))
	default:
		v.lower(report.Indeterminate, report.CertificateChainGeneral)
		v.add(report.Error, "XCV", "There is no revocation data for %s.", cert.SubjectCN)
	}
}

func (j *judge) validity(v *chainVerdict, cert *report.Certificate) {
	switch {
	case v.best.Before(cert.NotBefore):
		v.lower(report.Indeterminate, report.NotYetValid)
		v.add(report.Error, "XCV", "The certificate of %s is valid from %s only.", cert.SubjectCN, day(cert.NotBefore))
	case v.best.Truncate(time.Second).After(cert.NotAfter): // validity counts whole seconds
		v.lower(report.Indeterminate, report.OutOfBoundsNoPOE)
		v.add(report.Error, "XCV", "The certificate of %s expired on %s, and nothing proves that the signature is older.", cert.SubjectCN, day(cert.NotAfter))
	}
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// revocationVerdict is what is known of one certificate at a time.
type revocationVerdict struct {
	needed, known, stale, revoked, hold bool
	// unproven: there is a "good" that may be younger than the control time.
	unproven bool
	at       time.Time
}

const (
	allReasons = 0x1fe
	onHold     = 6
)

// revocation weighs the statements about a certificate (clauses 5.2.5 and
// 5.2.6.4). A permanent revocation counts wherever it is stated; "good" must
// be fresh enough for the time in question, and proven to be from before the
// control time where one was set.
func (j *judge) revocation(cert *report.Certificate, best time.Time, c control) revocationVerdict {
	v := revocationVerdict{needed: j.policy.Revocation.Required && !cert.OCSPNoCheck && !cert.ShortTerm}
	if j.busy[cert.ID] {
		return revocationVerdict{} // a responder that answers for itself
	}
	if j.busy == nil {
		j.busy = map[string]bool{}
	}
	j.busy[cert.ID] = true
	defer delete(j.busy, cert.ID)
	var reasons uint16
	latest := true
	for _, r := range j.facts.Revocations[cert.ID] {
		if r.Status == "good" && !j.before(r.ID, c) {
			v.unproven = true
			continue
		}
		if !j.usable(r, cert) {
			continue
		}
		switch {
		case r.Status == "revoked":
			v.revoke(r, j.at, latest)
		case r.Status == "good" && j.fresh(r, best):
			if r.Reasons == 0 {
				reasons = allReasons
			}
			if reasons |= r.Reasons; reasons == allReasons {
				v.known = true
			}
		case r.Status == "good":
			v.stale = true
		}
		latest = false
	}
	return v
}

// revoke takes a statement that the certificate was revoked. The earliest
// permanent revocation counts; a hold counts while it is the last word.
func (v *revocationVerdict) revoke(r *report.Revocation, at time.Time, latest bool) {
	switch {
	case r.RevokedAt.After(at):
		v.known = true // not yet, at the time this verdict is for
	case r.Reason != onHold:
		if !v.revoked || v.hold || r.RevokedAt.Before(v.at) {
			v.revoked, v.hold, v.known, v.at = true, false, true, r.RevokedAt
		}
	case latest && !v.revoked:
		v.revoked, v.hold, v.known, v.at = true, true, true, r.RevokedAt
	}
}

// usable: the statement was signed by someone who could, with algorithms that
// hold, and at a time when it could know.
func (j *judge) usable(r *report.Revocation, cert *report.Certificate) bool {
	if r.Unauthorized || r.Status == "unknown" || r.ThisUpdate.After(r.ProducedAt.Add(time.Hour)) {
		return false
	}
	if r.Status == "good" {
		if r.ThisUpdate.Before(cert.NotBefore.Add(-time.Minute)) {
			return false // from before the certificate existed
		}
		if r.ThisUpdate.After(cert.NotAfter) && (r.CoversExpired.IsZero() || r.CoversExpired.After(cert.NotAfter)) {
			return false // expired certificates leave the list
		}
	}
	exists, _ := j.best(r.ID)
	if a := j.algorithm("revocation data", r.Algorithm, earlier(exists, r.ThisUpdate, j.at)); a.indication != report.Passed && r.Status == "good" {
		return false
	}
	return r.SignerIsIssuer || j.speaker(r)
}

// earlier judges algorithms of evidence at its own time as long as that is
// what the document proves; without proof it is the time of judgement.
func earlier(exists, made, at time.Time) time.Time {
	if exists.Before(at) && made.Before(exists) {
		return exists
	}
	return at
}

const ekuOCSPSigning = "1.3.6.1.5.5.7.3.9"

// fresh is clause 5.2.5 with the policy's idea of it.
func (j *judge) fresh(r *report.Revocation, best time.Time) bool {
	if j.policy.Revocation.Freshness == "any" || !r.ThisUpdate.Before(best) {
		return true
	}
	if !r.NextUpdate.IsZero() {
		return !r.NextUpdate.Before(best)
	}
	return !r.ThisUpdate.Add(j.policy.Revocation.MaxAge).Before(best)
}
