package pades

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/handoff"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/rewrite"
)

// signable opens a document that can be read in only one way: the given one, or a rewritten copy
// and the reasons for it. A document with signatures is never changed.
func (o settings) signable(ctx context.Context, src ades.Source) (*pdf.Document, ades.Source, []string, error) {
	d, why, err := examine(ctx, src, o.Password)
	if err != nil && !damaged(err) {
		return nil, nil, nil, err
	}
	switch {
	case err != nil:
		why = []string{cause(err)}
	case len(why) == 0:
		return d, src, nil, nil
	case inForm(d):
		return asItIs(d, src)
	}
	if o.AsIs {
		return nil, nil, nil, ades.Malformed("PDF", "", "it would have to be written anew before it is signed: %s", why[0])
	}
	var spool Spool = new(memory)
	if o.Spool != nil {
		spool = o.Spool()
	}
	if again := Anew(ctx, spool, src, o.Password); again != nil {
		if err == nil && errors.Is(again, ErrForbidden) && hasRights(d) {
			return asItIs(d, src)
		}
		return nil, nil, nil, again
	}
	copied := spool.Source()
	if d, _, err = examine(ctx, copied, o.Password); err != nil {
		return nil, nil, nil, fmt.Errorf("written anew: %w", err)
	}
	return d, copied, why, nil
}

// examine opens a document, and lists why it has to be rewritten before it is signed.
func examine(ctx context.Context, src ades.Source, password string) (*pdf.Document, []string, error) {
	d, err := pdf.Open(src, pdf.Options{Password: password, Repair: true, Context: ctx})
	if err != nil || handoff.Signable(src) {
		return d, nil, err
	}
	if _, _, err := fields(d); err != nil {
		return nil, nil, err
	}
	why, err := rewrite.Reasons(ctx, d)
	return d, why, err
}

// asItIs returns a document that is signed whatever is wrong with it; the signed one is verified
// before it is returned.
func asItIs(d *pdf.Document, src ades.Source) (*pdf.Document, ades.Source, []string, error) {
	if n := d.Prefix(); n > 0 {
		return nil, nil, nil, ades.Malformed("PDF", "header", "%d bytes stand before it, and the document cannot do without them", n)
	}
	return d, src, nil, nil
}

// inForm reports whether a field of the form is signed.
func inForm(d *pdf.Document) bool {
	all, _, err := fields(d)
	return err == nil && slices.ContainsFunc(all, func(f field) bool { return f.kind == "Sig" && !f.empty(d) })
}

// hasRights reports whether a document has usage rights, which rewriting would break.
func hasRights(d *pdf.Document) bool {
	cat, err := d.Catalog()
	if err != nil {
		return false
	}
	perms, err := d.Dict(cat.Get("Perms"))
	return err == nil && (perms.Has("UR3") || perms.Has("UR"))
}

// memory is a Spool in memory.
type memory struct{ bytes.Buffer }

// Source returns what was written.
func (m *memory) Source() ades.Source { return bytes.NewReader(m.Bytes()) }

// damaged reports whether an error is in the document, which rewriting may repair.
func damaged(err error) bool {
	var m *ades.MalformedError
	return errors.As(err, &m) && !errors.Is(err, limits.ErrBudget) && !errors.Is(err, ades.ErrPassword) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// cause is the text of a MalformedError.
func cause(err error) string {
	if m, ok := errors.AsType[*ades.MalformedError](err); ok {
		return m.Error()
	}
	return err.Error()
}

// Anew rewrites a document that is damaged, or that can be read in two ways, so that it can be read
// in only one way: the same pages, fields, annotations, attachments, structure and metadata, with
// streams copied byte for byte and new tables. Encrypted documents remain encrypted, with the same
// passwords. The copy is read again and compared with the document before Anew returns. A document
// with signatures is refused with [ErrForbidden]: they would not survive.
func Anew(ctx context.Context, w Spool, src ades.Source, password string) error {
	d, err := rewrite.Open(ctx, src, password)
	if err != nil {
		return fmt.Errorf("pades: write anew: %w", err)
	}
	signed, err := hasSignature(ctx, d, src)
	if err != nil {
		return fmt.Errorf("pades: write anew: %w", err)
	}
	if signed {
		return fmt.Errorf("pades: the document is damaged, and has a signature that writing it anew would break: %w", ErrForbidden)
	}
	if err := rewrite.Write(w, d); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	copied, err := pdf.Open(w.Source(), pdf.Options{Password: password, Context: ctx})
	if err != nil {
		return fmt.Errorf("pades: read what was written anew: %w", err)
	}
	if err := rewrite.Same(d, copied); err != nil {
		if !errors.Is(err, rewrite.ErrOther) {
			return fmt.Errorf("pades: compare what was written anew: %w", err)
		}
		return fmt.Errorf("pades: %w", ades.Malformed("PDF", "", "it cannot be written anew as it is: %v", err))
	}
	return nil
}

// hasSignature reports whether a document has a signature, found in its form or, since damage may
// hide it, by a name that every signature has.
func hasSignature(ctx context.Context, d *pdf.Document, src ades.Source) (bool, error) {
	if _, _, err := fields(d); err != nil && !damaged(err) {
		return false, err
	}
	if inForm(d) {
		return true, nil
	}
	word := []byte("/ByteRange")
	buf := make([]byte, 64<<10)
	for at, size := int64(0), src.Size(); at < size; at += int64(len(buf) - len(word)) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := src.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if bytes.Contains(buf[:n], word) {
			return true, nil
		}
	}
	return false, nil
}
