package pades

import (
	"crypto"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/tsp"
)

// readTimestamp returns the facts of a document time-stamp (EN 319 142-1, 5.4.3), which does not
// count as a signature.
func (r *reader) readTimestamp(f *signatureEntry) error {
	raw := f.contents
	if e, _, err := cms.ReadElement(raw); err == nil {
		raw = e.Raw // without padding
	}
	var imprint func(crypto.Hash) ([]byte, error)
	if f.rangeOK {
		imprint = r.digests.of(f)
	}
	t, err := tsp.Read(raw, imprint)
	if err == nil && t.Signature != nil && t.Signature.SigningCertificate == nil {
		t, err = tsp.Read(raw, imprint, r.storedCertificates()...)
	}
	if err != nil {
		return err
	}
	t.Kind, t.Path = ades.DocumentTimestamp, f.path
	t.PDF = r.facts(f)
	t.Problems = append(f.problems, t.Problems...)
	if typ := r.doc.Name(f.dict.Get("Type")); typ != "" && typ != "DocTimeStamp" {
		t.Problems = append(t.Problems, finding.PDFNotDocTimeStamp.Problem(f.path))
	}
	if !f.rangeOK {
		t.ImprintIntact = ades.Unknown // nothing was digested
	}
	if f.cut {
		t.ImprintIntact = ades.No
	}
	f.timestamp = t
	return nil
}

// conforms reports whether a document time-stamp has the form required by EN 319 142-1, 5.4.3.
// Otherwise it still proves existence, but does not count for the level.
func conforms(t *ades.Timestamp) bool {
	return !slices.ContainsFunc(t.Problems, func(p ades.Problem) bool { return p.Code == finding.PDFNotDocTimeStamp.Code })
}

// cover lists what each document time-stamp proves to have existed: everything in the revisions up
// to its own. A report repeats a time-stamp with every signature under it, which is charged.
func (r *reader) cover() error {
	const repeated = 4 << 10
	inside := make([][]string, len(r.found))
	for i, f := range r.found {
		if s := f.signature; s != nil {
			inside[i] = append([]string{s.ID}, factIDs(s)...)
		}
		if o := f.timestamp; o != nil {
			inside[i] = append(append(inside[i], o.ID), factIDs(o.Signature)...)
		}
	}
	evidence := make([]string, len(r.out.Evidence))
	for i, e := range r.out.Evidence {
		evidence[i] = e.ID()
	}
	for _, f := range r.found {
		t := f.timestamp
		if t == nil || !f.rangeOK {
			continue
		}
		signatures := int64(0)
		for i, other := range r.found {
			if other == f || other.end == 0 || other.end >= f.end {
				continue
			}
			if other.signature != nil {
				signatures++
			}
			t.Covers = append(t.Covers, inside[i]...)
		}
		for i, e := range r.out.Evidence {
			if e.Revision > 0 && e.Revision <= f.revision {
				t.Covers = append(t.Covers, evidence[i])
			}
		}
		const word = 16 // bytes of a string beside its text
		if err := limits.BudgetOf(r.ctx).Spend(repeated*signatures + word*int64(len(t.Covers))); err != nil {
			return &ades.MalformedError{Format: "PDF", Err: err}
		}
	}
	return nil
}

// factIDs lists the facts in a signature: evidence, and time-stamps with the facts in them.
func factIDs(s *ades.Signature) []string {
	if s == nil {
		return nil
	}
	var out []string
	for _, e := range s.Evidence {
		out = append(out, e.ID())
	}
	for _, t := range s.Timestamps {
		out = append(append(out, t.ID), factIDs(t.Signature)...)
	}
	return out
}
