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
	"rogito.dev/rogito/internal/pdf/rewrite"
)

// Merge joins documents in order. The password opens those that are encrypted;
// the result is not.
func Merge(ctx context.Context, w io.Writer, password string, docs ...ades.Source) error {
	j := &joined{}
	most := int64(0)
	for i, src := range docs {
		d, err := open(ctx, src, password)
		if err != nil {
			return fmt.Errorf("merge PDF: document %d: %w", i, err)
		}
		s := newSource(d)
		if err := s.findPages(); err != nil {
			return fmt.Errorf("merge PDF: document %d: %w", i, err)
		}
		j.sources = append(j.sources, s)
		most += rewrite.MostOf(d)
	}
	if len(docs) == 0 {
		return errors.New("merge PDF: no documents")
	}
	if err := j.write(rewrite.Bound(w, most)); err != nil {
		return fmt.Errorf("merge PDF: %w", err)
	}
	return nil
}

// Encrypt encrypts a document with AES-256 under a password. Everything that the
// document refers to is kept.
func Encrypt(ctx context.Context, w io.Writer, doc ades.Source, password string) error {
	d, err := rewrite.Open(ctx, doc, "")
	if err != nil {
		return fmt.Errorf("encrypt PDF: %w", err)
	}
	return rewrite.Encrypt(w, d, password)
}

// open repairs a document that is damaged: a new one is written
// anyway.
func open(ctx context.Context, src ades.Source, password string) (*pdf.Document, error) {
	d, err := rewrite.Open(ctx, src, "")
	if errors.Is(err, ades.ErrPassword) && password != "" {
		d, err = rewrite.Open(ctx, src, password)
	}
	return d, err
}
