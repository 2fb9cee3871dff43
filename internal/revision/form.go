package revision

import (
	"slices"

	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// field is a terminal form field with its widgets.
type field struct {
	name    string
	kind    pdf.Name // FT, inherited
	ref     pdf.Ref
	dict    *pdf.Dict
	widgets []widget // kids that are only widgets
}

type widget struct {
	ref  pdf.Ref
	dict *pdf.Dict
}

// form compares the interactive form: its own keys, then field by field.
func (c *comparison) form(before, after pdf.Object) {
	a, b := c.dict(c.old, before), c.dict(c.new, after)
	holder := c.new.Root().Num
	if ref, ok := after.(pdf.Ref); ok {
		holder = ref.Num
		if _, ok := c.changed[ref.Num]; ok {
			c.parts[ref.Num] = structure
		}
	}
	for _, key := range differing(a, b) {
		n := c.when(b.Get(key), holder)
		switch {
		case key == "Fields" || key == "SigFlags":
		case (key == "DR" || key == "DA") && a.Get(key) == nil:
			c.claim(b.Get(key), appearance)
			c.report(n, "form", true, "the form's %s was added", key)
		default:
			c.report(n, "form", false, "the form's %s was changed", key)
		}
	}
	if ref, ok := b.Get("Fields").(pdf.Ref); ok {
		if _, ok := c.changed[ref.Num]; ok {
			c.parts[ref.Num] = structure
		}
	}
	c.fields(c.collectFields(c.old, a), c.collectFields(c.new, b))
}

// dict resolves an object to a dictionary, an empty one where there is none.
func (c *comparison) dict(d *pdf.Document, o pdf.Object) *pdf.Dict {
	if o == nil {
		return &pdf.Dict{}
	}
	v, err := d.Dict(o)
	if err != nil || v == nil {
		return &pdf.Dict{}
	}
	return v
}

func (c *comparison) fields(before, after map[string]*field) {
	for name, was := range before {
		if is, ok := after[name]; ok {
			c.field(was, is)
		} else {
			c.report(len(c.new.Revisions()), "form", false, "the form field %q was taken out", name)
		}
	}
	for name, is := range after {
		if _, ok := before[name]; !ok {
			c.added(is)
		}
	}
}

// collectFields gathers the terminal fields of a form by their full names.
func (c *comparison) collectFields(d *pdf.Document, form *pdf.Dict) map[string]*field {
	out := make(map[string]*field)
	seen := make(map[int]bool)
	var visit func(o pdf.Object, name string, kind pdf.Name)
	visit = func(o pdf.Object, name string, kind pdf.Name) {
		ref, _ := o.(pdf.Ref)
		if ref.Num != 0 && seen[ref.Num] || len(seen) > limits.PDFFields {
			return
		}
		seen[ref.Num] = true
		dict := c.dict(d, o)
		if t := d.Text(dict.Get("T")); dict.Has("T") {
			if name != "" {
				name += "."
			}
			name += t
		}
		if k := d.Name(dict.Get("FT")); k != "" {
			kind = k
		}
		f := &field{name: name, kind: kind, ref: ref, dict: dict}
		kids, _ := d.Array(dict.Get("Kids"))
		terminal := true
		for _, kid := range kids {
			if k := c.dict(d, kid); k.Has("T") {
				terminal = false
				visit(kid, name, kind)
			} else {
				r, _ := kid.(pdf.Ref)
				f.widgets = append(f.widgets, widget{ref: r, dict: k})
			}
		}
		if terminal {
			out[name] = f
		} else if d == c.new {
			c.node(f)
		}
	}
	roots, _ := d.Array(form.Get("Fields"))
	for _, o := range roots {
		visit(o, "", "")
	}
	return out
}

// node takes a field that only groups others; nothing but its kids may change.
func (c *comparison) node(f *field) {
	n, ok := c.changed[f.ref.Num]
	if !ok {
		return
	}
	c.parts[f.ref.Num] = structure
	was, err := c.old.Get(f.ref)
	before, _ := was.(*pdf.Dict)
	if err != nil || before == nil {
		return // new: its terminal fields are judged
	}
	for _, key := range differing(before, f.dict) {
		if key != "Kids" {
			c.report(n, "form", false, "the form field %q was changed (%s)", f.name, key)
		}
	}
}

// added judges a field that was not there: it must be a signature, signed, and
// bring no script along.
func (c *comparison) added(f *field) {
	n := c.when(f.ref, 0)
	c.own(f)
	switch {
	case f.kind != "Sig":
		c.report(n, "form", false, "a form field was added: %q", f.name)
	case f.dict.Has("A") || f.dict.Has("AA"):
		c.report(n, "form", false, "the new signature field %q carries an action", f.name)
	case f.dict.Get("V") == nil && c.shows(f):
		c.report(n, "form", false, "an unsigned signature field that shows something was added: %q", f.name)
	case f.dict.Get("V") == nil:
		c.report(n, "form", c.rules.DocMDP != noChanges, "an empty signature field was added: %q", f.name)
	default:
		c.signed(f, n)
	}
}

// own gives the field's objects their parts.
func (c *comparison) own(f *field) {
	c.claimOne(f.ref)
	c.claim(f.dict.Get("V"), value)
	c.claim(f.dict.Get("AP"), appearance)
	c.claim(f.dict.Get("MK"), appearance)
	c.claim(f.dict.Get("Lock"), value)
	for _, w := range f.widgets {
		c.claimOne(w.ref)
		c.claim(w.dict.Get("AP"), appearance)
		c.claim(w.dict.Get("MK"), appearance)
	}
}

func (c *comparison) claimOne(ref pdf.Ref) {
	if _, ok := c.changed[ref.Num]; ok {
		c.parts[ref.Num] = structure
	}
}

// shows reports whether a field has an appearance of any size.
func (c *comparison) shows(f *field) bool {
	all := append([]widget{{dict: f.dict}}, f.widgets...)
	return slices.ContainsFunc(all, func(w widget) bool {
		r, ok := c.new.Rect(w.dict.Get("Rect"))
		return ok && r.Width() != 0 && r.Height() != 0 && w.dict.Get("AP") != nil
	})
}

// signed judges a signature or time-stamp that was put into a field.
func (c *comparison) signed(f *field, n int) {
	v := c.dict(c.new, f.dict.Get("V"))
	if !v.Has("ByteRange") || !v.Has("Contents") {
		c.report(n, "form", false, "the field %q was given something that is no signature", f.name)
		return
	}
	if c.new.Name(v.Get("Type")) == "DocTimeStamp" || c.new.Name(v.Get("SubFilter")) == "ETSI.RFC3161" {
		c.report(n, "document-timestamp", !c.shows(f), "a document time-stamp was added: %q", f.name)
		return
	}
	permitted := c.rules.DocMDP != noChanges && !c.locked(f.name)
	c.report(n, "signature", permitted, "a signature was added: %q", f.name)
}

func (c *comparison) locked(name string) bool {
	return c.rules.Locked != nil && c.rules.Locked(name)
}
