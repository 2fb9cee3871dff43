package cades

import (
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/pkix"
)

// Profile is that of a signature, named as DSS does: "CAdES-BASELINE-B" to "-LTA", the extended
// forms of EN 319 122-2 "CAdES-BES", "-EPES", "-T", "-C", "-X", "-XL", "-LT", "-A", then
// "CAdES-ERS", or "CMS-NOT-ETSI". LT means that the file has the validation data of every chain,
// which complete decides for the certificates of the signer and of the time-stamps, except for the
// last archive time-stamp.
func Profile(s *ades.Signature, doc *ades.Document, complete func(certs ...[]byte) bool) ades.Profile {
	if !cms.IsBES(s) {
		return ades.Profile{Name: "CMS-NOT-ETSI"}
	}
	baseline := cms.IsBaseline(s, false)
	if !isTimestamped(s) {
		switch {
		case baseline:
			return ades.Baseline(ades.CAdES, ades.LevelB)
		case s.Has("signature-policy-identifier"):
			return extended("EPES")
		}
		return extended("BES")
	}
	whole := complete(s.Leaves()...)
	archived := stampedBy(s, ades.ArchiveTimestamp) || containerStamped(doc)
	switch {
	case baseline && whole && !hasReferences(s):
		return longTerm(s, doc)
	case s.Has("complete-certificate-references") && s.Has("complete-revocation-references"):
		return extended(withReferences(s, whole, archived))
	case whole && archived:
		return extended("A")
	case whole:
		return extended("LT")
	case baseline:
		return ades.Baseline(ades.CAdES, ades.LevelT)
	}
	return extended("T")
}

// extended is a form of EN 319 122-2.
func extended(form string) ades.Profile { return ades.Profile{Name: "CAdES-" + form} }

func longTerm(s *ades.Signature, doc *ades.Document) ades.Profile {
	switch {
	case s.Has("archive-time-stamp-v3") || containerStamped(doc):
		return ades.Baseline(ades.CAdES, ades.LevelLTA)
	case s.Has("internal-evidence-record") || s.Has("external-evidence-record"):
		return extended("ERS")
	}
	return ades.Baseline(ades.CAdES, ades.LevelLT)
}

// withReferences is the form of a signature with complete references.
func withReferences(s *ades.Signature, whole, archived bool) string {
	x := stampedBy(s, ades.SigAndRefs) || stampedBy(s, ades.RefsOnly)
	switch {
	case whole && archived:
		return "A"
	case whole && x:
		return "XL"
	case x:
		return "X"
	}
	return "C"
}

// hasReferences reports attributes that a baseline signature at LT must not have.
func hasReferences(s *ades.Signature) bool {
	return slices.ContainsFunc([]string{
		"certificate-values", "revocation-values", "complete-certificate-references",
		"complete-revocation-references", "time-stamped-certs-crls-references",
	}, s.Has)
}

// isTimestamped reports whether there is a signature time-stamp, and all of them were made while
// the signing certificate was valid.
func isTimestamped(s *ades.Signature) bool {
	found := false
	cert, err := pkix.ParseCertificate(s.SigningCertificate)
	for _, ts := range s.Timestamps {
		if ts.Kind != ades.SignatureTimestamp || unreadable(ts) {
			continue
		}
		found = true
		if err == nil && !ts.Time.Before(cert.NotAfter) {
			return false
		}
	}
	return found
}

func unreadable(ts *ades.Timestamp) bool { return ts.Time.IsZero() }

func stampedBy(s *ades.Signature, kind ades.TimestampKind) bool {
	return slices.ContainsFunc(s.Timestamps, func(ts *ades.Timestamp) bool { return ts.Kind == kind && !unreadable(ts) })
}

func containerStamped(doc *ades.Document) bool {
	return doc != nil && slices.ContainsFunc(doc.Timestamps, func(ts *ades.Timestamp) bool { return ts.Kind == ades.ContainerTimestamp })
}
