package pdfmerge

import (
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// edit changes an object on its way into the new document.
type edit func(*pdf.Dict)

// source is a document whose objects are copied under new numbers.
type source struct {
	doc     *pdf.Document
	out     *pdf.File
	joining bool // with others: what speaks of the whole document is left

	pages []page
	refs  map[pdf.Ref]pdf.Ref // where objects go; zero: nowhere
	queue []pdf.Ref           // objects with a place that are not written yet
	edits map[pdf.Ref][]edit
	dests map[string]pdf.Object // by name; nil until one is asked for
}

// refSize is about what is held of every object: its places, old and new.
const refSize = 96

// ref is the new place of an object, which is going to be written. What
// nothing defines is null, as it always was.
func (s *source) ref(old pdf.Ref) pdf.Object {
	place, known := s.refs[old]
	if !known {
		if _, ok := s.doc.Where(old.Num); ok {
			place = s.out.Reserve()
			s.queue = append(s.queue, old)
		}
		s.refs[old] = place
		_ = s.doc.Budget().Spend(refSize) // drain looks whether it sufficed
	}
	if place.IsZero() {
		return nil
	}
	return place
}

// drain writes all that was asked for, and what that asks for.
func (s *source) drain() error {
	for len(s.queue) > 0 {
		last := len(s.queue) - 1
		old := s.queue[last]
		s.queue = s.queue[:last]
		if err := s.put(old); err != nil {
			return fmt.Errorf("object %v: %w", old, err)
		}
		if s.doc.Budget().Exceeded() {
			return limits.ErrBudget
		}
		if len(s.refs) > limits.PDFObjects {
			return ades.Malformed("PDF", "", "more than %d objects", limits.PDFObjects)
		}
	}
	return nil
}

func (s *source) put(old pdf.Ref) error {
	o, err := s.doc.Get(old)
	if err != nil {
		return err
	}
	if st, ok := o.(*pdf.Stream); ok {
		return s.putStream(s.refs[old], st)
	}
	o = s.object(o)
	if d, ok := o.(*pdf.Dict); ok {
		for _, change := range s.edits[old] {
			change(d)
		}
	}
	return s.out.Put(s.refs[old], o)
}

// putStream copies the data as they are encoded, but for their encryption.
func (s *source) putStream(place pdf.Ref, st *pdf.Stream) error {
	d := s.dict(withoutCrypt(st.Dict))
	if !s.doc.Encrypted() && st.Span().End > 0 {
		span := st.Span()
		size := span.End - span.Start
		return s.out.PutStream(place, d, io.NewSectionReader(s.doc, span.Start, size), size)
	}
	data, err := s.doc.Encoded(st)
	if err != nil {
		return err
	}
	return s.out.Put(place, &pdf.Stream{Dict: d, Data: data})
}

// withoutCrypt takes out the crypt filter, which is always the first: the data
// are in clear now.
func withoutCrypt(d *pdf.Dict) *pdf.Dict {
	switch f := d.Get("Filter").(type) {
	case pdf.Name:
		if f == "Crypt" {
			d = d.Clone()
			d.Delete("Filter")
			d.Delete("DecodeParms")
		}
	case pdf.Array:
		if len(f) > 0 && f[0] == pdf.Name("Crypt") {
			d = d.Clone()
			d.Set("Filter", f[1:])
			if p, ok := d.Get("DecodeParms").(pdf.Array); ok && len(p) > 0 {
				d.Set("DecodeParms", p[1:])
			}
		}
	}
	return d
}

// object copies a direct object.
func (s *source) object(o pdf.Object) pdf.Object {
	switch x := o.(type) {
	case pdf.Ref:
		return s.ref(x)
	case pdf.Array:
		out := make(pdf.Array, len(x))
		for i := range x {
			out[i] = s.object(x[i])
		}
		return out
	case *pdf.Dict:
		return s.dict(x)
	}
	return o
}

func (s *source) dict(d *pdf.Dict) *pdf.Dict {
	out := &pdf.Dict{Entries: make([]pdf.Entry, 0, len(d.Entries))}
	goTo := s.joining && d.Has("D") && s.doc.Name(d.Get("S")) == "GoTo"
	for _, e := range d.Entries {
		if s.joining {
			switch e.Key {
			case "StructParent", "StructParents": // of a tree that is left behind
				continue
			case "Dest":
				e.Value = s.placed(e.Value)
			case "D":
				if goTo {
					e.Value = s.placed(e.Value)
				}
			}
		}
		out.Entries = append(out.Entries, pdf.Entry{Key: e.Key, Value: s.object(e.Value)})
	}
	return out
}

// info is the document information, where there is some.
func (s *source) info() (pdf.Object, bool) {
	o := s.doc.Trailer().Get("Info")
	d, err := s.doc.Dict(o)
	if err != nil || d == nil {
		return nil, false
	}
	if ref, ok := o.(pdf.Ref); ok {
		return s.ref(ref), true
	}
	place := s.out.Reserve()
	return place, s.out.Put(place, s.dict(d)) == nil
}

// catalog never fails: without one, no document was opened.
func (s *source) catalog() *pdf.Dict {
	c, err := s.doc.Catalog()
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
	c, err := s.doc.Dict(d.Get(key))
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
	a, err := s.doc.Array(d.Get(key))
	if err != nil {
		return nil
	}
	return a
}
