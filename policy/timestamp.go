package policy

import (
	"slices"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/report"
)

const ekuTimeStamping = "1.3.6.1.5.5.7.3.8"

// timestamp validates a token (EN 319 102-1, clause 5.4) with the building blocks of a signature,
// the imprint being its data.
func (j *judge) timestamp(t *ades.Timestamp) *report.Conclusion {
	c := &report.Conclusion{ID: t.ID, Layer: j.layer, Timestamp: t, Signature: t.Signature}
	v := verdict{indication: report.Passed}
	c.BestTime, c.Proven = j.best(t.ID)
	for _, p := range t.Problems {
		if p.Fatal {
			v.lower(report.Failed, report.FormatFailure)
			v.messages = append(v.messages, message("FC", p))
		}
	}
	v.merge(j.imprint(t))
	var ch chainVerdict
	if s := t.Signature; s == nil {
		v.lower(report.Failed, report.FormatFailure)
		v.add("FC", finding.StampUnsigned)
	} else {
		v.merge(j.format(s))
		v.merge(j.identification(s))
		v.merge(j.cryptography(s))
		ch = j.chain(ades.FactID(s.SigningCertificate), asked{toStamp, c.BestTime, earliest(c.BestTime, t.Time), j.bound(s, c.BestTime)})
		if s.SigningCertificate != nil {
			v.merge(ch.verdict)
			v.merge(j.unit(ch, t))
		}
		v.merge(j.algorithm("time-stamp", s.Algorithm, c.BestTime))
	}
	v.merge(j.digest("time-stamp imprint", t.ImprintDigest, c.BestTime))
	for _, name := range t.Digests {
		v.merge(j.digest("reference", name, c.BestTime))
	}
	if t.Time.After(j.at) {
		v.lower(report.Indeterminate, report.NotYetValid)
		v.add("VTS", finding.StampInFuture)
	}
	c.Indication, c.SubIndication, c.Messages = v.indication, v.sub, v.messages
	ch.describe(j, c)
	c.Qualification = stampQualification(c, ch, t.Time)
	if ch.leaf != nil {
		c.ValidUntil = ch.leaf.NotAfter
	}
	return c
}

// alone adds to the verdict on a time-stamp of a document that nobody signed what is otherwise judged
// of a signature: whether the document shows what was time-stamped.
func (j *judge) alone(c *report.Conclusion) {
	v := verdict{indication: c.Indication, sub: c.SubIndication, messages: c.Messages}
	for _, p := range c.Timestamp.Problems {
		if p.Doubt {
			v.lower(report.Indeterminate, report.SigConstraintsFailure)
			v.messages = append(v.messages, message("FC", p))
		}
	}
	v.merge(j.changes(c.Timestamp.PDF))
	c.Indication, c.SubIndication, c.Messages = v.indication, v.sub, v.messages
}

func (j *judge) imprint(t *ades.Timestamp) verdict {
	v := verdict{indication: report.Passed}
	switch t.ImprintIntact {
	case ades.No:
		v.lower(report.Failed, report.HashFailure)
		v.add("CV", finding.StampOverOtherData)
	case ades.Unknown:
		v.lower(report.Indeterminate, report.SignedDataNotFound)
		v.add("CV", finding.StampDataMissing)
	}
	return v
}

// unit checks that the certificate may be used for time-stamping and was valid at the time of the
// token. RFC 3161, 2.3, requires exactly one extended key usage, which is critical.
func (j *judge) unit(ch chainVerdict, t *ades.Timestamp) verdict {
	v := verdict{indication: report.Passed}
	if ch.leaf == nil {
		return v
	}
	switch leaf := ch.leaf; {
	case !slices.Contains(leaf.ExtKeyUsage, ekuTimeStamping):
		v.lower(report.Indeterminate, report.ChainConstraintsFailure)
		v.add("XCV", finding.StampCertNotUnit)
	case len(leaf.ExtKeyUsage) > 1 || !leaf.ExtKeyUsageCritical:
		v.lower(report.Indeterminate, report.ChainConstraintsFailure)
		v.add("XCV", finding.StampCertNotAlone)
	case leaf.HasKeyUsage && !signs(leaf):
		v.lower(report.Indeterminate, report.ChainConstraintsFailure)
		v.add("XCV", finding.StampCertMayNotSign)
	}
	if t.Time.Before(ch.leaf.NotBefore) || t.Time.After(ch.leaf.NotAfter) {
		v.lower(report.Indeterminate, report.SigConstraintsFailure)
		v.add("XCV", finding.StampOutsideCert)
	}
	return v
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
