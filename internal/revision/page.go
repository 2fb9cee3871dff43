package revision

import (
	"slices"
	"sort"

	"rogito.dev/rogito/internal/pdf"
)

// pages looks at every changed page and every changed list of annotations:
// nothing may change there but the widgets of signatures that were added, and
// comments where the certification allows them.
func (c *comparison) pages() {
	for _, num := range c.numbers() {
		if c.parts[num] != unknown {
			continue
		}
		ref := pdf.Ref{Num: num}
		before, _ := c.old.Get(ref)
		after, _ := c.new.Get(ref)
		a, ok1 := before.(*pdf.Dict)
		b, ok2 := after.(*pdf.Dict)
		switch {
		case ok1 && ok2 && c.old.Name(a.Get("Type")) == "Page":
			c.page(num, a, b)
		case c.onlyUnder(num, "Annots"):
			c.annots(num, before, after)
		}
	}
}

// numbers of the changed objects that can be reached, in order.
func (c *comparison) numbers() []int {
	out := make([]int, 0, len(c.edges))
	for num := range c.edges {
		if _, ok := c.changed[num]; ok {
			out = append(out, num)
		}
	}
	sort.Ints(out)
	return out
}

// onlyUnder reports whether every reference to an object stands in a page
// under that key.
func (c *comparison) onlyUnder(num int, key pdf.Name) bool {
	return !slices.ContainsFunc(c.edges[num], func(e edge) bool {
		if e.key != key || e.path != string(key) {
			return true
		}
		o, _ := c.new.Get(pdf.Ref{Num: e.from})
		d, ok := o.(*pdf.Dict)
		return !ok || c.new.Name(d.Get("Type")) != "Page"
	})
}

func (c *comparison) page(num int, a, b *pdf.Dict) {
	c.parts[num] = structure
	for _, key := range differing(a, b) {
		if key == "Annots" {
			c.annots(num, a.Get(key), b.Get(key))
			continue
		}
		c.report(c.when(b.Get(key), num), kindOf(key), false, "a page was changed: its %s", key)
	}
}

// annots compares two lists of annotations. An array of a page's own, where
// the page stays, is taken as well.
func (c *comparison) annots(holder int, before, after pdf.Object) {
	if _, isArray := after.(pdf.Array); isArray && c.parts[holder] == unknown {
		c.parts[holder] = structure
	}
	if ref, ok := after.(pdf.Ref); ok {
		c.claimOne(ref)
	}
	was, _ := c.old.Array(before)
	is, _ := c.new.Array(after)
	for _, o := range was {
		if !slices.ContainsFunc(is, func(x pdf.Object) bool { return pdf.Equal(x, o) }) {
			c.report(c.when(after, holder), "annotation", c.rules.DocMDP == annotations, "an annotation was taken away")
		}
	}
	for _, o := range is {
		if !slices.ContainsFunc(was, func(x pdf.Object) bool { return pdf.Equal(x, o) }) {
			c.annotated(o, holder)
		}
	}
}

// annotated judges an annotation that a page did not have. A widget of a field
// that was judged already needs no second word.
func (c *comparison) annotated(o pdf.Object, holder int) {
	ref, _ := o.(pdf.Ref)
	if c.parts[ref.Num] == structure || c.isWidget(o) && c.parts[ref.Num] != unknown {
		return
	}
	if _, changed := c.changed[ref.Num]; !changed && ref.Num != 0 && c.isWidget(o) {
		// An old widget that is now put on a page shows what did not show.
		c.report(c.when(nil, holder), "annotation", false, "an existing form field was put on a page")
		return
	}
	permitted := c.rules.DocMDP == annotations && !c.isWidget(o)
	c.claimAnnotation(o, permitted)
	kind := c.new.Name(c.dict(c.new, o).Get("Subtype"))
	c.report(c.when(o, holder), "annotation", permitted, "an annotation was added (%s)", kind)
}

func (c *comparison) claimAnnotation(o pdf.Object, permitted bool) {
	ref, ok := o.(pdf.Ref)
	if !ok {
		return
	}
	c.named[ref.Num] = true
	if permitted {
		c.claimOne(ref)
		c.claim(c.dict(c.new, o), annotation)
	}
}

func (c *comparison) isWidget(o pdf.Object) bool {
	return c.new.Name(c.dict(c.new, o).Get("Subtype")) == "Widget"
}
