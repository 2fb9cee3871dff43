package policy

import (
	"slices"
	"time"

	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/report"
)

// fitting returns the services behind the anchor of a path that cover the use of its leaf. An
// authority covers the certificates that it issued, but its own certificate does not cover a
// signature or a time-stamp. A time-stamping service covers time-stamping units, a status service
// covers answers.
func fitting(p *report.Path, u use) []*report.Service {
	alone := len(p.Certificates) == 1
	var out []*report.Service
	for _, s := range p.Anchor.Services {
		ok := s.Issues() && (!alone || u == toAnswer)
		switch u {
		case toStamp:
			ok = ok || s.Stamps()
		case toAnswer:
			ok = ok || s.Answers() || s.Stamps() && !alone
		}
		if ok {
			out = append(out, s)
		}
	}
	return out
}

// trustedUntil returns until when services are trusted, as of a time: zero if one is granted then,
// else the end of the last grant. It is false if none was ever granted. A list that was closed (TS
// 119 612, clause 5.3.15: without NextUpdate) says nothing about times after its last issue.
func trustedUntil(services []*report.Service, at time.Time) (until time.Time, ever bool) {
	for _, s := range services {
		if s.GrantedAt(at) {
			if !s.ListUntil.IsZero() || !at.After(s.ListIssue) {
				return time.Time{}, true
			}
			if ever = true; s.ListIssue.After(until) {
				until = s.ListIssue
			}
		}
		for i := range s.Periods {
			from := s.Periods[i].From
			if from.After(at) || s.GrantedAt(from) || !s.GrantedAt(from.Add(-time.Nanosecond)) {
				continue
			}
			if ever = true; from.After(until) {
				until = from
			}
		}
	}
	return until, ever
}

// service judges the state of the trusted-list services behind an anchor. A withdrawn service is an
// anchor with a sunset date, which is returned as the control time for everything below it.
func (j *judge) service(v *chainVerdict, p *report.Path) control {
	if p.Anchor.Source != report.FromTrustedList || p.Anchor.Operator {
		return control{}
	}
	name := ""
	if c := j.facts.Certificates[p.Anchor.Certificate]; c != nil {
		name = c.Called()
	}
	fit := fitting(p, v.use)
	if len(fit) == 0 {
		v.lower(report.Indeterminate, report.NoCertificateChainFound)
		v.add("XCV", finding.ServiceOfOtherType, name, p.Anchor.Services[0].Type)
		return control{}
	}
	if !slices.ContainsFunc(fit, func(s *report.Service) bool { return s.ListUntil.IsZero() || !j.at.After(s.ListUntil) }) {
		if j.policy.TrustedLists.Stale == "warn" {
			v.add("XCV", finding.ListOverdueWarning)
		} else {
			v.lower(report.Indeterminate, report.TryLater)
			v.add("XCV", finding.ListOverdue)
		}
	}
	until, ever := trustedUntil(fit, j.at)
	switch {
	case !ever:
		v.lower(report.Indeterminate, report.NoCertificateChainFound)
		v.add("XCV", finding.ServiceNotGranted, name)
		return control{}
	case until.IsZero():
		return control{}
	case v.best.After(until):
		v.lower(report.Indeterminate, report.NoCertificateChainFoundNoPOE)
		v.add("XCV", finding.ServiceWithdrawn, name, until)
	}
	return control{until, report.NoCertificateChainFoundNoPOE, name}
}
