package xades

import (
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/carried"
)

// Profile is that of a signature, named as EU DSS does: XAdES-BASELINE-B to -LTA, XAdES-BES, -EPES,
// -T, -C, -X, -XL, -LT, -A, or XML-NOT-ETSI.
//
// complete reports whether the document has revocation data for every certificate in the chains of
// the given ones, as LT and above require. If it is nil, any revocation data counts as complete.
func Profile(sig *ades.Signature, _ *ades.Document, complete func(certificates ...[]byte) bool) ades.Profile {
	l := leveler{sig, complete}
	if sig.Format != ades.XAdES || !l.bes() {
		return ades.Profile{Name: "XML-NOT-ETSI"}
	}
	baseline := l.baselineB()
	tokens := carried.Tokens(sig)
	if tokens == 0 {
		switch {
		case baseline:
			return ades.Baseline(ades.XAdES, ades.LevelB)
		case l.n("SignaturePolicyIdentifier") == 1:
			return extended("EPES")
		}
		return extended("BES")
	}
	baseline = baseline && tokens == l.n("SignatureTimeStamp") // one in each
	longTerm := l.longTerm()
	archived := l.has(ades.ArchiveTimestamp)
	switch {
	case longTerm && l.n("SealingEvidenceRecords") > 0:
		return extended("ERS")
	case baseline && longTerm && l.baselineLT() && archived:
		return ades.Baseline(ades.XAdES, ades.LevelLTA)
	case baseline && longTerm && l.baselineLT():
		return ades.Baseline(ades.XAdES, ades.LevelLT)
	case l.complete():
		return extended(l.withReferences(longTerm, archived))
	case longTerm && archived:
		return extended("A")
	case longTerm:
		return extended("LT")
	case baseline:
		return ades.Baseline(ades.XAdES, ades.LevelT)
	}
	return extended("T")
}

// extended is a form of EN 319 132-2.
func extended(form string) ades.Profile { return ades.Profile{Name: "XAdES-" + form} }

type leveler struct {
	sig     *ades.Signature
	covered func(...[]byte) bool
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

// bes are the minimum requirements for XAdES.
func (l leveler) bes() bool {
	signedKeyInfo := slices.ContainsFunc(l.sig.Attributes, func(a ades.Attribute) bool { return a.Name == "KeyInfo" && a.Signed })
	return l.n("SigningTime") <= 1 && l.n(attrBadFormat) == 0 && (l.certRefs() == 1 || l.certRefs() == 0 && signedKeyInfo) &&
		l.n("SignatureProductionPlace", "SignatureProductionPlaceV2") <= 1 && l.n("SignerRole", "SignerRoleV2") <= 1
}

// baselineB are the requirements of EN 319 132-1, table 2, in which real signatures differ.
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

// longTerm reports whether every chain, except for the last archive time-stamp's, has its
// revocation data in the file.
func (l leveler) longTerm() bool {
	return carried.Proves(l.sig, l.covered, l.n("CertificateValues", "AttrAuthoritiesCertValues", "TimeStampValidationData", "AnyValidationData") > 0)
}

// baselineLT excludes the references of the legacy levels.
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
		return "A"
	case longTerm && extended:
		return "XL"
	case extended:
		return "X"
	}
	return "C"
}
