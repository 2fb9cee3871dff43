package policy

import (
	"slices"
	"time"

	"rogito.dev/rogito/report"
)

// revocationVerdict is the revocation status of one certificate at a time.
type revocationVerdict struct {
	needed, known, stale, revoked, hold bool
	// There is a "good" that does not count, because it may be younger than the control time;
	// because its signer's certificate has expired, and it may be younger than that; or because it
	// is from after the time of judgement.
	unproven, expired, future bool
	at                        time.Time
}

const (
	allReasons = 0x1fe
	onHold     = 6
)

// clockSkew is how far other clocks may be ahead of ours.
const clockSkew = 5 * time.Minute

// inquiry says for which certificate revocation data is needed, and when.
type inquiry struct {
	cert *report.Certificate
	need time.Time      // time that the data must cover
	c    control        // the data must be proven to be older
	by   *report.Anchor // anchor of the certificate's path
	// responder: the certificate is that of a responder, which may be exempt by OCSPNoCheck (RFC
	// 6960, 4.2.2.2.1). In any other certificate that extension means nothing.
	responder bool
}

// revocation evaluates the statements about a certificate (clauses 5.2.5 and 5.2.6.4). A permanent
// revocation always counts; "good" must be fresh enough for the time in question, not from after
// the time of judgement, and proven to be from before the control time, if there is one.
func (j *judge) revocation(q inquiry) revocationVerdict {
	cert := q.cert
	exempt := cert.ShortTerm && !cert.CA || q.responder && cert.OCSPNoCheck && slices.Contains(cert.ExtKeyUsage, ekuOCSPSigning)
	v := revocationVerdict{needed: j.policy.Revocation.Required && !exempt}
	if j.busy[cert.ID] {
		// A responder cannot vouch for itself; a CRL may list its own issuer (RFC 5280, 6.3.3).
		return revocationVerdict{needed: j.policy.Revocation.Required && slices.Contains(cert.ExtKeyUsage, ekuOCSPSigning)}
	}
	if j.busy == nil {
		j.busy = map[string]bool{}
	}
	j.busy[cert.ID] = true
	defer delete(j.busy, cert.ID)
	var reasons uint16
	latest := true
	for _, r := range j.facts.Revocations[cert.ID] {
		good := r.Status == "good"
		if good && (r.ThisUpdate.After(j.at.Add(clockSkew)) || r.ProducedAt.After(j.at.Add(clockSkew))) {
			v.future = true
			continue
		}
		if good && (!j.existedBefore(r.ID, q.c) || r.Base != "" && !j.existedBefore(r.Base, q.c)) {
			v.unproven = true
			continue
		}
		word := j.weigh(r, q)
		if word == silent {
			continue
		}
		switch {
		case r.Status == "revoked":
			v.revoke(r, j.at, latest)
		case word == overdue:
			v.expired = true
			continue
		case j.fresh(r, q.need):
			if r.Reasons == 0 {
				reasons = allReasons
			}
			if reasons |= r.Reasons; reasons == allReasons {
				v.known = true
			}
		default:
			v.stale = true
		}
		latest = false
	}
	return v
}

// revoke applies a statement that the certificate was revoked. The earliest permanent revocation
// counts; a hold counts only if it is the latest statement.
func (v *revocationVerdict) revoke(r *report.Revocation, at time.Time, latest bool) {
	switch {
	case r.RevokedAt.After(at):
		v.known = true // not yet revoked at the time of judgement
	case r.Reason != onHold:
		if !v.revoked || v.hold || r.RevokedAt.Before(v.at) {
			v.revoked, v.hold, v.known, v.at = true, false, true, r.RevokedAt
		}
	case latest && !v.revoked:
		v.revoked, v.hold, v.known, v.at = true, true, true, r.RevokedAt
	}
}

// weight of a statement.
type weight int

const (
	silent  weight = iota // ignored: its signer is not authorized
	overdue               // its signer's certificate has expired, and nothing proves that the statement is older
	heard
)

// weigh checks that the statement's signer was authorized, that its algorithms were reliable, and
// that it was made at a time when the status could be known.
func (j *judge) weigh(r *report.Revocation, q inquiry) weight {
	if r.Unauthorized || r.Status == "unknown" || r.ThisUpdate.After(r.ProducedAt.Add(time.Hour)) {
		return silent
	}
	if r.Status == "good" {
		if r.ThisUpdate.Before(q.cert.NotBefore.Add(-time.Minute)) {
			return silent // made before the certificate existed
		}
		if r.ThisUpdate.After(q.cert.NotAfter) && (r.CoversExpired.IsZero() || r.CoversExpired.After(q.cert.NotAfter)) {
			return silent // expired certificates are removed from lists
		}
	}
	exists, _ := j.best(r.ID)
	if a := j.algorithm("revocation data", r.Algorithm, earlier(exists, r.ThisUpdate, j.at)); a.indication != report.Passed && r.Status == "good" {
		return silent
	}
	if r.SignerIsIssuer {
		return heard
	}
	return j.signerOf(r, q.by, exists)
}

// earlier returns the time at which the algorithms of evidence are judged: its own time if the
// document proves its existence, else the time of judgement.
func earlier(exists, made, at time.Time) time.Time {
	if exists.Before(at) && made.Before(exists) {
		return exists
	}
	return at
}

const ekuOCSPSigning = "1.3.6.1.5.5.7.3.9"

// fresh is clause 5.2.5 with the policy's freshness.
func (j *judge) fresh(r *report.Revocation, best time.Time) bool {
	if j.policy.Revocation.Freshness == "any" || !r.ThisUpdate.Before(best) {
		return true
	}
	if !r.NextUpdate.IsZero() {
		return !r.NextUpdate.Before(best)
	}
	return !r.ThisUpdate.Add(j.policy.Revocation.MaxAge).Before(best)
}

// signerOf judges a responder or list issuer other than the certificate's issuer: its path must end
// at the same anchor as that of the certificate (RFC 5280, 6.3.3 (f)), have been valid when it
// signed, and not have expired or been revoked before the statement is proven to exist, since the
// holder of an old key can backdate an answer.
func (j *judge) signerOf(r *report.Revocation, by *report.Anchor, exists time.Time) weight {
	result := silent
	for _, p := range j.facts.Paths[r.Signer] {
		if p.Anchor == nil || len(p.Problems) > 0 || !j.sameTrust(p.Anchor, by) {
			continue
		}
		switch j.signerPath(p, r.ProducedAt, exists) {
		case heard:
			return heard
		case overdue:
			result = overdue
		}
	}
	return result
}

func (j *judge) signerPath(p *report.Path, at, exists time.Time) weight {
	result := heard
	if p.Anchor.Source == report.FromTrustedList && !p.Anchor.Operator {
		fit := fitting(p, toAnswer)
		until, ever := trustedUntil(fit, j.at)
		switch {
		case len(fit) == 0 || !ever:
			return silent
		case !until.IsZero() && exists.After(until):
			result = overdue
		}
	}
	for i, id := range p.Certificates[:len(p.Certificates)-1] {
		c := j.facts.Certificates[id]
		if c == nil || at.Before(c.NotBefore) || at.After(c.NotAfter) {
			return silent
		}
		if exists.Truncate(time.Second).After(c.NotAfter) {
			result = overdue
		}
		rv := j.revocation(inquiry{cert: c, need: at, by: p.Anchor, responder: i == 0})
		if rv.revoked && (!rv.at.After(at) || !rv.at.After(exists)) {
			return silent
		}
		// RFC 6960, 4.2.2.2.1: a responder that is not exempt needs revocation data from its
		// issuer.
		if rv.needed && !rv.known && !rv.stale && !rv.expired {
			return silent
		}
	}
	return result
}

// sameTrust reports whether two anchors are the same: the same certificate, the same name and key,
// or services of one provider on one list.
func (j *judge) sameTrust(a, b *report.Anchor) bool {
	if a == nil || b == nil {
		return false
	}
	if a.Certificate == b.Certificate {
		return true
	}
	x, y := j.facts.Certificates[a.Certificate], j.facts.Certificates[b.Certificate]
	if x != nil && y != nil && x.Subject == y.Subject && x.KeyDigest != "" && x.KeyDigest == y.KeyDigest {
		return true
	}
	for _, s := range a.Services {
		for _, o := range b.Services {
			if s.Territory == o.Territory && s.Provider == o.Provider {
				return true
			}
		}
	}
	return false
}
