package report

import (
	"bytes"
	"time"

	"rogito.dev/rogito/ades"
)

// Outcome is a verdict to act upon.
type Outcome int

// The outcomes: the exit codes of "rogito verify".
const (
	OutcomeValid        Outcome = iota
	OutcomeInvalid              // or unsigned
	OutcomeUndetermined         // or valid for a part, or of a kind that is not judged
)

func (o Outcome) String() string {
	switch o {
	case OutcomeValid:
		return "valid"
	case OutcomeInvalid:
		return "invalid"
	}
	return "undetermined"
}

// Outcome of the whole document. A file that is itself a time-stamp is valid if the time-stamp is,
// although it has no signature.
func (r *Report) Outcome() Outcome {
	c := r.Conclusions
	switch {
	case r.Valid():
		return OutcomeValid
	case len(c.Signatures) == 0 && r.IsTimestamp():
		worst := OutcomeValid
		for _, t := range c.Timestamps {
			switch {
			case t.Indication == Failed:
				return OutcomeInvalid
			case t.Indication != Passed:
				worst = OutcomeUndetermined
			}
		}
		return worst
	case r.Facts.NotJudged != "":
		return OutcomeUndetermined
	case len(c.Signatures) == 0 || c.Indication == TotalFailed:
		return OutcomeInvalid
	}
	return OutcomeUndetermined
}

// IsTimestamp reports whether the document is a token (RFC 3161) or time-stamped data (RFC 5544),
// as opposed to a document with a time-stamp.
func (r *Report) IsTimestamp() bool {
	return len(r.Conclusions.Timestamps) > 0 && r.Conclusions.Indication != TotalFailed &&
		len(r.Facts.Layers) > 0 && r.Facts.Layers[0].Document != nil && r.Facts.Layers[0].Document.Format == ades.TST
}

// SignerOf is the certificate of the signer of a signature or time-stamp; nil if it is unknown.
func (r *Report) SignerOf(c *Conclusion) *Certificate {
	if c.Signature == nil || c.Signature.SigningCertificate == nil {
		return nil
	}
	der := c.Signature.SigningCertificate
	if len(c.Path) > 0 { // the path usually begins with it, and comparing is cheaper than a digest
		if cert := r.Facts.Certificates[c.Path[0]]; cert != nil && bytes.Equal(cert.Raw, der) {
			return cert
		}
	}
	return r.Facts.Certificates[ades.FactID(der)]
}

// TrustView says which lists and anchors a verdict is based on.
type TrustView struct {
	Lists   string  `json:"lists" enum:"loaded,stale,none" doc:"European trusted lists: loaded; stale, past their next update; none"`
	Issued  *string `json:"issued" doc:"when the list of lists was issued"`
	Anchors int     `json:"anchors" doc:"certificates that the operator trusts"`
}

// Trust is the state of the trusted lists at the time of the verdict.
func (r *Report) Trust() TrustView {
	v := TrustView{Lists: "none", Anchors: r.Facts.TrustState.OperatorAnchors}
	l := r.ListOfLists()
	if l == nil {
		return v
	}
	v.Lists, v.Issued = "loaded", stamp(l.Issued)
	if l.NextUpdate.IsZero() || r.at().After(l.NextUpdate) {
		v.Lists = "stale"
	}
	return v
}

func (r *Report) at() time.Time {
	if r.Conclusions.At.IsZero() {
		return r.MadeAt
	}
	return r.Conclusions.At
}

// ListOfLists is the state of the list of lists; nil if there is none.
func (r *Report) ListOfLists() *ListState {
	if lists := r.Facts.TrustState.Lists; len(lists) > 0 && lists[0].Verified {
		return &lists[0]
	}
	return nil
}
