// Package revision determines what changed in a PDF after a signature. It reads each revision as a
// viewer does ([model]), compares two of them by value ([matcher]), names every difference by its
// effect (it shows, runs or hides something, or none of these) and judges it by one table ([table])
// against what the signatures permit (ISO 32000-2, 12.8.2.2 and 12.8.2.4).
//
// Everything reachable from the trailer is compared. An unforeseen change is therefore a difference
// without a rule, which is unexplained, not permitted. Objects that were rewritten with the same
// value, under any number, are no change.
package revision

import (
	"context"
	"errors"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// Comparer compares the revisions of one document. It caches results, for documents with several
// signatures.
type Comparer struct {
	doc    *pdf.Document
	models map[int]*model
	found  map[[2]int][]difference
	shared map[place]pdf.Object
	ages   *closures
	work   *work
}

// New prepares the comparison of a document's revisions, without reading them.
func New(ctx context.Context, doc *pdf.Document) *Comparer {
	return &Comparer{doc: doc, models: make(map[int]*model), found: make(map[[2]int][]difference), shared: make(map[place]pdf.Object), work: newWork(ctx)}
}

// Compare lists the differences between revision signed and the last one. Each update is compared
// with the previous revision, so that nothing goes unnoticed that one adds and another hides, and
// the file with the signed revision.
func (c *Comparer) Compare(signed int, rules Rules) ([]ades.Change, error) {
	last := len(c.doc.Revisions())
	var out []ades.Change
	seen := make(map[ades.Change]bool)
	add := func(ch ades.Change) {
		always := ch // in any revision
		always.Revision = 0
		if !seen[ch] {
			out = append(out, ch)
		}
		seen[ch], seen[always] = true, true
	}
	for n := signed; n < last; n++ {
		diffs, err := c.between(n, n+1)
		if err != nil {
			return nil, err
		}
		for _, d := range diffs {
			d.again = d.again && n == signed // only what the signed revision had counts
			add(rules.judge(d, n+1))
		}
	}
	if last-signed > 1 {
		diffs, err := c.between(signed, last)
		if err != nil {
			return nil, err
		}
		for _, d := range diffs {
			ch := rules.judge(d, 0)
			if ch.Permitted {
				continue // already reported for the update that made it
			}
			before := len(out)
			if add(ch); len(out) > before {
				out[before].Revision = last
			}
		}
	}
	return out, nil
}

// between compares two revisions. An unreadable one is a difference.
func (c *Comparer) between(a, b int) ([]difference, error) {
	if d, ok := c.found[[2]int{a, b}]; ok {
		return d, nil
	}
	old, err := c.model(a)
	if err == nil && c.ages == nil {
		var last *model
		if last, err = c.model(len(c.doc.Revisions())); err == nil {
			c.ages = newClosures(last, c.work)
		}
	}
	if err == nil {
		var now *model
		if now, err = c.model(b); err == nil {
			d := compare(old, now, c.ages, c.work)
			c.found[[2]int{a, b}] = d
			return d, nil
		}
	}
	var malformed *ades.MalformedError
	var d []difference
	switch {
	case errors.Is(err, errTooMuch) || errors.Is(err, limits.ErrBudget) || c.work.over || c.work.ctx.Err() != nil:
		d = []difference{{what: "too-much"}}
	case errors.As(err, &malformed):
		d = []difference{{what: "unreadable", name: malformed.Error()}}
	default:
		return nil, err
	}
	c.found[[2]int{a, b}] = d
	return d, nil
}

func (c *Comparer) model(n int) (*model, error) {
	if m := c.models[n]; m != nil {
		return m, nil
	}
	d := c.doc
	if n < len(c.doc.Revisions()) {
		var err error
		if d, err = c.doc.At(n); err != nil {
			return nil, err
		}
	}
	m, err := newModel(&view{Document: d, shared: c.shared}, n, c.work)
	if err != nil {
		return nil, err
	}
	if len(c.models) > 64 {
		clear(c.models)
	}
	c.models[n] = m
	return m, nil
}

// comparison compares two revisions.
type comparison struct {
	*matcher
	diffs    []difference
	added    map[difference]bool
	accepted map[int]bool // widgets of new fields, by object number
	placed   map[int]int  // how often each was met on a page

	// Computed on demand.
	elsewhere map[int]bool           // objects of the old revision with other uses than as an appearance
	fonts     []pdf.Object           // of the old form and its fields
	trusted   map[*content.Font]bool // fonts whose glyphs are known to look like their letters
	covering  map[int]float64        // area that new signatures cover over something drawn, by page
	shapes    map[string]bool        // of the marks that buttons show now but did not before
}

// add records a difference. Once the time is over nothing is recorded: values may only seem
// different for lack of time.
func (c *comparison) add(d difference) {
	if (c.tired || c.work.over) && d.what != "too-much" {
		return
	}
	if c.added == nil {
		c.added = make(map[difference]bool)
	}
	if !c.added[d] {
		c.added[d] = true
		c.diffs = append(c.diffs, d)
	}
}

func compare(old, now *model, ages *closures, w *work) []difference {
	return compareBy(newMatcher(old, now, ages, w))
}

func compareBy(m *matcher) []difference {
	c := &comparison{matcher: m, accepted: make(map[int]bool), placed: make(map[int]int), shapes: make(map[string]bool), covering: make(map[int]float64)}
	c.anchorAll()
	c.trailer()
	c.catalog()
	c.form()
	c.pages()
	c.structure()
	if c.tired || c.work.over {
		c.add(difference{what: "too-much"})
	}
	return c.diffs
}

// anchorAll pairs what is compared separately: pages by position, fields and their widgets by full
// name, other annotations by object.
func (c *comparison) anchorAll() {
	c.anchor(c.old.doc.Root().Num, c.new.doc.Root().Num)
	for _, n := range c.old.nodes {
		c.anchors[0][n] = -1
	}
	for _, n := range c.new.nodes {
		c.anchors[1][n] = -1
	}
	for i := range max(len(c.old.pages), len(c.new.pages)) {
		var a, b int
		if i < len(c.old.pages) {
			a = c.old.pages[i].ref.Num
		}
		if i < len(c.new.pages) {
			b = c.new.pages[i].ref.Num
		}
		c.anchor(a, b)
	}
	groups := make(map[string]int)
	for _, g := range c.old.groups {
		groups[g.name] = g.num
	}
	for _, g := range c.new.groups {
		c.anchor(groups[g.name], g.num)
	}
	for name, is := range c.new.byName {
		for i, f := range is {
			was := &field{}
			if i < len(c.old.byName[name]) {
				was = c.old.byName[name][i]
			}
			c.anchorField(was, f)
		}
	}
	c.anchorAnnots()
}

func (c *comparison) anchorField(was, is *field) {
	c.anchor(was.num, is.num)
	for i, w := range is.widgets {
		if w.merged {
			continue
		}
		old := 0
		if i < len(was.widgets) && !was.widgets[i].merged {
			old = was.widgets[i].num
		}
		c.anchor(old, w.num)
	}
}

// anchorAnnots pairs annotations other than widgets: those with the same number on the same page.
func (c *comparison) anchorAnnots() {
	for i, p := range c.new.pages {
		if i >= len(c.old.pages) {
			return
		}
		was := make(map[int]bool)
		for _, a := range c.old.pages[i].annots {
			was[a.num] = true
		}
		for _, a := range p.annots {
			if a.num == 0 || c.anchors[1][a.num] != 0 {
				continue
			}
			if was[a.num] && c.anchors[0][a.num] == 0 {
				c.anchor(a.num, a.num)
			} else if !was[a.num] {
				c.anchor(0, a.num)
			}
		}
	}
}

// leadsToData reports whether a value is or contains a stream. LibreOffice keeps a second document
// in a stream of the trailer (AdditionalStreams); other unknown trailer entries mean nothing to any
// reader.
func (c *comparison) leadsToData(o pdf.Object) bool {
	v, err := c.new.doc.Resolve(o)
	if list, ok := v.(pdf.Array); ok {
		return slices.ContainsFunc(list, func(e pdf.Object) bool {
			if _, nested := e.(pdf.Array); nested {
				return true
			}
			return c.leadsToData(e)
		})
	}
	_, stream := v.(*pdf.Stream)
	d, isDict := v.(*pdf.Dict)
	return err != nil || stream || isDict && c.new.doc.Name(d.Get("Subtype")) != "Widget"
}

// trailer compares the trailers.
func (c *comparison) trailer() {
	a, b := c.old.doc.Trailer(), c.new.doc.Trailer()
	for _, key := range c.differing(a, b, "Root", "Size", "Prev", "XRefStm", "Type", "W", "Index", "Length", "Filter", "DecodeParms", "DL") {
		switch {
		case key == "Info":
			c.add(difference{what: "info"})
		case key == "Encrypt":
			c.add(difference{what: "encryption"})
		case key == "ID":
			c.identifiers(a, b)
		case !c.leadsToData(b.Get(key)): // an entry that no reader uses
		default:
			c.add(difference{what: "trailer-odd", name: string(key)})
		}
	}
}

// identifiers compares IDs: the first part is an input of the keys of an encrypted document.
func (c *comparison) identifiers(a, b *pdf.Dict) {
	if b.Get("Encrypt") == nil {
		return
	}
	x, _ := c.old.doc.Array(a.Get("ID"))
	y, _ := c.new.doc.Array(b.Get("ID"))
	if len(x) == 0 || len(y) == 0 || !c.equal(x[0], y[0], "ID") {
		c.add(difference{what: "encryption"})
	}
}
