package revision

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// form compares the interactive form: its own keys, then field by field.
func (c *comparison) form() {
	a, b := c.old.form, c.new.form
	for _, key := range c.differing(a, b, "Fields", "SigFlags", "Type") {
		switch key {
		case "DR":
			c.formResources(c.old.dict(a.Get(key)), c.new.dict(b.Get(key)))
		case "DA":
			c.formDA()
		case "NeedAppearances":
			c.needAppearances()
		case "Q", "CO":
			c.add(difference{what: "form-changed", name: string(key)})
		case "XFA":
			c.add(difference{what: "xfa"})
		default:
			c.add(difference{what: "form-odd", name: string(key)})
		}
	}
	if key, odd := c.mistyped(a, b, formTypes); odd {
		c.add(difference{what: "form-odd", name: string(key)})
	}
	if c.new.odd && !c.old.odd {
		c.add(difference{what: "form-odd", name: "Fields"})
	}
	c.groupFields()
	for _, name := range names(c.old.fields, c.new.fields) {
		was, is := c.old.byName[name], c.new.byName[name]
		for i := range max(len(was), len(is)) {
			switch {
			case i >= len(is):
				c.add(difference{what: "field-removed", field: name})
			case i < len(was):
				c.field(was[i], is[i])
			case i > 0:
				c.accept(is[i])
				c.add(difference{what: "field-twice", field: name})
			default:
				c.addedField(is[i])
			}
		}
	}
}

// names lists the full names of both forms in order, without duplicates.
func names(lists ...[]*field) []string {
	var out []string
	seen := make(map[string]bool)
	for _, l := range lists {
		for _, f := range l {
			if !seen[f.name] {
				seen[f.name] = true
				out = append(out, f.name)
			}
		}
	}
	return out
}

// drawn lists the fields that a viewer may draw from the form's defaults.
func (m *model) drawn() []*field {
	var out []*field
	for _, f := range m.fields {
		switch m.kind(f) {
		case "Tx", "Ch":
			out = append(out, f)
		case "Btn": // check boxes and radio buttons show existing states
			if m.flags(f)&flagPushbutton != 0 || slices.ContainsFunc(f.widgets, func(w *widget) bool { return w.dict.Get("AP") == nil }) {
				out = append(out, f)
			}
		}
	}
	return out
}

// formResources compares the default resources. Existing fonts must not change; nothing that a
// field or another annotation uses may be replaced, or added if it was missing. Resources that are
// not used for drawing have no effect.
func (c *comparison) formResources(a, b *pdf.Dict) {
	drawn, asked, bare := len(c.old.drawn()) > 0, c.old.formRequests(), c.old.bare()
	if key, odd := c.mistyped(a, b, resourceTypes); odd {
		c.add(difference{what: "form-odd", name: string(key)})
	}
	for _, category := range c.differing(a, b, "ProcSet", "Type") {
		x, y := c.old.dict(a.Get(category)), c.new.dict(b.Get(category))
		list := c.differing(x, y)
		if len(list) == 0 {
			c.add(difference{what: "form-odd", name: string(category)})
		}
		for _, name := range list {
			full := string(category) + "/" + string(name)
			kept := category == "Font" && !c.old.isNull(c.get(x, name))
			switch {
			case drawn && (kept || strings.HasPrefix(string(name), "Default") && category == "ColorSpace"), asked.asks(category, name):
				c.add(difference{what: "form-replaced", name: full})
			case categoryTypes[category] != 0 && !c.new.isOf(c.get(y, name), categoryTypes[category]),
				bare && category == "Font" && c.new.ownGlyphs(c.get(y, name)):
				c.add(difference{what: "form-odd", name: full})
			default:
				c.add(difference{what: "form-resources", name: full})
			}
		}
	}
}

// bare reports whether a viewer has to draw something from the form's defaults, because it has no
// appearance. Some search them for a font of the right family.
func (m *model) bare() bool {
	without := func(d *pdf.Dict) bool { return m.dict(d.Get("AP")).Get("N") == nil }
	if m.redraws() {
		return true
	}
	for _, f := range m.drawn() {
		if slices.ContainsFunc(f.widgets, func(w *widget) bool { return without(w.dict) }) {
			return true
		}
	}
	return slices.ContainsFunc(m.pages, func(p *page) bool {
		return slices.ContainsFunc(p.annots, func(a annot) bool {
			return a.dict != nil && (m.widgets[a.num] == nil || a.num == 0) && m.writes(a.dict) && without(a.dict)
		})
	})
}

// redraws reports whether the form asks viewers to redraw its fields.
func (m *model) redraws() bool {
	on, err := m.doc.Resolve(m.form.Get("NeedAppearances"))
	return err != nil || on != nil && on != pdf.Bool(false)
}

// ownGlyphs reports whether a font has its own glyphs.
func (m *model) ownGlyphs(o pdf.Object) bool {
	d := m.dict(o)
	kind := m.doc.Name(d.Get("Subtype"))
	descriptor := m.dict(d.Get("FontDescriptor"))
	return kind != "Type1" && kind != "TrueType" || descriptor.Has("FontFile") || descriptor.Has("FontFile2") || descriptor.Has("FontFile3")
}

// formDA judges a changed default appearance string, which affects fields and other annotations
// without one of their own.
func (c *comparison) formDA() {
	if c.sameDA(c.old.form.Get("DA"), c.new.form.Get("DA")) {
		return
	}
	leans := func(f *field) bool {
		if f.attrs.Get("DA") != nil {
			return false
		}
		return len(f.widgets) == 0 || slices.ContainsFunc(f.widgets, func(w *widget) bool {
			return w.dict.Get("DA") == nil && (c.old.redraws() || c.new.redraws() || c.old.normal(w.dict) == nil)
		})
	}
	note := func(a annot) bool {
		return a.dict != nil && (c.old.widgets[a.num] == nil || a.num == 0) && c.old.writes(a.dict) && a.dict.Get("DA") == nil
	}
	if slices.ContainsFunc(c.old.drawn(), leans) ||
		slices.ContainsFunc(c.old.pages, func(p *page) bool { return slices.ContainsFunc(p.annots, note) }) {
		c.add(difference{what: "form-replaced", name: "DA"})
		return
	}
	c.add(difference{what: "form-resources", name: "DA"})
}

// needAppearances: with it viewers redraw fields from their values, in a way that no signer has
// seen. Without it they show the existing appearances, which is no change if those show the value.
func (c *comparison) needAppearances() {
	if c.old.redraws() == c.new.redraws() {
		return
	}
	for _, f := range c.old.drawn() {
		if c.new.redraws() || c.redrawn(f) != "" {
			c.add(difference{what: "form-appearances"})
			return
		}
	}
}

// redrawn reports whether redrawing a field shows the same as before: the value, or the caption of
// a button.
func (c *comparison) redrawn(f *field) string {
	if c.old.kind(f) != "Btn" || c.old.flags(f)&flagPushbutton == 0 {
		return c.agrees(c.old, f)
	}
	for _, w := range f.widgets {
		want := squeeze(c.old.doc.Text(c.old.dict(w.dict.Get("MK")).Get("CA")))
		one := &field{name: f.name, dict: f.dict, attrs: f.attrs, widgets: []*widget{w}}
		if why := c.shownEverywhere(c.old, one, func(shown string) bool { return squeeze(shown) == want }); why != "" {
			return why
		}
	}
	return ""
}

// groupFields compares non-terminal fields. Inherited attributes are compared in the terminal ones.
func (c *comparison) groupFields() {
	was := make(map[string]*field)
	for _, g := range c.old.groups {
		was[g.name] = g
	}
	for _, g := range c.new.groups {
		var old *pdf.Dict
		if w := was[g.name]; w != nil {
			old = w.dict
		}
		if g.up != toParent && (old == nil || was[g.name].up != g.up) {
			c.add(difference{what: "field-changed", field: g.name, name: "Parent"})
		}
		if old == nil && c.old.byName[g.name] != nil {
			continue // a terminal field before: reported as removed
		}
		if key, odd := c.mistyped(old, g.dict, annotTypes); odd {
			c.add(difference{what: "field-odd", field: g.name, name: string(key)})
		}
		for _, key := range c.differing(old, g.dict, append([]pdf.Name{"T", "Kids", "Parent", "Type"}, inheritedByFields...)...) {
			switch key {
			case "AA", "A":
				c.add(difference{what: "field-runs", field: g.name})
			case "TU", "TM":
				if old != nil {
					c.add(difference{what: "field-changed", field: g.name, name: string(key)})
				}
			default:
				c.add(difference{what: "field-odd", field: g.name, name: string(key)})
			}
		}
	}
}

// signatureKeys are the keys of a new signature field and its widget.
var signatureKeys = []pdf.Name{
	"Type", "Subtype", "FT", "T", "V", "Rect", "P", "F", "AP", "AS", "MK", "Parent", "Kids", "Ff", "DA", "DR", "Lock", "SV",
	"TU", "TM", "StructParent", "M", "NM", "Border", "BS", "H", "Q", "Contents", "C", "Lang", "DV",
}

// accept records the widgets of a new field, so that they are not reported again with their page.
func (c *comparison) accept(f *field) {
	for _, w := range f.widgets {
		c.accepted[w.num] = true
	}
}

// addedField judges a new field. It must be a signature field, whose widgets are nothing else.
func (c *comparison) addedField(f *field) {
	c.accept(f)
	if c.new.kind(f) != "Sig" {
		c.add(difference{what: "field-added", field: f.name})
		return
	}
	parts := []*pdf.Dict{f.dict}
	for _, w := range f.widgets {
		if !w.merged {
			parts = append(parts, w.dict)
		}
		if kind := c.new.doc.Name(w.dict.Get("Subtype")); kind != "Widget" {
			c.add(difference{what: "signature-field-note", field: f.name, name: string(kind)})
			return
		}
		if _, placed := c.new.doc.Rect(w.dict.Get("Rect")); !placed && len(c.new.pagesOf(w.num)) > 0 { // MuPDF paints the page grey
			c.add(difference{what: "signature-field-odd", field: f.name, name: "Rect"})
		}
	}
	for _, d := range parts {
		if key, odd := c.mistyped(nil, d, annotTypes); odd {
			c.add(difference{what: "signature-field-odd", field: f.name, name: string(key)})
		}
		for _, e := range d.Entries {
			switch {
			case e.Value == nil || slices.Contains(signatureKeys, e.Key):
			case e.Key == "A" || e.Key == "AA":
				c.add(difference{what: "signature-field-runs", field: f.name})
			default:
				c.add(difference{what: "signature-field-odd", field: f.name, name: string(e.Key)})
			}
		}
	}
	where, shows := c.where(f)
	if f.up == astray || slices.ContainsFunc(f.widgets, func(w *widget) bool { return w.up == astray }) {
		c.add(difference{what: "signature-field-odd", field: f.name, name: "Parent"})
	}
	if len(f.widgets) > 1 && shows {
		c.add(difference{what: "signature-field-odd", field: f.name, name: "Kids"})
	}
	switch {
	case !c.new.isNull(f.attrs.Get("V")):
		d := difference{what: "signature", field: f.name, shows: shows}
		if shows {
			d.page = where
			d.covers = c.coversMuch(nil, f)
		}
		c.add(d)
	case slices.ContainsFunc(f.widgets, func(w *widget) bool { return c.new.decorated(w) && (c.new.area(w.dict) || c.new.drawsAnywhere(w.dict)) }):
		c.add(difference{what: "signature-field-look", field: f.name})
	default:
		c.add(difference{what: "signature-field", field: f.name})
	}
}

// decorated reports whether a widget has something for a viewer to draw.
func (m *model) decorated(w *widget) bool {
	return slices.ContainsFunc([]pdf.Name{"AP", "MK", "BS", "Border", "C", "Contents"}, func(k pdf.Name) bool {
		return !m.isNull(w.dict.Get(k)) && !(k == "AP" && m.blank(w.dict))
	})
}

// blank reports whether an annotation has one appearance, in which nothing is written at all. pyHanko
// gives one to the empty fields that it adds.
func (m *model) blank(d *pdf.Dict) bool {
	ap := m.dict(d.Get("AP"))
	o, err := m.doc.Resolve(ap.Get("N"))
	s, ok := o.(*pdf.Stream)
	if !ok || err != nil || len(ap.Entries) != 1 || s.Dict.Has("Filter") || s.Dict.Has("F") {
		return false
	}
	data, err := m.doc.Data(s)
	return err == nil && len(bytes.TrimSpace(data)) == 0
}

// coversMuch reports whether the appearances of a new signature cover or replace too much. was is
// the empty field, or nil.
func (c *comparison) coversMuch(was, is *field) bool {
	for i, w := range is.widgets {
		var old *widget
		if was != nil {
			old = was.widgets[i]
		}
		if c.new.shows(w.dict) && c.tooLarge(old, w) {
			return true
		}
	}
	return false
}

// where finds the page of a field's visible widget.
func (c *comparison) where(f *field) (number int, shows bool) {
	for _, w := range f.widgets {
		if pages := c.new.pagesOf(w.num); len(pages) > 0 && c.new.shows(w.dict) {
			return pages[0].number, true
		}
	}
	return 0, false
}

// da is a parsed default appearance string: a font, its size, and a colour, black by default.
type da struct {
	font   string
	size   float64
	colour content.Colour
}

// legible reports whether text of this size and colour can be read, and hides little.
func (d da) legible() bool {
	return (d.size == 0 || d.size >= 4 && d.size <= 72) && d.colour.Luminance() <= 0.5
}

// parseDA parses a default appearance string that every reader interprets alike: one font and at
// most one colour, separated by white space.
func parseDA(b []byte) (out da, ok bool) {
	fonts, colours := 0, 0
	var name string
	var v []float64
	for _, w := range strings.FieldsFunc(string(b), func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) }) {
		switch {
		case w == "Tf":
			if fonts++; name == "" || len(v) != 1 {
				return out, false
			}
			out.font, out.size = name, v[0]
		case w == "g" || w == "rg" || w == "k":
			colours++
			if out.colour, ok = content.ColourOf(w, v); !ok || name != "" {
				return out, false
			}
		case w[0] == '/' && plainName(pdf.Name(w[1:])) && !strings.ContainsAny(w[1:], "/%()<>[]") && name == "" && v == nil:
			name = w[1:]
			continue
		default:
			n, err := strconv.ParseFloat(w, 64)
			if err != nil || strings.Trim(w, "+-.0123456789") != "" { // some readers do not support exponents
				return out, false
			}
			v = append(v, n)
			continue
		}
		name, v = "", nil
	}
	return out, fonts == 1 && colours <= 1 && name == "" && v == nil
}

// sameDA reports whether two default appearances are equal, or mean the same to every reader.
func (c *comparison) sameDA(a, b pdf.Object) bool {
	x, ok1 := c.old.readDA(a)
	y, ok2 := c.new.readDA(b)
	return c.equal(a, b, "DA") || ok1 && ok2 && x == y
}

func (m *model) readDA(o pdf.Object) (da, bool) {
	v, err := m.doc.Resolve(o)
	s, ok := v.(pdf.String)
	if err != nil || !ok || s.Clear {
		return da{}, false
	}
	return parseDA(s.Bytes)
}
