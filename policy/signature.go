package policy

import (
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/report"
)

// signature is the validation process of EN 319 102-1 clauses 5.3, 5.5 and
// 5.6 for one signature.
func (j *judge) signature(s *ades.Signature) *report.Conclusion {
	c := &report.Conclusion{ID: s.ID, Layer: j.layer, Signature: s}
	v := verdict{indication: report.Passed}
	v.merge(j.format(s))
	v.merge(j.identification(s))
	v.merge(j.cryptography(s))
	c.BestTime, c.Proven = j.best(s.ID)

	ch := j.chain(ades.FactID(s.SigningCertificate), asked{toSign, c.BestTime, c.BestTime, j.bound(s, c.BestTime)})
	if s.SigningCertificate != nil {
		v.merge(ch.verdict)
		v.merge(usage(ch.leaf))
	}
	v.merge(j.acceptance(s, c))
	v.merge(j.order(s, c, ch))
	v.merge(j.changes(s.PDF))

	for _, t := range s.Timestamps {
		n := j.stamps[t]
		c.Timestamps = append(c.Timestamps, n)
		if n.Indication != report.Passed {
			v.add("VTS", finding.StampNotPassed, t.Kind, string(n.Indication)+dash(n.SubIndication))
		}
	}
	c.Indication, c.SubIndication, c.Messages = total(v.indication), v.sub, v.messages
	ch.describe(j, c)
	j.qualify(c, ch)
	j.evidenceUntil(c, ch)
	for _, n := range s.CounterSignatures {
		c.Counters = append(c.Counters, j.signature(n))
	}
	return c
}

func dash(s report.SubIndication) string {
	if s == "" {
		return ""
	}
	return " / " + string(s)
}

// format is clause 5.2.2.
func (j *judge) format(s *ades.Signature) verdict {
	v := verdict{indication: report.Passed}
	for _, p := range s.Problems {
		if p.Fatal {
			v.lower(report.Failed, report.FormatFailure)
		}
		if p.Doubt {
			v.lower(report.Indeterminate, report.SigConstraintsFailure)
		}
		v.messages = append(v.messages, message("FC", p))
	}
	if j.container == ades.ASiCS && j.nested(s) {
		v.lower(report.Failed, report.FormatFailure)
		v.add("FC", finding.SignedFileNotInRoot)
	}
	return v
}

// nested reports whether the signed file of an ASiC-S is not in the root folder, where EN 319
// 162-1, clause 4.3.3.2, puts it and applications look for it.
func (j *judge) nested(s *ades.Signature) bool {
	return slices.ContainsFunc(s.References, func(r ades.Reference) bool {
		return strings.Contains(r.Name, "/") && !strings.HasPrefix(r.Name, "META-INF/") && r.Intact == ades.Yes
	})
}

// identification is clause 5.2.3: the certificate that verifies the value is the one in the signed
// references.
func (j *judge) identification(s *ades.Signature) verdict {
	v := verdict{indication: report.Passed}
	if s.SigningCertificate == nil {
		v.lower(report.Indeterminate, report.NoSigningCertificateFound)
		v.add("ISC", finding.CertMissing)
		return v
	}
	matched, mismatched := false, false
	for _, r := range s.CertificateRefs {
		matched = matched || r.DigestMatch == ades.Yes
		mismatched = mismatched || r.DigestMatch == ades.No
		if r.IssuerSerial == ades.No {
			v.add("ISC", finding.CertRefIssuerMismatch, r.Attribute)
		}
	}
	switch {
	case mismatched && !matched:
		v.lower(report.Indeterminate, report.NoSigningCertificateFound)
		v.add("ISC", finding.CertRefMismatch)
	case mismatched:
		v.add("ISC", finding.CertRefOneMismatch)
	case len(s.CertificateRefs) == 0 && j.policy.Signer.RequireCertificateReference:
		v.lower(report.Indeterminate, report.SigConstraintsFailure)
		v.add("ISC", finding.CertRefRequired)
	case len(s.CertificateRefs) == 0:
		v.add("ISC", finding.CertRefMissing)
	}
	return v
}

// cryptography is clause 5.2.7: references first, then the value.
func (j *judge) cryptography(s *ades.Signature) verdict {
	v := verdict{indication: report.Passed}
	for _, r := range s.References {
		v.reference(r)
	}
	if len(s.References) == 0 {
		v.lower(report.Indeterminate, report.SignedDataNotFound)
		v.add("CV", finding.SignsNothing)
	}
	switch {
	case s.ValueIntact == ades.No:
		v.lower(report.Failed, report.SigCryptoFailure)
		v.add("CV", finding.ValueWrong)
	case s.ValueIntact == ades.Unknown && s.SigningCertificate != nil:
		v.lower(report.Indeterminate, report.SigCryptoFailure)
		v.add("CV", finding.ValueUnchecked, s.Algorithm.Name)
	}
	return v
}

// reference judges one signed object. One without a name is the document itself.
func (v *verdict) reference(r ades.Reference) {
	name := refName(r)
	switch {
	case r.Intact == ades.No:
		v.lower(report.Failed, report.HashFailure)
		if name == "" {
			v.add("CV", finding.DigestWrong, r.Detail)
			return
		}
		v.add("CV", finding.DigestWrongOf, name, r.Detail)
	case !r.Found:
		v.lower(report.Indeterminate, report.SignedDataNotFound)
		if name == "" {
			v.add("CV", finding.ContentMissing, r.Detail)
			return
		}
		v.add("CV", finding.ContentMissingOf, name, r.Detail)
	case r.Intact == ades.Unknown && r.Kind == "content":
		// Without signed attributes the signature value is the only check, and reports why it
		// failed.
	case r.Intact == ades.Unknown:
		// The signed data is there, but its digest cannot be computed.
		v.lower(report.Indeterminate, report.CryptoConstraintsFailure)
		if name == "" {
			v.add("CV", finding.DigestUnchecked, r.Detail)
			return
		}
		v.add("CV", finding.DigestUncheckedOf, name, r.Detail)
	}
}

func refName(r ades.Reference) string {
	switch {
	case r.Name != "":
		return r.Name
	case r.URI != "":
		return r.URI
	case r.Kind == "message-digest", r.Kind == "byte-range":
		return ""
	}
	return r.Kind
}

// acceptance is clause 5.2.8: signed properties and algorithms.
func (j *judge) acceptance(s *ades.Signature, c *report.Conclusion) verdict {
	v := verdict{indication: report.Passed}
	if s.ClaimedTime.IsZero() && j.policy.Signer.RequireSigningTime {
		v.lower(report.Indeterminate, report.SigConstraintsFailure)
		v.add("SAV", finding.SigningTimeRequired)
	}
	v.merge(j.algorithm("signature", s.Algorithm, c.BestTime))
	seen := map[string]bool{s.Algorithm.Digest: true, s.Algorithm.Content: true, "": true}
	for _, r := range s.References {
		if !seen[r.Digest] {
			seen[r.Digest] = true
			v.merge(j.digest("reference", r.Digest, c.BestTime))
		}
	}
	return v
}

// order checks that times are consistent (clause 5.5.4, steps 4 and 5).
func (j *judge) order(s *ades.Signature, c *report.Conclusion, ch chainVerdict) verdict {
	v := verdict{indication: report.Passed}
	for _, t := range s.Timestamps {
		n := j.stamps[t]
		if t.Kind != ades.ContentTimestamp || n.Indication != report.Passed {
			continue
		}
		if t.Time.After(c.BestTime) {
			v.lower(report.Indeterminate, report.TimestampOrderFailure)
			v.add("VTS", finding.ContentStampedLate)
		}
		// A content time-stamp proves that the signature is later.
		if ch.leaf != nil && ch.anchored && len(ch.path.Certificates) > 1 {
			if ch.revoked && !ch.revokedAt.IsZero() && t.Time.After(ch.revokedAt) {
				v.lower(report.Failed, report.Revoked)
				v.add("XCV", finding.SignedAfterRevocation)
			}
			if t.Time.After(ch.leaf.NotAfter) {
				v.lower(report.Failed, report.Expired)
				v.add("XCV", finding.SignedAfterExpiry)
			}
		}
	}
	if leaf := ch.leaf; leaf != nil && !s.ClaimedTime.IsZero() {
		if s.ClaimedTime.Before(leaf.NotBefore) || s.ClaimedTime.After(leaf.NotAfter) {
			v.add("SAV", finding.SigningTimeOutsideCert)
		}
		if s.ClaimedTime.After(c.BestTime.Add(5 * time.Minute)) {
			v.add("SAV", finding.SigningTimeAfterProof)
		}
	}
	return v
}

// changes judges what a PDF shows beyond what was signed.
func (j *judge) changes(p *ades.PDFFacts) verdict {
	v := verdict{indication: report.Passed}
	if p == nil {
		return v
	}
	for _, ch := range p.Changes {
		switch {
		case ch.Permitted && ch.Kind == "annotation":
			v.add("FC", finding.ChangeMayCover, finding.Change(ch)...)
		case ch.Permitted:
			v.add("FC", finding.ChangePermitted, finding.Change(ch)...)
		case j.policy.PDF.Changes == "warn":
			v.add("FC", finding.ChangeTolerated, finding.Change(ch)...)
		case ch.Unexplained:
			v.lower(report.Indeterminate, report.SigConstraintsFailure)
			v.add("SAV", finding.ChangeUnexplained, finding.Change(ch)...)
		default:
			v.lower(report.Failed, report.FormatFailure)
			v.add("FC", finding.ChangeForbidden, finding.Change(ch)...)
		}
	}
	return v
}

// evidenceUntil determines how long the evidence in the file will last: as long as the signer's
// certificate, or that of the last time-stamp.
func (j *judge) evidenceUntil(c *report.Conclusion, ch chainVerdict) {
	if ch.leaf != nil {
		c.ValidUntil = ch.leaf.NotAfter
	}
	if t := j.latest[c.ID]; t != nil {
		if cert := j.facts.Certificates[ades.FactID(t.Signature.SigningCertificate)]; cert != nil {
			c.ValidUntil = cert.NotAfter
		}
	}
}
