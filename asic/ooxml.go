package asic

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/xmldsig"
)

// A document of Word, Excel or PowerPoint is a package of parts (ISO/IEC 29500-2, ECMA-376 part 2).
// A reader starts with the relationships of the package and follows them from part to part;
// [Content_Types].xml has the type of each part. Signatures are over parts with their types, and
// over single relationships, so coverage is determined by following them as a reader would.

const (
	contentTypes = "[Content_Types].xml"
	packageRels  = "_rels/.rels"

	typesSpace = "http://schemas.openxmlformats.org/package/2006/content-types"

	relOrigin      = "http://schemas.openxmlformats.org/package/2006/relationships/digital-signature/origin"
	relCertificate = "http://schemas.openxmlformats.org/package/2006/relationships/digital-signature/certificate"
	relSignature   = "http://schemas.openxmlformats.org/package/2006/relationships/digital-signature/signature"
	typeSignature  = "application/vnd.openxmlformats-package.digital-signature-xmlsignature+xml"
	typeRels       = "application/vnd.openxmlformats-package.relationships+xml"
)

// nonContent are the relationships of a package to what is not content of the document: Office
// leaves properties and the thumbnail unsigned, since it rewrites them (only the last segments,
// since the strict form has other bases).
var nonContent = []string{
	"/metadata/core-properties", "/extended-properties", "/custom-properties", "/metadata/thumbnail",
	"/extendedProperties", "/customProperties", // ISO/IEC 29500-1, strict
}

// opc is an Office document that is being read.
type opc struct {
	*reader
	parts    map[string]*entry // by folded name
	defaults map[string]string // content types by folded extension
	types    map[string]string // content types by folded name
	rels     map[*entry][]xmldsig.Relationship
	shown    map[*entry]bool // parts that a reader loads
	links    []link          // relationships that a reader follows
	apart    map[*entry]bool // parts that are not content
	// properties are those of apart that the document may show, with their kinds.
	properties map[*entry]string
}

// link is a relationship that a reader follows.
type link struct {
	part *entry // of relationships
	id   string
}

// isOPC reports whether a ZIP is a package.
func (c *container) isOPC() bool {
	return c.byName[contentTypes] != nil && c.byName[packageRels] != nil
}

// fold is the form in which part names are compared: decoded, in lower case (clause 7.2.3).
func fold(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return strings.ToLower(strings.TrimPrefix(name, "/"))
}

// readOOXML reads the signatures of an Office document and determines what they cover.
func (r *reader) readOOXML(expect ades.Expectation) error {
	p := &opc{
		reader: r, parts: map[string]*entry{}, defaults: map[string]string{}, types: map[string]string{},
		rels: map[*entry][]xmldsig.Relationship{}, shown: map[*entry]bool{}, apart: map[*entry]bool{},
		properties: map[*entry]string{},
	}
	for _, e := range r.c.entries {
		if e.role == roleFolder {
			continue
		}
		e.role = roleData // META-INF has no meaning here
		switch other := p.parts[fold(e.name)]; {
		case other == nil:
			p.parts[fold(e.name)] = e
		case other.name != e.name:
			r.c.problem(finding.ZIPSameName.Problem(e.name, e.name, other.name))
		}
		if strings.HasSuffix(fold(e.name), ".piece") && strings.Contains(e.name, "/[") {
			r.c.problem(finding.OOXMLPieces.Problem(e.name))
		}
	}
	if err := p.readTypes(); err != nil {
		r.c.recordError(err)
		r.c.problem(finding.OOXMLTypes.Problem(contentTypes, err))
	}
	p.walk()
	r.lookup = p.part
	if err := r.signatures(); err != nil {
		return err
	}
	if err := r.form(); err != nil {
		return err
	}
	p.typed()
	return p.cover(expect)
}

// readTypes reads the types of the parts.
func (p *opc) readTypes() error {
	e := p.c.byName[contentTypes]
	p.apart[e] = true
	d, err := e.xml("OOXML")
	if err != nil {
		return err
	}
	if !d.Root().Is(typesSpace, "Types") {
		return fmt.Errorf("root element is %s", d.Root().Name.Local)
	}
	for n := range d.Root().Elements() {
		kind, key := p.defaults, fold(n.Attr("Extension"))
		if n.Is(typesSpace, "Override") {
			kind, key = p.types, fold(n.Attr("PartName"))
		} else if !n.Is(typesSpace, "Default") {
			return fmt.Errorf("element %s among the types", n.Name.Local)
		}
		if _, twice := kind[key]; twice || key == "" || len(n.Attrs()) != 2 {
			return fmt.Errorf("the type of %q is not said once", key)
		}
		kind[key] = n.Attr("ContentType")
	}
	return nil
}

func (p *opc) typeOf(e *entry) string {
	if t, ok := p.types[fold(e.name)]; ok {
		return t
	}
	return p.defaults[strings.TrimPrefix(fold(path.Ext(e.name)), ".")]
}

// relsOf is the part with the relationships of another one, or nil; those of the package if e is
// nil.
func (p *opc) relsOf(e *entry) *entry {
	if e == nil {
		return p.parts[packageRels]
	}
	dir, base := path.Split(fold(e.name))
	return p.parts[dir+"_rels/"+base+".rels"]
}

// relationships reads and caches those of a part.
func (p *opc) relationships(of *entry) []xmldsig.Relationship {
	e := p.relsOf(of)
	if e == nil {
		return nil
	}
	list, read := p.rels[e]
	if read {
		return list
	}
	d, err := e.xml("OOXML")
	if err == nil {
		list, err = xmldsig.Relationships(d)
	}
	if err != nil {
		p.c.recordError(err)
		p.c.problem(finding.OOXMLRelationships.Problem(e.name, err))
	}
	p.rels[e] = list
	return list
}

// target is the part that an internal relationship refers to, or nil.
func (p *opc) target(of *entry, r xmldsig.Relationship) *entry {
	to, err := url.Parse(r.Target)
	if err != nil || r.Mode != "Internal" {
		return nil
	}
	base := "/"
	if of != nil {
		base = path.Dir("/" + of.name)
	}
	name := to.EscapedPath()
	if to.Scheme != "" || to.Host != "" {
		return nil
	}
	if !strings.HasPrefix(name, "/") {
		name = path.Join(base, name)
	}
	return p.parts[fold(path.Clean(name))]
}

// walk follows the relationships to every part that a reader loads. It also finds the signatures
// and the parts used only for them.
func (p *opc) walk() {
	for _, r := range p.relationships(nil) {
		e := p.target(nil, r)
		switch {
		case r.Type == relOrigin:
			p.origin(e)
		case slices.ContainsFunc(nonContent, func(s string) bool { return strings.HasSuffix(r.Type, s) }) && r.Mode == "Internal":
			if e != nil && p.relsOf(e) == nil {
				p.apart[e] = true
				for _, kind := range []string{coreProperties, extendedProperties, customProperties} {
					if strings.Contains(path.Base(r.Type), kind) {
						p.properties[e] = kind
					}
				}
			} else if e != nil {
				p.visit(e)
			}
		default:
			p.links = append(p.links, link{p.relsOf(nil), r.ID})
			p.visit(e)
		}
	}
	p.apart[p.relsOf(nil)] = true
	for _, e := range p.c.entries {
		switch {
		case e.role == roleFolder:
		case p.shown[e]:
			delete(p.apart, e)
		case p.typeOf(e) == typeSignature: // without a relationship to it
			e.role, p.apart[e] = roleXML, true
		case strings.HasPrefix(e.name, "[trash]/"): // clause 8.3.3.3: removed parts, which are never read
			p.apart[e] = true
		}
	}
}

// origin records the signatures of the package.
func (p *opc) origin(e *entry) {
	if e == nil {
		return
	}
	p.apart[e] = true
	for _, r := range p.relationships(e) {
		s := p.target(e, r)
		if s == nil || r.Type != relSignature {
			continue
		}
		s.role, p.apart[s] = roleXML, true
		for _, r := range p.relationships(s) {
			if c := p.target(s, r); c != nil && r.Type == relCertificate {
				p.apart[c] = true
			}
		}
		if rels := p.relsOf(s); rels != nil {
			p.apart[rels] = true
		}
	}
	if rels := p.relsOf(e); rels != nil {
		p.apart[rels] = true
	}
}

// visit records a part that a reader loads, and follows its relationships.
func (p *opc) visit(e *entry) {
	if e == nil || p.shown[e] {
		return
	}
	p.shown[e] = true
	for _, r := range p.relationships(e) {
		p.links = append(p.links, link{p.relsOf(e), r.ID})
		p.visit(p.target(e, r))
	}
	if rels := p.relsOf(e); rels != nil {
		p.apart[rels] = true // its relationships count individually
	}
}

// part finds the part of a reference: a name with the content type as query.
func (p *opc) part(uri string) *entry {
	name, _, _ := strings.Cut(uri, "?")
	return p.parts[fold(name)]
}

// typed compares the part types in signatures with those of the package: a part of another type is
// loaded differently.
func (p *opc) typed() {
	for _, s := range p.doc.Signatures {
		for i := range s.References {
			ref := &s.References[i]
			e := p.part(ref.URI)
			if ref.Kind != "manifest-entry" || e == nil {
				continue
			}
			_, query, _ := strings.Cut(ref.URI, "?")
			said, ok := strings.CutPrefix(query, "ContentType=")
			if plain, err := url.PathUnescape(said); err == nil {
				said = plain
			}
			ref.MediaType = said
			is := p.typeOf(e)
			if is == "" && strings.HasSuffix(fold(e.name), ".rels") {
				is = typeRels
			}
			if !ok || !strings.EqualFold(said, is) {
				fatal(s, finding.OOXMLTypeDiffers.Problem(e.name, e.name))
			}
		}
	}
}

// cover records the parts of the document and the signatures that cover each: the parts that a
// reader loads, the relationships that lead there, and all other files of the package, since not
// every reader uses relationships.
func (p *opc) cover(expect ades.Expectation) error {
	type sigs = map[*ades.Signature]bool
	parts, links := map[*entry]sigs{}, map[link]sigs{}
	for _, s := range p.doc.Signatures {
		for e := range coveredBy(s) {
			if parts[e] == nil {
				parts[e] = sigs{}
			}
			parts[e][s] = true
		}
		for _, ref := range s.References {
			for _, id := range ref.Relationships {
				l := link{p.part(ref.URI), id}
				if links[l] == nil {
					links[l] = sigs{}
				}
				links[l][s] = true
			}
		}
	}
	if err := p.showProperties(parts); err != nil {
		return err
	}
	missed, data := sigs{}, sigs{}
	note := func(name string, by sigs) {
		part := ades.Part{Kind: ades.FilePart, Name: name, Expected: expect.File != "" && name == expect.File}
		for _, s := range p.doc.Signatures {
			if by[s] {
				part.CoveredBy = append(part.CoveredBy, s.ID)
			} else {
				missed[s] = true
			}
		}
		p.doc.Parts = append(p.doc.Parts, part)
		if len(part.CoveredBy) == 0 && len(p.doc.Signatures) > 0 {
			p.problem(finding.OOXMLNotCovered.Problem(name))
		}
	}
	names := 0
	for _, e := range p.c.entries {
		names += len(e.name)
	}
	for _, l := range p.links {
		names += len(l.part.name) + len(l.id)
	}
	if err := p.spendParts(names, len(p.c.entries)+len(p.links)); err != nil {
		return err
	}
	for _, e := range p.c.entries {
		if e.role == roleFolder || p.apart[e] || p.c.byName[e.name] != e {
			continue
		}
		note(e.name, parts[e])
		for s := range parts[e] {
			data[s] = true
		}
	}
	for _, l := range p.links {
		note(l.part.name+"#"+l.id, links[l])
	}
	for _, name := range p.loose { // Office shows a picture, a text and comments from its signatures
		note(name, nil)
	}
	for _, s := range p.doc.Signatures {
		s.ContentIsWhole = s.Intact() == ades.Yes && !missed[s]
		s.Content = nil
		if s.Intact() == ades.Yes && !ades.Fatal(s.Problems) && !data[s] {
			fatal(s, finding.ASiCCoversNothing.Problem(""))
		}
	}
	return nil
}
