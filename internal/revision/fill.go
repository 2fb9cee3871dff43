package revision

import (
	"slices"
	"strings"
	"unicode"

	"rogito.dev/rogito/internal/pdf"
)

// Why it cannot be told whether a field shows its value.
const (
	other         = "other" // it can: the field shows something else
	whyRichText   = "rich text"
	whyListBox    = "list box"
	whyAppearance = "its appearance cannot be read"
	whyDrawing    = "its appearance draws more than text"
	whyFont       = "the glyphs of its font cannot be checked"
	whyPlace      = "its text is placed where it may not be seen"
	whyValue      = "its value is no text"
	whyGone       = "its appearance was taken away"
	whyGround     = "its appearance covers what is below it"
	whyLarge      = "its button is as large as a picture"
)

// Flags of fields (ISO 32000-2, tables 227, 229, 231, 233).
const (
	flagReadOnly   = 1 << 0
	flagMultiline  = 1 << 12
	flagPassword   = 1 << 13
	flagRadio      = 1 << 15
	flagPushbutton = 1 << 16
	flagCombo      = 1 << 17
	flagRichText   = 1 << 25
)

// agrees reports whether a field shows its value in every place where it is
// shown: "" when it does, [other] when it shows something else, or why that
// cannot be told. A widget without an appearance is drawn from the value.
func (c *comparison) agrees(m *model, f *field) string {
	switch m.kind(f) {
	case "Tx":
		return c.textAgrees(m, f)
	case "Ch":
		return c.choiceAgrees(m, f)
	case "Btn":
		return m.buttonAgrees(f)
	}
	return whyValue
}

func (c *comparison) textAgrees(m *model, f *field) string {
	if m.flags(f)&flagRichText != 0 && !c.isNull(m, f.dict.Get("RV")) {
		return whyRichText
	}
	value, ok := m.textValue(f.attrs["V"])
	if !ok {
		return whyValue
	}
	if m.flags(f)&flagPassword != 0 {
		return c.shownEverywhere(m, f, func(shown string) bool {
			return strings.Trim(shown, "*•●") == "" && len([]rune(shown)) == len([]rune(value))
		})
	}
	want := squeeze(value)
	return c.shownEverywhere(m, f, func(shown string) bool { return squeeze(shown) == want })
}

// choiceAgrees takes combo boxes, which show the text of the option chosen, and
// list boxes, where the options chosen stand on a ground of another colour.
func (c *comparison) choiceAgrees(m *model, f *field) string {
	if m.flags(f)&flagCombo == 0 {
		return c.listAgrees(m, f)
	}
	value, ok := m.textValue(f.attrs["V"])
	if !ok {
		return whyValue
	}
	want := []string{squeeze(value)}
	opts, _ := m.doc.Array(f.attrs["Opt"])
	for _, o := range opts {
		if pair, err := m.doc.Array(o); err == nil && len(pair) == 2 && m.doc.Text(pair[0]) == value {
			want = []string{squeeze(m.doc.Text(pair[1]))}
		}
	}
	return c.shownEverywhere(m, f, func(shown string) bool { return slices.Contains(want, squeeze(shown)) })
}

// textValue is the value of a text field, which may be a stream.
func (m *model) textValue(o pdf.Object) (string, bool) {
	v, err := m.doc.Resolve(o)
	if err != nil {
		return "", false
	}
	switch x := v.(type) {
	case nil:
		return "", true
	case pdf.String:
		return pdf.DecodeText(x.Bytes), true
	case *pdf.Stream:
		b, err := m.doc.Data(x)
		return pdf.DecodeText(b), err == nil
	}
	return "", false
}

// squeeze leaves out what line breaks and spacing may change.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u00ad' || r == '\ufeff' {
			return -1
		}
		return r
	}, s)
}

// shownEverywhere applies a test to what each widget shows.
func (c *comparison) shownEverywhere(m *model, f *field, right func(string) bool) string {
	for _, w := range f.widgets {
		ap := m.dict(w.dict.Get("AP"))
		if len(ap.Entries) == 0 {
			continue
		}
		for _, e := range ap.Entries {
			v, err := m.doc.Resolve(e.Value)
			if v == nil && err == nil && e.Key != "N" {
				continue
			}
			s, ok := v.(*pdf.Stream)
			if err != nil || !ok || e.Key != "N" && e.Key != "R" && e.Key != "D" {
				return whyAppearance
			}
			shown, why := c.shownText(m, s, w)
			if why != "" {
				return why
			}
			if !right(shown) {
				return other
			}
		}
		if !ap.Has("N") {
			return whyAppearance
		}
	}
	return ""
}

// buttonAgrees: a check box or radio button shows the state that is its value,
// and that state exists (ISO 32000-2, 12.7.5.2.3).
func (m *model) buttonAgrees(f *field) string {
	if m.flags(f)&flagPushbutton != 0 {
		return other
	}
	v, err := m.doc.Resolve(f.attrs["V"])
	value, isName := v.(pdf.Name)
	if err != nil || v != nil && !isName {
		return whyValue
	}
	if value == "" {
		value = "Off"
	}
	lit := false
	for _, w := range f.widgets {
		states := m.dict(m.dict(w.dict.Get("AP")).Get("N"))
		state := m.doc.Name(w.dict.Get("AS"))
		if state == "" && len(states.Entries) > 0 {
			return whyAppearance // readers choose for themselves what to show
		}
		if state == "" {
			state = "Off"
		}
		if state != "Off" && !states.Has(state) || state != "Off" && state != value {
			return other
		}
		if state == "Off" && states.Has(value) && value != "Off" {
			return other // it could show the value, and does not
		}
		lit = lit || state == value
	}
	if !lit && len(f.widgets) > 0 {
		return other
	}
	return ""
}

// filledAs names a field that was filled in, or says why that is not plain: it
// may not be filled, it had a value, or what it draws may hide something.
func (c *comparison) filledAs(was, is *field) difference {
	d := difference{what: "form-fill", field: is.name}
	why := c.agrees(c.new, is)
	if why == "" {
		why = c.hides(was, is)
	}
	switch {
	case why == other:
		d.what = "form-fill-other"
	case why != "":
		d.what, d.name = "form-fill-odd", why
	case !c.writable(was):
		d.what = "form-fill-locked"
	default:
		d.again = c.hadValue(was, is)
	}
	return d
}

// writable reports whether a field was open to be filled in.
func (c *comparison) writable(was *field) bool {
	v, err := c.old.doc.Resolve(was.attrs["Ff"])
	n, whole := v.(pdf.Integer)
	return err == nil && (v == nil || whole && n&flagReadOnly == 0)
}

// hadValue reports whether a field held something else than it holds now.
func (c *comparison) hadValue(was, is *field) bool {
	v, err := c.old.doc.Resolve(was.attrs["V"])
	if err != nil {
		return true
	}
	switch x := v.(type) {
	case nil:
		return c.hadText(was, is)
	case pdf.Name:
		return x != "" && x != "Off" && x != c.new.doc.Name(is.attrs["V"])
	case pdf.Array:
		return len(x) > 0 && !c.equal(was.attrs["V"], is.attrs["V"], "V")
	}
	a, ok1 := c.old.textValue(was.attrs["V"])
	b, ok2 := c.new.textValue(is.attrs["V"])
	return !ok1 || !ok2 || squeeze(a) != "" && a != b || squeeze(a) == "" && c.hadText(was, is)
}

// hadText reports whether a field without a value showed a text, which is now
// another or cannot be told from it.
func (c *comparison) hadText(was, is *field) bool {
	switch {
	case c.old.kind(was) == "Btn":
		return false
	case c.old.kind(was) == "Ch" && c.old.flags(was)&flagCombo == 0: // it shows its options, chosen or not
		return c.listAgrees(c.old, was) != ""
	}
	value, _ := c.new.textValue(is.attrs["V"])
	for _, w := range was.widgets {
		v, err := c.old.doc.Resolve(c.old.dict(w.dict.Get("AP")).Get("N"))
		s, ok := v.(*pdf.Stream)
		if err != nil || !ok {
			continue
		}
		if shown, why := c.shownText(c.old, s, w); why != "" || squeeze(shown) != "" && squeeze(shown) != squeeze(value) {
			return true
		}
	}
	return false
}

// hides looks for appearances that were taken away, so that viewers draw
// something of their own, that cover what the page has below them, or that are
// too large for a mark.
func (c *comparison) hides(was, is *field) string {
	const largest = 72
	for i, w := range is.widgets {
		old := was.widgets[i].dict
		before := c.old.dict(old.Get("AP")).Get("N")
		// What is no dictionary, or has no normal appearance, is none to readers.
		if c.isNull(c.new, c.new.dict(w.dict.Get("AP")).Get("N")) && !c.isNull(c.old, before) {
			return whyGone
		}
		if c.new.kind(is) == "Btn" {
			if r, ok := c.new.doc.Rect(w.dict.Get("Rect")); !ok || r.Width() > largest || r.Height() > largest {
				return whyLarge
			}
			continue
		}
		bg, _ := c.old.doc.Array(c.old.dict(old.Get("MK")).Get("BG"))
		if len(bg) == 0 && c.opaque(c.new, c.new.dict(w.dict.Get("AP")).Get("N"), w) && !c.opaque(c.old, before, was.widgets[i]) {
			return whyGround
		}
	}
	return ""
}

// opaque reports whether an appearance fills its ground.
func (c *comparison) opaque(m *model, o pdf.Object, w *widget) bool {
	v, err := m.doc.Resolve(o)
	s, ok := v.(*pdf.Stream)
	if err != nil || !ok {
		return false
	}
	p, _ := c.paintAll(m, s, w)
	return p != nil && p.grounded
}
