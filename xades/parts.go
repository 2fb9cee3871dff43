package xades

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// parts records which signatures cover which parts of the document, and of the element that the
// caller relies on.
func (r *reader) parts(element string) error {
	var covers []cover
	for i, s := range r.tops {
		for _, g := range s.regions {
			covers = append(covers, cover{i, g})
		}
	}
	p := newPartition(r.ctx, r.out.Signatures, r.found, covers)
	p.subjects = sync.OnceValue(r.subjects)
	for i, s := range r.tops {
		if s.x != nil && s.x.SignedInfo != nil {
			p.signedInfo(s.x.SignedInfo, i)
		}
	}
	for _, c := range r.counters {
		p.counters = append(p.counters, counter{c.x.Node, &xmldsig.Region{Set: xmldsig.NodeSet{Apex: c.x.SignedInfo}}, c.signer})
		for _, g := range c.regions {
			p.counters = append(p.counters, counter{c.x.Node, g.region, nil})
		}
	}
	var missing error
	if element != "" {
		p.expected, missing = r.expected(element)
	}
	p.prepare(r.doc)
	p.visit(r.doc.Node)
	if p.err != nil {
		return p.err
	}
	r.out.Parts = append(r.out.Parts, p.whole.all()...)
	for _, part := range p.whole.uncovered {
		if strings.Contains(part.Name, "/@xmlns") {
			r.out.Problems = append(r.out.Problems, finding.XMLPrefixNotSigned.Problem(part.Name))
			break
		}
	}
	switch wanted := p.wanted.all(); {
	case element == "":
	case missing != nil || len(wanted) == 0:
		r.out.Parts = append(r.out.Parts, ades.Part{Kind: ades.XMLPart, Name: element, Expected: true})
		if missing != nil {
			r.out.Problems = append(r.out.Problems, finding.XMLExpectedMissing.Problem("", missing))
		}
	default:
		if len(wanted) == 1 {
			wanted[0].Name = p.expected.Path()
		}
		for i := range wanted {
			wanted[i].Expected = true
		}
		r.out.Parts = append(r.out.Parts, wanted...)
	}
	r.rejectSelfSigned(p)
	r.hidden()
	return nil
}

// keyNames are the names that the key of a signer may have: the subject and the issuer.
func keyNames(c *pkix.Certificate) (out []pkix.Name) {
	for _, raw := range [][]byte{c.RawSubject, c.RawIssuer} {
		if n, err := pkix.ParseName(raw); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// subjects are the names of the signers and of their issuers, and those in the caller's
// certificates. Other certificates of the document may be anybody's.
func (r *reader) subjects() []pkix.Name {
	var out []pkix.Name
	add := func(c *pkix.Certificate) {
		if len(out) < maxSubjects {
			out = append(out, keyNames(c)...)
		}
	}
	for _, s := range r.tops {
		if s.signer != nil {
			add(s.signer)
		}
	}
	for _, raw := range r.known {
		if c, err := pkix.ParseCertificate(raw); err == nil {
			add(c)
		}
	}
	return out
}

// maxSubjects bounds the names that a text is compared with.
const maxSubjects = 256

// hidden rejects signed content inside a signature where no reader looks for it: in the key, or in
// an Object while the same signature signs elements of the document outside. Moving it there hides
// it from readers of the document while the digest still matches.
func (r *reader) hidden() {
	for _, s := range r.tops {
		if s.x == nil {
			continue
		}
		outside := slices.ContainsFunc(s.regions, func(g signedRegion) bool {
			top := g.region.Top()
			return top == nil || enclosing(top) == nil
		})
		for _, g := range s.regions {
			if g.region.Set.Keep != nil && g.region.Top() == nil {
				for _, n := range g.region.Set.Keep {
					s.conceals(n, true)
				}
			} else if top := g.region.Top(); top != nil {
				s.conceals(top, outside)
			}
		}
	}
}

// conceals adds the problem for one signed node.
func (s *sigReader) conceals(n *xmldom.Node, outside bool) {
	if n.Kind != xmldom.Element || n.Is(ds, "Object") {
		return
	}
	if _, known := shapeOf(n); known || n.Name.Space == ds { // DigiDoc has its properties there
		return // the signature itself
	}
	if in := enclosing(n); in != nil && (outside || !in.Is(ds, "Object")) {
		s.problem(finding.XMLHiddenInSignature, n)
	}
}

// enclosing is the child of a signature that contains a node, or nil.
func enclosing(n *xmldom.Node) *xmldom.Node {
	for ; n != nil && n.Parent != nil; n = n.Parent {
		if n.Parent.Is(ds, "Signature") {
			return n
		}
	}
	return nil
}

// expected finds the element named by the caller, an Id or an XPath. A name with the characters of
// a path is an XPath: a document may give any Id to anything.
func (r *reader) expected(name string) (*xmldom.Node, error) {
	if !strings.ContainsAny(name, "/([*:@") {
		return r.doc.ByID(strings.TrimPrefix(name, "#"))
	}
	found, _, err := r.doc.SelectContext(r.ctx, name, nil, false)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, errors.New("the path selects nothing")
	case len(found) > 1:
		return nil, errors.New("the path selects more than one")
	}
	return found[0], nil
}

// rejectSelfSigned rejects signatures that only sign themselves: their own properties, key or
// value. They could be copied into any document.
func (r *reader) rejectSelfSigned(p *partition) {
	parts := r.covered()
	for i, s := range r.tops {
		if s.x == nil || len(s.sig.References) == 0 {
			continue
		}
		own := !s.elsewhere && parts[p.ids[i]] == 0
		for _, ref := range s.sig.References {
			own = own && ref.Intact == ades.Yes // otherwise it is not valid anyway
		}
		for _, g := range s.regions {
			if top := g.region.Top(); top != nil && !s.x.Node.Contains(top) && len(p.whole.uncovered) == 0 {
				own = false // over another signature
			}
		}
		if own {
			s.problem(finding.XMLSignsItself, s.x.Node)
		}
	}
}

// fileParts records which signatures cover the files given beside the document. A file that was not
// signed is an uncovered part, and so is an entry of a signed manifest that is not available.
func (r *reader) fileParts() {
	for _, s := range r.tops {
		for _, name := range s.absent {
			r.out.Parts = append(r.out.Parts, ades.Part{Kind: ades.FilePart, Name: name})
		}
	}
	for i := range r.files.files {
		f := &r.files.files[i]
		part := ades.Part{Kind: ades.FilePart, Name: f.Name}
		for _, s := range r.tops {
			if slices.ContainsFunc(s.sig.Content, func(c ades.File) bool { return c == *f }) || s.holds(f) {
				part.CoveredBy = append(part.CoveredBy, s.sig.ID)
			}
		}
		r.out.Parts = append(r.out.Parts, part)
	}
}

// holds reports whether a file is content of the signature itself: the same octets, or the same
// document after canonicalisation.
func (s *sigReader) holds(f *ades.File) bool {
	if s.x == nil {
		return false
	}
	for _, r := range s.x.References {
		h, ok := xmldsig.HashByURI(r.DigestURI)
		g, err := s.x.Region(r)
		if !ok || err != nil {
			continue
		}
		w := h.New()
		if s.x.Charge(f.Source.Size()) != nil {
			return false
		}
		if _, err := io.Copy(w, io.NewSectionReader(f.Source, 0, f.Source.Size())); err == nil && bytes.Equal(w.Sum(nil), r.Digest) {
			return true
		}
		if g.Text || isWebPage(f) || !LooksLikeXML(f.Source) {
			continue
		}
		if doc, err := parse(s.ctx, f.Source); err == nil {
			w.Reset()
			err = xmldsig.Canonicalize(w, xmldsig.NodeSet{Apex: doc.Node, Comments: g.Set.Comments}, g.Method)
			doc.Release()
			if err == nil && bytes.Equal(w.Sum(nil), r.Digest) && s.x.WholeXML(f.Source, g.Method, g.Comments) {
				return true
			}
		}
	}
	return false
}

// markWhole marks the signatures that cover every part, and also the ancestors of what they sign:
// these are not content (an element that only contains others says nothing itself), but their names
// could be changed.
func (r *reader) markWhole() {
	parts := r.covered()
	for i, s := range r.out.Signatures {
		s.ContentIsWhole = s.Intact() == ades.Yes && len(r.out.Parts) > 0 && parts[s.ID] == len(r.out.Parts)
		if around := r.tops[i].around(); around != nil && s.ContentIsWhole {
			s.ContentIsWhole = false
			r.tops[i].problem(finding.XMLStandsInUnsigned, around, around.Path())
		}
	}
}

// around is an unsigned ancestor of what a signature signs, or nil. The root of an internally
// detached signature does not count, since its name is fixed.
func (s *sigReader) around() *xmldom.Node {
	covers := func(n *xmldom.Node) bool {
		return slices.ContainsFunc(s.regions, func(g signedRegion) bool { return g.region.Holds(n) })
	}
	for _, g := range s.regions {
		tops := g.region.Set.Keep
		if tops == nil {
			tops = []*xmldom.Node{g.region.Set.Apex}
		}
		for _, top := range tops {
			if top.Kind != xmldom.Element {
				continue
			}
			if _, own := shapeOf(top); own && !top.Is(ds, "Object") {
				continue
			}
			for n := top.Parent; n != nil && n.Kind == xmldom.Element && !covers(n); n = n.Parent {
				detached := n.Parent == s.doc.Node && n.Name.Local == "internally-detached" && n.Name.Space == ""
				if _, own := shapeOf(n); !own && !detached {
					return n
				}
			}
		}
	}
	return nil
}

// covered counts the parts that each signature covers.
func (r *reader) covered() map[string]int {
	parts := map[string]int{}
	for _, p := range r.out.Parts {
		for _, id := range p.CoveredBy {
			parts[id]++
		}
	}
	return parts
}
