package pades

import (
	"context"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/rewrite"
)

// Examination is what there is to know of a document before it is signed.
type Examination struct {
	// Twofold are the places that readers can take in two ways: no signature over
	// them would be valid.
	Twofold []string
	// Encrypted says that the document is, and Signed that it has a signature.
	Encrypted, Signed bool
	// Prefix is the number of bytes before the header. Some readers count the
	// extent of a signature from the header, and some from the first byte.
	Prefix int64

	audited   *pdf.Audited
	storeless bool // it has one revision, and no Document Security Store
	rights    bool // it has usage rights, which writing it anew would break
}

// Examine looks whether a document can be signed. The error is that of Read.
func Examine(ctx context.Context, src ades.Source, password string) (*Examination, error) {
	d, err := pdf.Open(src, pdf.Options{Password: password, Repair: true, Context: ctx})
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	all, _, err := fields(d)
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	list, err := d.Audit(ctx)
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	cat, err := d.Catalog()
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	out := &Examination{Encrypted: d.Encrypted(), Prefix: d.Prefix(), audited: d.Audited()}
	for i := range all {
		out.Signed = out.Signed || all[i].kind == "Sig" && !all[i].empty(d)
	}
	if perms, err := d.Dict(cat.Get("Perms")); err == nil {
		out.rights = perms.Has("UR3") || perms.Has("UR")
	}
	out.storeless = d.Repaired() == nil && len(d.Revisions()) == 1 && cat.Get("DSS") == nil
	for _, a := range list {
		out.Twofold = append(out.Twofold, a.String())
	}
	if text, err := rewrite.Crooked(d); err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	} else if text != "" {
		out.Twofold = append(out.Twofold, text)
	}
	if out.Prefix > 0 {
		out.Twofold = append(out.Twofold, fmt.Sprintf("the header has %d bytes before it", out.Prefix))
	}
	return out, nil
}

// examined is a source with what was found in it. That is not looked for again when
// the document is read with a signature behind it: its bytes are the same.
type examined struct {
	ades.Source
	found *Examination
}

// examinationOf is what is known of a document, or of the one that it begins
// with; the zero value where nothing is.
func examinationOf(src ades.Source) Examination {
	if g, ok := src.(*grown); ok {
		src = g.src
	}
	if e, ok := src.(*examined); ok {
		return *e.found
	}
	return Examination{}
}
