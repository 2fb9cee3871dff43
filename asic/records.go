package asic

import (
	"crypto"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ers"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/xades"
)

// records reads the evidence records of the container (EN 319 162-1, clauses 4.3.3.4 and 4.4.3.4)
// as time-stamps: over the files listed in an ASiCEvidenceRecordManifest, or over the one data
// object.
func (r *reader) records() error {
	for _, e := range r.c.of(roleRecord) {
		raw, err := e.bytes()
		if err != nil {
			r.c.recordError(err)
			r.problem(finding.ZIPEntryUnreadable.Problem(e.name, err))
			continue
		}
		record, err := ers.Parse(raw)
		if err != nil {
			r.problem(finding.EvidenceRecordUnreadable.Problem(e.name, err))
			e.role = roleStray // whatever it really is
			continue
		}
		objects, digests, problem := r.recorded(e)
		var data []ers.Object
		for _, o := range objects {
			data = append(data, object{o})
		}
		all, first, err := record.Facts(data, e.name)
		if err != nil {
			r.c.recordError(err)
			if r.c.failed != nil {
				return r.c.failed
			}
			return &ades.MalformedError{Format: "ZIP", Where: e.name, Err: err}
		}
		for _, ts := range first {
			ts.Digests = append(ts.Digests, digests...)
			if problem != nil {
				ts.ImprintIntact = ades.No
				ts.Problems = append(ts.Problems, finding.Lesser(finding.Of(e.name, problem)))
			}
			for _, o := range objects {
				for _, s := range r.of[o.name] {
					ts.Covers = append(ts.Covers, ers.Inside(s)...)
				}
				if ts.ImprintIntact == ades.Yes {
					r.stamped[o] = true
				}
			}
		}
		for _, ts := range all {
			ts.Kind = ades.ContainerTimestamp
			r.doc.Timestamps = append(r.doc.Timestamps, ts)
		}
	}
	return nil
}

// recorded returns the files of a record, and the algorithms by which a manifest lists them. A file
// that does not match the manifest invalidates the record.
func (r *reader) recorded(e *entry) (objects []*entry, digests []string, problem error) {
	manifests := r.manifestsOf(e.name)
	switch data := r.c.of(roleData); {
	case len(manifests) > 1:
		return nil, nil, finding.ASiCRecordManifestTwice.New()
	case len(manifests) == 0 && len(data) == 1:
		return data, nil, nil
	case len(manifests) == 0:
		return nil, nil, finding.ASiCRecordManifestMissing.New()
	}
	for i, ref := range manifests[0].check(r.c) {
		if ref.Intact != ades.Yes {
			problem = finding.EvidenceRecordFile.New(ref.Name)
			continue
		}
		objects, digests = append(objects, r.c.lookup(manifests[0].objects[i].URI)), append(digests, ref.Digest)
	}
	return objects, digests, problem
}

// object is a file of the container under an evidence record.
type object struct{ *entry }

func (o object) Digest(h crypto.Hash) ([]byte, error) { return o.digest(h) }

func (o object) XML() ([]byte, error) {
	if o.Size() > limits.ZIPMeta || !xades.LooksLikeXML(o.entry) {
		return nil, nil
	}
	return o.bytes()
}
