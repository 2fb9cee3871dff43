package revision

import (
	"bytes"
	"math"
	"slices"

	"rogito.dev/rogito/internal/pdf"
)

// pageKeys are the names of differences under keys of a page (ISO 32000-2, table 31); "" is no
// difference. Any other key is unexplained.
var pageKeys = map[pdf.Name]string{
	"LastModified": "", "StructParents": "", "Tabs": "", "ID": "", "Metadata": "metadata", "PieceInfo": "metadata",
	"AA": "page-runs", "AF": "attachments",
	"Group": "page-changed", "Thumb": "page-changed", "B": "page-changed", "Dur": "page-changed", "Trans": "page-changed",
	"PZ": "page-changed", "SeparationInfo": "page-changed", "TemplateInstantiated": "page-changed", "PresSteps": "page-changed",
	"VP": "page-changed", "OutputIntents": "page-changed", "UserUnit": "page-changed", "BoxColorInfo": "page-changed",
	"Kids": "page-changed", "Hid": "page-changed",
}

// pages compares page by page. If their number differs, or a page replaced another, no details are
// reported.
func (c *comparison) pages() {
	if len(c.old.pages) != len(c.new.pages) {
		c.add(difference{what: "pages"})
		return
	}
	if (c.old.crooked || c.new.crooked) && !slices.EqualFunc(c.old.tree, c.new.tree, func(a, b leaf) bool { return a.String() == b.String() }) {
		c.add(difference{what: "page-tree"})
	}
	before := len(c.diffs)
	for i, p := range c.new.pages {
		c.page(c.old.pages[i], p)
	}
	if c.reordered() {
		c.diffs = append(c.diffs[:before:before], difference{what: "pages"})
	}
}

// reordered reports whether the same page objects are in another order.
func (c *comparison) reordered() bool {
	was := make(map[int]int)
	for _, p := range c.old.pages {
		was[p.ref.Num] = p.number
	}
	for _, p := range c.new.pages {
		if n, ok := was[p.ref.Num]; ok && p.ref.Num != 0 && n != p.number && slices.ContainsFunc(c.diffs, func(d difference) bool {
			return d.page == p.number && (d.what == "page-content" || d.what == "page-resources")
		}) {
			return true
		}
	}
	return false
}

// untouched reports whether nothing that a page shows was written between the two revisions.
// Widgets are judged with their fields.
func (c *comparison) untouched(a, b *page) bool {
	if a.ref != b.ref || a.ref.Num == 0 || c.ages.of(a.ref.Num, "") > c.old.rev || len(a.annots) != len(b.annots) {
		return false
	}
	for _, k := range inheritedByPages {
		for _, v := range [][2]pdf.Object{{a.attrs.Get(k), b.attrs.Get(k)}, {a.up.Get(k), b.up.Get(k)}} {
			ref, ok := v[0].(pdf.Ref)
			if !pdf.Equal(v[0], v[1]) || ok && c.ages.of(ref.Num, k) > c.old.rev {
				return false
			}
			if _, simple := v[0].(*pdf.Dict); simple && a.dict.Get(k) == nil {
				return false // a direct dictionary of the parent: compare in detail
			}
		}
	}
	for i, x := range a.annots {
		if x.num != b.annots[i].num || x.num != 0 && c.old.widgets[x.num] == nil && c.ages.of(x.num, "") > c.old.rev {
			return false
		}
	}
	return true
}

func (c *comparison) page(a, b *page) {
	if c.untouched(a, b) {
		return
	}
	if !c.content(a.dict.Get("Contents"), b.dict.Get("Contents")) {
		c.add(difference{what: "page-content", page: b.number})
	}
	c.resources(a, b, a.attrs.Get("Resources"), b.attrs.Get("Resources"))
	c.resources(a, b, a.up.Get("Resources"), b.up.Get("Resources"))
	for _, box := range []pdf.Name{"MediaBox", "CropBox", "BleedBox", "TrimBox", "ArtBox"} {
		if !c.sameBox(a, b, box) {
			c.add(difference{what: "page-box", page: b.number, name: string(box)})
		}
	}
	if !c.sameRotation(a.attrs, b.attrs) {
		c.add(difference{what: "page-box", page: b.number, name: "Rotate"})
	}
	c.climbed(a, b)
	if !c.sameType(a.dict, b.dict) {
		c.add(difference{what: "page-changed", page: b.number, name: "Type"})
	}
	for _, e := range b.dict.Entries {
		if !a.dict.Has(e.Key) && c.new.isNull(e.Value) { // some readers treat it as present and do not inherit
			c.add(difference{what: "page-changed", page: b.number, name: string(e.Key)})
		}
	}
	own := []pdf.Name{"Type", "Parent", "Contents", "Resources", "MediaBox", "CropBox", "BleedBox", "TrimBox", "ArtBox", "Rotate", "Annots"}
	for _, key := range c.differing(a.dict, b.dict, own...) {
		what, known := pageKeys[key]
		switch {
		case !known:
			c.add(difference{what: "page-odd", page: b.number, name: string(key)})
		case what == "metadata" || what == "attachments":
			c.add(difference{what: what})
		case what == "page-runs":
			c.add(difference{what: what, page: b.number})
		case what != "":
			c.add(difference{what: what, page: b.number, name: string(key)})
		}
	}
	c.annots(a, b)
}

// sameType compares the types of two pages. Some readers ignore a page of another Type, so it must
// be Page or absent.
func (c *comparison) sameType(was, is *pdf.Dict) bool {
	a, b := was.Get("Type"), is.Get("Type")
	if c.new.void(is, "Type") { // PDFium finds no page there
		return c.old.void(was, "Type")
	}
	x, err1 := c.old.doc.Resolve(a)
	y, err2 := c.new.doc.Resolve(b)
	page := func(o pdf.Object) bool { return o == nil || pdf.Equal(o, pdf.Name("Page")) }
	_, refA := a.(pdf.Ref)
	_, refB := b.(pdf.Ref)
	return err1 == nil && err2 == nil && refA == refB && (page(x) && page(y) || pdf.Equal(x, y))
}

// sameRotation compares rotations: none is 0, some readers ignore a non-integer, and others
// truncate a large one to 32 bits.
func (c *comparison) sameRotation(a, b *pdf.Dict) bool {
	turn := func(m *model, o pdf.Object) (int64, bool) {
		v, err := m.doc.Resolve(o)
		n, ok := v.(pdf.Integer)
		return (int64(n)%360 + 360) % 360, err == nil && (ok && n > -3600 && n < 3600 || v == nil)
	}
	r, ok1 := turn(c.old, a.Get("Rotate"))
	s, ok2 := turn(c.new, b.Get("Rotate"))
	if !ok1 || !ok2 {
		return c.equal(a.Get("Rotate"), b.Get("Rotate"), "Rotate")
	}
	return r == s
}

// climbed compares the attributes for readers that climb from the page to its Parent.
func (c *comparison) climbed(a, b *page) {
	x, y := *a, *b
	x.attrs, y.attrs = a.up, b.up
	if !c.sameBox(&x, &y, "MediaBox") || !c.sameBox(&x, &y, "CropBox") || !c.sameRotation(x.attrs, y.attrs) {
		if !slices.ContainsFunc(c.diffs, func(d difference) bool { return d.page == b.number && d.what == "page-box" }) {
			c.add(difference{what: "page-changed", page: b.number, name: "Parent"})
		}
	}
}

// sameBox compares a box of two pages. Invalid ones are compared as objects, since readers use them
// somehow.
func (c *comparison) sameBox(a, b *page, key pdf.Name) bool {
	x, ok1 := c.old.doc.Rect(a.box(key))
	y, ok2 := c.new.doc.Rect(b.box(key))
	if !ok1 || !ok2 {
		return c.equal(a.box(key), b.box(key), key)
	}
	return alike(x, y)
}

// alike reports whether two boxes differ by no more than a product that computes in single precision,
// or writes seven digits, makes of one. An edge or a size of 0 stays 0.
func alike(a, b pdf.Rect) bool {
	near := func(x, y float64) bool { return x == y || math.Abs(x-y) <= 1e-6*min(math.Abs(x), math.Abs(y)) }
	return near(a.LLX, b.LLX) && near(a.LLY, b.LLY) && near(a.URX, b.URX) && near(a.URY, b.URY) &&
		near(a.Width(), b.Width()) && near(a.Height(), b.Height())
}

// box is a box of the page, with its default (ISO 32000-2, 14.11.2).
func (p *page) box(key pdf.Name) pdf.Object {
	if key != "MediaBox" && key != "CropBox" {
		if v := p.dict.Get(key); v != nil {
			return v
		}
	}
	if v := p.attrs.Get("CropBox"); v != nil && key != "MediaBox" {
		return v
	}
	return p.attrs.Get("MediaBox")
}

// content compares what pages draw: streams one by one, or joined if they were split differently.
func (c *comparison) content(a, b pdf.Object) bool {
	if c.equal(a, b, "Contents") {
		return true
	}
	x, ok1 := c.parts(c.old, a)
	y, ok2 := c.parts(c.new, b)
	if !ok1 || !ok2 {
		return false
	}
	return slices.EqualFunc(x, y, bytes.Equal) || whole(x) && whole(y) && bytes.Equal(bytes.Join(x, lineBreak), bytes.Join(y, lineBreak))
}

var lineBreak = []byte("\n")

// whole reports whether content means the same however its parts are joined: each ends with white
// space, outside of comments and operators.
func whole(parts [][]byte) bool {
	for i, p := range parts[:max(0, len(parts)-1)] {
		if len(p) == 0 {
			continue
		}
		line := p[bytes.LastIndexAny(p, "\r\n")+1:]
		if !pdf.Operators(p, func(string, []pdf.Object) bool { return true }) || bytes.IndexByte(line, '%') >= 0 {
			return false
		}
		if next := parts[i+1]; !isBlank(p[len(p)-1]) && (len(next) == 0 || !isBlank(next[0])) {
			return false
		}
	}
	return true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' }

// parts is the data of a page's content streams. It is false for what readers treat differently: a
// null part, because of which some draw nothing, data in another file, and data that they decode
// differently.
func (c *comparison) parts(m *model, o pdf.Object) ([][]byte, bool) {
	v, err := m.doc.Resolve(o)
	if err != nil {
		return nil, false
	}
	list, ok := v.(pdf.Array)
	if !ok && v != nil {
		list = pdf.Array{v}
	}
	var out [][]byte
	for _, part := range list {
		part, err := m.doc.Resolve(part)
		s, ok := part.(*pdf.Stream)
		if err != nil || !ok {
			return nil, false
		}
		data, err := m.doc.Data(s)
		if err != nil {
			return nil, false
		}
		out = append(out, data)
	}
	return out, true
}

// resources names the differences between the resources of two pages. A new name may be added if
// nothing that the page draws can use it.
func (c *comparison) resources(a, b *page, before, after pdf.Object) {
	if c.equal(before, after, "Resources") {
		return
	}
	was, is := c.old.dict(before), c.new.dict(after)
	asked := c.old.pageRequests(a)
	for _, category := range c.differing(was, is, "ProcSet") {
		x, y := c.old.dict(was.Get(category)), c.new.dict(is.Get(category))
		names := c.differing(x, y)
		for _, name := range names {
			full := string(category) + "/" + string(name)
			switch {
			case !c.old.isNull(c.get(x, name)) || asked.asks(category, name):
				c.add(difference{what: "page-resources", page: b.number, name: full})
			default:
				c.add(difference{what: "page-resources+", page: b.number, name: full})
			}
		}
		if len(names) == 0 { // not a dictionary on one side
			c.add(difference{what: "page-resources", page: b.number, name: string(category)})
		}
	}
}

func (m *model) isNull(o pdf.Object) bool {
	v, err := m.doc.Resolve(o)
	return err == nil && v == nil
}
