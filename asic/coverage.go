package asic

import "rogito.dev/rogito/ades"

// coverage states the parts of the container, and which signatures cover each.
func (r *reader) coverage(expect ades.Expectation) {
	want := r.toCover()
	covered := map[string][]string{}
	for _, s := range r.doc.Signatures {
		mine := r.coveredBy(s)
		s.ContentIsWhole = s.Intact() == ades.Yes
		for _, name := range want {
			if mine[name] {
				covered[name] = append(covered[name], s.ID)
			} else {
				s.ContentIsWhole = false
			}
		}
	}
	for _, name := range want {
		r.doc.Parts = append(r.doc.Parts, ades.Part{Kind: ades.FilePart, Name: name, CoveredBy: covered[name], Expected: name == expect.File})
		if len(covered[name]) == 0 && len(r.doc.Signatures) > 0 {
			r.problem(false, name, "file is not covered by any signature")
		}
	}
}

// toCover lists what a signature of this kind of container ought to cover. In
// OpenDocument that is every part but the signatures themselves, the manifest
// of the parts included, since it says what is shown how.
func (r *reader) toCover() []string {
	var names []string
	for _, e := range r.c.entries {
		switch {
		case e.role == roleData:
			names = append(names, e.name)
		case r.doc.Format == ades.ODF && e.name == metaInf+"manifest.xml":
			names = append(names, e.name)
		case r.doc.Format == ades.ODF && e.role == roleMimetype:
			names = append(names, e.name)
		}
	}
	return names
}

// coveredBy lists the files that intact references of a signature are to.
func (r *reader) coveredBy(s *ades.Signature) map[string]bool {
	names := map[string]bool{}
	for _, ref := range s.References {
		if ref.Intact != ades.Yes || ref.Name == "" {
			continue
		}
		if e := r.c.lookup(ref.Name); e != nil {
			names[e.name] = true
		}
	}
	return names
}
