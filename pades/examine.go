package pades

import (
	"context"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// Examination is what there is to know of a document before it is signed.
type Examination struct {
	// Twofold are the places that readers can take in two ways: no signature over
	// them would be valid.
	Twofold []string
	// Encrypted says that the document is.
	Encrypted bool

	audited   *pdf.Audited
	storeless bool // it has one revision, and no Document Security Store
}

// Examined is a source whose examination is known. What was found there is not
// looked for again when the document is read with a signature behind it: its
// bytes are the same.
type Examined interface {
	ades.Source
	Examination() *Examination
}

// Examine looks whether a document can be signed. The error is that of Read.
func Examine(ctx context.Context, src ades.Source, password string) (*Examination, error) {
	d, err := pdf.Open(src, pdf.Options{Password: password, Repair: true, Context: ctx})
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	defer d.Close()
	if _, _, err := fields(d); err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	list, err := d.Ambiguities(ctx)
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	cat, err := d.Catalog()
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	out := &Examination{Encrypted: d.Encrypted(), audited: d.Audited()}
	out.storeless = d.Repaired() == nil && len(d.Revisions()) == 1 && cat.Get("DSS") == nil
	for _, a := range list {
		out.Twofold = append(out.Twofold, a.String())
	}
	return out, nil
}

// examinationOf is what is known of a document, or of the one that it begins
// with; the zero value where nothing is.
func examinationOf(src ades.Source) Examination {
	if g, ok := src.(*grown); ok {
		src = g.src
	}
	if e, ok := src.(Examined); ok && e.Examination() != nil {
		return *e.Examination()
	}
	return Examination{}
}
