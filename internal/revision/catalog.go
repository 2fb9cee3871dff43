package revision

import (
	"slices"

	"rogito.dev/rogito/internal/pdf"
)

// catalogKeys are the names of differences under keys of the catalog (ISO 32000-2, table 29). Any
// other key is unexplained.
var catalogKeys = map[pdf.Name]string{
	"DSS": "dss", "Metadata": "metadata", "PieceInfo": "metadata", "Version": "version", "Extensions": "version",
	"OpenAction": "actions", "AA": "actions", "URI": "actions", "Requirements": "actions",
	"Dests": "names", "Threads": "names", "OCProperties": "layers", "Outlines": "outlines", "AF": "attachments",
	"ViewerPreferences": "display", "PageMode": "display", "PageLayout": "display", "PageLabels": "display",
	"Collection": "display", "NeedsRendering": "display", "OutputIntents": "display", "Lang": "display",
}

// catalog compares all keys without a function of their own.
func (c *comparison) catalog() {
	a, b := c.old.catalog, c.new.catalog
	for _, key := range c.differing(a, b, "Type", "Pages", "AcroForm", "StructTreeRoot", "MarkInfo") {
		what, known := catalogKeys[key]
		switch {
		case key == "Names":
			c.names(c.old.dict(a.Get(key)), c.new.dict(b.Get(key)))
		case key == "Perms":
			c.permissions(c.old.dict(a.Get(key)), c.new.dict(b.Get(key)))
		case key == "Version" && b.Get(key) != nil && c.new.doc.Name(b.Get(key)) == "":
			c.add(difference{what: "catalog-odd", name: "Version"})
		case known:
			c.add(difference{what: what, name: nameOf(what, key)})
		default:
			c.add(difference{what: "catalog-odd", name: string(key)})
		}
	}
}

// nameOf omits the key if the text does not contain it.
func nameOf(what string, key pdf.Name) string {
	switch what {
	case "actions", "names", "display":
		return string(key)
	}
	return ""
}

// names compares the name trees.
func (c *comparison) names(a, b *pdf.Dict) {
	for _, key := range c.differing(a, b) {
		switch key {
		case "EmbeddedFiles":
			c.add(difference{what: "attachments"})
		case "JavaScript":
			c.add(difference{what: "actions", name: string(key)})
		case "AP": // appearances used only by scripts
			if c.old.isNull(a.Get(key)) && !c.new.scripted() {
				c.add(difference{what: "names+"})
				continue
			}
			fallthrough
		default:
			c.add(difference{what: "names", name: string(key)})
		}
	}
}

// permissions compares the Perms dictionary. A later certification may be added there; nothing may
// be removed or replaced.
func (c *comparison) permissions(a, b *pdf.Dict) {
	for _, key := range c.differing(a, b) {
		if a.Get(key) == nil && key == "DocMDP" && c.isSignatureValue(b.Get(key)) {
			c.add(difference{what: "permissions+"})
			continue
		}
		c.add(difference{what: "permissions"})
	}
}

func (c *comparison) isSignatureValue(o pdf.Object) bool {
	ref, ok := o.(pdf.Ref)
	return ok && slices.ContainsFunc(c.new.fields, func(f *field) bool { return c.new.kind(f) == "Sig" && f.attrs.Get("V") == ref })
}

// scripted reports whether the document contains a script.
func (m *model) scripted() bool {
	seen := make(map[int]bool)
	queue := []pdf.Object{m.doc.Trailer()}
	for len(queue) > 0 {
		o := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if !m.work.step() {
			return true
		}
		if ref, ok := o.(pdf.Ref); ok {
			if seen[ref.Num] {
				continue
			}
			seen[ref.Num] = true
			var err error
			if o, err = m.doc.Resolve(o); err != nil {
				return true
			}
		}
		if s, ok := o.(*pdf.Stream); ok {
			o = s.Dict
		}
		switch v := o.(type) {
		case pdf.Array:
			queue = append(queue, v...)
		case *pdf.Dict:
			if v.Has("JS") || m.doc.Name(v.Get("S")) == "JavaScript" {
				return true
			}
			for _, e := range v.Entries {
				queue = append(queue, e.Value)
			}
		}
	}
	return false
}
