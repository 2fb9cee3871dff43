// Package rewrite rewrites a PDF (ISO 32000-2:2020): the same objects, as read by package pdf, each
// defined once, with one cross-reference table and one page tree that every reader traverses alike.
// Nothing is rendered, and nothing that the document refers to is left out; streams are copied
// encoded, except for those that readers decode differently ([pdf.Document.Mended]).
//
// Signatures do not survive that, so callers must look for them first.
package rewrite

import (
	"fmt"
	"io"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// Write rewrites a document. An encrypted one remains encrypted, with the same passwords and
// permissions.
func Write(w io.Writer, d *pdf.Document) error {
	out := pdf.NewFile(Bound(w, MostOf(d)), version(d))
	if err := out.EncryptLike(d); err != nil {
		return fmt.Errorf("write PDF: %w", err)
	}
	c := NewCopier(d, out)
	c.Mend = true
	return write(out, c)
}

// Encrypt rewrites an unencrypted document with AES-256 under a password, by the handler of ISO
// 32000-2 (revision 6), since passwords can be guessed too fast with that of Adobe's extension.
func Encrypt(w io.Writer, d *pdf.Document, password string) error {
	out := pdf.NewFile(Bound(w, MostOf(d)), "2.0")
	if err := out.Encrypt(password); err != nil {
		return fmt.Errorf("encrypt PDF: %w", err)
	}
	c := NewCopier(d, out)
	// A version in the catalog would override that of the header.
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

// document requests everything but what only the trailer refers to.
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

// ofFile are the trailer entries about the file, as opposed to the document.
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

// identifier is the ID of a document; nil if it has no usable one.
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

// version is that of the header: standards such as PDF/A require a certain one.
func version(d *pdf.Document) string {
	head := make([]byte, 8)
	n, _ := d.ReadAt(head, 0) // a short read yields no version
	if n == len(head) && (head[5] == '1' || head[5] == '2') && head[6] == '.' && head[7] >= '0' && head[7] <= '9' {
		return string(head[5:])
	}
	return "1.7"
}

// MostOf bounds the size of a rewritten document: its streams are in the file once, and its other
// objects, if compressed, grow by less than this. But streams may overlap, and pages may be
// repeated.
func MostOf(d *pdf.Document) int64 { return 128<<20 + 8*d.Size() }

// Bound is a writer that fails after n bytes.
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
