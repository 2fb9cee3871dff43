package policy

import (
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/report"
)

// algorithm judges a signature algorithm with its key at a time (clause 5.2.8.4.2, TS 119 312).
func (j *judge) algorithm(what string, a ades.Algorithm, at time.Time) verdict {
	v := j.digest(what, a.Digest, at)
	if a.Content != "" && a.Content != a.Digest {
		v.merge(j.digest("content", a.Content, at))
	}
	v.merge(j.key(what, a.Key, a.KeySize, at))
	return v
}

func (j *judge) digest(what, name string, at time.Time) verdict {
	v := verdict{indication: report.Passed}
	until, ok := j.policy.digestUntil(name)
	switch {
	case !ok:
		v.lower(report.Indeterminate, report.CryptoConstraintsFailure)
		v.add("SAV", finding.DigestNotAccepted, name, what)
	case !until.IsZero() && at.After(until):
		v.lower(report.Indeterminate, report.CryptoConstraintsFailureNoPOE)
		v.add("SAV", finding.DigestUnreliable, name, what, until.Format(time.DateOnly))
	}
	return v
}

func (j *judge) key(what, kind string, bits int, at time.Time) verdict {
	v := verdict{indication: report.Passed}
	if bits == 0 {
		return v // the key is unknown, which the cryptographic check already reports
	}
	until, ok := j.policy.keyUntil(kind, bits)
	switch {
	case !ok:
		v.lower(report.Indeterminate, report.CryptoConstraintsFailure)
		v.add("SAV", finding.KeyTooWeak, kind, bits, what)
	case !until.IsZero() && at.After(until):
		v.lower(report.Indeterminate, report.CryptoConstraintsFailureNoPOE)
		v.add("SAV", finding.KeyUnreliable, kind, bits, what, until.Format(time.DateOnly))
	}
	return v
}
