package documents

import (
	"context"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pdfmerge"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/upload"
)

// PDF is the media type of what people sign.
var PDF = mediaPDF

// ValidatePeople makes sure that people can be shown what they are asked to sign: PDFs,
// one or several, each of which reads in one way only.
func (x *Set) ValidatePeople(ctx context.Context) error {
	r := x.record
	r.Type, r.Work = request.PAdES, nil
	if err := x.fetchAll(ctx); err != nil {
		return err
	}
	for _, d := range x.docs {
		if err := x.refuseStatement(ctx, d); err != nil {
			return err
		}
		if d.media() != mediaPDF {
			return &ledger.Refusal{Number: fault.NotSignable, Text: fmt.Sprintf("inputDocuments[%d] is not a PDF", d.file.Position)}
		}
		if x.encrypted(ctx, d.src) {
			return &ledger.Refusal{Number: fault.NotSignable, Text: fmt.Sprintf("inputDocuments[%d] is encrypted, and cannot be shown", d.file.Position)}
		}
	}
	switch {
	case len(x.docs) == 1:
		return x.validateOne(ctx)
	case r.Options.People.Merge:
		it := &Item{format: request.PAdES, Label: r.Title}
		x.Items = []*Item{it}
		return x.mergePeople(ctx, it)
	}
	for _, d := range x.docs {
		it := x.newItem(d)
		twofold, err := x.twofold(ctx, it.Index, d)
		if err != nil {
			return err
		}
		if twofold {
			if err := x.writeAnew(ctx, it, d); err != nil {
				return err
			}
		}
		x.Items = append(x.Items, it)
	}
	return nil
}

// mergePeople joins PDFs, and writes the result so that it reads in one way.
func (x *Set) mergePeople(ctx context.Context, it *Item) error {
	srcs := make([]ades.Source, len(x.docs))
	for i, d := range x.docs {
		if err := x.unsigned(ctx, i, d, "merging"); err != nil {
			return err
		}
		srcs[i] = d.src
	}
	return x.build(ctx, it, mediaPDF, func(ctx context.Context, w *upload.Writer) error {
		return pdfmerge.Merge(ctx, w, "", srcs...)
	})
}

func (x *Set) writeAnew(ctx context.Context, it *Item, d *document) error {
	var w *upload.Writer
	err := x.bounded(ctx, func(ctx context.Context) error {
		w = x.Spool().Write()
		return x.anew(ctx, w, d)
	})
	if err != nil {
		return err
	}
	f, err := x.StoreWork(ctx, it.Index, w.Source())
	if err != nil {
		return err
	}
	x.record.Work = append(x.record.Work, f)
	it.Source = w.Source()
	return nil
}

// StoreWork stores a document on its way: what comes of it has no row yet.
func (x *Set) StoreWork(ctx context.Context, index int, src ades.Source) (*ledger.File, error) {
	f := &ledger.File{ID: store.NewID(), Role: ledger.RoleWork, Position: index, CreatedAt: x.Now()}
	_, err := x.Store(ctx, f, src, mediaPDF)
	return f, err
}

// Open opens a document of the record, to be signed or looked into.
func (x *Set) Open(ctx context.Context, f *ledger.File) (ades.Source, error) {
	for _, d := range x.docs {
		if d.file.Blob == f.Blob && d.src != nil {
			return d.src, nil
		}
	}
	return x.open(ctx, f)
}

// Zip puts the documents of the record into one file, under their names.
func (x *Set) Zip(all []ades.Source) (ades.Source, error) {
	files := make([]ades.File, len(all))
	for i, src := range all {
		files[i] = ades.File{Name: EntryName(i, x.record.Inputs[i].Label, "pdf"), Source: src}
	}
	w := x.Spool().Write()
	err := writeZip(w, files, x.record.CreatedAt)
	return w.Source(), err
}
