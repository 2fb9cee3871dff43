package pdfmerge

import (
	"slices"
	"strings"

	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// names carries the attachments over; of the same name one gets another.
func (j *joined) names(pdf.Ref) *pdf.Dict {
	type attached struct {
		name string
		file pdf.Object
	}
	var all []attached
	taken := map[string]bool{}
	for i, s := range j.sources {
		s.nameTree(s.child(s.child(s.catalog(), "Names"), "EmbeddedFiles"), func(name string, v pdf.Object) {
			all = append(all, attached{free(taken, name, i+1), s.object(v)})
		})
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b attached) int { return strings.Compare(a.name, b.name) })
	list := make(pdf.Array, 0, 2*len(all))
	for _, a := range all {
		list = append(list, pdf.String{Bytes: []byte(a.name)}, a.file)
	}
	return pdf.NewDict(pdf.Name("EmbeddedFiles"), pdf.NewDict(pdf.Name("Names"), list))
}

// nameTree goes through a name tree, which may be no tree. Names are the bytes
// that they are compared by.
func (s *source) nameTree(root *pdf.Dict, found func(name string, v pdf.Object)) {
	seen := map[*pdf.Dict]bool{}
	left := limits.PDFFields
	var node func(d *pdf.Dict, depth int)
	node = func(d *pdf.Dict, depth int) {
		if d == nil || seen[d] || depth > limits.PDFDepth {
			return
		}
		seen[d] = true
		pairs := s.list(d, "Names")
		for i := 0; i+1 < len(pairs) && left > 0; i += 2 {
			left--
			if name := s.doc.StringBytes(pairs[i]); name != nil {
				found(string(name), pairs[i+1])
			}
		}
		for _, kid := range s.list(d, "Kids") {
			if k, err := s.doc.Dict(kid); err == nil {
				node(k, depth+1)
			}
		}
	}
	node(root, 0)
}

// placed is a destination by its place where it was one by name.
func (s *source) placed(d *pdf.Dict, e pdf.Entry) pdf.Object {
	if e.Key == "D" && s.doc.Name(d.Get("S")) != "GoTo" {
		return e.Value
	}
	v, err := s.doc.Resolve(e.Value)
	if err != nil {
		return e.Value
	}
	name := ""
	switch x := v.(type) {
	case pdf.Name:
		name = "/" + string(x) // the older table is one of its own
	case pdf.String:
		name = string(x.Bytes)
	default:
		return e.Value
	}
	if s.dests == nil {
		s.findDests()
	}
	if place, ok := s.dests[name]; ok {
		return place
	}
	return e.Value
}

// findDests reads both tables of destinations.
func (s *source) findDests() {
	s.dests = map[string]pdf.Object{}
	add := func(name string, v pdf.Object) {
		v, err := s.doc.Resolve(v)
		if d, ok := v.(*pdf.Dict); ok && err == nil {
			v, err = s.doc.Resolve(d.Get("D"))
		}
		if a, ok := v.(pdf.Array); ok && err == nil {
			s.dests[name] = a
		}
	}
	if old := s.child(s.catalog(), "Dests"); old != nil {
		for _, e := range old.Entries {
			add("/"+string(e.Key), e.Value)
		}
	}
	s.nameTree(s.child(s.child(s.catalog(), "Names"), "Dests"), add)
}
