package asic

import (
	"crypto"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ers"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/tsp"
)

// timestamps reads the time-stamp tokens of the container.
func (r *reader) timestamps() error {
	for _, e := range r.c.of(roleTimestamp) {
		token, err := e.bytes()
		if err != nil {
			r.problem(finding.ZIPEntryUnreadable.Problem(e.name, err))
			continue
		}
		manifests := r.manifestsOf(e.name)
		var m *manifest
		if len(manifests) > 0 {
			m = manifests[0]
		}
		under := r.stampedBy(m)
		ts, err := tsp.Read(token, func(h crypto.Hash) ([]byte, error) {
			if under == nil || !h.Available() {
				return nil, nil
			}
			return under.digest(h)
		})
		if err != nil {
			r.c.recordError(err)
			if r.c.failed != nil {
				return r.c.failed
			}
			return &ades.MalformedError{Format: "ZIP", Where: e.name, Err: err}
		}
		ts.Kind, ts.Path = ades.ContainerTimestamp, e.name
		if len(manifests) > 1 {
			ts.Problems = append(ts.Problems, finding.ASiCStampManifestTwice.Problem(e.name))
		}
		if m != nil {
			r.covers(ts, m)
		} else if under != nil && ts.ImprintIntact == ades.Yes {
			r.stamped[under] = true
		}
		r.doc.Timestamps = append(r.doc.Timestamps, ts)
	}
	if err := r.records(); err != nil {
		return err
	}
	slices.SortStableFunc(r.doc.Timestamps, func(a, b *ades.Timestamp) int { return a.Time.Compare(b.Time) })
	r.chain()
	return nil
}

// stampedBy is what a time-stamp is over: a manifest, or the one data object.
func (r *reader) stampedBy(m *manifest) *entry {
	if m != nil {
		return m.entry
	}
	if data := r.c.of(roleData); len(data) == 1 {
		return data[0]
	}
	return nil
}

// covers lists what the files under a time-stamp prove to have existed. A file that does not match
// the manifest invalidates the whole time-stamp.
func (r *reader) covers(ts *ades.Timestamp, m *manifest) {
	for i, ref := range m.check(r.c) {
		if ref.Intact == ades.No {
			ts.ImprintIntact = ades.No
		}
		if ref.Intact != ades.Yes {
			why := finding.ASiCStampedFile.Problem(ref.Name)
			why.Doubt = true
			ts.Problems = append(ts.Problems, why)
			continue
		}
		ts.Digests = append(ts.Digests, ref.Digest)
		e := r.c.lookup(m.objects[i].URI)
		r.stamped[e] = true
		for _, s := range r.of[e.name] {
			ts.Covers = append(ts.Covers, ers.Inside(s)...)
		}
		if e.role == roleTimestamp {
			ts.Covers = append(ts.Covers, "file:"+e.name) // resolved by chain
		}
	}
}

// chain replaces the file names of earlier time-stamps by their ids.
func (r *reader) chain() {
	byFile := map[string]*ades.Timestamp{}
	for _, ts := range r.doc.Timestamps {
		byFile["file:"+ts.Path] = ts
	}
	for _, ts := range r.doc.Timestamps {
		var ids []string
		for _, id := range ts.Covers {
			earlier := byFile[id]
			if earlier == nil {
				ids = append(ids, id)
				continue
			}
			ids = append(ids, earlier.ID)
			if earlier.Signature != nil {
				ids = append(ids, ers.Inside(earlier.Signature)...)
			}
		}
		ts.Covers = ids
	}
}
