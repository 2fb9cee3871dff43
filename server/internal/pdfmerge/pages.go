package pdfmerge

import (
	"cmp"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// page is a page and the nodes above it. Both are shared: a document may
// show one page a million times.
type page struct {
	ref   pdf.Ref // zero for one that is in its parent's Kids itself
	dict  *pdf.Dict
	above *pdf.Dict // what it may inherit
	place pdf.Ref
}

// inherited are the entries of a page that the nodes above it may have.
var inherited = []pdf.Name{"Resources", "MediaBox", "CropBox", "Rotate"}

// walk is the way through a page tree, which may be no tree.
type walk struct {
	*source
	seen   map[pdf.Ref]bool
	leaves map[pdf.Ref]*pdf.Dict
	visits int
}

// findPages lists the pages in their order. The nodes above them are left
// behind.
func (s *source) findPages() error {
	w := walk{source: s, seen: map[pdf.Ref]bool{}, leaves: map[pdf.Ref]*pdf.Dict{}}
	if err := w.node(s.catalog().Get("Pages"), &pdf.Dict{}, 0); err != nil {
		return err
	}
	if len(s.pages) == 0 {
		return ades.Malformed("PDF", "Catalog/Pages", "there are no pages")
	}
	return nil
}

func (w *walk) node(o pdf.Object, above *pdf.Dict, depth int) error {
	w.visits++
	if depth > limits.PDFDepth || w.visits > limits.PDFObjects || len(w.pages) > limits.PDFFields {
		return ades.Malformed("PDF", "Catalog/Pages", "the page tree is too deep or has too many pages")
	}
	ref, _ := o.(pdf.Ref)
	if d, known := w.leaves[ref]; known {
		w.pages = append(w.pages, page{ref: ref, dict: d, above: above})
		return nil
	}
	d, err := w.Doc.Dict(o)
	if err != nil {
		return err
	}
	if d == nil {
		return nil // a kid that is nothing shows nothing
	}
	kids, err := w.Doc.Array(d.Get("Kids"))
	if err != nil {
		return err
	}
	if kids == nil || w.Doc.Name(d.Get("Type")) == "Page" {
		w.pages = append(w.pages, page{ref: ref, dict: d, above: above})
		if !ref.IsZero() {
			w.leaves[ref] = d
		}
		return nil
	}
	if !ref.IsZero() {
		if w.seen[ref] {
			return ades.Malformed("PDF", "Catalog/Pages", "the page tree turns back on itself at %v", ref)
		}
		w.seen[ref] = true
		w.Refs[ref] = pdf.Ref{} // whatever points to it points to nothing
	}
	here := &pdf.Dict{}
	for _, key := range inherited {
		if v := cmp.Or(d.Get(key), above.Get(key)); v != nil {
			here.Set(key, v)
		}
	}
	for _, kid := range kids {
		if err := w.node(kid, here, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func inherit(d, above *pdf.Dict) *pdf.Dict {
	out := d.Clone()
	for _, key := range inherited {
		if v := cmp.Or(d.Get(key), above.Get(key)); v != nil {
			out.Set(key, v)
		}
	}
	out.Set("Type", pdf.Name("Page"))
	out.Delete("Parent")
	if out.Get("MediaBox") == nil { // required; viewers take this one
		out.Set("MediaBox", pdf.Array{pdf.Integer(0), pdf.Integer(0), pdf.Integer(612), pdf.Integer(792)})
	}
	return out
}

// reserve gives every page its place, so that links find it.
func (s *source) reserve() {
	for i := range s.pages {
		p := &s.pages[i]
		p.place = s.Out.Reserve()
		if old, taken := s.Refs[p.ref]; !p.ref.IsZero() && (!taken || old.IsZero()) {
			s.Refs[p.ref] = p.place
		}
	}
}

// putPages writes the pages under a node of their own.
func (s *source) putPages(parent, node pdf.Ref) error {
	kids := make(pdf.Array, len(s.pages))
	for i, p := range s.pages {
		kids[i] = p.place
		d := s.Dict(inherit(p.dict, p.above))
		d.Set("Parent", node)
		if err := s.Out.Put(p.place, d); err != nil {
			return err
		}
		s.pages[i].dict, s.pages[i].above = nil, nil
	}
	return s.Out.Put(node, pdf.NewDict(pdf.Name("Type"), pdf.Name("Pages"), pdf.Name("Parent"), parent,
		pdf.Name("Kids"), kids, pdf.Name("Count"), pdf.Integer(len(kids))))
}
