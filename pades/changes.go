package pades

import (
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/revision"
)

// changes lists what differs between the signed revision and the file.
func (r *reader) changes(f *found) []ades.Change {
	if !f.rangeOK {
		return nil
	}
	last := len(r.doc.Revisions())
	if r.doc.Repaired() != nil {
		if f.covers {
			return nil
		}
		return []ades.Change{{
			Kind: "undefined", Revision: 1,
			Description: "the cross-reference table is broken: what follows the signature cannot be told",
		}}
	}
	var out []ades.Change
	if r.compared += last - f.revision; r.compared > limits.PDFCompared {
		return []ades.Change{{
			Kind: "undefined", Revision: last, Description: "more signatures and revisions than can be compared",
		}}
	}
	if f.revision < last {
		list, err := revision.Compare(r.doc, f.revision, r.rules(f))
		if err != nil {
			list = append(list, ades.Change{Kind: "undefined", Description: err.Error(), Revision: last})
		}
		out = list
	}
	if !r.blankTail() {
		out = append(out, ades.Change{Kind: "trailing-data", Description: "data after the end of the document", Revision: last})
	}
	return out
}

// blankTail reports whether nothing but white space follows the last revision.
func (r *reader) blankTail() bool {
	revs := r.doc.Revisions()
	end := revs[len(revs)-1].End
	if end == 0 { // no marker: nothing tells where the document ends
		end = r.doc.Size()
	}
	return r.doc.Blank(end, r.doc.Size())
}

// rules are what the signatures up to this one permit.
func (r *reader) rules(f *found) revision.Rules {
	var rules revision.Rules
	var locks []transform
	for _, other := range r.found {
		if other.end == 0 || other.end > f.end {
			continue
		}
		for _, t := range transforms(r.doc, other.dict) {
			switch t.method {
			case "DocMDP":
				rules.DocMDP = stricter(rules.DocMDP, t.p)
			case "FieldMDP":
				locks = append(locks, t)
			}
		}
		if p, ok := r.doc.Int(other.lock.Get("P")); ok && p >= 1 && p <= 3 {
			rules.DocMDP = stricter(rules.DocMDP, int(p))
		}
	}
	rules.Locked = func(name string) bool {
		for _, l := range locks {
			if lockCovers(l.action, l.fields, name) {
				return true
			}
		}
		return false
	}
	return rules
}

func stricter(a, b int) int {
	if a == 0 || b < a {
		return b
	}
	return a
}
