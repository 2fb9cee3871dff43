package jades

import (
	"slices"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/carried"
)

// Profile is that of a signature, named as EU DSS does: JAdES-BASELINE-B to -LTA, or JSON-NOT-ETSI
// for every other JWS.
//
// complete reports whether the document has revocation data for every certificate in the chains of
// the given ones, as LT and above require. If it is nil, any revocation data counts as complete.
func Profile(sig *ades.Signature, doc *ades.Document, complete func(certificates ...[]byte) bool) ades.Profile {
	l := leveler{sig, complete}
	switch {
	case !l.baselineB(!slices.Contains(doc.Signatures, sig)):
		return ades.Profile{Name: "JSON-NOT-ETSI"}
	case !l.timestamped():
		return ades.Baseline(ades.JAdES, ades.LevelB)
	case !l.longTerm():
		return ades.Baseline(ades.JAdES, ades.LevelT)
	case !l.has(ades.ArchiveTimestamp):
		return ades.Baseline(ades.JAdES, ades.LevelLT)
	}
	return ades.Baseline(ades.JAdES, ades.LevelLTA)
}

type leveler struct {
	sig     *ades.Signature
	covered func(...[]byte) bool
}

// n counts header parameters or components of the given names.
func (l leveler) n(signed bool, names ...string) int {
	total := 0
	for _, a := range l.sig.Attributes {
		if a.Signed == signed && slices.Contains(names, a.Name) {
			total += a.Values
		}
	}
	return total
}

func (l leveler) has(kinds ...ades.TimestampKind) bool {
	return slices.ContainsFunc(l.sig.Timestamps, func(t *ades.Timestamp) bool { return slices.Contains(kinds, t.Kind) })
}

// sigTEnd is the day since which the signing time is in iat instead of sigT (TS 119 182-1 V1.2.1,
// 5.2.1).
var sigTEnd = time.Date(2025, 7, 15, 0, 0, 0, 0, time.UTC)

// baselineB are the requirements of TS 119 182-1, table 1, in which real files differ. A
// counter-signature has no cty.
func (l leveler) baselineB(counter bool) bool {
	if l.n(true, "alg") != 1 || counter && l.n(true, "cty") > 0 || ades.Fatal(l.sig.Problems) && l.formBroken() {
		return false
	}
	if l.n(true, "x5t#S256", "x5t#o", "sigX5ts") != 1 || len(l.sig.CertificateRefs) == 0 || l.n(false, "sigPSt") > 1 {
		return false
	}
	switch iat, sigT := l.n(true, "iat"), l.n(true, "sigT"); {
	case iat+sigT != 1, l.sig.ClaimedTime.IsZero():
		return false
	case sigT == 1:
		return l.sig.ClaimedTime.Before(sigTEnd)
	}
	return true
}

// formBroken reports that a requirement of crit is not met, or that a header parameter has a wrong
// type.
func (l leveler) formBroken() bool {
	return slices.ContainsFunc(l.sig.Problems, func(p ades.Problem) bool {
		switch p.Code {
		case "JWS_CRIT_FORM", "JWS_CRIT_UNKNOWN", "JWS_CRIT_DEFINED", "JWS_CRIT_ABSENT", "JWS_CRIT_MISSING", "JWS_HEADER_NOT_PROTECTED", "JWS_HEADER_FORM":
			return true
		}
		return false
	})
}

// timestamped reports whether there are signature time-stamps, one per component, all from within
// the validity of the signer's certificate.
func (l leveler) timestamped() bool {
	tokens := carried.Tokens(l.sig)
	return tokens > 0 && tokens == l.n(false, "sigTst")
}

// longTerm reports whether every chain, except the last archive time-stamp's, has its revocation
// data in the file, and there are no references of older levels.
func (l leveler) longTerm() bool {
	return l.n(false, "xRefs", "rRefs", "axRefs", "arRefs", "sigRTst", "rfsTst") == 0 &&
		carried.Proves(l.sig, l.covered, l.n(false, "xVals", "axVals", "tstVD", "anyValData") > 0)
}
