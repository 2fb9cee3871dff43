package xmldsig

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/xmldom"
)

// The two common forms of XPath, and the plain location paths used with Filter 2.0. A free
// expression could exclude anything from the digest.
var (
	notSignature = regexp.MustCompile(`^not\(ancestor-or-self::(?:([\w.-]+):)?Signature\)$`)
	allSignature = regexp.MustCompile(`^(?://|/descendant::|/descendant-or-self::node\(\)/)(?:([\w.-]+):)?Signature$`)
	hereAncestor = regexp.MustCompile(`^here\(\)/ancestor(?:-or-self)?::(?:([\w.-]+):)?Signature(?:\[1\])?$`)
	herePosition = regexp.MustCompile(`^count\(ancestor-or-self::([\w.-]+):Signature\|here\(\)/ancestor::([\w.-]+):Signature\[1\]\)>count\(ancestor-or-self::([\w.-]+):Signature\)$`)
	plainPath    = regexp.MustCompile(`^//?(?:(?:[\w.-]+:)?[\w.-]+|\*)(?://?(?:(?:[\w.-]+:)?[\w.-]+|\*))*$`)
	byID         = regexp.MustCompile(`^(?:id\(['"]([^'"]+)['"]\)|//\*\[@([Ii][Dd])=['"]([^'"]+)['"]\])((?:/[\w.-]+:[\w.-]+)*)$`)
	words        = regexp.MustCompile(`[\w.*-]\s+[\w.*-]`)
	byQName      = regexp.MustCompile(`^/descendant::\*\[name\(\)=['"]([\w.-]+:Signature)['"]\]$`)
)

// expression is the text of an XPath element without white space. White space between two words
// means an operator, so the expression is none of the common ones.
func expression(n *xmldom.Node) string {
	text := strings.TrimSpace(n.Text())
	if words.MatchString(text) {
		return text
	}
	return strings.Join(strings.Fields(text), "")
}

// isDSig reports whether a prefix means XML-DSig at a node.
func isDSig(n *xmldom.Node, prefix string) bool {
	uri, ok := n.Namespace(prefix)
	return ok && prefix != "" && uri == Space
}

func (s *Signature) xpath(d *data, t *xmldom.Node) (*data, error) {
	n := t.Child(Space, "XPath")
	if n == nil {
		return nil, errors.New("XPath transform without expression")
	}
	d, err := s.nodes(d)
	if err != nil {
		return nil, err
	}
	expr := expression(n)
	if m := notSignature.FindStringSubmatch(expr); m != nil && isDSig(n, m[1]) {
		for up := d.set.Apex; up != nil; up = up.Parent {
			if up.Is(Space, "Signature") { // a signature is excluded as a whole
				return d.drop(d.set.Apex), nil
			}
		}
		return d.drop(signatures(d.set.Apex)...), nil
	}
	if m := herePosition.FindStringSubmatch(expr); m != nil && m[1] == m[2] && m[2] == m[3] && isDSig(n, m[1]) {
		return s.enveloped(d)
	}
	return nil, fmt.Errorf("%w: XPath %q", ErrNotEvaluated, clip(expr))
}

// signatures are the outermost ds:Signature elements of a subtree.
func signatures(top *xmldom.Node) []*xmldom.Node {
	var found []*xmldom.Node
	for n := range top.All() {
		if n.Is(Space, "Signature") && (len(found) == 0 || !found[len(found)-1].Contains(n)) {
			found = append(found, n)
		}
	}
	return found
}

func (s *Signature) filter2(d *data, t *xmldom.Node) (*data, error) {
	d, err := s.nodes(d)
	if err != nil {
		return nil, err
	}
	steps := t.Children(FilterNS, "XPath")
	if len(steps) == 0 || len(steps) > MaxTransforms {
		return nil, errors.New("malformed XPath filter")
	}
	for _, x := range steps {
		sel, err := s.selected(d, x)
		if err != nil {
			return nil, err
		}
		switch x.Attr("Filter") {
		case "subtract":
			d = d.drop(sel...)
		case "intersect":
			d = d.intersect(sel)
		case "union":
			if !d.set.all() {
				return nil, fmt.Errorf("%w: XPath filter union", ErrNotEvaluated)
			}
		default:
			return nil, errors.New("unknown XPath filter")
		}
	}
	return d, nil
}

// intersect keeps only nodes in both sets, of nested ones the outermost.
func (d *data) intersect(sel []*xmldom.Node) *data {
	set := *d.set
	keep := []*xmldom.Node{}
	for _, n := range sel {
		if len(keep) > 0 && keep[len(keep)-1].Contains(n) {
			continue
		}
		if set.Keep == nil || slices.ContainsFunc(set.Keep, func(k *xmldom.Node) bool { return k.Contains(n) }) {
			keep = append(keep, n)
		}
	}
	for _, k := range set.Keep {
		if !slices.Contains(keep, k) && slices.ContainsFunc(sel, func(n *xmldom.Node) bool { return n.Contains(k) }) {
			keep = append(keep, k)
		}
	}
	set.Keep = keep
	return &data{doc: d.doc, set: &set}
}

// selected evaluates an expression of Filter 2.0, if it is a common one.
func (s *Signature) selected(d *data, x *xmldom.Node) ([]*xmldom.Node, error) {
	expr := expression(x)
	if expr == "/" {
		return []*xmldom.Node{d.doc.Node}, nil
	}
	if m := allSignature.FindStringSubmatch(expr); m != nil && isDSig(x, m[1]) {
		return signatures(d.doc.Node), nil
	}
	if m := hereAncestor.FindStringSubmatch(expr); m != nil && isDSig(x, m[1]) && d.doc == s.Doc {
		return s.around(strings.HasSuffix(expr, "[1]")), nil
	}
	if m := byQName.FindStringSubmatch(expr); m != nil {
		return spelled(d.doc.Node, m[1]), nil
	}
	if m := byID.FindStringSubmatch(expr); m != nil {
		return below(d.doc, x, m)
	}
	if plainPath.MatchString(expr) {
		return s.find(d.doc, expr, inScope(x))
	}
	return nil, fmt.Errorf("%w: XPath filter %q", ErrNotEvaluated, clip(expr))
}

// spelled returns the signatures with exactly this qualified name.
func spelled(top *xmldom.Node, qname string) []*xmldom.Node {
	var found []*xmldom.Node
	for _, n := range signatures(top) {
		if n.Name.QName == qname {
			found = append(found, n)
		}
	}
	return found
}

// around returns the signatures that contain the transform: the innermost, or all.
func (s *Signature) around(innermost bool) []*xmldom.Node {
	found := []*xmldom.Node{s.Node}
	for up := s.Node.Parent; up != nil && !innermost; up = up.Parent {
		if up.Is(Space, "Signature") {
			found = append(found, up)
		}
	}
	return found
}

// stepCost is what a step of XPath is charged.
const stepCost = 64

// find evaluates a path and charges its steps.
func (s *Signature) find(doc *xmldom.Document, path string, prefixes map[string]string) ([]*xmldom.Node, error) {
	found, steps, err := doc.SelectContext(s.context(), path, prefixes, true)
	if err := s.Charge(int64(steps) * stepCost); err != nil {
		return nil, err
	}
	return found, err
}

// below is the only element reached by a path of names from an element with an Id. If the
// expression names the attribute, its spelling must match.
func below(doc *xmldom.Document, x *xmldom.Node, m []string) ([]*xmldom.Node, error) {
	n, err := doc.ByID(m[1] + m[3])
	if err != nil {
		return nil, err
	}
	if m[2] != "" && n.Attr(m[2]) != m[3] {
		return nil, fmt.Errorf("%w: no element with %s %q", ErrMissing, m[2], clip(m[3]))
	}
	for _, step := range strings.FieldsFunc(m[4], func(r rune) bool { return r == '/' }) {
		prefix, local, _ := strings.Cut(step, ":")
		uri, _ := x.Namespace(prefix)
		found := n.Children(uri, local)
		if len(found) != 1 {
			return nil, fmt.Errorf("%w: %d elements %s", ErrMissing, len(found), clip(step))
		}
		n = found[0]
	}
	return []*xmldom.Node{n}, nil
}

func inScope(n *xmldom.Node) map[string]string {
	ns := map[string]string{}
	for ; n != nil; n = n.Parent {
		for _, b := range n.Bindings() {
			if _, ok := ns[b.Prefix]; !ok && b.Prefix != "" {
				ns[b.Prefix] = b.URI
			}
		}
	}
	return ns
}
