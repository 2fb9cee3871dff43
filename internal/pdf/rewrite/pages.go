package rewrite

import (
	"cmp"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// page is a page with its inherited attributes. Both dictionaries are shared: a document may list
// one page a million times.
type page struct {
	ref   pdf.Ref // zero for one that is direct in its parent's Kids
	dict  *pdf.Dict
	above *pdf.Dict // the attributes it may inherit
}

// inherited are the inheritable entries of a page.
var inherited = []pdf.Name{"Resources", "MediaBox", "CropBox", "Rotate"}

// tree is a page tree as read from the root down.
type tree struct {
	doc     *pdf.Document
	pages   []page
	nodes   map[pdf.Ref]bool
	leaves  map[pdf.Ref]bool
	crooked bool // other readers may find other pages, or inherit other attributes
	visits  int
}

func readTree(d *pdf.Document) (*tree, error) {
	cat, err := d.Catalog()
	if err != nil {
		return nil, err
	}
	t := &tree{doc: d, nodes: map[pdf.Ref]bool{}, leaves: map[pdf.Ref]bool{}}
	if err := t.visit(cat.Get("Pages"), nil, &pdf.Dict{}, 0); err != nil {
		return nil, err
	}
	if len(t.pages) == 0 {
		return nil, ades.Malformed("PDF", "Catalog/Pages", "there are no pages")
	}
	return t, nil
}

// visit traverses a node and its descendants. Readers find a page by the counts of the nodes, by
// traversing the kids, or upwards from the page; they agree if each kid is indirect, has the right
// Type, is counted, and names the node that lists it as its parent.
func (t *tree) visit(o, parent pdf.Object, above *pdf.Dict, depth int) error { //nolint:gocyclo // one page tree, top to bottom
	t.visits++
	if depth > limits.PDFDepth || t.visits > limits.PDFObjects || len(t.pages) > limits.PDFFields {
		return ades.Malformed("PDF", "Catalog/Pages", "the page tree is too deep or has too many pages")
	}
	ref, indirect := o.(pdf.Ref)
	v, err := readable(t.doc.Resolve(o))
	if err != nil {
		return err
	}
	d, ok := v.(*pdf.Dict)
	if !ok { // a null kid shows nothing
		t.crooked = true
		return nil
	}
	for _, key := range inherited { // some readers treat null entries as present and do not inherit
		if v, err := readable(t.doc.Resolve(d.Get(key))); err == nil && v == nil && d.Has(key) && above.Get(key) != nil {
			t.crooked = true
			d = d.Clone()
			d.Delete(key)
		}
	}
	list, err := readable(t.doc.Resolve(d.Get("Kids")))
	if err != nil {
		return err
	}
	kids, node := list.(pdf.Array)
	kind, err := readable(t.doc.Resolve(d.Get("Type")))
	if err != nil {
		return err
	}
	if up := d.Get("Parent"); !indirect || up != parent {
		t.crooked = true
	}
	if !node || kind == pdf.Name("Page") {
		if t.leaves[ref] || t.nodes[ref] || d.Has("Kids") || kind != nil && kind != pdf.Name("Page") {
			t.crooked = true
		}
		if indirect {
			t.leaves[ref] = true
		}
		t.pages = append(t.pages, page{ref: ref, dict: d, above: above})
		return nil
	}
	if t.nodes[ref] || t.leaves[ref] {
		t.crooked = true // a cycle: readers stop there
		return nil
	}
	if indirect {
		t.nodes[ref] = true
	}
	here := &pdf.Dict{}
	for _, key := range inherited {
		if v := cmp.Or(d.Get(key), above.Get(key)); v != nil {
			here.Set(key, v)
		}
	}
	before := len(t.pages)
	for _, kid := range kids {
		if err := t.visit(kid, o, here, depth+1); err != nil {
			return err
		}
	}
	if d.Get("Count") != pdf.Integer(len(t.pages)-before) || kind != nil && kind != pdf.Name("Pages") {
		t.crooked = true
	}
	return nil
}

// whole is a page with its inherited attributes.
func (p page) whole() *pdf.Dict {
	out := p.dict.Clone()
	for _, key := range inherited {
		if v := cmp.Or(p.dict.Get(key), p.above.Get(key)); v != nil {
			out.Set(key, v)
		}
	}
	return out
}

// flatten puts all pages under one node, each with its inherited attributes.
func (c *Copier) flatten(t *tree, node pdf.Ref) error {
	for ref := range t.nodes {
		c.Refs[ref] = pdf.Ref{} // references to it become null
	}
	places := make([]pdf.Ref, len(t.pages))
	kids := make(pdf.Array, len(t.pages))
	for i, p := range t.pages {
		places[i] = c.Out.Reserve()
		kids[i] = places[i]
		if _, taken := c.Refs[p.ref]; !p.ref.IsZero() && !taken {
			c.Refs[p.ref] = places[i]
		}
	}
	for i, p := range t.pages {
		d := p.whole()
		d.Delete("Parent")
		d.Delete("Kids")
		out := c.Dict(d)
		out.Set("Type", pdf.Name("Page"))
		out.Set("Parent", node)
		if err := c.Out.Put(places[i], out); err != nil {
			return err
		}
	}
	return c.Out.Put(node, pdf.NewDict(pdf.Name("Type"), pdf.Name("Pages"), pdf.Name("Kids"), kids, pdf.Name("Count"), pdf.Integer(len(kids))))
}

// crookedTree describes what is wrong with a page tree that readers traverse, or inherit from, in
// different ways; empty for any other.
func crookedTree(d *pdf.Document) (string, error) {
	t, err := readTree(d)
	if _, bad := readable(nil, err); bad != nil {
		return "", bad
	}
	switch {
	case err != nil:
		return err.Error(), nil
	case !t.crooked:
		return "", nil
	}
	return "the page tree has a wrong count, type or parent, or a page that is none", nil
}
