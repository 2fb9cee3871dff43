package asic

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/foreign"
	"rogito.dev/rogito/internal/limits"
)

// coverage records the parts of the container, and which signatures cover each. A reference counts
// for the entry that it resolves to, and only if its digest is that of the whole entry. A signature
// that covers no file of the container was made for something else.
func (r *reader) coverage(expect ades.Expectation) error {
	parts, names := r.parts(), 0
	for _, e := range parts {
		names += len(e.name)
	}
	if err := r.spendParts(names, len(parts)); err != nil {
		return err
	}
	handed := map[*entry]bool{} // covered by a signature that is not broken
	for _, s := range r.doc.Signatures {
		mine := coveredBy(s)
		s.ContentIsWhole = s.Intact() == ades.Yes
		missed, data := "", false
		for i, e := range parts {
			if mine[e] {
				r.doc.Parts[i].CoveredBy = append(r.doc.Parts[i].CoveredBy, s.ID)
				data = data || e.role == roleData
			} else {
				missed = cmp.Or(missed, e.name)
				s.ContentIsWhole = false
			}
		}
		switch {
		case s.Intact() == ades.No || ades.Fatal(s.Problems) || len(parts) == 0:
		case !data && !reaches(s):
			fatal(s, finding.ASiCCoversNothing.Problem(""))
		case r.doc.Format == ades.ODF && missed != "" && s.Intact() == ades.Yes && !r.macros(s):
			fatal(s, finding.ODFCoversNot.Problem(missed, missed))
		}
		if s.Intact() != ades.No && !ades.Fatal(s.Problems) {
			maps.Copy(handed, mine)
		}
	}
	for i, e := range parts {
		p := &r.doc.Parts[i]
		p.Expected = expect.File != "" && (p.Name == expect.File || r.c.lookup(expect.File) == e)
		if len(p.CoveredBy) == 0 && len(r.doc.Signatures) > 0 {
			r.problem(finding.ASiCFileNotCovered.Problem(p.Name))
		}
		if len(r.doc.Signatures) == 0 && !r.stamped[e] {
			for _, ts := range r.doc.Timestamps {
				why := finding.ASiCFileNotStamped.Problem(p.Name, p.Name)
				why.Doubt = true
				ts.Problems = append(ts.Problems, why)
			}
		}
		if handed[e] || len(r.doc.Signatures) == 0 && r.stamped[e] {
			r.doc.Content = append(r.doc.Content, ades.File{Name: e.name, Source: e})
		}
	}
	return nil
}

// spendParts charges for what a report says of so many parts with names of so many bytes: every
// signature lists those that it covers and those that it does not, and a time-stamp of an unsigned
// container those that it is not over.
func (r *reader) spendParts(names, parts int) error {
	said := int64(len(r.doc.Signatures)) * int64(2*names+64*parts)
	if len(r.doc.Signatures) == 0 {
		said = int64(len(r.doc.Timestamps)) * int64(8*names+512*parts)
	}
	if err := limits.BudgetOf(r.ctx).Spend(said); err != nil {
		return &ades.MalformedError{Format: "ZIP", Err: err}
	}
	return nil
}

// parts returns what a reader would take for the document: the files outside META-INF, files in it
// other than metadata, and in OpenDocument also the media type and the manifest of the parts, since
// they determine how parts are displayed (ODF 1.3 part 2, clause 5).
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

// foreign searches for a PDF in what is not a file of the container: headers, extra fields,
// comments, signatures and unsigned metadata. Other uncovered files are reported anyway.
func (r *reader) foreign(src ades.Source) {
	covered := map[string]bool{}
	for _, p := range r.doc.Parts {
		covered[p.Name] = len(p.CoveredBy) > 0
	}
	var files []foreign.Span
	for _, e := range r.c.entries {
		if (e.role == roleData || covered[e.name]) && e.record.next >= 0 {
			files = append(files, foreign.Span{Start: e.record.data, End: e.record.data + e.record.packed})
		}
	}
	slices.SortFunc(files, func(a, b foreign.Span) int { return cmp.Compare(a.Start, b.Start) })
	if !foreign.Outside(src, files, foreign.PDFIn) {
		return
	}
	why := finding.HoldsOtherDocument.Problem("")
	r.problem(why)
	r.doc.Content = nil
	for _, s := range r.doc.Signatures {
		fatal(s, why)
	}
}

// packageManifest compares META-INF/manifest.xml of a container with the actual files (EN 319
// 162-1, clause 4.4.3.2, uses the format of OpenDocument). If it lists others, or gives a file
// another type than its signer, it is not a manifest of this container and counts as a file:
// readers open a file by the given type.
func (r *reader) packageManifest() {
	e := r.c.byName[metaInf+odfManifestName]
	if e == nil || r.doc.Format == ades.ODF { // there it is a part anyway
		return
	}
	signed := map[*entry]map[string]bool{} // media types
	for _, s := range r.doc.Signatures {
		if s.Intact() != ades.Yes {
			continue
		}
		for _, ref := range s.References {
			if f := r.c.lookup(ref.URI); f != nil && ref.MediaType != "" {
				if signed[f] == nil {
					signed[f] = map[string]bool{}
				}
				signed[f][typeName(ref.MediaType)] = true
			}
		}
	}
	vague, err := r.c.checkManifest(e, signed)
	if err != nil {
		r.c.recordError(err)
		r.problem(finding.ASiCManifestUnreadable.Problem(e.name, err))
		e.role = roleStray
	} else if vague != "" {
		r.problem(finding.ASiCMediaType.Problem(vague))
	}
}

// typeName is a media type without parameters; "" is that of any data.
func typeName(s string) string {
	s, _, _ = strings.Cut(strings.ToLower(s), ";")
	switch s = strings.TrimSpace(s); s {
	case "application/octet-stream", "application/x-octet-stream", "application/binary":
		return ""
	case "text/xml":
		return "application/xml"
	}
	return s
}

// rendering are types that a browser or shell acts upon.
var rendering = regexp.MustCompile(`html|svg|[/+]xml$|script|/pdf$|/rtf$|x-sh|msdownload|executable|java|flash`)

// shows reports whether a media type overrides the name in how a file is opened.
func shows(mediaType, name string) bool {
	ext := strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")
	return rendering.MatchString(mediaType) && (ext == "" || !strings.Contains(mediaType, strings.TrimSuffix(ext, "m")) && !strings.Contains(mediaType, ext))
}

// checkManifest also returns a file to which only one of manifest and signer gives a specific type.
func (c *container) checkManifest(e *entry, signed map[*entry]map[string]bool) (vague string, err error) {
	d, err := e.xml("manifest")
	if err != nil {
		return "", err
	}
	root := d.Root()
	if root.Name.Local != "manifest" || root.Name.Space != nsManifest {
		return "", fmt.Errorf("root element is %s", root.Name.Local)
	}
	if strings.TrimSpace(root.Text()) != "" {
		return "", fmt.Errorf("the manifest holds text")
	}
	for n := range root.Elements() {
		name, _ := n.LookupAttr(nsManifest, "full-path")
		mime, _ := n.LookupAttr(nsManifest, "media-type")
		more := false
		for range n.Elements() {
			more = true
		}
		switch {
		case more || n.Name.Local != "file-entry" || n.Name.Space != nsManifest:
			return "", fmt.Errorf("the manifest holds other things than files")
		case name == "/":
			if mime != "" && c.mime != "" && mime != c.mime && mime != MediaTypeE && mime != MediaTypeS { // producers confuse these
				return "", fmt.Errorf("the manifest says another media type than the container")
			}
		case strings.HasSuffix(name, "/"):
		case c.lookup(name) == nil:
			return "", fmt.Errorf("the manifest lists files that are not in the container")
		default:
			if mime == "" {
				continue
			}
			is := typeName(mime)
			for said := range signed[c.lookup(name)] { // ends with the first that differs
				switch {
				case said == is:
					continue
				case is != "" && (said != "" || shows(is, name)):
					return "", fmt.Errorf("the manifest says another media type than the signature")
				}
				vague = name
				if is == "" {
					break
				}
			}
		}
	}
	return vague, nil
}

// coveredBy returns the entries that a signature covers: Content only has what was found intact and
// whole.
func coveredBy(s *ades.Signature) map[*entry]bool {
	out := map[*entry]bool{}
	for _, f := range s.Content {
		if e, ok := f.Source.(*entry); ok {
			out[e] = true
		}
	}
	return out
}

// reaches reports whether the signature was made for files of a container that are missing, which
// is reported separately.
func reaches(s *ades.Signature) bool {
	return slices.ContainsFunc(s.References, func(r ades.Reference) bool {
		return !r.Found && (r.Kind == "manifest-entry" || r.Kind == "xml-reference" && r.Name != "" || r.Kind == "message-digest")
	})
}

// macros reports whether the signature is only over the macros.
func (r *reader) macros(s *ades.Signature) bool {
	return slices.Contains(r.of[metaInf+"macrosignatures.xml"], s)
}
