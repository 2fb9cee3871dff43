package xades

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// maxUncovered bounds how many uncovered places are named, maxCovered the places named for one set
// of signatures, and maxNamed the total of signatures named for them.
const (
	maxUncovered = 64
	maxCovered   = 16
	maxNamed     = 1 << 20
)

// cover is a region of the document and the signature that signs it.
type cover struct {
	sig int // index into the top-level signatures
	signedRegion
}

// signedRegion is a region with what its DataObjectFormat says about it, which makes the attributes
// of that name signed.
type signedRegion struct {
	region *xmldsig.Region
	format map[string]string // MimeType, Encoding
}

// counter is a region that a counter-signature signs.
type counter struct {
	by     *xmldom.Node // the counter-signature
	region *xmldsig.Region
	signer *pkix.Certificate // at its SignedInfo, else nil
}

// partition walks a document once and assigns its content to the signatures that cover it. Content
// is every element, attribute, text, instruction and text-splitting comment, except for the
// signatures themselves.
type partition struct {
	ctx  context.Context
	ids  []string // of the signatures, by index
	sigs []*xmldom.Node
	regs []*active
	at   map[*xmldom.Node][]event
	// holders have covered nodes or a signature below them.
	holders map[*xmldom.Node]bool
	// plain: there are no comments, instructions, CDATA sections, or namespaces that values in the
	// document depend on.
	plain bool
	// page: a browser may render the document, whose text is source.
	page   bool
	source string
	// subjects are the names that a key may have in the document.
	subjects func() []pkix.Name
	// infos are the SignedInfo elements.
	infos map[*xmldom.Node]int
	// counters are what counter-signatures sign, their SignedInfo included.
	counters []counter

	full, text, comment []int // number of open regions of each signature
	now                 *sets // coverage at the current node; nil if it changed
	parted              bool  // the current comment is between two pieces of text
	steps               int
	look                xmldsig.Lookup
	err                 error

	whole    collector
	expected *xmldom.Node
	wanted   collector
	inside   bool // the expected element
}

// active is the state of a region during the walk.
type active struct {
	cover
	kept, dropped int
}

// sets are the signatures that cover nodes, text and comments at some place.
type sets struct{ nodes, text, comments set }

type set struct {
	sigs []int
	key  string
}

type event struct {
	region int
	drop   bool
}

// collector gathers parts: one for each place where content with another set of signatures begins,
// and one for each uncovered place.
type collector struct {
	parts     []ades.Part
	byKey     map[string]int // number of parts per set
	named     int            // number of signatures, over all parts
	last      string         // the previous key; "" if a region has begun or ended since
	uncovered []ades.Part
}

// newPartition prepares the walk.
func newPartition(ctx context.Context, sigs []*ades.Signature, found []*xmldom.Node, covers []cover) *partition {
	p := &partition{
		ctx: ctx, at: map[*xmldom.Node][]event{}, holders: map[*xmldom.Node]bool{}, infos: map[*xmldom.Node]int{},
		full: make([]int, len(sigs)), text: make([]int, len(sigs)), comment: make([]int, len(sigs)),
	}
	p.look.Spend = p.spend
	for _, s := range sigs {
		p.ids = append(p.ids, s.ID)
	}
	for _, c := range covers {
		p.add(c)
	}
	p.sigs = found
	for _, n := range p.sigs {
		p.hold(n.Parent)
	}
	return p
}

func (p *partition) add(c cover) {
	i := len(p.regs)
	p.regs = append(p.regs, &active{cover: c})
	set := c.region.Set
	tops := set.Keep
	if tops == nil {
		tops = []*xmldom.Node{set.Apex}
	}
	for _, n := range tops {
		if n.Contains(set.Apex) {
			n = set.Apex
		} else if !set.Apex.Contains(n) {
			continue
		}
		p.at[n] = append(p.at[n], event{region: i})
		if p.hold(n.Parent); c.region.Text {
			p.holders[n] = true
		}
	}
	for _, n := range set.Drop {
		p.at[n] = append(p.at[n], event{region: i, drop: true})
	}
}

// signedInfo records the element that the value of a signature is over.
func (p *partition) signedInfo(n *xmldom.Node, sig int) {
	p.infos[n] = sig
	p.at[n] = append(p.at[n], []event(nil)...) // coverage changes here
}

func (p *partition) hold(n *xmldom.Node) {
	for ; n != nil && !p.holders[n]; n = n.Parent {
		p.holders[n] = true
	}
}

// prepare marks the nodes where the coverage changes and their ancestors. In a plain document the
// walk skips the others if all of them are covered: visiting them was 15 % of reading XAdES-B.
func (p *partition) prepare(doc *xmldom.Document) {
	p.page = isPage(doc)
	p.plain = doc.Plain() && !p.page && !p.loose(doc)
	p.source = doc.Origin().Text
	mark := func(n *xmldom.Node) {
		for ; n != nil && !n.Mark; n = n.Parent {
			n.Mark = true
		}
	}
	for n := range p.at {
		mark(n)
	}
	for n := range p.holders {
		mark(n)
	}
	for _, n := range p.sigs {
		mark(n)
	}
	mark(p.expected)
}

// uniform reports whether everything in an unmarked node is covered by the same signatures, at
// least one.
func (p *partition) uniform() bool {
	if !p.plain {
		return false
	}
	by := p.covering()
	return len(by.nodes.sigs) > 0 && by.nodes.key == by.text.key
}

// noted reports whether content with the same coverage was just recorded.
func (p *partition) noted() bool {
	key := p.covering().nodes.key
	return p.whole.last == key && (!p.inside || p.wanted.last == key)
}

// maxSteps bounds the walk: its cost grows with signatures times nodes.
const maxSteps = 1 << 26

var errTooMany = ades.Malformed("XML", "", "%w: too many signatures over too many elements", xmldom.ErrLimit)

// spend counts steps and reports whether to continue.
func (p *partition) spend(steps int) bool {
	before := p.steps
	if p.steps += steps; p.err == nil && before>>12 != p.steps>>12 {
		if p.err = p.ctx.Err(); p.err == nil && p.steps > maxSteps {
			p.err = errTooMany
		}
	}
	return p.err == nil
}

// change opens and closes regions where an element begins, and reverts that where it ends.
func (p *partition) change(n *xmldom.Node, by int) {
	if sig, ok := p.infos[n]; ok {
		p.full[sig] += by
		p.now = nil
	}
	for _, e := range p.at[n] {
		r := p.regs[e.region]
		was := r.kept > 0 && r.dropped == 0
		if e.drop {
			r.dropped += by
		} else {
			r.kept += by
		}
		is := r.kept > 0 && r.dropped == 0
		if was == is {
			continue
		}
		p.now = nil
		delta := 1
		if was {
			delta = -1
		}
		switch {
		case r.region.Text:
			p.text[r.sig] += delta
		default:
			p.full[r.sig] += delta
			if r.region.Comments {
				p.comment[r.sig] += delta
			}
		}
	}
}

// covering returns the signatures that cover the current node.
func (p *partition) covering() *sets {
	if p.now == nil {
		p.spend(3 * len(p.ids))
		p.now = &sets{nodes: setOf(p.full), text: setOf(p.full, p.text), comments: setOf(p.comment)}
		if p.whole.named > maxNamed && p.err == nil {
			p.err = errTooMany
		}
	}
	return p.now
}

// setOf returns the signatures with an open region among the counts.
func setOf(counts ...[]int) (s set) {
	var key strings.Builder
	for i := range counts[0] {
		if slices.ContainsFunc(counts, func(c []int) bool { return c[i] > 0 }) {
			s.sigs = append(s.sigs, i)
			key.WriteByte(byte(i))
			key.WriteByte(byte(i >> 8))
		}
	}
	s.key = key.String()
	return s
}

// content records a piece of content and the signatures that cover it.
func (p *partition) content(path func() string, by set) {
	p.whole.note(p.ids, path, by)
	if p.inside {
		p.wanted.note(p.ids, path, by)
	}
}

func (c *collector) note(ids []string, path func() string, by set) {
	if len(by.sigs) == 0 {
		if len(c.uncovered) < maxUncovered {
			c.uncovered = append(c.uncovered, ades.Part{Kind: ades.XMLPart, Name: path()})
		}
		return
	}
	if by.key == c.last {
		return
	}
	c.last = by.key
	if c.byKey == nil {
		c.byKey = map[string]int{}
	}
	if c.byKey[by.key]++; c.byKey[by.key] > 1 && (c.byKey[by.key] > maxCovered || c.named > maxNamed) {
		return
	}
	c.named += len(by.sigs)
	part := ades.Part{Kind: ades.XMLPart, Name: path()}
	for _, i := range by.sigs {
		part.CoveredBy = append(part.CoveredBy, ids[i])
	}
	c.parts = append(c.parts, part)
}

func (c *collector) all() []ades.Part { return append(c.parts, c.uncovered...) }

// visit handles a node outside of signatures, with its descendants.
func (p *partition) visit(n *xmldom.Node) {
	if !p.spend(1) {
		return
	}
	switch n.Kind {
	case xmldom.Element, xmldom.DocumentNode:
		p.within(n, p.element)
	case xmldom.Text:
		if isText(n) {
			p.content(func() string { return n.Parent.Path() + "/text()" }, p.covering().text)
		}
	case xmldom.ProcInst:
		p.content(func() string { return strings.TrimSuffix(n.Parent.Path(), "/") + "/processing-instruction()" }, p.covering().nodes)
	case xmldom.Comment:
		if p.counts(n) {
			p.content(func() string { return n.Parent.Path() + "/comment()" }, p.covering().comments)
		}
	}
}

// children visits the children of a node. A comment beside text is content: a reader that takes the
// first piece, or the first child, for the whole text sees something else. So is text behind
// something that is not digested, and text in two pieces, one of which is a CDATA section.
//
// Children that are content with equal coverage are skipped.
func (p *partition) children(n *xmldom.Node, content bool, do func(*xmldom.Node)) {
	begun, dropped := false, false // text since the last element, and behind one that a reference leaves out
	var before, end *xmldom.Node   // the text just before, and the last one before the next element
	alike := false                 // unmarked nodes have a coverage that was recorded
	at := n.Inner                  // where the next node begins, unless an empty section is there
	for c := n.First; c != nil; c = c.Next {
		if alike && !c.Mark && !dropped {
			at, before = c.End, nil
			continue
		}
		switch {
		case c.Kind == xmldom.Element && !p.drops(c):
			begun, dropped = false, false
		case c.Kind == xmldom.Element:
			dropped = true
		case isText(c):
			if dropped || before != nil && !torn(before, c) || c.Start != at && n.Kind == xmldom.Element {
				p.content(func() string { return n.Path() + "/text()" }, set{})
			}
			begun, before = true, c
		case c.Kind == xmldom.Comment:
			if end == nil {
				end = lastText(c)
			}
			p.parted = begun || c.Start < end.Start
		}
		if c.Kind == xmldom.Element {
			end = nil
		}
		if c.Kind != xmldom.Text {
			before = nil
		}
		at = c.End
		do(c)
		alike = content && p.uniform() && p.noted()
	}
}

// drops reports whether a reference leaves out this element but not its parent.
func (p *partition) drops(n *xmldom.Node) bool {
	return n.Mark && slices.ContainsFunc(p.at[n], func(e event) bool { return e.drop })
}

// torn reports whether a text is in two CDATA sections because one cannot contain "]]>".
func torn(a, b *xmldom.Node) bool {
	return strings.HasSuffix(a.Data, "]]") && strings.HasPrefix(b.Data, ">")
}

func isText(n *xmldom.Node) bool {
	return n.Kind == xmldom.Text && !isSpace(n.Data)
}

// isSpace reports whether a text is only white space. strings.Trim would build its character set
// for each of thousands of texts.
func isSpace(text string) bool {
	for i := range len(text) {
		if c := text[i]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// lastText is the last text before the next element, or n itself.
func lastText(n *xmldom.Node) *xmldom.Node {
	last := n
	for c := n; c != nil && c.Kind != xmldom.Element; c = c.Next {
		if isText(c) {
			last = c
		}
	}
	return last
}

// within calls do for an element inside the regions that begin there.
func (p *partition) within(n *xmldom.Node, do func(*xmldom.Node)) {
	here := n == p.expected
	if n.Mark && !here {
		_, here = p.at[n]
	}
	if !here { // the coverage does not change
		do(n)
		return
	}
	p.change(n, 1)
	p.whole.last, p.wanted.last = "", ""
	if n == p.expected {
		p.inside = true
	}
	do(n)
	if n == p.expected {
		p.inside = false
	}
	p.change(n, -1)
	p.whole.last, p.wanted.last = "", ""
}

// element handles an element outside of signatures. An uncovered one is content, unless it only
// contains covered elements and signatures and has no attributes but identifiers.
func (p *partition) element(n *xmldom.Node) {
	switch {
	case n.Kind == xmldom.DocumentNode:
		p.children(n, true, p.visit)
		return
	case n.Is(ds, "Signature"):
		p.sentences(n, p.covering().nodes)
		if len(p.covering().nodes.sigs) == 0 {
			p.attributes(n, shape{})
		}
		p.children(n, false, p.structure)
		return
	}
	by := p.covering().nodes
	switch {
	case len(by.sigs) > 0:
		p.content(n.Path, by)
		if !n.Mark && p.uniform() {
			return // and so is everything below it
		}
		if p.page && misread(n, p.source) {
			p.content(n.Path, set{})
		}
		if !p.plain { // in a plain document no value depends on what is left out
			p.values(n, by, true)
			p.sentences(n, by)
		}
	case !p.holders[n]:
		p.content(n.Path, set{}) // and everything below it
		return
	default:
		p.sentences(n, by)
		for _, a := range n.Attrs() {
			if a.Name.Space == xmlSpace && p.expected != nil && n != p.expected && n.Contains(p.expected) {
				p.wanted.note(p.ids, func() string { return n.Path() + "/@" + a.Name.QName }, p.inherited())
			}
			if !a.IsID() || strings.ContainsFunc(a.Value, unicode.IsSpace) {
				p.content(func() string { return n.Path() + "/@" + a.Name.QName }, p.described(n, a, func(said string) bool { return said == a.Value }))
			}
		}
		if by := p.covering().text; len(by.sigs) > 0 { // base64, maybe of an empty file
			p.content(n.Path, by)
		}
	}
	p.children(n, true, p.visit)
}

const xmlSpace = "http://www.w3.org/XML/1998/namespace"

// inherited returns the signatures over the expected element whose canonicalisation includes the
// xml: attributes of its ancestors.
func (p *partition) inherited() set {
	counts := make([]int, len(p.ids))
	for _, r := range p.regs {
		if top := r.region.Top(); !r.region.Text && !r.region.Method.Exclusive && top != nil && top.Contains(p.expected) {
			counts[r.sig]++
		}
	}
	return setOf(counts)
}

// described returns the signatures whose DataObjectFormat for exactly this element has a matching
// value for an attribute.
func (p *partition) described(n *xmldom.Node, a xmldom.Attr, fits func(said string) bool) set {
	counts := make([]int, len(p.ids))
	for _, e := range p.at[n] {
		r := p.regs[e.region]
		if said := r.format[a.Name.Local]; !e.drop && a.Name.Space == "" && said != "" && fits(said) {
			counts[r.sig]++
		}
	}
	return setOf(counts)
}

// structure handles the content of a signature. The elements of XML Signature and XAdES are the
// signature itself, and so is the content of a signed property. Everything else is content that may
// have been hidden there.
func (p *partition) structure(n *xmldom.Node) {
	switch {
	case n.Kind == xmldom.Text && !n.Parent.Is(ds, "Signature"):
		if s, _ := shapeOf(n.Parent); isText(n) && len(p.covering().text.sigs) == 0 && !p.allows(s, n) {
			p.visit(n)
		}
		return
	case n.Kind != xmldom.Element, n.Is(ds, "Signature"):
		p.visit(n)
		return
	}
	if !p.spend(1) {
		return
	}
	p.within(n, p.part)
}

// part handles an element inside a signature.
func (p *partition) part(n *xmldom.Node) {
	s, known := shapeOf(n)
	covered := len(p.covering().nodes.sigs) > 0
	p.sentences(n, p.covering().nodes)
	switch {
	case !known && !covered:
		p.content(n.Path, set{})
		return
	case n.Is(ds, "Object"):
		p.object(n)
		return
	case !covered && !p.countersigned(n):
		p.attributes(n, s)
	case covered && (!known || s.text == freeText && isXAdES(n.Name.Space)):
		p.values(n, p.covering().nodes, !known)
	}
	p.children(n, false, p.structure)
}

// object handles a ds:Object. The qualifying properties belong to the signature, and so do a
// manifest and signature properties that are signed. The rest is content. If the attributes are not
// signed, the signer must have said the same in a DataObjectFormat: programs take the type of what
// is in the Object from there.
func (p *partition) object(n *xmldom.Node) {
	by := p.covering().nodes
	for _, a := range n.Attrs() {
		says := func(said string) bool { return said == a.Value }
		differs := func(said string) bool { return said != a.Value }
		base64 := a.Name.Local == "Encoding" && a.Value == xmldsig.Base64
		known := a.IsID() && isWord(a.Value) || a.Name.Space == "" && (base64 || len(p.described(n, a, says).sigs) > 0)
		if !known && len(by.sigs) == 0 || len(p.described(n, a, differs).sigs) > 0 {
			p.content(func() string { return n.Path() + "/@" + a.Name.QName }, by)
		}
	}
	if by := p.covering().text; n.First == nil && len(by.sigs) > 0 { // an empty file
		p.content(n.Path, by)
	}
	p.children(n, false, func(c *xmldom.Node) {
		switch {
		case c.Kind == xmldom.Element && c.Name.Local == "QualifyingProperties" && isXAdES(c.Name.Space):
			p.structure(c)
		case c.Is(ds, "Manifest"), c.Is(ds, "SignatureProperties"):
			p.change(c, 1)
			signed := len(p.covering().nodes.sigs) > 0
			p.change(c, -1)
			if signed {
				p.structure(c)
			} else {
				p.visit(c)
			}
		default:
			p.visit(c)
		}
	})
}
