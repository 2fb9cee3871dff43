package revision

import (
	"slices"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// comments are the annotations that a certification with P=3 permits adding and changing (ISO
// 32000-2, table 171). The others do more than comment: they have links, media or files, or are
// part of the page.
var comments = []pdf.Name{
	"Text", "FreeText", "Line", "Square", "Circle", "Polygon", "PolyLine", "Highlight", "Underline",
	"Squiggly", "StrikeOut", "Caret", "Stamp", "Ink", "Popup",
}

// commentKeys are the keys of comments (tables 166, 172 and those of the single types). Any other
// key is unexplained.
var commentKeys = []pdf.Name{
	"Type", "Subtype", "Rect", "Contents", "P", "NM", "M", "F", "AP", "AS", "Border", "C", "StructParent", "CA", "ca", "BM", "Lang",
	"T", "Popup", "RC", "CreationDate", "IRT", "Subj", "RT", "IT", "ExData", "Open", "Name", "State", "StateModel",
	"DA", "Q", "DS", "CL", "BE", "RD", "BS", "LE", "L", "IC", "LL", "LLE", "Cap", "LLO", "CP", "Measure", "CO",
	"Vertices", "Path", "QuadPoints", "Sy", "InkList", "Parent", "Rotate", "OverlayText", "Repeat",
}

// quiet are keys of annotations that neither show nor run anything.
var quiet = []pdf.Name{"Type", "P", "M", "StructParent"}

// annots compares the annotations of a page: the old ones must remain, in the same order; widgets
// are judged with their fields.
func (c *comparison) annots(a, b *page) {
	used := make([]bool, len(a.annots))
	byID := make(map[int][]int)
	for i, was := range a.annots {
		if id := c.anchors[0][was.num]; id != 0 && was.num != 0 {
			byID[id] = append(byID[id], i)
		}
	}
	next, ordered := 0, true
	for _, is := range b.annots {
		at := c.counterpart(a.annots, byID, used, is, next)
		if at < 0 {
			c.newAnnot(is, b)
			continue
		}
		used[at] = true
		if at < next {
			ordered = false
		}
		next = max(next, at+1)
		c.changedAnnot(a.annots[at], is, b)
	}
	if !ordered {
		c.add(difference{what: "annotation-order", page: b.number})
	}
	for i, was := range a.annots {
		if used[i] {
			continue
		}
		kind := c.old.doc.Name(was.dict.Get("Subtype"))
		switch {
		case kind == "Widget" || c.old.widgets[was.num] != nil:
			c.add(difference{what: "widget-removed", page: b.number})
		case was.dict != nil && slices.Contains(comments, kind):
			c.add(difference{what: "annotation-removed", page: b.number, name: string(kind)})
		default:
			c.add(difference{what: "annotation-other", page: b.number, name: string(kind)})
		}
	}
}

// counterpart finds the old entry that a new one continues: the same object, the widget of the same
// field, or an equal value.
func (c *comparison) counterpart(old []annot, byID map[int][]int, used []bool, is annot, from int) int {
	if id := c.anchors[1][is.num]; id != 0 && is.num != 0 {
		for _, i := range byID[id] {
			if !used[i] {
				return i
			}
		}
	}
	look := func(i int) bool {
		if used[i] || old[i].dict == nil || is.dict == nil || c.old.widgets[old[i].num] != nil || c.new.widgets[is.num] != nil {
			return false
		}
		return len(c.differing(old[i].dict, is.dict, quiet...)) == 0
	}
	for k := range old {
		if i := (from + k) % len(old); look(i) {
			return i
		}
	}
	return -1
}

func (c *comparison) newAnnot(is annot, p *page) {
	if is.dict == nil {
		c.add(difference{what: "annotation-odd", page: p.number})
		return
	}
	if is.num != 0 && c.accepted[is.num] {
		if c.placed[is.num]++; c.placed[is.num] > 1 {
			c.add(difference{what: "field-moved", page: p.number})
		}
		return
	}
	kind := c.new.doc.Name(is.dict.Get("Subtype"))
	switch {
	case c.new.widgets[is.num] != nil && is.num != 0 && c.old.widgets[is.num] != nil:
		c.add(difference{what: "field-moved", page: p.number})
	case kind == "Widget" || is.dict.Has("FT") || is.dict.Has("T") && is.dict.Has("Kids"):
		c.add(difference{what: "widget-added", page: p.number})
	default:
		c.comment("annotation-added", nil, is.dict, is.num, kind, p)
	}
}

// comment judges an added or changed comment.
func (c *comparison) comment(what string, was, d *pdf.Dict, num int, kind pdf.Name, p *page) {
	_, odd := c.mistyped(was, d, annotTypes)
	_, placed := c.new.doc.Rect(d.Get("Rect"))
	switch {
	case odd || !placed: // without a rectangle readers place it arbitrarily
		c.add(difference{what: "annotation-odd", page: p.number})
	case !slices.Contains(comments, kind):
		c.add(difference{what: "annotation-other", page: p.number, name: string(kind)})
	case d.Get("A") != nil || d.Get("AA") != nil:
		c.add(difference{what: "annotation-runs", page: p.number, name: string(kind)})
	case slices.ContainsFunc(d.Entries, func(e pdf.Entry) bool { return e.Value != nil && !slices.Contains(commentKeys, e.Key) }):
		c.add(difference{what: "annotation-other", page: p.number, name: string(kind)})
	default:
		c.add(difference{what: what, page: p.number, name: string(kind)})
		if was := c.old.pages[p.number-1]; c.covers(annot{num: num, dict: d}, was, p) {
			c.add(difference{what: "annotation-covers", page: p.number, name: string(kind)})
		}
	}
}

// covers reports whether a comment hides something on the page. Transparent ink hides nothing, and
// a highlight without an appearance is drawn transparently.
func (c *comparison) covers(a annot, was, is *page) bool {
	if !c.new.shows(a.dict) || c.new.doc.Name(a.dict.Get("Subtype")) == "Highlight" && c.new.normal(a.dict) == nil {
		return false
	}
	var over ink
	c.new.annotInk(&over, a, is)
	below := c.old.pageInk(was)
	return over.everywhere || slices.ContainsFunc(over.pieces, func(d drawn) bool {
		if d.Kind == content.Text {
			return !d.Clear && below.says(d.Box, a.num)
		}
		return !d.Clear && c.work.step() && below.below(d.Box, a.num)
	})
}

func (c *comparison) changedAnnot(was, is annot, p *page) {
	if is.dict == nil || was.dict == nil {
		if !c.equal(was.entry, is.entry, "Annots") {
			c.add(difference{what: "annotation-odd", page: p.number})
		}
		return
	}
	if c.old.widgets[was.num] != nil && c.new.widgets[is.num] != nil && was.num != 0 && is.num != 0 {
		return // judged with its field
	}
	keys := c.differing(was.dict, is.dict, quiet...)
	if len(keys) == 0 {
		return
	}
	kind := c.new.doc.Name(is.dict.Get("Subtype"))
	old := c.old.doc.Name(was.dict.Get("Subtype"))
	switch {
	case slices.Contains(keys, "A") || slices.Contains(keys, "AA"):
		c.add(difference{what: "annotation-runs", page: p.number, name: string(kind)})
	case kind != old:
		c.add(difference{what: "annotation-other", page: p.number, name: string(kind)})
	default:
		c.comment("annotation-changed", was.dict, is.dict, is.num, kind, p)
	}
}

// shows reports whether a widget is not hidden and has an area, or an appearance that draws without
// one. Unreadable flags count as visible, since readers differ.
func (m *model) shows(w *pdf.Dict) bool {
	const hidden, noView, printed, toggles = 2, 32, 4, 256
	f, ok := m.annotFlags(w)
	return (m.area(w) || m.drawsAnywhere(w)) && (!ok || f&hidden == 0 && (f&noView == 0 || f&(printed|toggles) != 0))
}

// area reports whether a widget has an area on its page.
func (m *model) area(w *pdf.Dict) bool {
	r, ok := m.doc.Rect(w.Get("Rect"))
	if !ok {
		v, err := m.doc.Resolve(w.Get("Rect"))
		return err != nil || v != nil
	}
	return r.Width() != 0 && r.Height() != 0
}

// everywhere is more than any page.
var everywhere = pdf.Rect{LLX: -1e6, LLY: -1e6, URX: 1e6, URY: 1e6}

// drawsAnywhere reports whether an annotation has an appearance that draws something wherever its
// rectangle is. PDFium draws one without a box at its own size, and letters of one in a rectangle
// without area.
func (m *model) drawsAnywhere(d *pdf.Dict) bool {
	return slices.ContainsFunc(m.appearances(d), func(s *pdf.Stream) bool {
		var drawn ink
		w := m.walker(&drawn, 0)
		see := w.See
		w.See = func(p content.Piece) bool { return see(p) && len(drawn.pieces) == 0 } // one is enough
		w.Form(s, nil, content.Identity, everywhere, 0)
		return w.Odd || len(drawn.pieces) > 0
	})
}

// annotFlags are the flags of an annotation (F). Readers only agree on small integers.
func (m *model) annotFlags(w *pdf.Dict) (int64, bool) {
	v, err := m.doc.Resolve(w.Get("F"))
	if err != nil {
		return 0, false
	}
	switch n := v.(type) {
	case nil:
		return 0, true
	case pdf.Integer:
		return int64(n), n >= 0 && n < 1<<16
	}
	return 0, false
}
