package pdfmerge

import "rogito.dev/rogito/internal/pdf"

// layers joins the optional content, so that what a document hides stays
// hidden.
func (j *joined) layers(pdf.Ref) *pdf.Dict {
	groups := pdf.Array{}
	lists := map[pdf.Name]pdf.Array{}
	for _, s := range j.sources {
		oc := s.child(s.catalog(), "OCProperties")
		all := s.list(oc, "OCGs")
		if len(all) == 0 {
			continue
		}
		groups = append(groups, s.Object(all).(pdf.Array)...)
		d := s.child(oc, "D")
		for _, key := range []pdf.Name{"Order", "RBGroups", "Locked", "AS"} {
			if a := s.list(d, key); a != nil {
				lists[key] = append(lists[key], s.Object(a).(pdf.Array)...)
			}
		}
		if off := s.hidden(all, d); len(off) > 0 {
			lists["OFF"] = append(lists["OFF"], s.Object(off).(pdf.Array)...)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	d := &pdf.Dict{}
	for _, key := range []pdf.Name{"Order", "RBGroups", "Locked", "AS", "OFF"} {
		if a := lists[key]; a != nil {
			d.Set(key, a)
		}
	}
	return pdf.NewDict(pdf.Name("OCGs"), groups, pdf.Name("D"), d)
}

// hidden are the groups that are off when a document is opened.
func (s *source) hidden(all pdf.Array, d *pdf.Dict) pdf.Array {
	if d == nil || s.Doc.Name(d.Get("BaseState")) != "OFF" {
		return s.list(d, "OFF")
	}
	on := map[pdf.Object]bool{}
	for _, o := range s.list(d, "ON") {
		if ref, ok := o.(pdf.Ref); ok {
			on[ref] = true
		}
	}
	off := pdf.Array{}
	for _, o := range all {
		if ref, ok := o.(pdf.Ref); ok && !on[ref] {
			off = append(off, ref)
		}
	}
	return off
}
