package revision

import (
	"slices"
	"strings"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

// decoder turns the codes of a font into characters, as far as the glyphs can
// be relied on to look like them.
type decoder struct {
	family string
	simple *[256]rune
	widths map[byte]float64
	wide   map[uint16]string // two-byte codes
}

// mostText bounds what one appearance may show, in bytes: a code may stand for a
// long text, and come a million times.
const mostText = 1 << 20

func (d *decoder) decode(b []byte) (string, bool) {
	var out strings.Builder
	if d.simple != nil {
		for _, c := range b {
			r := d.simple[c]
			if r == 0 {
				return "", false
			}
			out.WriteRune(r)
		}
		return out.String(), true
	}
	if len(b)%2 != 0 {
		return "", false
	}
	for i := 0; i < len(b); i += 2 {
		s, ok := d.wide[uint16(b[i])<<8|uint16(b[i+1])]
		if !ok || out.Len() > mostText {
			return "", false
		}
		out.WriteString(s)
	}
	return out.String(), true
}

// latinFonts are families that every reader has, or replaces by one with the
// same characters, when the font is not embedded.
var latinFonts = []string{
	"helvetica", "times", "courier", "arial", "calibri", "verdana", "tahoma", "georgia", "cambria", "myriadpro", "minionpro",
	"liberation", "dejavu", "notosans", "notoserif", "lucidaconsole", "lucidasans", "segoeui", "trebuchet",
}

// decoder reads a font; nil means that what it shows cannot be told. A font
// that the signed revision has is what the signer saw; a new one must be one
// that cannot lie about its glyphs, so it must not bring its own.
func (c *comparison) decoder(m *model, o pdf.Object) *decoder {
	ref, indirect := o.(pdf.Ref)
	if known, ok := c.decoders[drawnFont{m, ref}]; ok && indirect {
		return known
	}
	d, err := m.doc.Dict(o)
	if err != nil || d == nil {
		return nil
	}
	var out *decoder
	signed := m == c.old || c.hadFont(o)
	switch m.doc.Name(d.Get("Subtype")) {
	case "Type1", "TrueType", "MMType1":
		out = m.simpleFont(d, signed)
	case "Type0":
		if signed {
			out = m.compositeFont(d)
		}
	}
	if indirect {
		if c.decoders == nil {
			c.decoders = make(map[drawnFont]*decoder)
		}
		c.decoders[drawnFont{m, ref}] = out
	}
	return out
}

// drawnFont is a font as one of the two revisions has it.
type drawnFont struct {
	m   *model
	ref pdf.Ref
}

// hadFont reports whether the signed revision has that font, among the form's
// resources or in the appearance of a field.
func (c *comparison) hadFont(o pdf.Object) bool {
	if ref, ok := o.(pdf.Ref); ok {
		if _, had := c.old.doc.Where(ref.Num); had && c.equal(ref, ref, "Font") {
			return true
		}
	}
	if c.fonts == nil {
		c.fonts = c.old.formFonts()
	}
	return slices.ContainsFunc(c.fonts, func(f pdf.Object) bool { return c.equal(f, o, "Font") })
}

// formFonts are the fonts of a form and of its fields' appearances, objects once.
func (m *model) formFonts() []pdf.Object {
	out := []pdf.Object{}
	seen := make(map[pdf.Ref]bool)
	add := func(resources pdf.Object) {
		for _, e := range m.dict(m.dict(resources).Get("Font")).Entries {
			ref, indirect := e.Value.(pdf.Ref)
			if indirect && seen[ref] || !m.work.step() {
				continue
			}
			seen[ref] = true
			out = append(out, e.Value)
		}
	}
	add(m.form.Get("DR"))
	for _, f := range m.fields {
		for _, w := range f.widgets {
			add(m.dict(m.dict(w.dict.Get("AP")).Get("N")).Get("Resources"))
		}
	}
	return out
}

func (m *model) simpleFont(d *pdf.Dict, signed bool) *decoder {
	name := strings.ToLower(string(m.doc.Name(d.Get("BaseFont"))))
	embedded := m.embedded(m.dict(d.Get("FontDescriptor")))
	family := strings.NewReplacer(" ", "", "-", "").Replace(name)
	latin := slices.ContainsFunc(latinFonts, func(f string) bool { return strings.HasPrefix(family, f) })
	if strings.Contains(name, "symbol") || strings.Contains(name, "dingbat") || !signed && (embedded || !latin) {
		return nil
	}
	enc, err := m.doc.Resolve(d.Get("Encoding"))
	if err != nil {
		return nil
	}
	base := "StandardEncoding"
	switch e := enc.(type) {
	case nil:
		if !latin || embedded {
			return nil // its own encoding, which is not read
		}
	case pdf.Name:
		base = string(e)
	case *pdf.Dict:
		if b := m.doc.Name(e.Get("BaseEncoding")); b != "" {
			base = string(b)
		}
	default:
		return nil
	}
	t, ok := content.Encoding(base)
	if !ok {
		return nil
	}
	if e, ok := enc.(*pdf.Dict); ok {
		m.differences(t, e)
	}
	out := &decoder{simple: t, family: family}
	if !m.setWidths(out, d, signed) {
		return nil
	}
	return out
}

// differences applies the Differences array of an encoding.
func (m *model) differences(t *[256]rune, e *pdf.Dict) {
	list, _ := m.doc.Array(e.Get("Differences"))
	code := 0
	for _, o := range list {
		if n, ok := m.doc.Int(o); ok {
			code = int(n)
			continue
		}
		if code >= 0 && code < 256 {
			t[code] = content.Glyphs[string(m.doc.Name(o))]
		}
		code++
	}
}

func (m *model) embedded(descriptor *pdf.Dict) bool {
	return descriptor.Get("FontFile") != nil || descriptor.Get("FontFile2") != nil || descriptor.Get("FontFile3") != nil
}

// compositeFont reads a font of two-byte codes by its ToUnicode map.
func (m *model) compositeFont(d *pdf.Dict) *decoder {
	if n := m.doc.Name(d.Get("Encoding")); n != "Identity-H" {
		return nil
	}
	o, err := m.doc.Resolve(d.Get("ToUnicode"))
	s, ok := o.(*pdf.Stream)
	if err != nil || !ok {
		return nil
	}
	data, err := m.doc.Data(s)
	if err != nil {
		return nil
	}
	wide := content.ToUnicode(data)
	if len(wide) == 0 {
		return nil
	}
	return &decoder{wide: wide}
}
