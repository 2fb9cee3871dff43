package cades

import (
	"bytes"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/pkix"
)

// Level names the level of a signature as DSS spells it: "CAdES-BASELINE-B" to
// "-LTA", the extended forms of EN 319 122-2 "CAdES-BES", "-EPES", "-T", "-C",
// "-X", "-XL", "-LT", "-A", then "CAdES-ERS", or "CMS-NOT-ETSI". LT means that
// the file carries what every chain in it needs, which the given function
// decides for the certificates of the signer and of the time-stamps, the last
// archive time-stamp left out.
func Level(s *ades.Signature, doc *ades.Document, complete func(certs ...[]byte) bool) string {
	if !isBES(s) {
		return "CMS-NOT-ETSI"
	}
	baseline := IsBaseline(s, false)
	if !isTimestamped(s) {
		switch {
		case baseline:
			return "CAdES-BASELINE-B"
		case s.Has("signature-policy-identifier"):
			return "CAdES-EPES"
		}
		return "CAdES-BES"
	}
	whole := complete(s.Leaves()...)
	archived := stampedBy(s, ades.ArchiveTimestamp) || containerStamped(doc)
	switch {
	case baseline && whole && !hasReferences(s):
		return "CAdES-" + longTerm(s, doc)
	case s.Has("complete-certificate-references") && s.Has("complete-revocation-references"):
		return "CAdES-" + extended(s, whole, archived)
	case whole && archived:
		return "CAdES-A"
	case whole:
		return "CAdES-LT"
	case baseline:
		return "CAdES-BASELINE-T"
	}
	return "CAdES-T"
}

func longTerm(s *ades.Signature, doc *ades.Document) string {
	switch {
	case s.Has("archive-time-stamp-v3") || containerStamped(doc):
		return "BASELINE-LTA"
	case s.Has("internal-evidence-record") || s.Has("external-evidence-record"):
		return "ERS"
	}
	return "BASELINE-LT"
}

// extended is the form that a signature with complete references has.
func extended(s *ades.Signature, whole, archived bool) string {
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

// hasReferences: attributes that a baseline signature at LT must not have.
func hasReferences(s *ades.Signature) bool {
	for _, name := range []string{
		"certificate-values", "revocation-values", "complete-certificate-references",
		"complete-revocation-references", "time-stamped-certs-crls-references",
	} {
		if s.Has(name) {
			return true
		}
	}
	return false
}

func signedCount(s *ades.Signature) map[string]int {
	n := map[string]int{}
	for _, a := range s.Attributes {
		if a.Signed {
			n[a.Name]++
		}
	}
	return n
}

// isBES asks for what EN 319 122-2 demands of the lowest form: SHA-1 goes with
// signing-certificate, everything else with signing-certificate-v2.
func isBES(s *ades.Signature) bool {
	n := signedCount(s)
	if n["message-digest"] != 1 || n["signing-certificate"]+n["signing-certificate-v2"] != 1 || n["signing-time"] > 1 {
		return false
	}
	if n["content-type"] != 1 && !(n["content-type"] == 0 && strings.Contains(s.Path, "countersignature")) {
		return false
	}
	if len(s.CertificateRefs) == 0 {
		return false
	}
	return (s.CertificateRefs[0].Digest == "SHA1") == (n["signing-certificate"] == 1)
}

// IsBaseline reports whether a signature has the attributes that EN 319 122-1,
// 6.3 demands, or with embedded set those of EN 319 142-1 for a PDF, where the
// signing time stands elsewhere.
func IsBaseline(s *ades.Signature, embedded bool) bool {
	times := 1
	if embedded {
		times = 0
	}
	n := signedCount(s)
	if !isBES(s) || n["signing-time"] != times || n["signature-policy-identifier"] > 1 {
		return false
	}
	for _, p := range s.Problems {
		if p.Code == finding.CMSTypeOther.Code {
			return false
		}
	}
	for _, e := range s.Evidence {
		if e.Origin == "SignedData" && e.Kind == ades.EvidenceCertificate && bytes.Equal(e.Raw, s.SigningCertificate) {
			return true
		}
	}
	return false
}

// isTimestamped: there is a signature time-stamp, and all of them were made
// while the signing certificate was valid.
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
	for _, ts := range s.Timestamps {
		if ts.Kind == kind && !unreadable(ts) {
			return true
		}
	}
	return false
}

func containerStamped(doc *ades.Document) bool {
	if doc == nil {
		return false
	}
	for _, ts := range doc.Timestamps {
		if ts.Kind == ades.ContainerTimestamp {
			return true
		}
	}
	return false
}
