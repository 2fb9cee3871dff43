package revision

import "rogito.dev/rogito/internal/pdf"

// trailer compares what the file as a whole rests on: the catalog, the
// encryption and the document information.
func (c *comparison) trailer() {
	last := len(c.new.Revisions())
	a, b := c.old.Trailer(), c.new.Trailer()
	if !pdf.Equal(a.Get("Encrypt"), b.Get("Encrypt")) {
		c.report(last, "undefined", false, "the encryption of the document was changed")
	}
	if info := b.Get("Info"); info != nil {
		c.information(info)
	}
	if c.old.Root() != c.new.Root() {
		c.report(last, "content", false, "the document catalog was replaced")
		return
	}
	before, err1 := c.old.Catalog()
	after, err2 := c.new.Catalog()
	if err1 != nil || err2 != nil {
		c.report(last, "undefined", false, "the document catalog cannot be read")
		return
	}
	c.catalog(before, after)
}

func (c *comparison) information(info pdf.Object) {
	ref, ok := info.(pdf.Ref)
	if !ok {
		return
	}
	if n, ok := c.changed[ref.Num]; ok {
		c.claim(info, metadata)
		c.report(n, "metadata", true, "the document information was updated")
	}
}

// catalog compares the catalog key by key. The form and the validation data
// are looked at even where the catalog itself stayed as it was, since they may
// be objects of their own.
func (c *comparison) catalog(a, b *pdf.Dict) {
	root := c.new.Root().Num
	if _, ok := c.changed[root]; ok {
		c.parts[root] = structure
	}
	for _, key := range differing(a, b) {
		n := c.when(b.Get(key), root)
		switch key {
		case "AcroForm", "DSS", "Metadata":
		case "Extensions", "Version":
			c.claim(b.Get(key), metadata)
			c.report(n, "metadata", true, "the catalog's %s was updated", key)
		default:
			c.report(n, "content", false, "the catalog's %s was changed", key)
		}
	}
	c.validation(a.Get("DSS"), b.Get("DSS"), root)
	c.xmp(b.Get("Metadata"), root)
	c.form(a.Get("AcroForm"), b.Get("AcroForm"))
}

// differing lists the keys whose values are not the same, null being absent.
func differing(a, b *pdf.Dict) []pdf.Name {
	var out []pdf.Name
	for _, e := range a.Entries {
		if !pdf.Equal(e.Value, b.Get(e.Key)) {
			out = append(out, e.Key)
		}
	}
	for _, e := range b.Entries {
		if !a.Has(e.Key) && e.Value != nil {
			out = append(out, e.Key)
		}
	}
	return out
}

// validation takes the DSS dictionary, which may be added and grow at any
// level of certification. What it lost is named, and does no harm: missing
// data can only lower a verdict.
func (c *comparison) validation(before, after pdf.Object, root int) {
	if after == nil {
		if before != nil {
			c.report(c.when(nil, root), "dss", true, "the validation data were taken out")
		}
		return
	}
	claimed := len(c.parts)
	c.claim(after, dss)
	if !pdf.Equal(before, after) || len(c.parts) > claimed {
		c.report(c.when(after, root), "dss", true, "validation data were added")
	}
}

func (c *comparison) xmp(o pdf.Object, root int) {
	ref, ok := o.(pdf.Ref)
	if !ok {
		return
	}
	if _, ok := c.changed[ref.Num]; ok {
		c.claim(o, metadata)
		c.report(c.when(o, root), "metadata", true, "the document metadata were updated")
	}
}
