package pdf

import (
	"slices"
)

// Other opens the document as of revision n in one of the ways in which other readers read it. left
// has the numbers of objects to leave out, for the ways that need it. It is nil if no document
// results: a reader then uses another way.
func (d *Document) Other(n int, way Reading, left map[int]bool) (*Document, error) {
	at := d
	if n < len(d.revisions) {
		var err error
		if at, err = d.At(n); err != nil {
			return nil, err
		}
	}
	c := *at
	c.cache, c.streams, c.earlier, c.loading = make(map[int]Object), nil, nil, nil
	c.weighs, c.paid, c.way = 0, 0, way
	switch way {
	case Rebuilt:
		return c.rebuilt()
	case Found:
		return c.withUnlisted()
	case LeftOut:
		c.keepOnly(func(num int) bool { return !left[num] })
	case Sealed:
		if c.crypt != nil {
			seal := *c.crypt
			seal.metadata = true
			if seal.stm != seal.str {
				seal.stm = methodRC4
				if max(c.crypt.stm, c.crypt.str) == methodAES256 {
					seal.stm = methodAES256
				}
				seal.str = seal.stm
			}
			c.crypt = &seal
		}
	case Owned:
		if c.crypt != nil && c.crypt.other != nil {
			seal := *c.crypt
			seal.key = seal.other
			c.crypt = &seal
		}
	case FirstRow:
		c.sections = slices.Clone(c.sections)
		for i, s := range c.sections {
			if s.firstRows != nil {
				o := *s
				o.runs = s.firstRows
				c.sections[i] = &o
			}
		}
	}
	if _, err := c.Catalog(); err != nil {
		return nil, nil //nolint:nilerr // no document
	}
	return &c, nil
}

// Unsealed returns the other ways in which readers decrypt a document. If its metadata is not
// encrypted, some readers recognise only the streams that the catalog and its pages reference as
// metadata, others go by Type. If strings and streams have different filters, poppler uses the
// default of the version. A password that is both the user's and the owner's may give two keys.
func (d *Document) Unsealed() (ways Reading) {
	if d.crypt == nil {
		return 0
	}
	if !d.crypt.metadata || d.crypt.stm != d.crypt.str {
		ways |= Sealed
	}
	if d.crypt.other != nil {
		ways |= Owned
	}
	return ways
}

// keepOnly removes all other numbers from the tables.
func (d *Document) keepOnly(keep func(num int) bool) {
	d.sections = slices.Clone(d.sections)
	for i, s := range d.sections {
		d.sections[i] = s.keepOnly(keep)
		if s.hybrid != nil {
			d.sections[i].hybrid = s.hybrid.keepOnly(keep)
		}
	}
}

func (s *section) keepOnly(keep func(num int) bool) *section {
	o := *s
	o.runs = make([]run, len(s.runs))
	for i, r := range s.runs {
		o.runs[i] = run{r.first, slices.Clone(r.entries)}
		for k := range r.entries {
			if !keep(r.first + k) {
				o.runs[i].entries[k] = entry{}
			}
		}
	}
	return &o
}

// rebuilt makes new tables from the objects in the file, as most readers do if they find them
// broken. The encryption does not change.
func (d *Document) rebuilt() (*Document, error) {
	seal, root := d.crypt, d.trailer.Get("Root")
	d.crypt = nil
	objects, err := d.scanTable()
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	if !d.trailer.Has("Root") {
		d.trailer.Set("Root", root)
	}
	d.crypt = seal
	if err := d.addCompressed(objects); err != nil {
		return nil, err
	}
	if _, err := d.Catalog(); err != nil {
		return nil, nil //nolint:nilerr // no document
	}
	return d, nil
}

// withUnlisted adds objects in the file that the tables do not define.
func (d *Document) withUnlisted() (*Document, error) {
	c := *d
	c.way = 0
	r, err := c.rebuilt()
	if err != nil || r == nil {
		return nil, err
	}
	var open numbered
	for _, run := range r.sections[0].runs {
		for i, e := range run.entries {
			if was, ok := d.lookup(run.first + i); !ok || was.kind == entryFree {
				open.add(run.first+i, e)
			}
		}
	}
	d.sections = append([]*section{{runs: open.runs(), trailer: d.trailer}}, d.sections...)
	d.cache = make(map[int]Object)
	return d, nil
}

// firstKeys keeps the first entry of each repeated key, in the dictionaries in which poppler finds
// that one: large ones, and lists of fonts.
func firstKeys(o Object) Object {
	switch x := o.(type) {
	case Array:
		for i := range x {
			x[i] = firstKeys(x[i])
		}
	case *Stream:
		firstKeys(x.Dict)
	case *Dict:
		if (len(x.Entries) >= manyKeys || listsFonts(x)) && len(x.Repeated()) > 0 {
			slices.Reverse(x.Entries) // so that the last one found is the first one written
		}
		for i := range x.Entries {
			x.Entries[i].Value = firstKeys(x.Entries[i].Value)
		}
	}
	return o
}

// listsFonts reports whether a dictionary may be a list of fonts by name: it has only references
// and dictionaries.
func listsFonts(d *Dict) bool {
	return !slices.ContainsFunc(d.Entries, func(e Entry) bool {
		switch e.Value.(type) {
		case Ref, *Dict:
			return false
		}
		return true
	})
}
