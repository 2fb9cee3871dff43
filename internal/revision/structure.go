package revision

import (
	"slices"

	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// structure compares the logical structure (ISO 32000-2, 14.7). It is not visible on the page, but
// screen readers and copying use it. Products that sign tagged documents add the widgets of new
// signatures there; nothing else may change.
func (c *comparison) structure() {
	a, b := c.old.catalog, c.new.catalog
	if !c.equal(a.Get("MarkInfo"), b.Get("MarkInfo"), "MarkInfo") {
		c.add(difference{what: "structure"})
		return
	}
	x, y := a.Get("StructTreeRoot"), b.Get("StructTreeRoot")
	if c.equal(x, y, "StructTreeRoot") {
		return
	}
	s := &structures{comparison: c}
	switch {
	case !s.roots(x, y):
		c.add(difference{what: "structure"})
	case s.grown:
		c.add(difference{what: "structure+"})
	}
}

// structures compares two trees of structure elements.
type structures struct {
	*comparison
	grown bool
}

// linkElements gives two elements the same identity, so that references to them are equal.
func (s *structures) linkElements(a, b pdf.Object) {
	x, _ := a.(pdf.Ref)
	y, _ := b.(pdf.Ref)
	if x.Num != 0 && y.Num != 0 && s.anchors[0][x.Num] == 0 && s.anchors[1][y.Num] == 0 {
		s.anchor(x.Num, y.Num)
	}
}

func (s *structures) roots(a, b pdf.Object) bool {
	x, y := s.old.dict(a), s.new.dict(b)
	if len(x.Entries) == 0 || len(y.Entries) == 0 {
		return false
	}
	s.linkElements(a, b)
	if !s.kids(x.Get("K"), y.Get("K"), b, 0) {
		return false
	}
	for _, key := range s.differing(x, y, "Type", "K", "ParentTree", "ParentTreeNextKey") {
		if key != "RoleMap" || len(s.old.dict(x.Get(key)).Entries)+len(s.new.dict(y.Get(key)).Entries) > 0 {
			return false
		}
	}
	was, is := make(map[int64]pdf.Object), make(map[int64]pdf.Object)
	if !s.old.numbers(x.Get("ParentTree"), was, 0) || !s.new.numbers(y.Get("ParentTree"), is, 0) {
		return false
	}
	for n, v := range was {
		if !s.equal(pdf.Array{v}, pdf.Array{is[n]}, "Nums") {
			return false
		}
	}
	for n, v := range is {
		if _, old := was[n]; !old && !s.newWidget(v, nil) {
			return false
		}
	}
	return true
}

// element compares two elements and their descendants.
func (s *structures) element(a, b pdf.Object, depth int) bool {
	x, y := s.old.dict(a), s.new.dict(b)
	if depth > limits.PDFDepth || !s.work.step() {
		return false
	}
	s.linkElements(a, b)
	return len(s.differing(x, y, "Type", "K")) == 0 && s.kids(x.Get("K"), y.Get("K"), b, depth+1)
}

// kids checks that the old kids remain in order; only widgets of signature fields may be inserted.
func (s *structures) kids(a, b, holder pdf.Object, depth int) bool {
	was, is := s.old.several(a), s.new.several(b)
	next := 0
	for _, kid := range is {
		switch {
		case next < len(was) && s.kid(was[next], kid, depth):
			next++
		case s.newWidget(kid, holder):
			s.grown = true
		default:
			return false
		}
	}
	return next == len(was)
}

func (s *structures) kid(a, b pdf.Object, depth int) bool {
	x, err1 := s.old.doc.Resolve(a)
	y, err2 := s.new.doc.Resolve(b)
	if err1 != nil || err2 != nil {
		return false
	}
	v, ok1 := x.(*pdf.Dict)
	w, ok2 := y.(*pdf.Dict)
	if ok1 && ok2 && v.Has("S") && w.Has("S") {
		if s.newWidget(b, nil) && !s.equal(pdf.Array{a}, pdf.Array{b}, "K") {
			return false // a new element instead of the next old one
		}
		return s.element(a, b, depth)
	}
	return s.equal(pdf.Array{a}, pdf.Array{b}, "K")
}

// newWidget reports whether an element contains only the widget of a signature field.
func (s *structures) newWidget(o, holder pdf.Object) bool {
	d := s.new.dict(o)
	if !d.Has("S") || holder != nil && !pdf.Equal(d.Get("P"), holder) {
		return false
	}
	for _, e := range d.Entries {
		if !slices.Contains([]pdf.Name{"Type", "S", "P", "Pg", "K", "Lang"}, e.Key) {
			return false
		}
	}
	kids := s.new.several(d.Get("K"))
	if len(kids) != 1 {
		return false
	}
	objr := s.new.dict(kids[0])
	ref, _ := objr.Get("Obj").(pdf.Ref)
	w := s.new.widgets[ref.Num]
	return s.new.doc.Name(objr.Get("Type")) == "OBJR" && w != nil && s.new.kind(w.field) == "Sig"
}

// several is a value that may be single or an array.
func (m *model) several(o pdf.Object) pdf.Array {
	v, err := m.doc.Resolve(o)
	if err != nil || v == nil {
		return nil
	}
	if a, ok := v.(pdf.Array); ok {
		return a
	}
	return pdf.Array{o}
}

// numbers flattens a number tree.
func (m *model) numbers(o pdf.Object, into map[int64]pdf.Object, depth int) bool {
	d := m.dict(o)
	if depth > 50 || !m.work.step() {
		return false
	}
	list, err := m.doc.Array(d.Get("Nums"))
	if err != nil {
		return false
	}
	for i := 0; i+1 < len(list); i += 2 {
		n, ok := m.doc.Int(list[i])
		if !ok {
			return false
		}
		into[n] = list[i+1]
	}
	kids, err := m.doc.Array(d.Get("Kids"))
	if err != nil {
		return false
	}
	for _, k := range kids {
		if !m.numbers(k, into, depth+1) {
			return false
		}
	}
	return true
}
