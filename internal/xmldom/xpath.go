package xmldom

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/antchfx/xpath"

	"rogito.dev/rogito/internal/limits"
)

// ErrBudget means that an XPath expression takes too much work.
var ErrBudget = errors.New("XPath expression takes too long")

// Select evaluates an XPath 1.0 expression on the document and returns the selected elements in
// document order. Prefixes are those in scope at the root element by default. Expression and work
// are bounded.
func (d *Document) Select(expr string, prefixes map[string]string) ([]*Node, error) {
	found, _, err := d.SelectContext(context.Background(), expr, prefixes, false)
	return found, err
}

// SelectContext is Select with a context. It also returns how many steps the evaluation took. A name
// without prefix is one in no namespace if strict, as XPath says, and else also one in the default
// namespace, which people expect.
func (d *Document) SelectContext(ctx context.Context, expr string, prefixes map[string]string, strict bool) (found []*Node, steps int, err error) {
	if len(expr) > limits.XPathLength {
		return nil, 0, fmt.Errorf("%w: XPath of %d characters", ErrLimit, len(expr))
	}
	work := &xpathBudget{ctx: ctx, left: limits.XPathSteps, strict: strict}
	defer func() {
		steps = limits.XPathSteps - work.left
		switch r := recover(); r {
		case nil:
		case ErrBudget:
			found, err = nil, ErrBudget
		case errInterrupted:
			found, err = nil, ctx.Err()
		default: // the library panics on some expressions that it cannot evaluate
			found, err = nil, fmt.Errorf("XPath: %v", r)
		}
	}()
	e, err := xpath.CompileWithNS(expr, d.prefixes(prefixes))
	if err != nil {
		return nil, 0, fmt.Errorf("XPath: %w", err)
	}
	set, ok := e.Evaluate(&navigator{d: d, n: d.Node, attr: -1, work: work}).(*xpath.NodeIterator)
	if !ok {
		return nil, 0, errors.New("XPath: does not select nodes")
	}
	seen := map[*Node]bool{}
	for set.MoveNext() {
		nav := set.Current().(*navigator)
		if nav.attr >= 0 || nav.n.Kind != Element {
			return nil, 0, errors.New("XPath: selects something that is not an element")
		}
		seen[nav.n] = true
	}
	for n := range d.All() {
		if seen[n] {
			found = append(found, n)
		}
	}
	return found, 0, nil
}

func (d *Document) prefixes(given map[string]string) map[string]string {
	ns := map[string]string{}
	for _, b := range d.Root().Bindings() {
		if b.Prefix != "" {
			ns[b.Prefix] = b.URI
		}
	}
	maps.Copy(ns, given)
	return ns
}

// navigator walks the tree for the XPath library and counts its steps.
type navigator struct {
	d    *Document
	n    *Node
	attr int // index into the attributes, -1 for the node itself
	work *xpathBudget
}

// xpathBudget is the remaining budget of an evaluation.
type xpathBudget struct {
	ctx   context.Context
	left  int
	asked int // steps left when the context was last checked

	strict bool
}

var errInterrupted = errors.New("interrupted")

func (v *navigator) spend(steps int) {
	w := v.work
	if w.left -= steps; w.left < 0 {
		panic(ErrBudget)
	}
	if w.asked-w.left > 1<<14 || w.asked == 0 {
		if w.asked = w.left; w.ctx.Err() != nil {
			panic(errInterrupted)
		}
	}
}

func (v *navigator) NodeType() xpath.NodeType {
	if v.attr >= 0 {
		return xpath.AttributeNode
	}
	switch v.n.Kind {
	case DocumentNode:
		return xpath.RootNode
	case Element:
		return xpath.ElementNode
	case Text:
		return xpath.TextNode
	}
	return xpath.CommentNode
}

func (v *navigator) name() *Name {
	if v.attr >= 0 {
		return v.n.Attrs()[v.attr].Name
	}
	if v.n.Name == nil {
		return &Name{}
	}
	return v.n.Name
}

func (v *navigator) LocalName() string { return v.name().Local }

func (v *navigator) Prefix() string {
	if n := v.name(); v.work.strict && n.Prefix == "" && n.Space != "" {
		return ":" // no prefix that an expression can have
	}
	return v.name().Prefix
}

// NamespaceURL is called for name tests with a prefix.
func (v *navigator) NamespaceURL() string { return v.name().Space }

func (v *navigator) Value() string {
	if v.attr >= 0 {
		return v.n.Attrs()[v.attr].Value
	}
	v.spend(1 + int(v.n.End-v.n.Start)/16)
	return v.n.Text()
}

func (v *navigator) Copy() xpath.NodeNavigator {
	v.spend(1)
	c := *v
	return &c
}

func (v *navigator) MoveToRoot() { v.n, v.attr = v.d.Node, -1 }

func (v *navigator) MoveToParent() bool {
	v.spend(1)
	if v.attr >= 0 {
		v.attr = -1
		return true
	}
	return v.to(v.n.Parent)
}

func (v *navigator) to(n *Node) bool {
	if n == nil {
		return false
	}
	v.n = n
	return true
}

func (v *navigator) MoveToNextAttribute() bool {
	v.spend(1)
	if v.attr+1 >= len(v.n.Attrs()) {
		return false
	}
	v.attr++
	return true
}

func (v *navigator) MoveToChild() bool {
	v.spend(1)
	return v.attr < 0 && v.to(v.n.First)
}

func (v *navigator) MoveToFirst() bool {
	v.spend(1)
	if v.attr >= 0 || v.n.Parent == nil || v.n.Parent.First == v.n {
		return false
	}
	return v.to(v.n.Parent.First)
}

func (v *navigator) MoveToNext() bool {
	v.spend(1)
	return v.attr < 0 && v.to(v.n.Next)
}

func (v *navigator) MoveToPrevious() bool {
	if v.attr >= 0 || v.n.Parent == nil {
		return false
	}
	var prev *Node
	for c := v.n.Parent.First; c != v.n; c = c.Next {
		v.spend(1)
		prev = c
	}
	return v.to(prev)
}

func (v *navigator) MoveTo(other xpath.NodeNavigator) bool {
	o, ok := other.(*navigator)
	if !ok || o.d != v.d {
		return false
	}
	v.n, v.attr = o.n, o.attr
	return true
}
