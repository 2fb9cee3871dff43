package policy

import (
	"slices"

	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/report"
)

const ekuClientAuth = "1.3.6.1.5.5.7.3.2"

// foreign are extended key usages of other trades: a certificate for nothing
// else is no signer's.
var foreign = []string{
	"1.3.6.1.5.5.7.3.1", // serverAuth
	"1.3.6.1.5.5.7.3.3", // codeSigning
	ekuTimeStamping,
	ekuOCSPSigning,
}

func signs(c *report.Certificate) bool {
	return slices.Contains(c.KeyUsage, "digitalSignature") || slices.Contains(c.KeyUsage, "nonRepudiation")
}

// usage judges whether a certificate is one to sign documents with. A
// certificate without these extensions is not restricted. clientAuth is for
// logging in; where it is the only usage that is not foreign, the key usage
// must name nonRepudiation for the certificate to be a signer's.
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

// authorities judges those above the leaf. One whose extended key usage names
// other trades only issues for these, as everybody reads the extension in an
// authority's certificate (RFC 5280, 4.2.1.12, leaves it open). An anchor is
// trusted as it is, unless it says so critically; one that begins in the future
// is none yet.
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
