package revision

import (
	"slices"

	"rogito.dev/rogito/internal/pdf"
)

// rest names every changed object that no rule explained, and every explained
// one that something outside its part refers to.
func (c *comparison) rest() {
	for _, num := range c.numbers() {
		p := c.parts[num]
		switch {
		case p == structure || c.named[num] && p == unknown || c.inNamed(num):
		case p == unknown:
			e := c.edges[num][0]
			c.report(c.changed[num], kindOf(last(e.path)), false, "object %d was changed, which stands under %s of object %d", num, orTrailer(e.path), e.from)
		default:
			c.outsiders(num, p)
		}
	}
}

// outsiders looks for references to an object that do not belong to its part.
func (c *comparison) outsiders(num int, p part) {
	for _, e := range c.edges[num] {
		if !c.belongs(e, p) {
			c.report(c.changed[num], "undefined", false, "object %d was changed and is also used under %s of object %d", num, orTrailer(e.path), e.from)
			return
		}
	}
}

// belongs reports whether a reference is one that an object of that part may have.
func (c *comparison) belongs(e edge, p part) bool {
	if e.from != 0 && c.parts[e.from] == p {
		return true
	}
	root := c.new.Root().Num
	switch p {
	case dss:
		return e.from == root && e.key == "DSS"
	case metadata:
		return e.from == 0 && e.key == "Info" ||
			e.from == root && slices.Contains([]pdf.Name{"Metadata", "Extensions", "Version"}, e.key)
	case value:
		return c.parts[e.from] == structure && (e.key == "V" || e.key == "Lock" || e.key == "Perms") || e.from == root
	case appearance:
		keys := []pdf.Name{"AP", "MK", "DR", "DA", "AcroForm"}
		return (c.parts[e.from] == structure || c.isField(e.from)) && slices.Contains(keys, e.key)
	case annotation:
		return c.parts[e.from] == structure || e.key == "Annots"
	}
	return false
}

// isField reports whether an unchanged object is a widget or field, whose
// appearance may be an object of its own.
func (c *comparison) isField(num int) bool {
	o, err := c.new.Get(pdf.Ref{Num: num})
	d, ok := o.(*pdf.Dict)
	return err == nil && ok && (c.new.Name(d.Get("Subtype")) == "Widget" || d.Has("FT"))
}

// inNamed reports whether an object is only part of one that was named already.
func (c *comparison) inNamed(num int) bool {
	return c.parts[num] == unknown && !slices.ContainsFunc(c.edges[num], func(e edge) bool { return !c.named[e.from] })
}

// kindOf says what a change under a key amounts to, for people.
func kindOf(key pdf.Name) string {
	switch key {
	case "Contents", "Resources", "XObject", "Font", "ExtGState", "Pattern", "Shading":
		return "content"
	case "Kids", "Count", "Pages", "Parent", "MediaBox", "CropBox", "Rotate":
		return "page"
	case "Annots":
		return "annotation"
	case "AP", "N", "MK":
		return "appearance"
	case "V", "Fields":
		return "form"
	}
	return "undefined"
}

func last(path string) pdf.Name {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return pdf.Name(path[i+1:])
		}
	}
	return pdf.Name(path)
}

func orTrailer(path string) string {
	if path == "" {
		return "an array"
	}
	return path
}
