package pades

import (
	"context"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/revision"
)

// changes lists the differences between the signed revision and the file.
func (r *reader) changes(ctx context.Context, f *signatureEntry) []ades.Change {
	if !f.rangeOK {
		return nil
	}
	last := len(r.doc.Revisions())
	single := func(what string, n int) []ades.Change {
		return []ades.Change{revision.Change(what, 0, n, 0, "", "")}
	}
	if r.doc.Repaired() != nil {
		if f.covers {
			return nil
		}
		return single("repaired", 1)
	}
	var out []ades.Change
	if r.compared += last - f.revision; r.compared > limits.PDFCompared {
		return single("too-many", last)
	}
	if f.revision < last {
		if r.comparer == nil {
			r.comparer = revision.New(ctx, r.doc)
		}
		list, err := r.comparer.Compare(f.revision, r.rules(f))
		if err != nil {
			list = append(list, revision.Change("unreadable", 0, last, 0, "", err.Error()))
		}
		out = list
	}
	if !r.blankTail() {
		out = append(out, single("trailing-data", last)...)
	}
	return out
}

// blankTail reports whether only white space follows the last revision.
func (r *reader) blankTail() bool {
	revs := r.doc.Revisions()
	end := revs[len(revs)-1].End
	if end == 0 { // without a marker the document ends with the file
		end = r.doc.Size()
	}
	return r.doc.Blank(end, r.doc.Size())
}

// rules are what the signatures up to this one permit.
func (r *reader) rules(f *signatureEntry) revision.Rules {
	rules := revision.Rules{Seal: func(name string, n int) revision.Seal { return r.seal(name, f.revision, n) }}
	var locks []transform
	for _, other := range r.found {
		if other.end == 0 || other.end > f.end {
			continue
		}
		for _, t := range transforms(r.doc, other.dict) {
			switch t.method {
			case "DocMDP":
				rules.DocMDP = stricter(rules.DocMDP, t.p)
				rules.Certifies = rules.Certifies || other == f
			case "FieldMDP":
				locks = append(locks, t)
			}
		}
		if p, ok := r.doc.Int(other.lock.Get("P")); ok && p >= 1 && p <= 3 {
			rules.DocMDP = stricter(rules.DocMDP, int(p))
		}
	}
	rules.Locked = func(name string) bool {
		return slices.ContainsFunc(locks, func(l transform) bool { return lockCovers(l.action, l.fields, name) })
	}
	return rules
}

// seal describes what a field contains. A document time-stamp counts only if it verifies: the byte
// range, the imprint and the token's own signature. A value that existed before, or that is in a
// second field too, seals nothing: it was made for another place. The seal must close revision n,
// or any after the signed one if n is 0.
func (r *reader) seal(name string, signed, n int) revision.Seal {
	for _, f := range r.found {
		if !slices.Contains(f.fields, name) {
			continue
		}
		if len(f.fields) != 1 || f.revision <= signed || n != 0 && f.revision != n {
			return revision.NoSeal
		}
		t := f.timestamp
		switch {
		case t == nil && f.rangeOK && f.signature != nil:
			return revision.Signature
		case t == nil:
			return revision.NoSeal
		case f.rangeOK && !f.broken() && t.ImprintIntact == ades.Yes && t.Signature != nil && t.Signature.ValueIntact == ades.Yes:
			return revision.Timestamp
		}
		return revision.Void
	}
	return revision.NoSeal
}

func stricter(a, b int) int {
	if a == 0 || b < a {
		return b
	}
	return a
}

// unchanged reports whether all changes are permitted.
func unchanged(list []ades.Change) bool {
	return !slices.ContainsFunc(list, func(c ades.Change) bool { return !c.Permitted })
}
