package revision

import (
	"errors"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// invisible are the differences between two readings of one revision that neither show nor run nor
// hide anything.
var invisible = map[string]bool{
	"dss": true, "info": true, "metadata": true, "version": true, "structure": true, "structure+": true,
	"trailer-odd": true, "catalog-odd": true, "page-odd": true, "page-resources+": true, "form-resources": true,
}

// Twofold returns what readers show, run or hide differently in a revision if they read it in one
// of the ways; none if they all agree. left has the numbers of objects that readers leave out.
func (c *Comparer) Twofold(n int, ways pdf.Reading, left map[int]bool) ([]string, error) {
	out, err := c.twofold(n, ways, left)
	if errors.Is(err, errTooMuch) {
		return []string{"the document, which is too large to be compared"}, nil
	}
	return out, err
}

func (c *Comparer) twofold(n int, ways pdf.Reading, left map[int]bool) ([]string, error) {
	if ways == 0 {
		return nil, nil
	}
	own, err := c.reading(n, 0, nil)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, way := range ways.Ways() {
		if way == pdf.Hinted { // not followed here
			out = append(out, "the document (linearisation)")
			continue
		}
		other, err := c.reading(n, way, left)
		if err != nil {
			return nil, err
		}
		if other == nil {
			continue
		}
		if own == nil { // not a document by its tables
			own = other
			continue
		}
		m := newMatcher(own, other, nil, c.work)
		m.apart = true
		for _, d := range compareBy(m) {
			if !invisible[d.what] {
				out = append(out, d.place())
			}
		}
	}
	return out, nil
}

// place is where two readings differ.
func (d difference) place() string {
	what := table[d.what].kind
	switch {
	case d.page != 0:
		return fmt.Sprintf("page %d (%s)", d.page, what)
	case d.field != "":
		return fmt.Sprintf("the field %q", d.field)
	case d.name != "":
		return fmt.Sprintf("the document (%s, %s)", what, d.name)
	}
	return fmt.Sprintf("the document (%s)", what)
}

// reading is a revision read in some way, 0 meaning by its tables; nil if that does not yield a
// document.
func (c *Comparer) reading(n int, way pdf.Reading, left map[int]bool) (*model, error) {
	d, err := c.doc.Other(n, way, left)
	if err != nil || d == nil {
		return nil, unlessMalformed(err)
	}
	m, err := newModel(&view{Document: d, shared: make(map[place]pdf.Object), lenient: true}, n, c.work)
	switch {
	case err == nil:
		return m, nil
	case errors.Is(err, errTooMuch) || c.work.over:
		return nil, errTooMuch
	}
	return nil, unlessMalformed(err)
}

func unlessMalformed(err error) error {
	if _, ok := errors.AsType[*ades.MalformedError](err); ok {
		return nil
	}
	return err
}

// Tree returns where readers traverse the page tree of a revision differently, so that they show
// other pages, or pages of another size: "" if nowhere. A test checks what each reader does.
func (c *Comparer) Tree(n int) (string, error) {
	d := c.doc
	if n < len(c.doc.Revisions()) {
		var err error
		if d, err = c.doc.At(n); err != nil {
			return "", err
		}
	}
	m := &model{doc: &view{Document: d, shared: c.shared, lenient: true}, rev: n, work: c.work, light: true}
	var err error
	if m.catalog, err = m.doc.Catalog(); err == nil {
		err = m.readPages()
	}
	if errors.Is(err, errTooMuch) {
		return "the pages, which are too many to be compared", nil
	}
	if err != nil || m.doubt != "" || !m.crooked {
		return m.doubt, unlessMalformed(err)
	}
	same := newMatcher(m, m, nil, c.work)
	same.apart = true
	w := &descent{matcher: same, m: m, path: make(map[int]bool)}
	err = w.visit(m.catalog.Get("Pages"), nil, 0)
	return w.place, unlessMalformed(err)
}

// descent inherits attributes down a crooked page tree, and compares them with those found by
// climbing it.
type descent struct {
	*matcher
	m     *model
	path  map[int]bool // the ancestors
	page  int
	place string
}

func (w *descent) visit(o pdf.Object, in *pdf.Dict, depth int) error {
	ref, _ := o.(pdf.Ref)
	if w.place != "" || w.path[ref.Num] || depth > limits.PDFDepth {
		return nil
	}
	if !w.m.work.step() {
		w.place = "the pages, which are too many to be compared"
		return nil
	}
	d, err := w.m.doc.Dict(o)
	if err != nil || d == nil {
		return err
	}
	for _, k := range inheritedByPages { // some readers treat null entries as present and do not inherit
		if n, _ := w.m.doc.Int(in.Get(k)); w.m.void(d, k) && in.Get(k) != nil && k != "Resources" && (k != "Rotate" || n != 0) {
			w.place = fmt.Sprintf("page %d (%s)", w.page+1, k)
		}
	}
	in = handDown(in, d, inheritedByPages)
	if d.Has("Kids") && (depth == 0 || w.m.doc.Name(d.Get("Type")) != "Page") {
		kids, err := w.m.doc.Array(d.Get("Kids"))
		if ref.Num != 0 {
			w.path[ref.Num] = true
			defer delete(w.path, ref.Num)
		}
		for _, k := range kids {
			if err == nil {
				err = w.visit(k, in, depth+1)
			}
		}
		return err
	}
	w.page++
	up, err := w.m.climb(d)
	for _, k := range inheritedByPages {
		if err == nil && w.place == "" && !w.equal(in.Get(k), up.Get(k), k) {
			w.place = fmt.Sprintf("page %d (%s)", w.page, k)
		}
	}
	return err
}
