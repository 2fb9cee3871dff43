package pades

import (
	"context"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/rewrite"
)

// Examination is what is known of a document before it is signed.
type Examination struct {
	// Twofold are the places that readers can interpret in two ways: no signature over them would
	// be valid.
	Twofold []string
	// Encrypted: the document is encrypted. Signed: it has a signature.
	Encrypted, Signed bool
	// Prefix is the number of bytes before the header. Some readers count byte ranges from the
	// header, others from the first byte.
	Prefix int64

	audited   *pdf.Audited
	storeless bool // it has one revision, and no Document Security Store
	rights    bool // it has usage rights, which rewriting would break
}

// Examine checks whether a document can be signed. It returns the errors of Read.
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

// examined is a source with the result of Examine, which still applies when the document is read
// with a signature appended, since its bytes do not change.
type examined struct {
	ades.Source
	found *Examination
}

// examinationOf is what is known of a document, or of the one that it begins with; it may be zero.
func examinationOf(src ades.Source) Examination {
	if g, ok := src.(*grown); ok {
		src = g.src
	}
	if e, ok := src.(*examined); ok {
		return *e.found
	}
	return Examination{}
}
