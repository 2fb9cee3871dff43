package asic

import (
	"maps"
	"slices"

	"rogito.dev/rogito/ades"
)

// coverage states the parts of the container, and which signatures cover each.
// A reference counts for the entry that it resolves to, and only where its
// digest is that of the whole entry. A signature that covers no file of the
// container was made for something else.
func (r *reader) coverage(expect ades.Expectation) {
	parts := r.parts()
	handed := map[*entry]bool{} // covered by a signature that is not broken
	for _, s := range r.doc.Signatures {
		mine := coveredBy(s)
		s.ContentIsWhole = s.Intact() == ades.Yes
		missed, data := []string(nil), false
		for i, e := range parts {
			if mine[e] {
				r.doc.Parts[i].CoveredBy = append(r.doc.Parts[i].CoveredBy, s.ID)
				data = data || e.role == roleData
			} else {
				missed = append(missed, e.name)
				s.ContentIsWhole = false
			}
		}
		switch {
		case s.Intact() == ades.No || len(parts) == 0:
		case !data && !reaches(s):
			fatal(s, "", "the signature covers no file of the container")
		case r.doc.Format == ades.ODF && len(missed) > 0 && s.Intact() == ades.Yes && !r.macros(s):
			fatal(s, missed[0], "the signature of the document does not cover %q", missed[0])
		}
		if s.Intact() != ades.No && !slices.ContainsFunc(s.Problems, func(p ades.Problem) bool { return p.Fatal }) {
			maps.Copy(handed, mine)
		}
	}
	for i, e := range parts {
		p := &r.doc.Parts[i]
		p.Expected = expect.File != "" && (p.Name == expect.File || r.c.lookup(expect.File) == e)
		if len(p.CoveredBy) == 0 && len(r.doc.Signatures) > 0 {
			r.problem(false, p.Name, "file is not covered by any signature")
		}
		if handed[e] || len(r.doc.Signatures) == 0 && r.stamped[e] {
			r.doc.Content = append(r.doc.Content, ades.File{Name: e.name, Source: e})
		}
	}
}

// parts lists what a reader would take for the document: the files outside
// META-INF, what lies there without being metadata, and in OpenDocument also
// the media type and the manifest of the parts, since they say what is shown
// how (ODF 1.3 part 2, clause 5).
func (r *reader) parts() []*entry {
	var out []*entry
	for _, e := range r.c.entries {
		switch {
		case r.c.byName[e.name] != e: // folders, and equal entries of one name
			continue
		case e.role == roleData, e.role == roleStray:
		case r.doc.Format == ades.ODF && (e.role == roleMimetype || e.name == metaInf+"manifest.xml"):
		default:
			continue
		}
		out = append(out, e)
		r.doc.Parts = append(r.doc.Parts, ades.Part{Kind: ades.FilePart, Name: e.name})
	}
	return out
}

// coveredBy lists the entries that a signature covers: readers put there only
// what they found intact and whole.
func coveredBy(s *ades.Signature) map[*entry]bool {
	out := map[*entry]bool{}
	for _, f := range s.Content {
		if e, ok := f.Source.(*entry); ok {
			out[e] = true
		}
	}
	return out
}

// reaches: the signature was made for files of a container, though they are
// missing here; that is told as such.
func reaches(s *ades.Signature) bool {
	return slices.ContainsFunc(s.References, func(r ades.Reference) bool {
		return !r.Found && (r.Kind == "manifest-entry" || r.Kind == "xml-reference" && r.Name != "" || r.Kind == "message-digest")
	})
}

// macros: the signature is the one over the macros alone.
func (r *reader) macros(s *ades.Signature) bool {
	return slices.Contains(r.of[metaInf+"macrosignatures.xml"], s)
}
