package xades

import (
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/xmldom"
)

// isSignedProperties reports whether a reference type is that of the signed properties, in any
// version.
func isSignedProperties(typ string) bool {
	return strings.HasPrefix(typ, "http://uri.etsi.org/01903") && strings.HasSuffix(typ, "SignedProperties")
}

// findProperties finds the SignedProperties that the signature actually signs. They are located by
// the reference, must be in an Object of this signature, and must refer to it; otherwise those of
// another signature could be substituted.
func (s *sigReader) findProperties() {
	for _, r := range s.x.References {
		n, err := s.x.Subject(r)
		if err != nil || n.Kind != xmldom.Element || n.Name.Local != "SignedProperties" {
			if isSignedProperties(r.Type) && err == nil {
				s.problem(finding.XMLPropertiesElsewhere, r.Node)
			}
			continue
		}
		if !isXAdES(n.Name.Space) {
			s.problem(finding.XMLPropertiesNamespace, n)
			continue
		}
		if s.signed != nil {
			s.problem(finding.XMLPropertiesTwice, r.Node)
			return
		}
		if !s.checkPlace(n) {
			return
		}
		s.signed, s.space = n, n.Name.Space
		s.sig.Format = ades.XAdES
		s.unsigned = n.Parent.Find(s.space, "UnsignedProperties", "UnsignedSignatureProperties")
	}
	switch n := s.properties(); {
	case s.signed == nil && n > 0:
		s.problem(finding.XMLPropertiesUnsigned, s.x.Node)
	case n > 1: // readers that locate them by position would take the wrong ones
		s.problem(finding.XMLPropertiesSeveral, s.x.Node)
	}
}

// checkPlace checks that SignedProperties are where they must be.
func (s *sigReader) checkPlace(n *xmldom.Node) bool {
	qp := n.Parent
	if !qp.Is(n.Name.Space, "QualifyingProperties") || !qp.Parent.Is(ds, "Object") || qp.Parent.Parent != s.x.Node {
		s.problem(finding.XMLPropertiesOutside, n)
		return false
	}
	// Target is not signed, and the reference already binds the properties to this signature: a
	// differently written Id, or none, is harmless.
	target, id := qp.Attr("Target"), s.x.Node.Attr("Id")
	switch {
	case id != "" && target == "#"+id:
	case target == "", id != "" && strings.EqualFold(fragment(target), id):
		s.problem(finding.XMLPropertiesTarget, qp, target)
	default:
		s.problem(finding.XMLPropertiesOther, qp)
		return false
	}
	return true
}

// fragment is the Id in a URI, tolerating a missing # and white space.
func fragment(uri string) string {
	_, after, ok := strings.Cut(uri, "#")
	if !ok {
		after = uri
	}
	return strings.TrimSpace(decodeURI(after))
}

// properties counts the QualifyingProperties in the signature's objects.
func (s *sigReader) properties() int {
	n := 0
	for _, o := range s.x.Objects {
		for c := range o.Elements() {
			if c.Name.Local == "QualifyingProperties" && isXAdES(c.Name.Space) {
				n++
			}
		}
	}
	return n
}

// readSigned reads the signed properties.
func (s *sigReader) readSigned() {
	if s.signed == nil {
		return
	}
	ssp := s.signed.Child(s.space, "SignedSignatureProperties")
	if t := ssp.Child(s.space, "SigningTime"); t != nil {
		when, ok := dateTime(t.Text())
		if !ok {
			s.problem(finding.XMLSigningTime, t)
		}
		s.sig.ClaimedTime = when
	}
	if p := ssp.Child(s.space, "SignaturePolicyIdentifier"); p != nil {
		id := p.Find(s.space, "SignaturePolicyId", "SigPolicyId", "Identifier")
		s.sig.Policy = &ades.SignaturePolicy{
			ID:      strings.TrimSpace(id.Text()),
			Implied: p.Child(s.space, "SignaturePolicyImplied") != nil,
		}
	}
	for _, name := range []string{"SignatureProductionPlace", "SignatureProductionPlaceV2"} {
		var lines []string
		for c := range ssp.Child(s.space, name).Elements() {
			if text := strings.TrimSpace(c.Text()); text != "" {
				lines = append(lines, text)
			}
		}
		if len(lines) > 0 {
			s.sig.Location = strings.Join(lines, ", ")
		}
	}
	for _, c := range s.signed.Child(s.space, "SignedDataObjectProperties").Children(s.space, "CommitmentTypeIndication") {
		if id := c.Find(s.space, "CommitmentTypeId", "Identifier"); id != nil {
			s.sig.Commitments = append(s.sig.Commitments, strings.TrimSpace(id.Text()))
		}
	}
	s.readFormats()
}

// readFormats reads which references have a DataObjectFormat. One that is empty, refers to nothing,
// or contradicts its object (EN 319 132-1, 5.2.4) does not count.
func (s *sigReader) readFormats() {
	s.formats = map[string]*xmldom.Node{}
	for _, f := range s.signed.Child(s.space, "SignedDataObjectProperties").Children(s.space, "DataObjectFormat") {
		id, local := strings.CutPrefix(f.Attr("ObjectReference"), "#")
		said := f.Child(s.space, "MimeType") != nil || f.Child(s.space, "Description") != nil || f.Child(s.space, "ObjectIdentifier") != nil
		ref := s.referenceByID(id)
		if !local || !said || ref == nil || s.contradicts(f, ref) {
			s.count(attrBadFormat, true, 1)
		}
		if f.Child(s.space, "MimeType") != nil {
			s.formats[id] = f
		}
	}
}

// referenceByID looks in SignedInfo and in manifests.
func (s *sigReader) referenceByID(id string) *xmldom.Node {
	n, err := s.doc.ByID(id)
	if err != nil || !n.Is(ds, "Reference") || !s.x.Node.Contains(n) {
		return nil
	}
	return n
}

// contradicts reports whether a DataObjectFormat gives another type or encoding than the ds:Object
// of its reference.
func (s *sigReader) contradicts(format, ref *xmldom.Node) bool {
	id, local := strings.CutPrefix(ref.Attr("URI"), "#")
	object, err := s.doc.ByID(id)
	if !local || err != nil || !object.Is(ds, "Object") || !s.x.Node.Contains(object) {
		return false
	}
	for _, name := range []string{"MimeType", "Encoding"} {
		said, own := format.Child(s.space, name), object.Attr(name)
		if said != nil && own != "" && said.Text() != own {
			return true
		}
	}
	return false
}

// dateTime parses xs:dateTime; a time without zone is UTC.
func dateTime(text string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// facts lists the attributes and properties present, by their standard names. Level uses nothing
// else.
func (s *sigReader) facts() {
	s.count("KeyInfo", s.keyInfoSigned(), boolInt(s.x.KeyInfo != nil))
	s.count(attrUnformatted, true, s.missing)
	for _, group := range []struct {
		in     *xmldom.Node
		signed bool
	}{
		{s.signed.Child(s.space, "SignedSignatureProperties"), true},
		{s.signed.Child(s.space, "SignedDataObjectProperties"), true},
		{s.unsigned, false},
	} {
		for p := range group.in.Elements() {
			s.count(propertyName(p), group.signed, 1)
		}
	}
}

// attrUnformatted counts the references without a DataObjectFormat, which a baseline signature must
// not have.
const attrUnformatted = "Reference-without-DataObjectFormat"

// attrBadFormat counts DataObjectFormat elements that are empty or wrong.
const attrBadFormat = "DataObjectFormat-invalid"

// propertyName is the local name; the archive time-stamps of 1.3.2 and 1.4.1, which share a name,
// are distinguished.
func propertyName(p *xmldom.Node) string {
	if p.Name.Local == "ArchiveTimeStamp" && p.Name.Space != ns141 {
		return "ArchiveTimeStamp-1.3.2"
	}
	return p.Name.Local
}

func (s *sigReader) count(name string, signed bool, n int) {
	if n == 0 {
		return
	}
	for i := range s.sig.Attributes {
		if a := &s.sig.Attributes[i]; a.Name == name && a.Signed == signed {
			a.Values += n
			return
		}
	}
	s.sig.Attributes = append(s.sig.Attributes, ades.Attribute{Name: name, Signed: signed, Values: n})
}

// keyInfoSigned reports whether a reference covers KeyInfo.
func (s *sigReader) keyInfoSigned() bool {
	if s.x.KeyInfo == nil {
		return false
	}
	for _, r := range s.x.References {
		if n, _, same, err := s.x.Target(r); same && err == nil && n.Kind == xmldom.Element && n.Contains(s.x.KeyInfo) {
			return s.x.Includes(r, s.x.KeyInfo)
		}
	}
	return false
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
