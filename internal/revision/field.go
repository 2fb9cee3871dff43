package revision

import (
	"slices"

	"rogito.dev/rogito/internal/pdf"
)

// Keys that signing an empty field, or filling one, may change.
var (
	signingKeys = []pdf.Name{"V", "AP", "AS", "F", "M", "MK", "DA", "BS", "P", "Rect"}
	fillingKeys = []pdf.Name{"V", "AP", "AS", "RV", "I", "M"}
)

// field compares a field that is in both revisions.
func (c *comparison) field(was, is *field) {
	if was.ref != is.ref {
		c.report(c.when(is.ref, 0), "form", false, "the form field %q was replaced", is.name)
		return
	}
	keys := c.fieldKeys(was, is)
	touched := len(keys) > 0 || c.shown(is)
	if !touched {
		return
	}
	n := c.latest(is)
	switch {
	case !slices.Equal(refs(was.widgets), refs(is.widgets)):
		c.refuse(is, n, "form", "the widgets of the form field %q were changed")
	case is.kind == "Sig" && was.dict.Get("V") != nil:
		c.refuse(is, n, "signature", "the signature field %q was changed after it was signed")
	case is.kind == "Sig" && is.dict.Get("V") != nil && within(keys, signingKeys):
		c.own(is)
		c.signed(is, n)
		c.shared(was, n)
	case is.kind != "Sig" && within(keys, fillingKeys):
		c.own(is)
		c.report(n, "form-fill", c.rules.DocMDP >= formFilling && !c.locked(is.name), "the form field %q was filled in", is.name)
	default:
		c.refuse(is, n, "form", "the form field %q was changed")
	}
}

// refuse names a change of a field that nothing allows, and marks the field's
// objects as spoken for: what is said of the field need not be said of each.
func (c *comparison) refuse(f *field, n int, kind, text string) {
	c.report(n, kind, false, text, f.name)
	c.named[f.ref.Num] = true
	for _, w := range f.widgets {
		c.named[w.ref.Num] = true
	}
	if v, ok := f.dict.Get("V").(pdf.Ref); ok && c.onlyFrom(v.Num, f.ref.Num) {
		c.named[v.Num] = true
	}
}

func (c *comparison) onlyFrom(num, from int) bool {
	return !slices.ContainsFunc(c.edges[num], func(e edge) bool { return e.from != from })
}

// fieldKeys lists the keys that differ in the field and its widgets.
func (c *comparison) fieldKeys(was, is *field) []pdf.Name {
	keys := differing(was.dict, is.dict)
	for i, w := range is.widgets {
		if i < len(was.widgets) && was.widgets[i].ref == w.ref {
			keys = append(keys, differing(was.widgets[i].dict, w.dict)...)
		}
	}
	return keys
}

// shown reports whether the appearance or the value of a field was changed in
// objects of its own, while the field kept pointing to them.
func (c *comparison) shown(f *field) bool {
	found := false
	look := func(ref pdf.Ref, _ []string) {
		_, ok := c.changed[ref.Num]
		found = found || ok
	}
	for _, w := range append([]widget{{dict: f.dict}}, f.widgets...) {
		walk(w.dict.Get("AP"), nil, look)
		walk(w.dict.Get("V"), nil, look)
	}
	return found
}

// latest is the last revision that touched the field or a widget of it.
func (c *comparison) latest(f *field) int {
	n := c.changed[f.ref.Num]
	for _, w := range f.widgets {
		n = max(n, c.changed[w.ref.Num])
	}
	if n == 0 {
		return c.when(f.dict.Get("V"), 0)
	}
	return n
}

func refs(ws []widget) []pdf.Ref {
	out := make([]pdf.Ref, len(ws))
	for i, w := range ws {
		out[i] = w.ref
	}
	return out
}

func within(keys, allowed []pdf.Name) bool {
	return !slices.ContainsFunc(keys, func(k pdf.Name) bool { return !slices.Contains(allowed, k) })
}

// shared names an appearance that the field gave up and that something other
// than a field uses: whoever arranged that meant it to be seen elsewhere.
func (c *comparison) shared(was *field, n int) {
	ref, ok := was.dict.Get("AP").(pdf.Ref)
	if !ok {
		return
	}
	for _, e := range c.edges[ref.Num] {
		if !c.isField(e.from) {
			c.report(n, "undefined", false, "the appearance that the field %q had is also used under %s of object %d", was.name, e.path, e.from)
		}
	}
}
