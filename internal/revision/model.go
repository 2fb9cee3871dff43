package revision

import (
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// model is one revision of a document as a viewer sees it: pages in order with their inherited
// attributes, annotations in drawing order, fields by full name.
type model struct {
	doc     *view
	rev     int
	catalog *pdf.Dict
	pages   []*page
	nodes   []int        // object numbers of page tree nodes
	tree    []leaf       // the nodes and leaves of the page tree
	crooked bool         // readers traverse the page tree in different ways
	light   bool         // only the page tree is read
	doubt   string       // where readers find different pages
	layers  map[int]bool // object numbers of the optional content groups listed in the catalog
	form    *pdf.Dict
	fields  []*field // terminal ones, in the order of the form
	groups  []*field // non-terminal fields
	byName  map[string][]*field
	widgets map[int]*widget // by object number
	work    *work
	odd     bool                      // the form lists something other than a field
	named   map[int]map[pdf.Name]bool // names in streams already scanned
	inks    map[int]*ink              // by page
	places  map[int][]*page           // of annotations, by object number
	fonts   map[any]*content.Font     // cache of fonts
}

// page is a page with its inherited attributes resolved.
type page struct {
	number int // from 1
	ref    pdf.Ref
	dict   *pdf.Dict
	attrs  *pdf.Dict
	// up are the same attributes as found via Parent: some readers climb the tree instead of
	// descending.
	up     *pdf.Dict
	annots []annot
}

// annot is a non-null entry of a page's Annots.
type annot struct {
	entry pdf.Object
	num   int // of the object, 0 for a direct one
	dict  *pdf.Dict
}

// field is a node of the form's tree.
type field struct {
	name    string
	num     int
	dict    *pdf.Dict
	attrs   *pdf.Dict // inheritable attributes, resolved
	widgets []*widget
	up      parentLink
}

// widget is a field's place on a page. A field that is its own widget has one with the same
// dictionary.
type widget struct {
	num    int
	dict   *pdf.Dict
	field  *field
	merged bool
	up     parentLink
}

// inheritedByPages and inheritedByFields are inheritable (ISO 32000-2, tables 31, 226, 228 and
// 232).
var (
	inheritedByPages  = []pdf.Name{"Resources", "MediaBox", "CropBox", "Rotate"}
	inheritedByFields = []pdf.Name{"FT", "Ff", "V", "DV", "DA", "Q", "MaxLen", "Opt"}
)

// errTooMuch: the revisions cannot be compared within bounds.
var errTooMuch = errors.New("too much to compare")

func newModel(doc *view, rev int, w *work) (*model, error) {
	m := &model{doc: doc, rev: rev, work: w, byName: make(map[string][]*field), widgets: make(map[int]*widget), named: make(map[int]map[pdf.Name]bool), fonts: make(map[any]*content.Font)}
	var err error
	if m.catalog, err = doc.Catalog(); err != nil {
		return nil, err
	}
	if err := m.readPages(); err != nil {
		return nil, err
	}
	m.readLayers()
	if m.form, err = doc.Dict(m.catalog.Get("AcroForm")); err != nil {
		return nil, err
	}
	return m, m.readForm()
}

// branch records a node or leaf of the page tree. Readers find a page by the counts of the nodes,
// by traversing the kids, or upwards from the page; they agree if each kid is indirect, has the
// right Type, is counted, and names the node that lists it as its parent. The root is a node.
func (m *model) branch(o, parent pdf.Object, d *pdf.Dict, node bool, leaves int) {
	ref, indirect := o.(pdf.Ref)
	v, err := m.doc.Get(ref)
	_, isDict := v.(*pdf.Dict)
	fit := indirect && err == nil && isDict
	kind, err := m.doc.Resolve(d.Get("Type"))
	fit = fit && err == nil
	var count pdf.Object
	if node {
		count, err = m.doc.Resolve(d.Get("Count"))
		fit = fit && err == nil && count == pdf.Integer(leaves) && (kind == nil || kind == pdf.Name("Pages"))
	} else {
		fit = fit && !d.Has("Kids") && (kind == nil || kind == pdf.Name("Page"))
	}
	up := d.Get("Parent")
	if parent == nil {
		fit = fit && node && up == nil
	} else {
		fit = fit && up == parent
	}
	m.crooked = m.crooked || !fit || slices.ContainsFunc(inheritedByPages, func(k pdf.Name) bool { return m.void(d, k) })
	if m.light {
		m.doubts(ref, d, kind, count, indirect, node, leaves, parent == nil)
		return
	}
	l := leaf{place: o, up: up, kind: kind, count: count, node: node, dict: isDict, kids: d.Has("Kids")}
	for i := 0; node && i < len(d.Entries); i++ {
		if m.void(d, d.Entries[i].Key) { // some readers treat it as present
			l.nulls += string(d.Entries[i].Key) + " "
			m.crooked = true
		}
	}
	m.tree = append(m.tree, l)
}

// doubts records where readers find different pages: poppler and MuPDF use Count, poppler requires
// a page to be indirect, PDFium takes anything with Kids for a node, MuPDF anything of Type Pages.
// A root with too small a count is harmless.
func (m *model) doubts(ref pdf.Ref, d *pdf.Dict, kind, count pdf.Object, indirect, node bool, leaves int, root bool) {
	n, whole := m.doc.Int(count)
	switch {
	case node && root && whole && n > int64(leaves), node && !root && whole && n >= 0 && n != int64(leaves):
		m.doubt = fmt.Sprintf("the tree of pages (Count of object %d)", ref.Num)
	case !indirect, node && !root && kind == nil && count == nil, !node && (d.Has("Kids") || kind == pdf.Name("Pages")):
		m.doubt = fmt.Sprintf("page %d (whether it is one)", len(m.pages)+1)
	}
}

// leaf is a node or leaf of the page tree with its own statements about itself; a void one is null.
// Few trees are compared, so few are formatted.
type leaf struct {
	place, up, kind, count pdf.Object
	node, dict, void, kids bool
	nulls                  string
}

func (l leaf) String() string {
	if l.void {
		return fmt.Sprint(l.place)
	}
	return fmt.Sprintf("%v %v %v %q %v %T %v %T %v %v", l.place, l.node, l.kids, l.nulls, l.dict, l.kind, l.kind, l.count, l.count, l.up)
}

func (m *model) readPages() error {
	seen := make(map[int]bool)
	var visit func(o, parent pdf.Object, in *pdf.Dict, depth int) error
	visit = func(o, parent pdf.Object, in *pdf.Dict, depth int) error {
		ref, _ := o.(pdf.Ref)
		if !m.work.step() {
			return errTooMuch
		}
		if m.light && ref.Num != 0 && seen[ref.Num] && depth <= limits.PDFDepth {
			m.crooked = true
			if i := slices.IndexFunc(m.pages, func(p *page) bool { return p.ref == ref }); i >= 0 {
				m.pages = append(m.pages, m.pages[i]) // a repeated page; otherwise a repeated node
			}
			return nil
		}
		if depth > limits.PDFDepth || ref.Num != 0 && seen[ref.Num] {
			return ades.Malformed("PDF", "Pages", "the page tree is too deep or comes back to object %d", ref.Num)
		}
		seen[ref.Num] = true
		d, err := m.doc.Dict(o)
		if err != nil {
			return err
		}
		if d == nil { // a null kid is not a page, but some readers count it
			m.crooked = true
			m.tree = append(m.tree, leaf{place: o, void: true})
			m.doubt = "the tree of pages (a kid that is no page)"
			return nil
		}
		var attrs *pdf.Dict
		if !m.light {
			attrs = handDown(in, d, inheritedByPages)
		}
		kids, err := m.doc.Array(d.Get("Kids"))
		if err != nil {
			return err
		}
		if d.Has("Kids") && (parent == nil || m.doc.Name(d.Get("Type")) != "Page") {
			m.nodes = append(m.nodes, ref.Num)
			before := len(m.pages)
			for _, k := range kids {
				if err := visit(k, o, attrs, depth+1); err != nil {
					return err
				}
			}
			m.branch(o, parent, d, true, len(m.pages)-before)
			return nil
		}
		m.branch(o, parent, d, false, 0)
		if len(m.pages) >= limits.PDFFields {
			return ades.Malformed("PDF", "Pages", "more than %d pages", limits.PDFFields)
		}
		p := &page{number: len(m.pages) + 1, ref: ref, dict: d, attrs: attrs}
		if m.light {
			m.pages = append(m.pages, p)
			return nil
		}
		if p.up, err = m.climb(d); err != nil {
			return err
		}
		if p.annots, err = m.readAnnots(d); err != nil {
			return err
		}
		m.pages = append(m.pages, p)
		return nil
	}
	return visit(m.catalog.Get("Pages"), nil, nil, 0)
}

// climb gathers the inheritable attributes of a page via Parent.
func (m *model) climb(d *pdf.Dict) (*pdf.Dict, error) {
	out := &pdf.Dict{Entries: make([]pdf.Entry, 0, len(inheritedByPages))}
	for range limits.PDFDepth {
		if d == nil {
			break
		}
		for _, k := range inheritedByPages {
			if v := d.Get(k); v != nil && out.Get(k) == nil {
				out.Entries = append(out.Entries, pdf.Entry{Key: k, Value: v})
			}
		}
		var err error
		if d, err = m.doc.Dict(d.Get("Parent")); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// void reports whether an entry is present but null.
func (m *model) void(d *pdf.Dict, key pdf.Name) bool {
	return d.Has(key) && m.isNull(d.Get(key))
}

// handDown combines a node's own attributes with inherited ones, which its own override.
func handDown(in, d *pdf.Dict, keys []pdf.Name) *pdf.Dict {
	out := &pdf.Dict{Entries: make([]pdf.Entry, 0, len(keys))}
	for _, k := range keys {
		v := d.Get(k)
		if v == nil {
			v = in.Get(k)
		}
		if v != nil {
			out.Entries = append(out.Entries, pdf.Entry{Key: k, Value: v})
		}
	}
	return out
}

// readLayers records what the catalog lists as a layer, whatever its Type.
func (m *model) readLayers() {
	m.layers = make(map[int]bool)
	list, _ := m.doc.Array(m.dict(m.catalog.Get("OCProperties")).Get("OCGs"))
	for _, o := range list {
		if ref, ok := o.(pdf.Ref); ok {
			m.layers[ref.Num] = true
		}
	}
}

func (m *model) readAnnots(d *pdf.Dict) ([]annot, error) {
	list, err := m.doc.Array(d.Get("Annots"))
	if err != nil {
		return nil, err
	}
	var out []annot
	for _, o := range list {
		if !m.work.step() {
			return nil, errTooMuch
		}
		ref, _ := o.(pdf.Ref)
		v, err := m.doc.Resolve(o)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue // null: not drawn
		}
		dict, _ := v.(*pdf.Dict)
		out = append(out, annot{entry: o, num: ref.Num, dict: dict})
	}
	return out, nil
}

func (m *model) readForm() error {
	roots, err := m.doc.Array(m.form.Get("Fields"))
	if err != nil {
		return err
	}
	seen := make(map[int]bool)
	for _, o := range roots {
		if err := m.readField(o, nil, seen, 0); err != nil {
			return err
		}
	}
	for _, f := range m.fields {
		m.byName[f.name] = append(m.byName[f.name], f)
		for _, w := range f.widgets {
			m.widgets[w.num] = w
		}
	}
	return nil
}

func (m *model) readField(o pdf.Object, parent *field, seen map[int]bool, depth int) error {
	if !m.work.step() {
		return errTooMuch
	}
	ref, _ := o.(pdf.Ref)
	v, err := m.doc.Resolve(o)
	if err != nil || v == nil {
		return err
	}
	d, ok := v.(*pdf.Dict)
	if !ok || depth > limits.PDFDepth || len(seen) > limits.PDFFields || ref.Num != 0 && seen[ref.Num] {
		m.odd = true
		return nil
	}
	if ref.Num != 0 {
		seen[ref.Num] = true
	}
	f := &field{num: ref.Num, dict: d}
	var in *pdf.Dict
	if parent != nil {
		f.name, in = parent.name, parent.attrs
	}
	if d.Get("T") != nil {
		if f.name != "" {
			f.name += "."
		}
		f.name += m.doc.Text(d.Get("T"))
		if t, err := m.doc.Resolve(d.Get("T")); err == nil {
			if s, ok := t.(pdf.String); ok && s.Clear {
				f.name += " (not encrypted)" // readers see another name, or none
			}
		}
	}
	f.attrs = handDown(in, d, inheritedByFields)
	f.up = wayUp(d, parent)
	kids, err := m.doc.Array(d.Get("Kids"))
	if err != nil {
		return err
	}
	terminal := true
	for _, k := range kids {
		kd, err := m.doc.Resolve(k)
		if err != nil {
			return err
		}
		dict, ok := kd.(*pdf.Dict)
		switch {
		case kd == nil:
		case !ok:
			m.odd = true
		case dict.Has("T") || dict.Has("FT") && dict.Has("V"):
			terminal = false
			if err := m.readField(k, f, seen, depth+1); err != nil {
				return err
			}
		default:
			kr, _ := k.(pdf.Ref)
			f.widgets = append(f.widgets, &widget{num: kr.Num, dict: dict, field: f, up: wayUp(dict, f)})
		}
	}
	if !terminal {
		m.groups = append(m.groups, f)
		if len(f.widgets) > 0 { // widgets beside sub-fields belong to no field
			m.odd = true
		}
		return nil
	}
	if len(f.widgets) == 0 && (d.Has("Subtype") || d.Has("Rect")) {
		f.widgets = []*widget{{num: f.num, dict: d, field: f, merged: true}}
	}
	m.fields = append(m.fields, f)
	return nil
}

// parentLink is where the Parent of a field or widget leads. Readers that start from the page use
// it to find its name, type and value.
type parentLink int

const (
	toParent parentLink = iota // to the field that lists it; a top-level field has none
	nowhere
	astray
)

func wayUp(d *pdf.Dict, parent *field) parentLink {
	up := d.Get("Parent")
	ref, _ := up.(pdf.Ref)
	switch {
	case up == nil && parent == nil:
		return toParent
	case up == nil:
		return nowhere
	case parent == nil || ref.Num != parent.num || ref.Num == 0:
		return astray
	}
	return toParent
}

// kind is the field's type.
func (m *model) kind(f *field) pdf.Name { return m.doc.Name(f.attrs.Get("FT")) }

// flags are the field's flags (Ff).
func (m *model) flags(f *field) int64 {
	n, _ := m.doc.Int(f.attrs.Get("Ff"))
	return n
}

// dict resolves to a dictionary, empty if there is none.
func (m *model) dict(o pdf.Object) *pdf.Dict {
	d, err := m.doc.Dict(o)
	if err != nil || d == nil {
		return &pdf.Dict{}
	}
	return d
}
