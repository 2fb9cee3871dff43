package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/report"
)

var usageNames = []string{
	"digitalSignature", "nonRepudiation", "keyEncipherment", "dataEncipherment",
	"keyAgreement", "keyCertSign", "cRLSign", "encipherOnly", "decipherOnly",
}

// oidShortTerm is ext-etsi-valassured-ST-certs of EN 319 412-1: the certificate's lifetime is so
// short that it is never revoked.
const oidShortTerm = "0.4.0.194121.2.1"

// certificateFacts describes a certificate for the report.
func certificateFacts(c *pkix.Certificate, selfSigned bool) *report.Certificate {
	key := sha256.Sum256(c.RawSPKI)
	f := &report.Certificate{
		ID: c.ID(), Raw: c.Raw, Subject: c.SubjectDN(), Issuer: c.IssuerDN(),
		SubjectCN: c.Subject.CommonName(), IssuerCN: c.Issuer.CommonName(), Country: c.Issuer.Get(pkix.OIDCountry),
		SerialNumber: c.SerialNumber.String(), NotBefore: c.NotBefore, NotAfter: c.NotAfter,
		Signed: pkix.Algorithm(c.SignatureAlgorithm, 0, nil), KeySize: pkix.KeySize(c.PublicKey),
		ExtKeyUsage: c.ExtKeyUsage, Policies: c.Policies,
		CA:         c.BasicConstraints != nil && c.BasicConstraints.IsCA,
		SelfSigned: selfSigned, OCSPNoCheck: c.OCSPNoCheck,
		NoRevocationPointer: len(c.CRLDistributionPoints) == 0 && len(c.OCSPServers) == 0,
		HasKeyUsage:         c.HasKeyUsage, HasExtKeyUsage: c.HasExtKeyUsage(), ExtKeyUsageCritical: c.ExtKeyUsageCritical,
		KeyDigest: hex.EncodeToString(key[:]),
	}
	f.Holder, f.Authority = nameFacts(c.Subject), nameFacts(c.Issuer)
	f.Key = keyName(c)
	for i, n := range usageNames {
		if c.KeyUsage&(1<<i) != 0 {
			f.KeyUsage = append(f.KeyUsage, n)
		}
	}
	f.ShortTerm = slices.ContainsFunc(c.Extensions, func(x pkix.Extension) bool { return x.OID == oidShortTerm })
	if q := c.QcStatements; q != nil {
		f.QC = &report.QC{Compliance: q.Compliance, SSCD: q.SSCD, Types: q.Types, Countries: q.Countries}
	}
	f.LegalPerson = legalPerson(c)
	if names := f.Subject + f.Issuer; strings.ContainsAny(names, "xX") { // fast path: few names have an X, as SANDBOX does
		f.Sandbox = strings.Contains(strings.ToUpper(names), "SANDBOX")
	}
	return f
}

func nameFacts(n pkix.Name) report.Name {
	return report.Name{
		Common: n.CommonName(), Given: n.Get(pkix.OIDGivenName), Surname: n.Get(pkix.OIDSurname), Pseudonym: n.Get(pkix.OIDPseudonym),
		Serial: n.Get(pkix.OIDSerialNumber), Organization: n.Get(pkix.OIDOrganization), OrgID: n.Get(pkix.OIDOrganizationIdentifier),
		Country: n.Get(pkix.OIDCountry),
	}
}

func keyName(c *pkix.Certificate) string {
	switch c.KeyAlgorithm.OID {
	case "1.2.840.113549.1.1.1", "1.2.840.113549.1.1.10", "2.5.8.1.1":
		return "RSA"
	case "1.2.840.10045.2.1":
		return "ECDSA"
	case "1.2.840.10040.4.1", "1.3.14.3.2.12":
		return "DSA"
	case "1.3.101.112":
		return "Ed25519"
	case "1.3.101.113":
		return "Ed448"
	}
	return c.KeyAlgorithm.OID
}

// legalPerson reports whether the subject is a legal person: QcType is eseal, or there is an
// organization identifier and no name of a natural person.
func legalPerson(c *pkix.Certificate) bool {
	if c.QcStatements.HasType("eseal") {
		return true
	}
	person := c.Subject.Get(pkix.OIDGivenName) != "" || c.Subject.Get(pkix.OIDSurname) != "" || c.Subject.Get(pkix.OIDPseudonym) != ""
	return !person && !c.QcStatements.HasType("esign") && c.Subject.Get(pkix.OIDOrganizationIdentifier) != ""
}
