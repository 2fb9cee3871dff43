// Package rewrite writes a PDF anew (ISO 32000-2:2020): the same objects, as they
// are read here, each defined once, with one table of cross-references and one
// page tree that every reader walks in the same way. Nothing is drawn or left out
// that the document refers to; streams are copied as they are encoded, but for
// those that readers decode in different ways ([pdf.Document.Mended]).
//
// Signatures do not survive that, so callers look for them first.
package rewrite

import (
	"fmt"
	"io"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// Write writes a document anew. One that is encrypted stays so, under the same
// passwords and with the same permissions.
func Write(w io.Writer, d *pdf.Document) error {
	out := pdf.NewFile(Bound(w, MostOf(d)), version(d))
	if err := out.EncryptLike(d); err != nil {
		return fmt.Errorf("write PDF: %w", err)
	}
	c := NewCopier(d, out)
	c.Mend = true
	return write(out, c)
}

// Encrypt writes a document anew that is not encrypted, with AES-256 under a
// password, by the handler of ISO 32000-2 (revision 6): that of Adobe's extension
// before it can be guessed too fast.
func Encrypt(w io.Writer, d *pdf.Document, password string) error {
	out := pdf.NewFile(Bound(w, MostOf(d)), "2.0")
	if err := out.Encrypt(password); err != nil {
		return fmt.Errorf("encrypt PDF: %w", err)
	}
	c := NewCopier(d, out)
	// A version of the catalog's would take back that of the header.
	c.Edits[d.Root()] = []Edit{func(c *pdf.Dict) { c.Delete("Version") }}
	return write(out, c)
}

func write(out *pdf.File, c *Copier) error {
	if err := c.document(); err != nil {
		return fmt.Errorf("write PDF: %w", err)
	}
	trailer := c.trailer()
	if err := c.Drain(); err != nil {
		return fmt.Errorf("write PDF: %w", err)
	}
	if err := out.Close(trailer); err != nil {
		return fmt.Errorf("write PDF: %w", err)
	}
	return nil
}

// document asks for everything but what only the trailer names.
func (c *Copier) document() error {
	t, err := readTree(c.Doc)
	if err != nil {
		return err
	}
	root := c.Doc.Root()
	if t.crooked {
		pages := c.Out.Reserve()
		c.Edits[root] = append(c.Edits[root], func(d *pdf.Dict) { d.Set("Pages", pages) })
		if err := c.flatten(t, pages); err != nil {
			return err
		}
	}
	if o, err := c.Doc.Get(root); err != nil {
		return err
	} else if _, ok := o.(*pdf.Dict); !ok {
		return ades.Malformed("PDF", "trailer/Root", "object %s is no dictionary", root)
	}
	c.Edits[root] = append(c.Edits[root], func(d *pdf.Dict) { d.Set("Type", pdf.Name("Catalog")) })
	c.Ref(root)
	return nil
}

// ofFile are the entries of a trailer that speak of the file and not of the
// document.
var ofFile = []pdf.Name{
	"Root", "Info", "ID", "Encrypt", "Size", "Prev", "XRefStm", "Type", "W", "Index", "Length", "Filter", "DecodeParms", "DL", "F", "DP",
}

func (c *Copier) trailer() *pdf.Dict {
	rest := &pdf.Dict{}
	for _, e := range entries(c.Doc.Trailer()) {
		if !slices.Contains(ofFile, e.Key) {
			rest.Entries = append(rest.Entries, e)
		}
	}
	t := c.Dict(rest)
	t.Set("Root", c.Ref(c.Doc.Root()))
	if info, ok := c.Info(); ok {
		t.Set("Info", info)
	}
	if id := identifier(c.Doc); id != nil {
		t.Set("ID", id)
	}
	return t
}

// identifier is the ID of a document; nil where it has none that can be kept.
func identifier(d *pdf.Document) pdf.Array {
	list, err := d.Array(d.Trailer().Get("ID"))
	if err != nil || len(list) == 0 {
		return nil
	}
	first := d.StringBytes(list[0])
	if first == nil {
		return nil
	}
	second := first
	if len(list) > 1 && d.StringBytes(list[1]) != nil {
		second = d.StringBytes(list[1])
	}
	return pdf.Array{pdf.String{Bytes: first, Hex: true}, pdf.String{Bytes: second, Hex: true}}
}

// version is that of the header: standards such as PDF/A ask for one.
func version(d *pdf.Document) string {
	head := make([]byte, 8)
	n, _ := d.ReadAt(head, 0) // a short read is no version
	if n == len(head) && (head[5] == '1' || head[5] == '2') && head[6] == '.' && head[7] >= '0' && head[7] <= '9' {
		return string(head[5:])
	}
	return "1.7"
}

// MostOf bounds what is written of a document: its streams are in the file once,
// and the rest of its objects, where they are compressed, grow by less than this.
// But streams can overlap, and pages repeat.
func MostOf(d *pdf.Document) int64 { return 128<<20 + 8*d.Size() }

// Bound is a writer that refuses to write more than n bytes.
func Bound(w io.Writer, n int64) io.Writer { return &bounded{w: w, left: n} }

type bounded struct {
	w    io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, ades.Malformed("PDF", "", "its objects overlap or repeat so often that the result would be too large")
	}
	return b.w.Write(p)
}
