package revision

// structure compares the logical structure. It shows nothing on the page, but
// readers aloud and copies follow it.
func (c *comparison) structure() {
	a, b := c.old.catalog, c.new.catalog
	if !c.equal(a.Get("StructTreeRoot"), b.Get("StructTreeRoot"), "StructTreeRoot") || !c.equal(a.Get("MarkInfo"), b.Get("MarkInfo"), "MarkInfo") {
		c.add(difference{what: "structure"})
	}
}
