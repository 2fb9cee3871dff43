package pades

import (
	"rogito.dev/rogito/ades"
)

// maxStores bounds the revisions whose Document Security Store is looked at.
const maxStores = 64

// earlierStores reads the Document Security Stores of earlier revisions. A
// product that signs again may write a store of its own, and what the first
// signature needs is then in the revision before only. It is part of the file
// all the same, and covered by later time-stamps.
func (r *reader) earlierStores() error {
	whole := r.doc
	problems := r.out.Problems
	defer func() { r.doc, r.out.Problems = whole, problems }()
	newest := len(whole.Revisions())
	for n := newest - 1; n >= 1 && n > newest-maxStores; n-- {
		r.doc = whole
		d, err := r.as(n)
		if err != nil {
			continue // what cannot be opened brings nothing
		}
		r.doc = d
		if err := r.dss(); err != nil {
			return err
		}
	}
	r.out.Evidence = earliest(r.out.Evidence)
	return nil
}

// earliest leaves one of equal pieces of evidence, with the first revision
// that had it: what covers that revision proves it.
func earliest(list []ades.Evidence) []ades.Evidence {
	type piece struct {
		kind       ades.EvidenceKind
		origin, id string
	}
	first := map[piece]int{}
	out := list[:0]
	for _, e := range list {
		key := piece{e.Kind, e.Origin, ades.FactID(e.Raw)}
		if at, seen := first[key]; seen {
			if e.Revision > 0 && (out[at].Revision == 0 || e.Revision < out[at].Revision) {
				out[at].Revision = e.Revision
			}
			continue
		}
		first[key] = len(out)
		out = append(out, e)
	}
	return out
}
