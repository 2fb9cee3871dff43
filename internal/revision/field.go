package revision

import (
	"slices"

	"rogito.dev/rogito/internal/pdf"
)

// filling are the keys that change when a field is filled in.
var filling = []pdf.Name{"V", "AP", "AS", "I", "TI", "RV", "M"}

// silent are keys of fields and widgets that neither show nor run anything, or that the model has
// resolved.
var silent = []pdf.Name{"Type", "P", "Parent", "Kids", "T", "M", "StructParent", "TM", "NM"}

// known are the other keys of fields and widgets (ISO 32000-2, tables 166, 191, 226, 228, 232, 234,
// 235): a difference in one of them changes the field.
var known = []pdf.Name{
	"FT", "Ff", "DV", "DA", "Q", "MaxLen", "Opt", "TU", "DS", "MK", "Rect", "F", "BS", "Border", "BE", "H", "C", "OC", "BM", "CA", "ca",
	"Subtype", "Contents", "Lang", "AF", "Lock", "SV", "V", "AP", "AS", "I", "TI", "RV",
}

// field compares the old and the new state of a field.
func (c *comparison) field(was, is *field) {
	if c.old.kind(was) != c.new.kind(is) {
		c.add(difference{what: "field-changed", field: is.name, name: "FT"})
		return
	}
	if !c.sameWidgets(was, is) {
		c.add(difference{what: "field-widgets", field: is.name})
		return
	}
	c.parents(was, is)
	if key, odd := c.mistypedField(was, is); odd {
		c.add(difference{what: "field-odd", field: is.name, name: string(key)})
	}
	keys := c.fieldKeys(was, is)
	if len(keys) == 0 {
		return
	}
	if c.new.kind(is) == "Sig" {
		c.signatureField(was, is, keys)
		return
	}
	filled := slices.ContainsFunc(keys, func(k pdf.Name) bool { return slices.Contains(filling, k) })
	c.sharedAppearance(was, keys)
	for _, k := range keys {
		if !slices.Contains(filling, k) && !(filled && c.unused(is, k)) {
			c.fieldChanged(is, k)
		}
	}
	if !filled {
		return
	}
	if slices.Contains(keys, "RV") && !c.new.isNull(is.dict.Get("RV")) {
		c.add(difference{what: "form-fill-odd", field: is.name, name: "rich text"})
		return
	}
	if c.new.kind(is) == "Btn" && slices.Contains(keys, "AP") {
		why := other
		if slices.Contains(keys, "V") || slices.Contains(keys, "AS") {
			why = c.redrawnButton(was, is)
		}
		switch why {
		case "":
		case other:
			c.add(difference{what: "field-changed", field: is.name, name: "AP"})
			return
		default:
			c.add(difference{what: "form-fill-odd", field: is.name, name: why})
			return
		}
	}
	c.add(c.filledAs(was, is))
}

// mistypedField is mistyped for a field and its widgets.
func (c *comparison) mistypedField(was, is *field) (pdf.Name, bool) {
	if key, odd := c.mistyped(was.dict, is.dict, annotTypes); odd {
		return key, true
	}
	for i, w := range is.widgets {
		if w.merged {
			continue
		}
		if key, odd := c.mistyped(was.widgets[i].dict, w.dict, annotTypes); odd {
			return key, true
		}
	}
	return "", false
}

// parents compares the Parent entries of a field and its widgets. They must lead where they led
// before.
func (c *comparison) parents(was, is *field) {
	same := func(a, b parentLink, x, y *pdf.Dict) bool {
		return a == b && (a != astray || c.equal(x.Get("Parent"), y.Get("Parent"), "Parent")) || b == toParent
	}
	ok := same(was.up, is.up, was.dict, is.dict)
	for i, w := range is.widgets {
		ok = ok && same(was.widgets[i].up, w.up, was.widgets[i].dict, w.dict)
	}
	if !ok {
		c.add(difference{what: "field-changed", field: is.name, name: "Parent"})
	}
}

func (c *comparison) fieldChanged(is *field, k pdf.Name) {
	switch {
	case k == "A" || k == "AA" || k == "PMD":
		c.add(difference{what: "field-runs", field: is.name})
	case slices.Contains(known, k):
		c.add(difference{what: "field-changed", field: is.name, name: string(k)})
	default:
		c.add(difference{what: "field-odd", field: is.name, name: string(k)})
	}
}

// sameWidgets reports whether a field has the same widgets.
func (c *comparison) sameWidgets(was, is *field) bool {
	return slices.EqualFunc(was.widgets, is.widgets, func(a, b *widget) bool { return a.merged == b.merged })
}

// fieldKeys lists the keys that differ, of the field with its inherited attributes and of its
// widgets.
func (c *comparison) fieldKeys(was, is *field) []pdf.Name {
	skip := append(slices.Clone(silent), inheritedByFields...)
	keys := c.differing(was.dict, is.dict, skip...)
	for _, k := range inheritedByFields {
		if !c.sameAttr(was.attrs.Get(k), is.attrs.Get(k), k) {
			keys = append(keys, k)
		}
	}
	for i, w := range is.widgets {
		if w.merged {
			continue
		}
		old := was.widgets[i].dict
		for _, k := range c.differing(old, w.dict, silent...) {
			if k == "DA" && c.sameAttr(old.Get(k), w.dict.Get(k), k) {
				continue
			}
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// sameAttr compares an attribute of a field; absent equals zero and, for a value, empty.
func (c *comparison) sameAttr(a, b pdf.Object, key pdf.Name) bool {
	if c.equal(a, b, key) {
		return true
	}
	switch key {
	case "DA":
		return c.sameDA(a, b)
	case "Ff", "Q":
		x, ok1 := c.old.doc.Number(a)
		y, ok2 := c.new.doc.Number(b)
		return (ok1 || c.old.isNull(a)) && (ok2 || c.new.isNull(b)) && x == y
	}
	return false
}

// unused reports whether the default appearance or the border style of a filled-in field is not
// used: it has appearances, and what it has now is readable text, or a thin line. Products rewrite
// these in their own way.
func (c *comparison) unused(is *field, key pdf.Name) bool {
	plain := func(o pdf.Object) bool {
		if o == nil {
			o = c.new.form.Get("DA")
		}
		d, ok := c.new.readDA(o)
		return ok && d.legible()
	}
	if c.new.redraws() || key == "DA" && !plain(is.attrs.Get("DA")) || key != "DA" && key != "BS" {
		return false
	}
	return !slices.ContainsFunc(is.widgets, func(w *widget) bool {
		return c.new.normal(w.dict) == nil || key == "BS" && !c.new.thin(w.dict.Get("BS")) ||
			key == "DA" && w.dict.Get("DA") != nil && !plain(w.dict.Get("DA"))
	})
}

// thin reports whether a border style is a line of at most two points.
func (m *model) thin(o pdf.Object) bool {
	return !slices.ContainsFunc(m.dict(o).Entries, func(e pdf.Entry) bool {
		width, ok := m.doc.Number(e.Value)
		return e.Key != "Type" && e.Key != "S" && (e.Key != "W" || !ok || width < 0 || width > 2)
	})
}

// signatureField compares an existing signature field. An empty one may be signed; a signed one
// must not change.
func (c *comparison) signatureField(was, is *field, keys []pdf.Name) {
	before, after := !c.old.isNull(was.attrs.Get("V")), !c.new.isNull(is.attrs.Get("V"))
	switch {
	case before && !after:
		c.add(difference{what: "signature-removed", field: is.name})
		return
	case before:
		for _, k := range keys {
			c.add(difference{what: "signature-changed", field: is.name, name: string(k)})
		}
		return
	}
	allowed := []pdf.Name{"V", "AP", "AS", "DA", "Q"}
	for _, k := range keys {
		switch {
		case after && slices.Contains(allowed, k):
		case after && k == "F" && c.sameVisibility(was, is):
		case after && k == "Rect" && c.shrunkWhenSigned(was, is):
		default:
			c.fieldChanged(is, k)
		}
	}
	c.sharedAppearance(was, keys)
	if after {
		page, shows := c.where(is)
		c.add(difference{what: "signature-filled", field: is.name, page: page, shows: shows, covers: shows && c.coversMuch(was, is)})
	}
}

// shrunkWhenSigned: some products sign a field that showed nothing and set its size to zero, as for
// invisible signatures.
func (c *comparison) shrunkWhenSigned(was, is *field) bool {
	for i, w := range is.widgets {
		if c.new.shows(w.dict) || c.old.decorated(was.widgets[i]) {
			return false
		}
	}
	return true
}

// sameVisibility reports whether the flags of the widgets differ only in invisible ones: printing,
// and the locks against moving and editing.
func (c *comparison) sameVisibility(was, is *field) bool {
	const harmless = 4 | 64 | 128 | 512
	for i, w := range is.widgets {
		a, ok1 := c.old.annotFlags(was.widgets[i].dict)
		b, ok2 := c.new.annotFlags(w.dict)
		if !ok1 || !ok2 || a&^harmless != b&^harmless {
			return false
		}
	}
	return true
}

// sharedAppearance checks a replaced appearance. If something other than a widget refers to it, it
// may have been displayed elsewhere.
func (c *comparison) sharedAppearance(was *field, keys []pdf.Name) {
	if !slices.Contains(keys, "AP") {
		return
	}
	for _, w := range was.widgets {
		entry := w.dict.Get("AP")
		for _, o := range []pdf.Object{entry, c.old.dict(entry).Get("N")} {
			if ref, ok := o.(pdf.Ref); ok && c.usedElsewhere(ref.Num) {
				c.add(difference{what: "field-shared", field: was.name})
			}
		}
	}
}

// usedElsewhere reports whether the old revision refers to an object from anything but the
// appearance of an annotation.
func (c *comparison) usedElsewhere(num int) bool {
	if c.elsewhere == nil {
		c.elsewhere = c.old.notAppearances()
	}
	return c.elsewhere[num]
}

// notAppearances traverses a revision once. The meaning of a key depends on how its dictionary is
// interpreted: a resource may be named N, or AP.
func (m *model) notAppearances() map[int]bool {
	out := make(map[int]bool)
	type item struct {
		o  pdf.Object
		as use
	}
	seen := make(map[visited]bool)
	queue := []item{{m.doc.Trailer(), asAnything}}
	for len(queue) > 0 && m.work.step() {
		it := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		switch v := it.o.(type) {
		case pdf.Ref:
			if it.as != asAppearance && it.as != asCategory {
				out[v.Num] = true
			}
			if at := (visited{v.Num, it.as}); !seen[at] {
				seen[at] = true
				if t, err := m.doc.Resolve(v); err == nil {
					queue = append(queue, item{t, it.as})
				}
			}
		case pdf.Array:
			for _, e := range v {
				queue = append(queue, item{e, it.as})
			}
		case *pdf.Stream:
			queue = append(queue, item{v.Dict, asAnything})
		case *pdf.Dict:
			for _, e := range v.Entries {
				as := asAnything
				switch {
				case it.as == asAnything && e.Key == "AP":
					as = asAppearance
				case (it.as == asAnything || it.as == asObject) && (e.Key == "Resources" || e.Key == "DR"):
					as = asResources
				case it.as == asResources:
					as = asFonts // any part: its keys are names
				case it.as == asFonts:
					as = asObject
				case it.as == asAppearance && (e.Key == "N" || e.Key == "R" || e.Key == "D"), it.as == asCategory:
					as = asCategory
				}
				queue = append(queue, item{e.Value, as})
			}
		}
	}
	return out
}
