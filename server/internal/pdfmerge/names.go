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
	taken := map[string]int{}
	for i, s := range j.sources {
		s.nameTree(s.child(s.child(s.catalog(), "Names"), "EmbeddedFiles"), func(name string, v pdf.Object) {
			all = append(all, attached{free(taken, name, i+1), s.Object(v)})
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

// stepCost makes one budget of a million steps and of the bytes of all names:
// a long one may be referred to from everywhere.
const stepCost = limits.PDFObjectSize / limits.PDFFields

// nameTree goes through a name tree, which may be no tree. Names are the bytes
// that they are compared by.
func (s *source) nameTree(root *pdf.Dict, found func(name string, v pdf.Object)) {
	seen := map[*pdf.Dict]bool{}
	shared := map[pdf.Object]bool{} // lists of names that were gone through
	left := limits.PDFObjectSize
	var node func(d *pdf.Dict, depth int)
	node = func(d *pdf.Dict, depth int) {
		if d == nil || seen[d] || depth > limits.PDFDepth {
			return
		}
		seen[d] = true
		pairs := s.list(d, "Names")
		if ref, ok := d.Get("Names").(pdf.Ref); ok {
			if shared[ref] {
				pairs = nil
			}
			shared[ref] = true
		}
		for i := 0; i+1 < len(pairs); i += 2 {
			name := s.Doc.StringBytes(pairs[i])
			if left -= stepCost + len(name); left < 0 {
				return
			}
			if name != nil {
				found(string(name), pairs[i+1])
			}
		}
		for _, kid := range s.list(d, "Kids") {
			if left -= stepCost; left < 0 {
				return
			}
			if k, err := s.Doc.Dict(kid); err == nil {
				node(k, depth+1)
			}
		}
	}
	node(root, 0)
}

// placed is a destination by its place where it was one by name.
func (s *source) placed(o pdf.Object) pdf.Object {
	v, err := s.Doc.Resolve(o)
	if err != nil {
		return o
	}
	name := ""
	switch x := v.(type) {
	case pdf.Name:
		name = "/" + string(x) // the older table is one of its own
	case pdf.String:
		name = string(x.Bytes)
	default:
		return o
	}
	if s.dests == nil {
		s.findDests()
	}
	if place, ok := s.dests[name]; ok {
		return place
	}
	return o
}

// findDests reads both tables of destinations.
func (s *source) findDests() {
	s.dests = map[string]pdf.Object{}
	add := func(name string, v pdf.Object) {
		v, err := s.Doc.Resolve(v)
		if d, ok := v.(*pdf.Dict); ok && err == nil {
			v, err = s.Doc.Resolve(d.Get("D"))
		}
		if a, ok := v.(pdf.Array); ok && err == nil && isPlace(a) {
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

// isPlace reports whether an array can be a destination: a page, and how to
// show it. As it is copied to wherever its name occurs, it must be small, and
// nothing in it may ask for a destination in its turn.
func isPlace(a pdf.Array) bool {
	const most = 16 // six are needed; digits of a number, letters of a name
	for _, o := range a {
		switch x := o.(type) {
		case nil, pdf.Ref, pdf.Integer:
		case pdf.Name:
			if len(x) > most {
				return false
			}
		case pdf.Real:
			if len(x) > 2*most {
				return false
			}
		default:
			return false
		}
	}
	return len(a) <= most
}
