package pdfmerge

import (
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/rewrite"
)

// source is a document whose objects are copied under new numbers. What speaks of
// the whole document is left behind.
type source struct {
	*rewrite.Copier
	pages []page
	dests map[string]pdf.Object // by name; nil until one is asked for
}

func newSource(d *pdf.Document) *source {
	s := &source{Copier: rewrite.NewCopier(d, nil)}
	s.Entry = s.entry
	return s
}

// entry of a dictionary that is copied.
func (s *source) entry(d *pdf.Dict, e pdf.Entry) (pdf.Entry, bool) {
	switch e.Key {
	case "StructParent", "StructParents": // of a tree that is left behind
		return e, false
	case "Dest":
		e.Value = s.placed(e.Value)
	case "D":
		if s.Doc.Name(d.Get("S")) == "GoTo" {
			e.Value = s.placed(e.Value)
		}
	}
	return e, true
}

// catalog never fails: without one, no document was opened.
func (s *source) catalog() *pdf.Dict {
	c, err := s.Doc.Catalog()
	if err != nil || c == nil {
		return &pdf.Dict{}
	}
	return c
}

// child is a dictionary under a key, nil where there is none that can be read.
func (s *source) child(d *pdf.Dict, key pdf.Name) *pdf.Dict {
	if d == nil {
		return nil
	}
	c, err := s.Doc.Dict(d.Get(key))
	if err != nil {
		return nil
	}
	return c
}

// list is an array under a key, nil where there is none that can be read.
func (s *source) list(d *pdf.Dict, key pdf.Name) pdf.Array {
	if d == nil {
		return nil
	}
	a, err := s.Doc.Array(d.Get(key))
	if err != nil {
		return nil
	}
	return a
}
