package revision

import (
	"errors"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// view is a document as of one revision. Objects that no update wrote are parsed once for all
// revisions.
type view struct {
	*pdf.Document
	shared  map[place]pdf.Object
	lenient bool // unreadable objects are null, as for readers
}

// place is where an object is, or the stream that contains it.
type place struct {
	ref, holder pdf.Ref
	offset      int64
}

const mostShared = 1 << 16

// Get returns the object of a reference.
func (v *view) Get(ref pdf.Ref) (pdf.Object, error) {
	at, ok := v.Where(ref.Num)
	if !ok {
		return nil, nil
	}
	p := place{ref: at.Ref, offset: at.Offset}
	if at.Stream != 0 {
		holder, _ := v.Where(at.Stream)
		p.holder, p.offset = holder.Ref, holder.Offset
	} else if at.Ref.Gen != ref.Gen && !v.lenient {
		return nil, nil
	} else {
		p.ref = ref
	}
	if o, ok := v.shared[p]; ok {
		return o, nil
	}
	o, err := v.Document.Get(ref)
	if _, ok := errors.AsType[*ades.MalformedError](err); v.lenient && ok {
		o, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s, ok := o.(*pdf.Stream); ok {
		if _, indirect := s.Dict.Get("Length").(pdf.Ref); indirect {
			return o, nil // its extent may differ in another revision
		}
	}
	if len(v.shared) > mostShared {
		clear(v.shared)
	}
	v.shared[p] = o
	return o, nil
}

// Resolve follows references to a direct object.
func (v *view) Resolve(o pdf.Object) (pdf.Object, error) { return pdf.ResolveBy(o, v.Get) }

// Dict resolves to a dictionary, that of a stream included.
func (v *view) Dict(o pdf.Object) (*pdf.Dict, error) {
	o, err := v.Resolve(o)
	if err != nil {
		return nil, err
	}
	return v.Document.Dict(o)
}

// Array resolves to an array.
func (v *view) Array(o pdf.Object) (pdf.Array, error) {
	o, err := v.Resolve(o)
	if err != nil {
		return nil, err
	}
	return v.Document.Array(o)
}

// Name resolves to a name.
func (v *view) Name(o pdf.Object) pdf.Name {
	o, err := v.Resolve(o)
	if err != nil {
		return ""
	}
	return v.Document.Name(o)
}

// closures computes the age of everything reachable from an object in the last revision, except for
// pages, fields and annotations that are only referred to. If nothing there is newer than a
// revision, the object means the same in that revision and all later ones.
type closures struct {
	v       *view
	work    *work
	anchors map[int]bool
	newest  map[int]int
	index   map[int]int
	low     map[int]int
	stack   []int
	onStack map[int]bool
	next    int
}

func newClosures(last *model, w *work) *closures {
	c := &closures{
		v: last.doc, work: w, anchors: make(map[int]bool), newest: make(map[int]int),
		index: make(map[int]int), low: make(map[int]int), onStack: make(map[int]bool),
	}
	for _, n := range last.nodes {
		c.anchors[n] = true
	}
	for _, p := range last.pages {
		c.anchors[p.ref.Num] = true
		for _, a := range p.annots {
			c.anchors[a.num] = true
		}
	}
	for _, list := range [][]*field{last.fields, last.groups} {
		for _, f := range list {
			c.anchors[f.num] = true
			for _, w := range f.widgets {
				c.anchors[w.num] = true
			}
		}
	}
	c.anchors[last.doc.Root().Num] = true
	delete(c.anchors, 0)
	return c
}

// never is newer than every revision, for the undecidable.
const never = 1 << 30

// deepest bounds the recursion; deeper objects are compared one by one.
const deepest = 3000

// of is the newest revision that wrote anything in the closure of an object under a key.
func (c *closures) of(num int, key pdf.Name) int {
	if c == nil {
		return never
	}
	at := node(num, key)
	if n, ok := c.newest[at]; ok {
		return n
	}
	c.visit(at, 0)
	return c.newest[at]
}

// node distinguishes an object whose keys are chosen by the author from the same object with
// standard keys.
func node(num int, key pdf.Name) int {
	if free[key] {
		return 2*num + 1
	}
	return 2 * num
}

// visit is Tarjan's algorithm: objects that reach each other share the result.
func (c *closures) visit(at, depth int) {
	num, key := at/2, pdf.Name("")
	if at%2 == 1 {
		key = "Resources"
	}
	c.next++
	c.index[at], c.low[at] = c.next, c.next
	c.stack = append(c.stack, at)
	c.onStack[at] = true
	best := c.v.DefinedIn(num)
	where, ok := c.v.Where(num)
	if ok && where.Stream != 0 {
		best = max(best, c.v.DefinedIn(where.Stream))
	}
	o, err := c.v.Get(where.Ref)
	if err != nil || depth > deepest || !c.work.step() {
		best = never
	} else {
		c.children(o, key, false, func(child int) {
			if _, seen := c.index[child]; !seen {
				c.visit(child, depth+1)
				c.low[at] = min(c.low[at], c.low[child])
			} else if c.onStack[child] {
				c.low[at] = min(c.low[at], c.index[child])
			}
			best = max(best, c.newest[child])
		})
	}
	c.newest[at] = best
	if c.low[at] != c.index[at] {
		return
	}
	from := len(c.stack)
	for from--; c.stack[from] != at; from-- {
		best = max(best, c.newest[c.stack[from]])
	}
	for _, n := range c.stack[from:] {
		c.newest[n] = best
		delete(c.onStack, n)
	}
	c.stack = c.stack[:from]
}

// children calls f for every object that a value refers to, as a node.
func (c *closures) children(o pdf.Object, key pdf.Name, listed bool, f func(int)) {
	switch v := o.(type) {
	case pdf.Ref:
		if c.anchors[v.Num] && (pointing[key] || listed && listing[key]) {
			return
		}
		f(node(v.Num, key))
	case pdf.Array:
		for _, e := range v {
			c.children(e, key, true, f)
		}
	case *pdf.Dict:
		for _, e := range v.Entries {
			c.children(e.Value, under(key, e.Key), false, f)
		}
	case *pdf.Stream:
		c.children(v.Dict, "", false, f)
	}
}
