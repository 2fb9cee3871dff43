package xades

import (
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
)

// Level names the level that a signature has reached, in the spelling of EU
// DSS: XAdES-BASELINE-B to -LTA, XAdES-BES, -EPES, -T, -C, -X, -XL, -LT, -A, or
// XML-NOT-ETSI.
//
// complete is asked whether the document carries revocation data for every
// certificate of the chains of the given ones, which LT and above demand. Nil
// means that it was not looked into, and counts as complete where there is
// any revocation data.
func Level(sig *ades.Signature, _ *ades.Document, complete func(certificates ...[]byte) bool) string {
	l := leveler{sig, complete}
	if sig.Format != ades.XAdES || !l.bes() {
		return "XML-NOT-ETSI"
	}
	baseline := l.baselineB()
	if !l.timestamped() {
		switch {
		case baseline:
			return "XAdES-BASELINE-B"
		case l.n("SignaturePolicyIdentifier") == 1:
			return "XAdES-EPES"
		}
		return "XAdES-BES"
	}
	baseline = baseline && l.oneTokenEach()
	longTerm := l.longTerm()
	archived := l.has(ades.ArchiveTimestamp)
	switch {
	case longTerm && l.n("SealingEvidenceRecords") > 0:
		return "XAdES-ERS"
	case baseline && longTerm && l.baselineLT():
		return l.either(archived, "XAdES-BASELINE-LTA", "XAdES-BASELINE-LT")
	case l.complete():
		return l.withReferences(longTerm, archived)
	case longTerm:
		return l.either(archived, "XAdES-A", "XAdES-LT")
	}
	return l.either(baseline, "XAdES-BASELINE-T", "XAdES-T")
}

type leveler struct {
	sig     *ades.Signature
	covered func(...[]byte) bool
}

func (l leveler) either(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

// n counts properties of the given names.
func (l leveler) n(names ...string) int {
	total := 0
	for _, a := range l.sig.Attributes {
		if slices.Contains(names, a.Name) {
			total += a.Values
		}
	}
	return total
}

func (l leveler) has(kinds ...ades.TimestampKind) bool {
	return slices.ContainsFunc(l.sig.Timestamps, func(t *ades.Timestamp) bool { return slices.Contains(kinds, t.Kind) })
}

func (l leveler) certRefs() int { return l.n("SigningCertificate", "SigningCertificateV2") }

// bes is the least that makes an XML signature a XAdES one.
func (l leveler) bes() bool {
	signedKeyInfo := slices.ContainsFunc(l.sig.Attributes, func(a ades.Attribute) bool { return a.Name == "KeyInfo" && a.Signed })
	return l.n("SigningTime") <= 1 && l.n(attrBadFormat) == 0 && (l.certRefs() == 1 || l.certRefs() == 0 && signedKeyInfo) &&
		l.n("SignatureProductionPlace", "SignatureProductionPlaceV2") <= 1 && l.n("SignerRole", "SignerRoleV2") <= 1
}

// baselineB are the requirements of EN 319 132-1, table 2, that files differ in.
func (l leveler) baselineB() bool {
	return l.n("KeyInfo") == 1 && len(l.sig.References) >= 2 && l.n("SigningTime") == 1 && l.certRefs() == 1 &&
		l.n(attrUnformatted) == 0 && l.n("SignaturePolicyIdentifier") <= 1 && l.signerInKeyInfo() &&
		len(l.sig.CertificateRefs) > 0 && (l.sig.CertificateRefs[0].DigestMatch == ades.Yes || l.sig.CertificateRefs[0].IssuerSerial == ades.Yes)
}

func (l leveler) signerInKeyInfo() bool {
	return slices.ContainsFunc(l.sig.Evidence, func(e ades.Evidence) bool {
		return e.Origin == "KeyInfo" && slices.Equal(e.Raw, l.sig.SigningCertificate)
	})
}

// timestamped: there are signature time-stamps, and all from within the life
// of the signer's certificate.
func (l leveler) timestamped() bool {
	if !l.has(ades.SignatureTimestamp) {
		return false
	}
	c, err := pkix.ParseCertificate(l.sig.SigningCertificate)
	if err != nil {
		return true
	}
	return !slices.ContainsFunc(l.sig.Timestamps, func(t *ades.Timestamp) bool {
		return t.Kind == ades.SignatureTimestamp && !t.Time.Before(c.NotAfter)
	})
}

// oneTokenEach: a baseline signature has one token in each time-stamp.
func (l leveler) oneTokenEach() bool {
	tokens := 0
	for _, t := range l.sig.Timestamps {
		if t.Kind == ades.SignatureTimestamp {
			tokens++
		}
	}
	return tokens == l.n("SignatureTimeStamp")
}

// longTerm: every chain but that of the last archive time-stamp has its
// revocation data in the file.
func (l leveler) longTerm() bool {
	revocation := slices.ContainsFunc(l.evidence(), func(e ades.Evidence) bool { return e.Kind != ades.EvidenceCertificate })
	leaves := l.sig.Leaves()
	if !revocation {
		return l.n("CertificateValues", "AttrAuthoritiesCertValues", "TimeStampValidationData", "AnyValidationData") > 0 && allSelfSigned(leaves)
	}
	return l.covered == nil || l.covered(leaves...)
}

func (l leveler) evidence() []ades.Evidence {
	all := slices.Clone(l.sig.Evidence)
	for _, t := range l.sig.Timestamps {
		if t.Signature != nil {
			all = append(all, t.Signature.Evidence...)
		}
	}
	return all
}

func allSelfSigned(certs [][]byte) bool {
	for _, der := range certs {
		if c, err := pkix.ParseCertificate(der); err != nil || !c.SelfSigned() {
			return false
		}
	}
	return len(certs) > 0
}

// baselineLT forbids the references of the legacy levels.
func (l leveler) baselineLT() bool {
	return l.n("CertificateValues") <= 1 && l.n("RevocationValues") <= 1 && !l.refs() && !l.has(ades.SigAndRefs, ades.RefsOnly)
}

func (l leveler) refs() bool {
	return l.n("CompleteCertificateRefs", "CompleteCertificateRefsV2", "CompleteRevocationRefs") > 0
}

// complete is level C: references to all certificates and revocation data.
func (l leveler) complete() bool {
	return l.n("CompleteCertificateRefs", "CompleteCertificateRefsV2") == 1 && l.n("CompleteRevocationRefs") == 1
}

// withReferences are the legacy levels above C.
func (l leveler) withReferences(longTerm, archived bool) string {
	extended := l.has(ades.SigAndRefs, ades.RefsOnly)
	switch {
	case longTerm && archived:
		return "XAdES-A"
	case longTerm && extended:
		return "XAdES-XL"
	case extended:
		return "XAdES-X"
	}
	return "XAdES-C"
}
