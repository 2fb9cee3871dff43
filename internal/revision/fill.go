package revision

import (
	"slices"
	"strings"
	"unicode"

	"rogito.dev/rogito/internal/pdf"
)

// Reasons why it cannot be determined whether a field shows its value.
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
	whyLetters    = "its letters are larger than letters"
	whyOver       = "it is written over what the page says"
	whyGround     = "its appearance covers what is below it"
	whyLarge      = "its button is as large as a picture"
	whyMark       = "its marks cannot be told from a drawing"
)

// Flags of fields (ISO 32000-2, tables 227, 229, 231, 233).
const (
	flagReadOnly   = 1 << 0
	flagMultiline  = 1 << 12
	flagPassword   = 1 << 13
	flagRadio      = 1 << 15
	flagPushbutton = 1 << 16
	flagCombo      = 1 << 17
	flagComb       = 1 << 24
	flagRichText   = 1 << 25
)

// agrees reports whether a field shows its value in all its widgets: "" if it does, [other] if it
// shows something else, or the reason why that cannot be determined. A widget without an appearance
// is drawn from the value.
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
	if m.flags(f)&flagRichText != 0 && !m.isNull(f.dict.Get("RV")) {
		return whyRichText
	}
	value, ok := m.textValue(f.attrs.Get("V"))
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

// choiceAgrees handles combo boxes, which show the text of the selected option, and list boxes,
// where the selected options are on a background of another colour.
func (c *comparison) choiceAgrees(m *model, f *field) string {
	if m.flags(f)&flagCombo == 0 {
		return c.listAgrees(m, f)
	}
	value, ok := m.textValue(f.attrs.Get("V"))
	if !ok {
		return whyValue
	}
	want := []string{squeeze(value)}
	opts, _ := m.doc.Array(f.attrs.Get("Opt"))
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
		return pdf.DecodeText(x.Bytes), !x.Clear
	case *pdf.Stream:
		b, err := m.doc.Data(x)
		return pdf.DecodeText(b), err == nil
	}
	return "", false
}

// squeeze removes characters that line breaks and spacing may change.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u00ad' || r == '\ufeff' {
			return -1
		}
		return r
	}, s)
}

// shownEverywhere applies a test to the text of each widget.
func (c *comparison) shownEverywhere(m *model, f *field, right func(string) bool) string {
	for _, w := range f.widgets {
		ap := m.dict(w.dict.Get("AP"))
		if m.isNull(w.dict.Get("AP")) {
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
		if !ap.Has("N") && !right("") { // readers show nothing
			return whyAppearance
		}
	}
	return ""
}

// buttonAgrees checks that a check box or radio button shows the state that is its value, and that
// the state exists (ISO 32000-2, 12.7.5.2.3).
func (m *model) buttonAgrees(f *field) string {
	if m.flags(f)&flagPushbutton != 0 {
		return other
	}
	v, err := m.doc.Resolve(f.attrs.Get("V"))
	value, isName := v.(pdf.Name)
	if err != nil || v != nil && !isName {
		return whyValue
	}
	if value == "" {
		value = "Off"
	}
	lit := false
	for _, w := range f.widgets {
		n, err := m.doc.Resolve(m.dict(w.dict.Get("AP")).Get("N"))
		states, ok := n.(*pdf.Dict)
		if err != nil || !ok && n != nil {
			return whyAppearance // one appearance for all states
		}
		state := m.doc.Name(w.dict.Get("AS"))
		if state == "" && value != "Off" && states != nil && len(states.Entries) > 0 {
			return whyAppearance // readers choose what to show
		}
		if state == "" {
			state = "Off"
		}
		if state != "Off" && !states.Has(state) || state != "Off" && state != value {
			return other
		}
		if state == "Off" && states.Has(value) && value != "Off" {
			return other // it could show the value, but does not
		}
		lit = lit || state == value
	}
	if !lit && len(f.widgets) > 0 {
		return other
	}
	return ""
}

// filledAs names the difference of a field that was filled in, or the reason why it is not
// harmless: it may not be filled in, it had a value, or its appearance may hide something.
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

// writable reports whether a field was not read-only.
func (c *comparison) writable(was *field) bool {
	v, err := c.old.doc.Resolve(was.attrs.Get("Ff"))
	n, whole := v.(pdf.Integer)
	return err == nil && (v == nil || whole && n&flagReadOnly == 0)
}

// hadValue reports whether a field had or showed something other than it does now. What it showed
// counts even if that was not its value.
func (c *comparison) hadValue(was, is *field) bool {
	v, err := c.old.doc.Resolve(was.attrs.Get("V"))
	if err != nil {
		return true
	}
	if c.old.kind(was) == "Btn" {
		name, _ := v.(pdf.Name)
		return c.old.buttonAgrees(was) != "" || name != "" && name != "Off" && name != c.new.doc.Name(is.attrs.Get("V"))
	}
	if c.old.kind(was) == "Ch" && c.old.flags(was)&flagCombo == 0 { // it shows all its options
		held := !c.old.isNull(was.attrs.Get("V"))
		if list, ok := v.(pdf.Array); ok {
			held = len(list) > 0
		}
		return held && !c.equal(was.attrs.Get("V"), is.attrs.Get("V"), "V") || c.listAgrees(c.old, was) != ""
	}
	a, ok1 := c.old.textValue(was.attrs.Get("V"))
	b, ok2 := c.new.textValue(is.attrs.Get("V"))
	return !ok1 || !ok2 || squeeze(a) != "" && a != b || c.hadText(was, is, squeeze(a) != "")
}

// hadText reports whether a field showed a different or unknown text before, or none although it
// had a value.
func (c *comparison) hadText(was, is *field, held bool) bool {
	for i, w := range was.widgets {
		before, after := c.old.dict(w.dict.Get("AP")).Get("N"), c.new.dict(is.widgets[i].dict.Get("AP")).Get("N")
		v, err := c.old.doc.Resolve(before)
		if v == nil && err == nil && held && !c.old.isNull(w.dict.Get("AP")) && !c.equal(w.dict.Get("AP"), is.widgets[i].dict.Get("AP"), "AP") {
			return true // readers showed nothing
		}
		if v == nil && err == nil || c.equal(before, after, "N") {
			continue
		}
		s, ok := v.(*pdf.Stream)
		if err != nil || !ok {
			return true
		}
		shown, why := c.shownText(c.old, s, w)
		if why != "" || squeeze(shown) == "" && held {
			return true
		}
		now := ""
		if v, err := c.new.doc.Resolve(after); err == nil && squeeze(shown) != "" {
			if s, ok := v.(*pdf.Stream); ok {
				now, _ = c.shownText(c.new, s, is.widgets[i])
			}
			if squeeze(now) != squeeze(shown) {
				return true
			}
		}
	}
	return false
}

// hides finds appearances that were removed, so that viewers draw their own, that cover or blur
// what is on the page, or that are not marks.
func (c *comparison) hides(was, is *field) string {
	for i, w := range is.widgets {
		before, after := c.old.dict(was.widgets[i].dict.Get("AP")).Get("N"), c.new.dict(w.dict.Get("AP")).Get("N")
		// Anything but a dictionary with a normal appearance counts as none for readers.
		if c.new.isNull(after) && !c.old.isNull(before) {
			return whyGone
		}
		button := c.new.kind(is) == "Btn"
		if button && c.old.doc.Name(was.widgets[i].dict.Get("AS")) != "" && c.new.doc.Name(w.dict.Get("AS")) == "" {
			return whyGone // readers show none of its states
		}
		if button {
			before, after = c.old.dict(before).Get(c.old.state(was.widgets[i].dict)), c.new.dict(after).Get(c.new.state(w.dict))
		}
		if !c.new.isNull(after) && c.equal(before, after, "N") && (!button || c.old.state(was.widgets[i].dict) == c.new.state(w.dict)) {
			continue
		}
		if button {
			old, _ := c.painted(c.old, before, was.widgets[i])
			now, why := c.painted(c.new, after, w)
			if why = c.marks(was.widgets[i], w, old, now, why); why != "" {
				return why
			}
		}
		if why := c.overlay(was.widgets[i], w); why != "" {
			return why
		}
	}
	return ""
}

// state is the state that a button shows.
func (m *model) state(w *pdf.Dict) pdf.Name {
	if n := m.doc.Name(w.Get("AS")); n != "" {
		return n
	}
	return "Off"
}

// painted interprets the appearance of a button; nil if there is none.
func (c *comparison) painted(m *model, o pdf.Object, w *widget) (*appearance, string) {
	v, err := m.doc.Resolve(o)
	if v == nil && err == nil {
		return nil, ""
	}
	s, ok := v.(*pdf.Stream)
	if err != nil || !ok {
		return nil, whyAppearance
	}
	return c.lookOf(m, s, w, asButton)
}

// marks checks a button that shows another state than before. The signer may never have seen that
// state, so it must look like one: a mark if it is on, none if it is off. Many different marks
// could form writing.
func (c *comparison) marks(was, is *widget, old, now *appearance, why string) string {
	const largest, mostShapes = 72, 4
	if r, ok := c.new.doc.Rect(is.dict.Get("Rect")); !ok || r.Width() > largest || r.Height() > largest {
		return whyLarge
	}
	if why != "" {
		return why
	}
	marked := func(l *appearance) bool { return l != nil && l.marks > 0 }
	if marked(now) != (c.new.state(is.dict) != "Off") || marked(old) != (c.old.state(was.dict) != "Off") {
		return whyMark
	}
	lined := 1.0
	if old != nil {
		lined = max(lined, old.edge)
	}
	if now != nil && now.edge > lined+0.25 { // lines near the edges may be writing, too
		return whyMark
	}
	if now != nil && now.shape != "" {
		c.shapes[now.shape] = true
	}
	if len(c.shapes) > mostShapes {
		return whyMark
	}
	return ""
}
