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
			s.Edits[it] = append(s.Edits[it], func(d *pdf.Dict) { d.Set("Parent", root) })
		}
		s.Edits[tail] = append(s.Edits[tail], func(d *pdf.Dict) { d.Delete("Next") })
		next := s.Ref(head)
		if before == nil {
			out.Set("First", next)
			s.Edits[head] = append(s.Edits[head], func(d *pdf.Dict) { d.Delete("Prev") })
		} else {
			prev := before.Refs[last]
			s.Edits[head] = append(s.Edits[head], func(d *pdf.Dict) { d.Set("Prev", prev) })
			before.Edits[last] = append(before.Edits[last], func(d *pdf.Dict) { d.Set("Next", next) })
		}
		out.Set("Last", s.Ref(tail))
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
		s.Refs[ref] = pdf.Ref{}
	}
	seen := map[pdf.Ref]bool{}
	next := root.Get("First")
	for len(items) < mostItems {
		ref, ok := next.(pdf.Ref)
		d, err := s.Doc.Dict(ref)
		if !ok || err != nil || d == nil || seen[ref] {
			break
		}
		seen[ref] = true
		items = append(items, ref)
		count++
		if n, ok := s.Doc.Int(d.Get("Count")); ok && n > 0 && n < limits.PDFObjects {
			count += n
		}
		next = d.Get("Next")
	}
	return items, count
}
