package revision

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// requests are the names by which content uses resources that it does not have itself. Readers look
// for those in the resources of what uses it, or nowhere. They are gathered in one pass over
// everything that can draw, from the raw bytes: anything after a slash may be a name, because
// readers differ in where a string, a comment or an inline image ends.
type requests struct {
	m       *model
	missing map[pdf.Name]uint8 // categories, as bits, in which the name is used
	spaces  map[pdf.Name]bool  // names in dictionaries, where pictures and shadings refer to colour spaces
	all     bool               // something cannot be read: any name may be used
	seen    map[visited]bool
}

// visited is an object and how it was interpreted.
type visited struct {
	num int
	as  use
}

// use says how a value is interpreted. It never depends on the keys of resource dictionaries, since
// the author chooses them.
type use int

const (
	asAnything   use = iota // a stream may be content
	asResources             // a resource dictionary (ISO 32000-2, 7.8.3)
	asCategory              // one of its parts, or the states of an appearance
	asFonts                 // the part Font
	asObjects               // the part XObject
	asAppearance            // an appearance dictionary
	asFont
	asObject
	asData // a picture, a font file, a profile: no stream is content
)

// categories of resources, each a bit of [requests.missing].
var categories = []pdf.Name{"Font", "XObject", "ExtGState", "ColorSpace", "Pattern", "Shading", "Properties"}

const anyCategory = 0xFF

func newRequests(m *model) *requests {
	return &requests{m: m, missing: make(map[pdf.Name]uint8), spaces: make(map[pdf.Name]bool), seen: make(map[visited]bool)}
}

// pageRequests gathers the names used by a page, its resources and its annotations.
func (m *model) pageRequests(p *page) *requests {
	r := newRequests(m)
	r.contents(p.dict.Get("Contents"))
	r.visit(p.dict.Get("Group"), asData, 0)
	r.visit(p.attrs.Get("Resources"), asResources, 0)
	r.visit(p.up.Get("Resources"), asResources, 0)
	for _, a := range p.annots {
		if a.dict != nil {
			r.appearance(a.dict)
		}
	}
	return r
}

// formRequests gathers the names looked up in the default resources of the form: by default
// appearance strings, and by appearances.
func (m *model) formRequests() *requests {
	r := newRequests(m)
	form := m.form.Get("DA")
	da := func(o pdf.Object) {
		if o == nil {
			o = form
		}
		r.scan(m.doc.StringBytes(o))
	}
	drawn := m.drawn()
	for _, f := range drawn {
		if len(f.widgets) == 0 {
			da(f.attrs.Get("DA"))
		}
		for _, w := range f.widgets {
			if o := w.dict.Get("DA"); o != nil {
				da(o)
			} else {
				da(f.attrs.Get("DA"))
			}
		}
	}
	for _, f := range m.fields {
		for _, w := range f.widgets {
			r.appearance(w.dict)
		}
	}
	for _, p := range m.pages {
		for _, a := range p.annots {
			if a.dict == nil {
				continue
			}
			if up := m.climbDA(a.dict); up != nil && m.writes(a.dict) {
				da(up)
			}
			if m.widgets[a.num] != nil && a.num != 0 {
				continue
			}
			r.appearance(a.dict)
			if a.dict.Get("DA") != nil || m.writes(a.dict) {
				da(a.dict.Get("DA"))
			}
		}
	}
	return r
}

// climbDA is the default appearance found via Parent, which some readers use if the annotation has
// none.
func (m *model) climbDA(d *pdf.Dict) pdf.Object {
	if d.Get("DA") != nil {
		return nil
	}
	for range 32 {
		up, err := m.doc.Dict(d.Get("Parent"))
		if err != nil || up == nil || !m.work.step() {
			return nil
		}
		if d = up; d.Get("DA") != nil {
			return d.Get("DA")
		}
	}
	return nil
}

// writes reports whether an annotation is drawn from a default appearance string (ISO 32000-2,
// 12.5.6.6 and 12.5.6.23).
func (m *model) writes(d *pdf.Dict) bool {
	kind := m.doc.Name(d.Get("Subtype"))
	return kind == "FreeText" || kind == "Redact" || kind == "Widget"
}

// asks reports whether anything may use a resource of that name.
func (r *requests) asks(category, name pdf.Name) bool {
	if r.all || !plainName(name) || category == "ColorSpace" && (r.spaces[name] || strings.HasPrefix(string(name), "Default")) {
		return true
	}
	bit := uint8(1 << 7)
	if i := slices.Index(categories, category); i >= 0 {
		bit = 1 << i
	}
	for i := 1; i <= len(name); i++ {
		if r.missing[name[:i]+"{"] != 0 {
			return true
		}
	}
	return r.missing[name]&bit != 0
}

// plainName reports whether all readers parse a name alike.
func plainName(n pdf.Name) bool {
	return n != "" && len(n) < 100 && !strings.ContainsAny(string(n), "\x00{}#")
}

// data returns the data of a stream. Exceeding the budget is recorded, as it does not mean that the
// data is unreadable.
func (m *model) data(s *pdf.Stream) ([]byte, bool) {
	b, err := m.doc.Data(s)
	if errors.Is(err, limits.ErrBudget) || m.work.ctx.Err() != nil {
		m.work.over = true
	}
	return b, err == nil && m.work.spend(len(b)/256)
}

// contents scans the content of a page, whose parts some readers join with a line break and others
// directly (ISO 32000-2, 7.8.2).
func (r *requests) contents(o pdf.Object) {
	v, err := r.m.doc.Resolve(o)
	list, ok := v.(pdf.Array)
	if !ok {
		list = pdf.Array{v}
	}
	r.all = r.all || err != nil
	var parts [][]byte
	for _, o := range list {
		v, err := r.m.doc.Resolve(o)
		s, ok := v.(*pdf.Stream)
		if v == nil && err == nil {
			continue
		}
		if !ok || err != nil {
			r.all = true
			return
		}
		b, ok := r.m.data(s)
		if !ok {
			r.all = true
			return
		}
		r.scan(b)
		parts = append(parts, b)
	}
	if len(parts) > 1 {
		r.scan(bytes.Join(parts, nil))
	}
}

// appearance visits what an annotation is drawn with: its appearances, and the icons of a button.
func (r *requests) appearance(d *pdf.Dict) {
	r.visit(d.Get("AP"), asAppearance, 0)
	r.visit(d.Get("MK"), asAnything, 0)
}

// scan records the names in content that has no resources of its own.
func (r *requests) scan(data []byte) {
	for name := range r.names(data) {
		r.missing[name] = anyCategory
	}
}

// stream records the names in a stream that are not in all of its own resources: readers differ in
// which of them they use.
func (r *requests) stream(num int, s *pdf.Stream, own ...pdf.Object) {
	found, ok := r.m.named[num]
	if !ok || num == 0 {
		data, ok := r.m.data(s)
		if !ok {
			r.all = true
			return
		}
		found = r.names(data)
		r.m.named[num] = found
	}
	r.all = r.all || found == nil
	var have []*pdf.Dict
	for _, o := range append(own, s.Dict.Get("Resources")) {
		if v, err := r.m.doc.Resolve(o); err != nil || v != nil {
			have = append(have, r.m.dict(o))
		}
	}
	parts := make([]map[pdf.Name]bool, len(categories))
	for i, category := range categories {
		parts[i] = r.common(have, category)
	}
	for name := range found {
		lacking := uint8(anyCategory)
		for i := range categories {
			if parts[i][name] {
				lacking &^= 1 << i
			}
		}
		r.missing[name] |= lacking
		r.all = r.all || !r.m.work.step()
	}
}

// names returns the names in content; nil if they cannot be determined. A name that readers end in
// different places gets a brace appended.
func (r *requests) names(data []byte) map[pdf.Name]bool {
	found := make(map[pdf.Name]bool)
	for {
		i := bytes.IndexByte(data, '/')
		if i < 0 {
			return found
		}
		data = data[i+1:]
		name, sure := nameAt(data)
		if !r.m.work.step() || !sure && name == "" || len(found) > 1<<18 {
			r.all = true
			return nil
		}
		if !sure {
			name += "{"
		}
		found[name] = true
	}
}

// common returns the names of a category that all resources have.
func (r *requests) common(have []*pdf.Dict, category pdf.Name) map[pdf.Name]bool {
	out := make(map[pdf.Name]bool)
	for i, d := range have {
		names := make(map[pdf.Name]bool)
		for _, e := range r.m.dict(d.Get(category)).Entries {
			v, err := r.m.doc.Resolve(e.Value)
			if r.m.work.step() && err == nil && v != nil && (i == 0 || out[e.Key]) {
				names[e.Key] = true
			}
		}
		out = names
	}
	return out
}

// nameAt reads a name behind its slash. It is not sure if readers interpret an escape, or a brace,
// differently.
func nameAt(b []byte) (pdf.Name, bool) {
	var out []byte
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c == 0 || c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == ' ' || strings.IndexByte("()<>[]/%", c) >= 0:
			return pdf.Name(out), true
		case c == '{' || c == '}' || len(out) >= 100:
			return pdf.Name(out), false
		case c == '#':
			if i+2 >= len(b) {
				return pdf.Name(out), false
			}
			v, err := strconv.ParseUint(string(b[i+1:i+3]), 16, 8)
			if err != nil {
				return pdf.Name(out), false
			}
			c = byte(v)
			i += 2
		}
		out = append(out, c)
	}
	return pdf.Name(out), true
}

// visit searches a value for content.
func (r *requests) visit(o pdf.Object, as use, depth int) {
	num := 0
	if ref, ok := o.(pdf.Ref); ok {
		at := visited{ref.Num, as}
		if r.seen[at] {
			return
		}
		r.seen[at] = true
		num = ref.Num
		var err error
		if o, err = r.m.doc.Resolve(o); err != nil {
			r.all = true
		}
	}
	if r.all || o == nil {
		return
	}
	if depth > limits.PDFDepth || !r.m.work.step() {
		r.all = true
		return
	}
	switch v := o.(type) {
	case pdf.Name:
		r.spaces[v] = true
	case pdf.Array:
		for _, e := range v {
			r.visit(e, as, depth+1)
		}
	case *pdf.Dict:
		if as == asFont || as == asAnything {
			r.glyphs(v)
		}
		for _, e := range v.Entries {
			r.visit(e.Value, as.of(e.Key), depth+1)
		}
	case *pdf.Stream:
		if as == asObject && r.m.doc.Name(v.Dict.Get("Subtype")) == "Image" {
			as = asData
		}
		if as != asData {
			as = asAnything
			r.stream(num, v)
		}
		r.visit(v.Dict, as, depth+1)
	}
}

// glyphs visits the glyphs of a Type 3 font, which may have their own resources or use those of the
// font.
func (r *requests) glyphs(font *pdf.Dict) {
	for _, e := range r.m.dict(font.Get("CharProcs")).Entries {
		ref, _ := e.Value.(pdf.Ref)
		v, err := r.m.doc.Resolve(e.Value)
		r.all = r.all || err != nil
		if g, ok := v.(*pdf.Stream); ok {
			r.stream(ref.Num, g, font.Get("Resources"))
			r.visit(g.Dict, asAnything, 0)
		}
	}
}

// of is how the value of a key is interpreted.
func (as use) of(key pdf.Name) use {
	switch as {
	case asResources:
		switch key {
		case "Font":
			return asFonts
		case "XObject":
			return asObjects
		case "ColorSpace", "Shading", "Properties":
			return asData
		}
		return asCategory
	case asFonts:
		return asFont
	case asObjects:
		return asObject
	case asAppearance:
		return asCategory
	case asCategory:
		return asAnything
	case asData:
		return asData
	}
	switch key {
	case "Resources":
		return asResources
	case "Font": // of a graphics state
		return asFont
	case "Metadata", "CharProcs":
		return asData
	case "FontDescriptor", "ToUnicode", "DescendantFonts", "Encoding":
		if as == asFont {
			return asData
		}
	}
	return asAnything
}
