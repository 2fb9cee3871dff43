package pades

import (
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
)

// Profile is that of a signature, named as DSS does: "PAdES-BASELINE-B" to "-LTA", the older
// "PAdES-BES", "PAdES-EPES" and "PAdES-LTV", "PKCS7-B" to "-LTA" for the SubFilters of ISO 32000-1,
// or "PDF-NOT-ETSI". LT means that the file has the validation data of every chain, stored after
// the signature was made; complete decides that for the certificates of the signer and of the
// time-stamps.
func Profile(s *ades.Signature, doc *ades.Document, complete func(certs ...[]byte) bool) ades.Profile {
	other := ades.Profile{Name: "PDF-NOT-ETSI"}
	if s.PDF == nil {
		return other
	}
	switch s.PDF.SubFilter {
	case "adbe.pkcs7.detached":
		if s.SigningCertificate == nil || hasProblem(s, whereContent) || attributeValues(s, "message-digest") == 0 {
			return other
		}
		return ades.Profile{Name: "PKCS7-" + reached(s, doc, complete).String()}
	case "adbe.pkcs7.sha1":
		if s.SigningCertificate == nil {
			return other
		}
		return ades.Profile{Name: "PKCS7-" + reached(s, doc, complete).String()}
	case "ETSI.CAdES.detached":
	default:
		return other
	}
	if !isBES(s) {
		return other
	}
	if isBaseline(s) {
		return ades.Baseline(ades.PAdES, reached(s, doc, complete))
	}
	switch {
	case reached(s, doc, complete) == ades.LevelLTA:
		return ades.Profile{Name: "PAdES-LTV"}
	case s.Has("signature-policy-identifier") && s.PDF.Reason == "":
		return ades.Profile{Name: "PAdES-EPES"}
	}
	return ades.Profile{Name: "PAdES-BES"}
}

func hasProblem(s *ades.Signature, where string) bool {
	return slices.ContainsFunc(s.Problems, func(p ades.Problem) bool { return p.Where == where })
}

// attributeValues counts the values of a signed attribute.
func attributeValues(s *ades.Signature, name string) int {
	n := 0
	for _, a := range s.Attributes {
		if a.Signed && a.Name == name {
			n += a.Values
		}
	}
	return n
}

// isBES is EN 319 142-2, 5.3.
func isBES(s *ades.Signature) bool {
	return attributeValues(s, "content-type") == 1 && attributeValues(s, "message-digest") == 1 &&
		attributeValues(s, "signing-certificate")+attributeValues(s, "signing-certificate-v2") == 1 &&
		!hasProblem(s, whereSigners) && !hasProblem(s, whereContent) &&
		(s.PDF.Reason == "" || !s.Has("commitment-type-indication")) && s.PDF.ByteRange != nil
}

// isBaseline is EN 319 142-1, 6.3.
func isBaseline(s *ades.Signature) bool {
	if !cms.IsBaseline(s, true) || s.PDF.Date.IsZero() {
		return false
	}
	if s.PDF.Reason != "" && s.Policy != nil {
		return false
	}
	sha1 := len(s.CertificateRefs) > 0 && s.CertificateRefs[0].Digest == "SHA1"
	return sha1 == (attributeValues(s, "signing-certificate") == 1)
}

// reached is the level by validation data and time-stamps.
func reached(s *ades.Signature, doc *ades.Document, complete func(certs ...[]byte) bool) ades.Level {
	stamps := stampsOver(s, doc)
	if len(s.Timestamps) == 0 && len(stamps) == 0 {
		return ades.LevelB
	}
	if !storeHas(doc, ades.EvidenceCertificate) && !hasRevocation(doc) || storedBefore(s, doc) {
		return ades.LevelT
	}
	var archive *ades.Timestamp
	for _, t := range stamps {
		if coversRevocation(t, doc) {
			archive = t
		}
	}
	leaves := [][]byte{s.SigningCertificate}
	for _, t := range append(slices.Clone(s.Timestamps), stamps...) {
		if t != archive && t.Signature != nil {
			leaves = append(leaves, t.Signature.SigningCertificate)
		}
	}
	leaves = slices.DeleteFunc(leaves, func(c []byte) bool { return c == nil })
	switch {
	case !complete(leaves...):
		return ades.LevelT
	case archive != nil:
		return ades.LevelLTA
	}
	return ades.LevelLT
}

// storedBefore reports whether the store was last written before the signature was made, so that
// its data was gathered for other signatures.
func storedBefore(s *ades.Signature, doc *ades.Document) bool {
	return doc.StoreRevision > 0 && doc.StoreRevision <= s.PDF.Revision
}

// stampsOver lists the document time-stamps made after a signature.
func stampsOver(s *ades.Signature, doc *ades.Document) []*ades.Timestamp {
	var out []*ades.Timestamp
	for _, t := range doc.Timestamps {
		if conforms(t) && slices.Contains(t.Covers, s.ID) {
			out = append(out, t)
		}
	}
	return out
}

func storeHas(doc *ades.Document, kind ades.EvidenceKind) bool {
	return slices.ContainsFunc(doc.Evidence, func(e ades.Evidence) bool { return e.Kind == kind })
}

func hasRevocation(doc *ades.Document) bool {
	return storeHas(doc, ades.EvidenceOCSP) || storeHas(doc, ades.EvidenceCRL)
}

// coversRevocation reports whether a document time-stamp protects the store: its revocation data,
// or its certificates if it has none. It covers what its own revision and those before it added.
func coversRevocation(t *ades.Timestamp, doc *ades.Document) bool {
	only := hasRevocation(doc)
	return slices.ContainsFunc(doc.Evidence, func(e ades.Evidence) bool {
		return (!only || e.Kind != ades.EvidenceCertificate) && e.Revision > 0 && e.Revision <= t.PDF.Revision
	})
}
