package policy

import (
	"slices"

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
		v.add(report.Error, "XCV", "The key usage of %s allows neither digitalSignature nor nonRepudiation.", leaf.SubjectCN)
	}
	if !leaf.HasExtKeyUsage {
		return v
	}
	own := slices.DeleteFunc(slices.Clone(leaf.ExtKeyUsage), func(u string) bool { return slices.Contains(foreign, u) })
	login := !slices.ContainsFunc(own, func(u string) bool { return u != ekuClientAuth })
	if len(own) == 0 || login && !slices.Contains(leaf.KeyUsage, "nonRepudiation") {
		v.lower(report.Indeterminate, report.ChainConstraintsFailure)
		v.add(report.Error, "XCV", "The certificate of %s is not for signing documents by its extended key usage.", leaf.SubjectCN)
	}
	return v
}
