package asic

import "rogito.dev/rogito/ades"

// coverage finds out which files each signature covers, and notes those that
// none does: they are shown beside the signed ones and are not.
func (r *reader) coverage() {
	want := r.toCover()
	for _, s := range r.doc.Signatures {
		mine := r.coveredBy(s)
		s.ContentIsWhole = s.Intact() == ades.Yes
		for _, name := range want {
			if !mine[name] {
				s.ContentIsWhole = false
			}
		}
		for name := range mine {
			r.covered[name] = true
		}
	}
	for _, name := range want {
		if !r.covered[name] && len(r.doc.Signatures) > 0 {
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
