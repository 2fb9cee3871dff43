// Package pdfmerge joins PDF files into one, and encrypts a PDF that is not
// (ISO 32000-2:2020). What it makes is a new document; signatures in what it
// was given do not survive, so callers look for them first.
//
// It asks no more of a document than that its objects can be read and its
// pages be found: a form, a font or a structure tree that is not as it should
// be is carried along as it is, since a viewer shows it all the same. (A
// library that validates first refused one ordinary document in twenty, and
// one file of 219 bytes kept it busy for ever.)
//
// Carried over are the pages with all that they refer to, form fields,
// bookmarks, layers and attachments. What speaks of one whole document is not:
// its structure tree, metadata, scripts, page labels and output intents. Links
// by name become links by place, so that two documents may use one name.
package pdfmerge

import (
	"context"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// Merge joins documents in order. The password opens those that are encrypted;
// the result is not.
func Merge(ctx context.Context, w io.Writer, password string, docs ...ades.Source) error {
	j := &joined{}
	out := &bounded{w: w}
	for i, src := range docs {
		d, err := open(ctx, src, password)
		if err != nil {
			return fmt.Errorf("merge PDF: document %d: %w", i, err)
		}
		s := &source{doc: d, joining: true, refs: map[pdf.Ref]pdf.Ref{}, edits: map[pdf.Ref][]edit{}}
		if err := s.findPages(); err != nil {
			return fmt.Errorf("merge PDF: document %d: %w", i, err)
		}
		j.sources = append(j.sources, s)
		out.left += mostOf(src)
	}
	if len(docs) == 0 {
		return errors.New("merge PDF: no documents")
	}
	if err := j.write(out); err != nil {
		return fmt.Errorf("merge PDF: %w", err)
	}
	return nil
}

// Encrypt encrypts a document with AES-256 under a password, by the handler of
// ISO 32000-2 (revision 6): that of Adobe's extension before it can be guessed
// too fast. Everything that the document refers to is kept.
func Encrypt(ctx context.Context, w io.Writer, doc ades.Source, password string) error {
	return write(ctx, w, doc, func(out *pdf.File) error { return out.Encrypt(password) })
}

// Rewrite writes a document anew, as other readers find it, so that it can be
// read in one way only. Everything that it refers to is kept.
func Rewrite(ctx context.Context, w io.Writer, doc ades.Source) error {
	return write(ctx, w, doc, func(*pdf.File) error { return nil })
}

func write(ctx context.Context, w io.Writer, doc ades.Source, begin func(*pdf.File) error) error {
	d, err := open(ctx, doc, "")
	if err != nil {
		return fmt.Errorf("write PDF: %w", err)
	}
	out := pdf.NewFile(&bounded{w: w, left: mostOf(doc)}, "2.0")
	if err := begin(out); err != nil {
		return fmt.Errorf("write PDF: %w", err)
	}
	s := &source{doc: d, out: out, refs: map[pdf.Ref]pdf.Ref{}, edits: map[pdf.Ref][]edit{}}
	// A newer version of the catalog's would take back that of the header.
	s.edits[d.Root()] = []edit{func(c *pdf.Dict) { c.Delete("Version") }}
	trailer := pdf.NewDict(pdf.Name("Root"), s.ref(d.Root()))
	if info, ok := s.info(); ok {
		trailer.Set("Info", info)
	}
	if err := s.drain(); err != nil {
		return fmt.Errorf("write PDF: %w", err)
	}
	if err := out.Close(trailer); err != nil {
		return fmt.Errorf("write PDF: %w", err)
	}
	return nil
}

// mostOf bounds what is written of a document: its streams are in the file
// once, and the rest of its objects, where they are compressed, grow by less
// than this. But streams can overlap, and pages repeat.
func mostOf(src ades.Source) int64 { return 128<<20 + 8*src.Size() }

// bounded refuses to write more.
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

// open repairs a file whose cross-references are damaged: a new one is written
// anyway.
func open(ctx context.Context, src ades.Source, password string) (*pdf.Document, error) {
	d, err := pdf.Open(src, pdf.Options{Repair: true, Context: ctx})
	if errors.Is(err, ades.ErrPassword) && password != "" {
		d, err = pdf.Open(src, pdf.Options{Password: password, Repair: true, Context: ctx})
	}
	return d, err
}
