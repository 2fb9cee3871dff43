// Package revision tells what changed in a PDF after a signature: it compares
// the revision that the signature closes with the last one, object by object
// (ISO 32000-2, 12.8.2.2 and 12.8.2.4).
//
// It works by white list. A changed object must have a part that is known to be
// harmless (a DSS dictionary, a document time-stamp, a further signature, a
// filled form field where the certification allows it), the difference must be
// of the kind that this part may show, and nothing else may refer to it: an
// object that is an appearance here and page content there is not harmless.
// Everything that is left over is named and not permitted.
package revision

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// Rules are what the signatures of the document allow.
type Rules struct {
	// DocMDP is the permission of the certification, 0 where there is none.
	// Without one, nothing but signatures, time-stamps and validation data
	// may be added.
	DocMDP int
	// Locked reports whether a field may not change any more; nil locks none.
	Locked func(field string) bool
}

// Permissions of a certification.
const (
	noChanges   = 1
	formFilling = 2
	annotations = 3
)

// Compare lists what differs between revision signed and the last one. A later
// revision that cannot be read is a change that is not permitted.
func Compare(doc *pdf.Document, signed int, rules Rules) ([]ades.Change, error) {
	last := len(doc.Revisions())
	if signed >= last {
		return nil, nil
	}
	old, err := doc.At(signed)
	if err != nil {
		return nil, err
	}
	c := &comparison{
		old: old, new: doc, rules: rules,
		changed: make(map[int]int), watched: make(map[int]bool), parts: make(map[int]part), named: make(map[int]bool),
	}
	var malformed *ades.MalformedError
	if err := c.compare(signed, last); errors.As(err, &malformed) {
		c.report(last, "undefined", false, "what follows the signature cannot be read: %v", malformed)
	} else if err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.changes, func(a, b ades.Change) int { return a.Revision - b.Revision })
	return c.changes, nil
}

func (c *comparison) compare(signed, last int) error {
	for n := signed + 1; n <= last; n++ {
		if err := c.collect(n); err != nil {
			return err
		}
	}
	if err := c.refer(); err != nil {
		return err
	}
	c.trailer()
	c.pages()
	c.rest()
	return nil
}

// part is the role that a changed object is known to play.
type part int

const (
	unknown    part = iota
	structure       // catalog, form, field, page: its own rule looked at every key
	dss             // validation data
	value           // a signature dictionary
	appearance      // what a field shows
	metadata        // Info and XMP
	annotation      // where comments are allowed
)

type comparison struct {
	old, new *pdf.Document
	rules    Rules
	changed  map[int]int  // object number → the revision that changed it last
	watched  map[int]bool // appearances that changed fields had before
	edges    map[int][]edge
	parts    map[int]part
	named    map[int]bool // objects that a change was already reported for
	changes  []ades.Change
}

// edge is one reference to a changed object.
type edge struct {
	from int      // the object that refers, 0 for the trailer
	key  pdf.Name // the outermost key under which it does
	path string   // the keys in full, for people
}

func (c *comparison) report(revision int, kind string, permitted bool, text string, args ...any) {
	ch := ades.Change{Kind: kind, Permitted: permitted, Description: fmt.Sprintf(text, args...), Revision: revision}
	if !slices.Contains(c.changes, ch) {
		c.changes = append(c.changes, ch)
	}
}

// collect notes the objects of one revision that are not what they were.
func (c *comparison) collect(n int) error {
	for _, d := range c.new.Defined(n) {
		before, err := c.old.Get(d.Ref)
		if err != nil {
			before = nil
		}
		after, err := c.new.Get(d.Ref)
		if err != nil {
			return fmt.Errorf("revision %d: object %d: %w", n, d.Ref.Num, err)
		}
		if before == nil && after == nil || c.same(before, after) {
			continue
		}
		c.changed[d.Ref.Num] = n
		if was, ok := before.(*pdf.Dict); ok {
			if ap, ok := was.Get("AP").(pdf.Ref); ok {
				c.watched[ap.Num] = true
			}
		}
	}
	return nil
}

// same compares two objects by their content, streams by their bytes.
func (c *comparison) same(a, b pdf.Object) bool {
	x, ok := a.(*pdf.Stream)
	y, also := b.(*pdf.Stream)
	if !ok || !also {
		return !ok && !also && pdf.Equal(a, b)
	}
	if !pdf.Equal(x.Dict, y.Dict) {
		return false
	}
	p, err1 := c.old.Encoded(x)
	q, err2 := c.new.Encoded(y)
	return err1 == nil && err2 == nil && string(p) == string(q)
}

// refer walks everything that can be reached in the last revision and keeps
// every reference to a changed object.
func (c *comparison) refer() error {
	c.edges = make(map[int][]edge, len(c.changed))
	seen := make(map[int]bool)
	var queue []pdf.Ref
	visit := func(from int, o pdf.Object) {
		walk(o, nil, func(ref pdf.Ref, keys []string) {
			if _, ok := c.changed[ref.Num]; ok || c.watched[ref.Num] {
				e := edge{from: from, path: strings.Join(keys, "/")}
				if len(keys) > 0 {
					e.key = pdf.Name(keys[0])
				}
				c.edges[ref.Num] = append(c.edges[ref.Num], e)
			}
			if !seen[ref.Num] {
				seen[ref.Num] = true
				queue = append(queue, ref)
			}
		})
	}
	visit(0, c.new.Trailer())
	for len(queue) > 0 {
		ref := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		o, err := c.new.Get(ref)
		if err != nil {
			return fmt.Errorf("object %d: %w", ref.Num, err)
		}
		visit(ref.Num, o)
	}
	return nil
}

// walk calls found for every reference inside an object, with the keys that
// lead to it.
func walk(o pdf.Object, keys []string, found func(pdf.Ref, []string)) {
	switch x := o.(type) {
	case pdf.Ref:
		found(x, keys)
	case pdf.Array:
		for _, v := range x {
			walk(v, keys, found)
		}
	case *pdf.Dict:
		if x == nil {
			return
		}
		for _, e := range x.Entries {
			walk(e.Value, append(keys[:len(keys):len(keys)], string(e.Key)), found)
		}
	case *pdf.Stream:
		walk(x.Dict, keys, found)
	}
}

// claim gives a part to every changed object that can be reached from a value
// through changed objects only.
func (c *comparison) claim(o pdf.Object, p part) {
	walk(o, nil, func(ref pdf.Ref, keys []string) {
		if _, ok := c.changed[ref.Num]; !ok || c.parts[ref.Num] != unknown {
			return
		}
		// A way back up (P, Parent) leads out of the part.
		if n := len(keys); n > 0 && (keys[n-1] == "Parent" || keys[n-1] == "P") {
			return
		}
		c.parts[ref.Num] = p
		if v, err := c.new.Get(ref); err == nil {
			c.claim(v, p)
		}
	})
}

// when is the revision that brought a value: that of the object it refers to,
// or of the one it stands in.
func (c *comparison) when(o pdf.Object, holder int) int {
	if ref, ok := o.(pdf.Ref); ok {
		if n, ok := c.changed[ref.Num]; ok {
			return n
		}
	}
	if n, ok := c.changed[holder]; ok {
		return n
	}
	return len(c.new.Revisions())
}
