package policy

import (
	"slices"
	"time"

	"rogito.dev/rogito/report"
)

// eIDAS applies from then on; older services and certificates are judged by Directive 1999/93/EC.
var eIDAS = time.Date(2016, 7, 1, 0, 0, 0, 0, time.UTC)

// qualified is the result of TS 119 615 for one service at one time.
type qualified struct {
	qc, device bool
	kind       string // "esign", "eseal", "web", ""
}

// qualify decides what the signature is under Regulation (EU) 910/2014. Only a trusted list can
// make it qualified; the certificate's own statements are just claims.
func (j *judge) qualify(c *report.Conclusion, ch chainVerdict) {
	c.Qualification, c.QC, c.SSCD = report.NA, "UNKNOWN", "UNKNOWN"
	leaf := ch.leaf
	if leaf == nil {
		return
	}
	if !c.TrustedList {
		if leaf.QC == nil || !leaf.QC.Compliance {
			c.QC = "NOT_VALID"
		}
		if leaf.QC == nil || !leaf.QC.SSCD {
			c.SSCD = "NOT_VALID"
		}
		return
	}
	services := j.listed(leaf.ID)
	if len(services) > 0 {
		c.Provider = services[0].Provider
	}
	atIssue, okIssue := consistent(services, leaf, leaf.NotBefore, leaf.NotBefore)
	atBest, okBest := consistent(services, leaf, c.BestTime, leaf.NotBefore)
	qc := okIssue && okBest && atIssue.qc && atBest.qc && atBest.kind != "web"
	device := qc && atBest.device
	c.QC, c.SSCD = word(qc), word(device)
	if c.Indication != report.TotalPassed {
		return
	}
	if atBest.kind == "eseal" || (atBest.kind == "" && leaf.LegalPerson) {
		c.Qualification = ranked(qc, device, report.QESeal, report.AdESealQC, report.AdESeal)
	} else {
		c.Qualification = ranked(qc, device, report.QESig, report.AdESigQC, report.AdESig)
	}
}

// stampQualification is what the lists say of a time-stamp's authority at the time of the stamp.
func stampQualification(c *report.Conclusion, ch chainVerdict, at time.Time) report.Qualification {
	if c.Indication != report.Passed || !c.TrustedList || ch.path == nil {
		return report.NA
	}
	for _, s := range fitting(ch.path, toStamp) {
		if s.Type == "TSA/QTST" && s.GrantedAt(at) {
			return report.QTSA
		}
	}
	return report.TSA
}

// listed returns the services of every listed authority above a certificate (TS 119 615, clause
// 4.4): the issuing one may have been listed later than its root.
func (j *judge) listed(leaf string) []*report.Service {
	var out []*report.Service
	for _, p := range j.facts.Paths[leaf] {
		if p.Anchor != nil && len(p.Problems) == 0 {
			out = append(out, fitting(p, toSign)...)
		}
	}
	return out
}

// ranked chooses between a qualified certificate on a qualified device, a qualified certificate,
// and neither.
func ranked[T any](qc, device bool, both, certificate, neither T) T {
	switch {
	case qc && device:
		return both
	case qc:
		return certificate
	}
	return neither
}

func word(ok bool) string {
	if ok {
		return "VALID"
	}
	return "NOT_VALID"
}

// consistent evaluates all services of a CA at a time. If services contradict each other, the
// certificate is not qualified.
func consistent(services []*report.Service, leaf *report.Certificate, at, issued time.Time) (qualified, bool) {
	var result *qualified
	for _, s := range services {
		if s.Type != "CA/QC" || !s.GrantedAt(at) {
			continue
		}
		q := evaluate(s.PeriodAt(at), leaf, issued)
		if result != nil && *result != q {
			return qualified{}, false
		}
		result = &q
	}
	if result == nil {
		return qualified{}, false
	}
	return *result, true
}

// policies of qualified certificates before eIDAS (TS 101 456).
const (
	qcpPublic     = "0.4.0.1456.1.2"
	qcpPublicSSCD = "0.4.0.1456.1.1"
)

// evaluate starts from the certificate and lets the list overrule it.
func evaluate(p *report.Period, leaf *report.Certificate, issued time.Time) qualified {
	q := claims(leaf, issued)
	q.overrule(p)
	if q.kind == "" && q.qc && !leaf.LegalPerson {
		q.kind = "esign" // EN 319 412-5: without QcType it is for signatures
	}
	// After eIDAS a service is listed for certain uses only.
	if !issued.Before(eIDAS) && len(p.Uses) > 0 && q.kind != "" && !slices.Contains(p.Uses, uses[q.kind]) {
		q.qc = false
	}
	return q
}

// claims returns what the certificate states about itself.
func claims(leaf *report.Certificate, issued time.Time) (q qualified) {
	if leaf.QC != nil {
		q.qc, q.device = leaf.QC.Compliance, leaf.QC.SSCD
		for _, t := range []string{"esign", "eseal", "web"} {
			if q.kind == "" && slices.Contains(leaf.QC.Types, t) {
				q.kind = t
			}
		}
	}
	if issued.Before(eIDAS) {
		q.qc = q.qc || slices.Contains(leaf.Policies, qcpPublic) || slices.Contains(leaf.Policies, qcpPublicSSCD)
		q.device = q.device || slices.Contains(leaf.Policies, qcpPublicSSCD)
	}
	return q
}

// overrule applies the qualifiers of the list.
func (q *qualified) overrule(p *report.Period) {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(p.Qualifiers, n) })
	}
	if has("QCStatement") {
		q.qc = true
	}
	if has("NotQualified") {
		q.qc = false
	}
	switch {
	case has("QCForLegalPerson", "QCForESeal"):
		q.kind = "eseal"
	case has("QCForESig"):
		q.kind = "esign"
	case has("QCForWSA"):
		q.kind = "web"
	}
	switch {
	case has("QCNoQSCD", "QCNoSSCD"):
		q.device = false
	case has("QCWithQSCD", "QCWithSSCD", "QCQSCDManagedOnBehalf"):
		q.device = true
	}
}

var uses = map[string]string{"esign": "ForeSignatures", "eseal": "ForeSeals", "web": "ForWebSiteAuthentication"}
