package policy

import (
	"slices"

	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/report"
)

const ekuClientAuth = "1.3.6.1.5.5.7.3.2"

// foreign are extended key usages for other purposes: a certificate with no others is not for
// signing documents.
var foreign = []string{
	"1.3.6.1.5.5.7.3.1", // serverAuth
	"1.3.6.1.5.5.7.3.3", // codeSigning
	ekuTimeStamping,
	ekuOCSPSigning,
}

func signs(c *report.Certificate) bool {
	return slices.Contains(c.KeyUsage, "digitalSignature") || slices.Contains(c.KeyUsage, "nonRepudiation")
}

// usage judges whether a certificate may sign documents. A certificate without these extensions is
// not restricted. clientAuth is for logging in; if it is the only usage that is not foreign, the
// key usage must include nonRepudiation.
func usage(leaf *report.Certificate) verdict {
	v := verdict{indication: report.Passed}
	if leaf == nil {
		return v
	}
	if leaf.HasKeyUsage && !signs(leaf) {
		v.lower(report.Indeterminate, report.ChainConstraintsFailure)
		v.add("XCV", finding.CertMayNotSign, leaf.Called())
	}
	if !leaf.HasExtKeyUsage {
		return v
	}
	own := slices.DeleteFunc(slices.Clone(leaf.ExtKeyUsage), func(u string) bool { return slices.Contains(foreign, u) })
	login := !slices.ContainsFunc(own, func(u string) bool { return u != ekuClientAuth })
	if len(own) == 0 || login && !slices.Contains(leaf.KeyUsage, "nonRepudiation") {
		v.lower(report.Indeterminate, report.ChainConstraintsFailure)
		v.add("XCV", finding.CertNotForSigning, leaf.Called())
	}
	return v
}

// authorities judges the certificates above the leaf. An authority whose extended key usage has
// only foreign purposes may issue only for these, as all implementations read the extension (RFC
// 5280, 4.2.1.12, leaves it open). An anchor is trusted regardless, unless the extension is
// critical; one that is not yet valid is not trusted.
func (j *judge) authorities(v *chainVerdict, p *report.Path) {
	for i, id := range p.Certificates {
		c := j.facts.Certificates[id]
		if c == nil {
			continue
		}
		anchor := id == p.Anchor.Certificate
		if anchor && j.at.Before(c.NotBefore) {
			v.lower(report.Indeterminate, report.NoCertificateChainFound)
			v.add("XCV", finding.AnchorNotYetValid, c.Called(), c.NotBefore)
		}
		if i == 0 || v.use != toSign || !c.HasExtKeyUsage || anchor && !c.ExtKeyUsageCritical {
			continue
		}
		if !slices.ContainsFunc(c.ExtKeyUsage, func(u string) bool { return !slices.Contains(foreign, u) }) {
			v.lower(report.Indeterminate, report.ChainConstraintsFailure)
			v.add("XCV", finding.IssuerNotForSigners, c.Called())
		}
	}
}
