package cms

import (
	"bytes"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
)

func signedCount(s *ades.Signature) map[string]int {
	n := map[string]int{}
	for _, a := range s.Attributes {
		if a.Signed {
			n[a.Name]++
		}
	}
	return n
}

// IsBES checks the requirements of EN 319 122-2 for the lowest form: signing-certificate for SHA-1,
// signing-certificate-v2 for all other hashes.
func IsBES(s *ades.Signature) bool {
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

// IsBaseline reports whether a signature has the attributes required by EN 319 122-1, 6.3, or, if
// embedded, by EN 319 142-1 for a PDF, which has the signing time elsewhere.
func IsBaseline(s *ades.Signature, embedded bool) bool {
	times := 1
	if embedded {
		times = 0
	}
	n := signedCount(s)
	if !IsBES(s) || n["signing-time"] != times || n["signature-policy-identifier"] > 1 {
		return false
	}
	if slices.ContainsFunc(s.Problems, func(p ades.Problem) bool { return p.Code == finding.CMSTypeOther.Code }) {
		return false
	}
	return slices.ContainsFunc(s.Evidence, func(e ades.Evidence) bool {
		return e.Origin == "SignedData" && e.Kind == ades.EvidenceCertificate && bytes.Equal(e.Raw, s.SigningCertificate)
	})
}
