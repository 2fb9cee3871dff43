package rewrite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// Edit changes an object while it is copied.
type Edit func(*pdf.Dict)

// Copier copies objects of a document into a new file, with new numbers: each once, and only
// requested objects and what they refer to.
type Copier struct {
	Doc *pdf.Document
	Out *pdf.File
	// Entry, if set, is called for every dictionary entry before it is copied; false omits the
	// entry.
	Entry func(d *pdf.Dict, e pdf.Entry) (pdf.Entry, bool)
	// Refs maps old to new references; zero: not copied.
	Refs map[pdf.Ref]pdf.Ref
	// Edits are applied to the copies of dictionaries.
	Edits map[pdf.Ref][]Edit
	// Mend rewrites streams that readers decode differently.
	Mend bool

	queue []pdf.Ref // objects with a new number that are not written yet
}

// NewCopier copies from doc to out.
func NewCopier(doc *pdf.Document, out *pdf.File) *Copier {
	return &Copier{Doc: doc, Out: out, Refs: map[pdf.Ref]pdf.Ref{}, Edits: map[pdf.Ref][]Edit{}}
}

// refSize is roughly the memory per object, for its old and new reference.
const refSize = 96

// Ref is the new reference of an object, which is then written. An undefined object remains null.
func (c *Copier) Ref(old pdf.Ref) pdf.Object {
	place, known := c.Refs[old]
	if !known {
		if at, ok := c.Doc.Where(old.Num); ok && (at.Stream != 0 || at.Ref.Gen == old.Gen) {
			place = c.Out.Reserve()
			c.queue = append(c.queue, old)
		}
		c.Refs[old] = place
		_ = c.Doc.Budget().Spend(refSize) // Drain checks the budget
	}
	if place.IsZero() {
		return nil
	}
	return place
}

// Drain writes all requested objects and what they refer to.
func (c *Copier) Drain() error {
	for len(c.queue) > 0 {
		last := len(c.queue) - 1
		old := c.queue[last]
		c.queue = c.queue[:last]
		if err := c.put(old); err != nil {
			return fmt.Errorf("object %v: %w", old, err)
		}
		if c.Doc.Budget().Exceeded() {
			return limits.ErrBudget
		}
		if len(c.Refs) > limits.PDFObjects {
			return ades.Malformed("PDF", "", "more than %d objects", limits.PDFObjects)
		}
	}
	return nil
}

func (c *Copier) put(old pdf.Ref) error {
	o, err := readable(c.Doc.Get(old))
	if err != nil {
		return err
	}
	if st, ok := o.(*pdf.Stream); ok {
		return c.putStream(c.Refs[old], st)
	}
	o = c.Object(o)
	if d, ok := o.(*pdf.Dict); ok {
		for _, change := range c.Edits[old] {
			change(d)
		}
	}
	return c.Out.Put(c.Refs[old], o)
}

// readable turns an unreadable object into null, as readers do. Errors other than malformed input
// are returned.
func readable(o pdf.Object, err error) (pdf.Object, error) {
	var m *ades.MalformedError
	if err == nil || errors.Is(err, limits.ErrBudget) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &m) {
		return o, err
	}
	return nil, nil
}

// putStream copies the encoded data, without encryption.
func (c *Copier) putStream(place pdf.Ref, st *pdf.Stream) error {
	if c.Mend {
		mended, err := c.Doc.Mended(st)
		if err != nil {
			return err
		}
		if mended != nil {
			return c.Out.Put(place, &pdf.Stream{Dict: c.Dict(mended.Dict), Data: mended.Data})
		}
	}
	from := st.Dict
	if c.Doc.Encrypted() && !c.Out.Encrypts(c.Doc) {
		from = withoutCrypt(from)
	}
	d := c.Dict(from)
	if !c.Doc.Encrypted() && st.Span().End > 0 {
		span := st.Span()
		size := span.End - span.Start
		return c.Out.PutStream(place, d, io.NewSectionReader(c.Doc, span.Start, size), size)
	}
	data, err := c.Doc.Encoded(st)
	if err != nil {
		return err
	}
	return c.Out.Put(place, &pdf.Stream{Dict: d, Data: data})
}

// withoutCrypt removes the crypt filter, which is always the first: the data is decrypted now.
func withoutCrypt(d *pdf.Dict) *pdf.Dict {
	switch f := d.Get("Filter").(type) {
	case pdf.Name:
		if f == "Crypt" {
			d = d.Clone()
			d.Delete("Filter")
			d.Delete("DecodeParms")
		}
	case pdf.Array:
		if len(f) > 0 && f[0] == pdf.Name("Crypt") {
			d = d.Clone()
			d.Set("Filter", f[1:])
			if p, ok := d.Get("DecodeParms").(pdf.Array); ok && len(p) > 0 {
				d.Set("DecodeParms", p[1:])
			}
		}
	}
	return d
}

// Object copies a direct object.
func (c *Copier) Object(o pdf.Object) pdf.Object {
	switch x := o.(type) {
	case pdf.Ref:
		return c.Ref(x)
	case pdf.Array:
		out := make(pdf.Array, len(x))
		for i := range x {
			out[i] = c.Object(x[i])
		}
		return out
	case *pdf.Dict:
		return c.Dict(x)
	}
	return plain(o)
}

// plain writes an integer of more than 32 bits with a decimal point: its value is the same, and no
// reader truncates it.
func plain(o pdf.Object) pdf.Object {
	switch n := o.(type) {
	case pdf.Integer:
		if n != pdf.Integer(int32(n)) {
			return pdf.Real(strconv.FormatInt(int64(n), 10) + ".0")
		}
	case pdf.Real:
		if digits := strings.TrimLeft(string(n), "+-"); len(digits) > 9 && len(digits)+1 >= len(n) && strings.Trim(digits, "0123456789") == "" {
			return n + ".0"
		}
	}
	return o
}

// Dict copies a dictionary: each key once, with the effective value.
func (c *Copier) Dict(d *pdf.Dict) *pdf.Dict {
	out := &pdf.Dict{Entries: make([]pdf.Entry, 0, len(d.Entries))}
	for _, e := range entries(d) {
		if c.Entry != nil {
			var keep bool
			if e, keep = c.Entry(d, e); !keep {
				continue
			}
		}
		out.Entries = append(out.Entries, pdf.Entry{Key: e.Key, Value: c.Object(e.Value)})
	}
	return out
}

// entries returns the effective entries of a dictionary: the last one of a repeated key, as in most
// readers.
func entries(d *pdf.Dict) []pdf.Entry {
	if len(d.Repeated()) == 0 {
		return d.Entries
	}
	last := make(map[pdf.Name]int, len(d.Entries))
	for i, e := range d.Entries {
		last[e.Key] = i
	}
	out := make([]pdf.Entry, 0, len(last))
	for i, e := range d.Entries {
		if last[e.Key] == i {
			out = append(out, e)
		}
	}
	return out
}

// Info is the document information dictionary, if there is one.
func (c *Copier) Info() (pdf.Object, bool) {
	o := c.Doc.Trailer().Get("Info")
	d, err := c.Doc.Dict(o)
	if err != nil || d == nil {
		return nil, false
	}
	if ref, ok := o.(pdf.Ref); ok {
		return c.Ref(ref), true
	}
	place := c.Out.Reserve()
	return place, c.Out.Put(place, c.Dict(d)) == nil
}
