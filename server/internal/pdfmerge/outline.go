package pdfmerge

import (
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// mostItems bounds the bookmarks of the first level that are looked at.
const mostItems = 100_000

// outlines puts the bookmarks of all documents behind each other, under root.
func (j *joined) outlines(root pdf.Ref) *pdf.Dict {
	out := pdf.NewDict(pdf.Name("Type"), pdf.Name("Outlines"))
	var count int64
	var before *source // whose last item is waiting for its neighbour
	var last pdf.Ref
	for _, s := range j.sources {
		items, n := s.bookmarks()
		if len(items) == 0 {
			continue
		}
		head, tail := items[0], items[len(items)-1]
		for _, it := range items {
			s.edits[it] = append(s.edits[it], func(d *pdf.Dict) { d.Set("Parent", root) })
		}
		s.edits[tail] = append(s.edits[tail], func(d *pdf.Dict) { d.Delete("Next") })
		next := s.ref(head)
		if before == nil {
			out.Set("First", next)
			s.edits[head] = append(s.edits[head], func(d *pdf.Dict) { d.Delete("Prev") })
		} else {
			prev := before.refs[last]
			s.edits[head] = append(s.edits[head], func(d *pdf.Dict) { d.Set("Prev", prev) })
			before.edits[last] = append(before.edits[last], func(d *pdf.Dict) { d.Set("Next", next) })
		}
		out.Set("Last", s.ref(tail))
		before, last = s, tail
		count += n
	}
	if before == nil {
		return nil
	}
	out.Set("Count", pdf.Integer(count))
	return out
}

// bookmarks are the items of the first level, and how many items show.
func (s *source) bookmarks() (items []pdf.Ref, count int64) {
	root := s.child(s.catalog(), "Outlines")
	if root == nil {
		return nil, 0
	}
	if ref, ok := s.catalog().Get("Outlines").(pdf.Ref); ok {
		s.refs[ref] = pdf.Ref{}
	}
	seen := map[pdf.Ref]bool{}
	next := root.Get("First")
	for len(items) < mostItems {
		ref, ok := next.(pdf.Ref)
		d, err := s.doc.Dict(ref)
		if !ok || err != nil || d == nil || seen[ref] {
			break
		}
		seen[ref] = true
		items = append(items, ref)
		count++
		if n, ok := s.doc.Int(d.Get("Count")); ok && n > 0 && n < limits.PDFObjects {
			count += n
		}
		next = d.Get("Next")
	}
	return items, count
}
