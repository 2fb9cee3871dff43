package asic

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/xmldom"
)

// A Word document can show properties of the package: in a control that is bound to one
// (w:dataBinding), and in a field (TITLE, DOCPROPERTY). Programs put the value of the property in
// place of the text that stands there, and Office signs the text, but not the properties. So a part
// with properties is content if the document shows something else from it than what was signed.

// The kinds of properties, as in the types of the relationships to them.
const (
	coreProperties     = "core"
	extendedProperties = "extended"
	customProperties   = "custom"
)

// place is where a document shows a property.
type place struct {
	kind, name string
	text       strings.Builder // that was signed
	end        uint32          // of the element; zero for a field in pieces
	code       strings.Builder // of a field
	coded      bool            // the code is complete
	hint       bool            // the text is a placeholder: the property was empty
}

// stores are the identifiers of properties as sources of bound controls.
var stores = map[string]string{
	"{6c3c8bc8-f283-45ae-878a-bab7291924a1}": coreProperties,
	"{6668398d-a668-4e3e-a5eb-62b293d839f1}": extendedProperties,
}

var (
	lastStep  = regexp.MustCompile(`([\w.-]+)(?:\[1\])?$`)
	fieldCode = regexp.MustCompile(`^\s*(\w+)(?:\s+(?:"([^"]*)"|([^\s"\\]+)))?`)
)

// wellKnown are the names of properties in fields.
var wellKnown = map[string]place{
	"title":    {kind: coreProperties, name: "title"},
	"subject":  {kind: coreProperties, name: "subject"},
	"author":   {kind: coreProperties, name: "creator"},
	"keywords": {kind: coreProperties, name: "keywords"},
	"comments": {kind: coreProperties, name: "description"},
	"category": {kind: coreProperties, name: "category"},
	"company":  {kind: extendedProperties, name: "Company"},
	"manager":  {kind: extendedProperties, name: "Manager"},
}

// named sets the property by the code of the field. Dates and counters, which change whenever a
// document is saved, are none.
func (p *place) named() {
	m := fieldCode.FindStringSubmatch(p.code.String())
	if m == nil {
		return
	}
	name := strings.ToLower(m[1])
	general := name == "docproperty" || name == "info"
	if general {
		name = strings.ToLower(m[2] + m[3])
	}
	switch known, ok := wellKnown[name]; {
	case ok:
		p.kind, p.name = known.kind, known.name
	case general:
		p.kind, p.name = customProperties, name
	}
}

// Bounds on the places within others and in a document. If there are more, all properties count.
const (
	maxOpen   = 32
	maxPlaces = 1 << 16
)

// placesIn returns the places in a part.
func placesIn(d *xmldom.Document) []*place {
	var s search
	for n := range d.Root().All() {
		if len(s.found) > maxPlaces {
			return s.found
		}
		if n.Kind == xmldom.Element {
			s.element(n)
		}
	}
	for _, p := range s.found {
		if p.name == "" {
			p.named()
		}
	}
	return slices.DeleteFunc(s.found, func(p *place) bool { return p.name == "" })
}

// search is where placesIn is.
type search struct {
	found            []*place
	elements, fields []*place // that the current element is in
	deeper           int      // fields beyond the bound
}

func (s *search) element(n *xmldom.Node) {
	for len(s.elements) > 0 && s.elements[len(s.elements)-1].end <= n.Start {
		s.elements = s.elements[:len(s.elements)-1]
	}
	switch n.Name.Local {
	case "dataBinding":
		if p := bound(n); p != nil {
			s.within(p, n.Parent.Parent)
		}
	case "fldSimple":
		p := new(place)
		p.code.WriteString(localAttr(n, "instr"))
		s.within(p, n)
	case "fldChar":
		s.mark(localAttr(n, "fldCharType"))
	case "instrText":
		if len(s.fields) > 0 && s.deeper == 0 && !s.fields[len(s.fields)-1].coded {
			s.fields[len(s.fields)-1].code.WriteString(n.Text())
		}
	case "t":
		for _, p := range slices.Concat(s.elements, s.fields) {
			if !p.hint && (p.coded || p.end > 0) {
				p.text.WriteString(n.Text())
			}
		}
	}
}

// within adds a place that is an element.
func (s *search) within(p *place, n *xmldom.Node) {
	if p.end = n.End; len(s.elements) < maxOpen {
		s.elements, s.found = append(s.elements, p), append(s.found, p)
	}
}

// mark is a character at which a field begins, its code ends, or it ends.
func (s *search) mark(kind string) {
	switch {
	case kind == "begin" && len(s.fields) == maxOpen:
		s.deeper++
	case kind == "begin":
		p := new(place)
		s.fields, s.found = append(s.fields, p), append(s.found, p)
	case kind == "end" && s.deeper > 0:
		s.deeper--
	case len(s.fields) == 0 || s.deeper > 0:
	case kind == "separate":
		s.fields[len(s.fields)-1].coded = true
	case kind == "end":
		s.fields = s.fields[:len(s.fields)-1]
	}
}

// bound is the place of a control that is bound to a property, or nil.
func bound(n *xmldom.Node) *place {
	kind := stores[strings.ToLower(localAttr(n, "storeItemID"))]
	step := lastStep.FindStringSubmatch(localAttr(n, "xpath"))
	if kind == "" || step == nil || n.Parent == nil || n.Parent.Parent == nil {
		return nil
	}
	p := &place{kind: kind, name: step[1]}
	for c := range n.Parent.Elements() {
		p.hint = p.hint || c.Name.Local == "showingPlcHdr" && !slices.Contains([]string{"0", "false", "off"}, localAttr(c, "val"))
	}
	return p
}

// localAttr is an attribute by its local name: those of Word have a namespace.
func localAttr(n *xmldom.Node, local string) string {
	for _, a := range n.Attrs() {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// showProperties makes content of the properties that the document shows otherwise than signed. Of
// the parts only those count that are signed: others make the document valid for a part.
func (p *opc) showProperties(signed map[*entry]map[*ades.Signature]bool) error {
	if len(p.properties) == 0 {
		return nil
	}
	var places []*place
	for e := range signed {
		if t := p.typeOf(e); !p.shown[e] || len(places) > maxPlaces || !strings.HasSuffix(t, "xml") || strings.Contains(t, "glossary") || e.Size() > limits.ZIPMeta {
			continue // the glossary has building blocks, which are not shown
		}
		b, err := e.bytes()
		if errors.Is(err, errBomb) {
			return err
		}
		if err != nil || !bytes.Contains(b, []byte("dataBinding")) && !bytes.Contains(b, []byte("instr")) {
			continue // a part that cannot be read is not intact either
		}
		if d, err := xmldom.ParseContext(p.ctx, string(b), xmldom.Limits{}); err == nil {
			places = append(places, placesIn(d)...)
			d.Release()
		} else {
			p.c.recordError(err)
		}
	}
	for e, kind := range p.properties {
		mine := slices.DeleteFunc(slices.Clone(places), func(w *place) bool { return w.kind != kind })
		if len(mine) == 0 && len(places) <= maxPlaces {
			continue
		}
		d, err := e.xml("OOXML")
		if err != nil {
			p.c.recordError(err)
		}
		if err != nil || len(places) > maxPlaces || differs(d, mine) {
			delete(p.apart, e)
		}
	}
	return nil
}

// differs reports whether the properties of a part are others than the text in their places.
func differs(d *xmldom.Document, places []*place) bool {
	signed, found := map[string]string{}, map[string]bool{}
	for _, p := range places {
		text := squeezed(p.text.String())
		if other, ok := signed[p.name]; ok && other != text {
			return true
		}
		signed[p.name] = text
	}
	for n := range d.Root().All() {
		if n.Kind != xmldom.Element {
			continue
		}
		name := n.Name.Local
		if name == "property" { // by the user
			name = strings.ToLower(localAttr(n, "name"))
		}
		if text, ok := signed[name]; ok && squeezed(n.Text()) != text {
			return true
		}
		found[name] = true
	}
	for name, text := range signed {
		// One by the user that is missing shows no other value: the field says that there is none.
		if !found[name] && text != "" && places[0].kind != customProperties {
			return true
		}
	}
	return false
}

// squeezed is text without case and white space, which a field may format.
func squeezed(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(strings.ToLower(s), "_x000d_", "")), "")
}
