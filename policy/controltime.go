package policy

import (
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
)

// control is the control time of EN 319 102-1, clause 5.6.2.2: the moment from which an authority
// is no longer reliable. What it signed must be proven to be older. The zero value is no bound.
type control struct {
	time time.Time
	sub  report.SubIndication
	name string // of the authority
}

// earlier moves the control time back; it never moves forward.
func (c control) earlier(t time.Time, sub report.SubIndication, name string) control {
	if c.time.IsZero() || t.Before(c.time) {
		return control{t, sub, name}
	}
	return c
}

// member is one certificate of a path below its anchor.
type member struct {
	cert, issuer *report.Certificate
	revocation   revocationVerdict
	control      control // set by the certificates above
	forged       bool    // the certificate is not proven to be older than its control time
}

// signed is the algorithm of the certificate's signature, with the issuer's key size.
func (m member) signed() ades.Algorithm {
	a := m.cert.Signed
	if m.issuer != nil {
		a.KeySize = m.issuer.KeySize
	}
	return a
}

// slide is the validation time sliding process. From the certificate below the anchor down to the
// leaf, each one that was revoked, has expired or was signed with algorithms that are broken by now
// moves the control time back for everything below it. It starts with the anchor's own control
// time. Revocation data that is merely old does not move it: clause 5.5 accepts that of the file
// for the time of the signature.
func (j *judge) slide(p *report.Path, q asked, c control) []member {
	out := make([]member, len(p.Certificates)-1)
	for i := len(out) - 1; i >= 0; i-- {
		m := member{cert: j.facts.Certificates[p.Certificates[i]], issuer: j.facts.Certificates[p.Certificates[i+1]], control: c}
		m.revocation = j.revocation(inquiry{cert: m.cert, need: q.need, c: c, by: p.Anchor})
		exists, _ := j.best(m.cert.ID)
		if i == 0 {
			exists = earliest(exists, q.born)
		}
		m.forged = !c.time.IsZero() && exists.After(c.time)
		out[i] = m
		c = j.after(c, m)
	}
	return out
}

// after is the control time of what a certificate issued.
func (j *judge) after(c control, m member) control {
	name := m.cert.Called()
	if r := m.revocation; r.revoked && !r.hold {
		c = c.earlier(r.at, report.RevokedCANoPOE, name)
	}
	if j.at.Truncate(time.Second).After(m.cert.NotAfter) {
		c = c.earlier(m.cert.NotAfter, report.OutOfBoundsNoPOE, name)
	}
	if until, ok := j.reliable(m.signed()); ok && j.at.After(until) {
		c = c.earlier(until, report.CryptoConstraintsFailureNoPOE, name)
	}
	return c
}

// reliable is when the first part of an algorithm becomes weak; false if no such date is set. An
// algorithm that is not accepted at all fails elsewhere.
func (j *judge) reliable(a ades.Algorithm) (until time.Time, ends bool) {
	d, _ := j.policy.digestUntil(a.Digest)
	k, _ := j.policy.keyUntil(a.Key, a.KeySize)
	switch {
	case d.IsZero():
		return k, !k.IsZero()
	case k.IsZero() || d.Before(k):
		return d, true
	}
	return k, true
}

// existedBefore reports whether an object is proven to be from before a control time.
func (j *judge) existedBefore(id string, c control) bool {
	if c.time.IsZero() {
		return true
	}
	exists, _ := j.best(id)
	return !exists.After(c.time)
}

// bound returns since when the signing certificate is proven to exist: a signed reference with its
// digest is as old as the signature.
func (j *judge) bound(s *ades.Signature, best time.Time) time.Time {
	for _, r := range s.CertificateRefs {
		if r.DigestMatch == ades.Yes {
			return best
		}
	}
	return j.at
}
