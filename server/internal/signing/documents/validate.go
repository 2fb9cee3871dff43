package documents

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/rewrite"
	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pdfmerge"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/upload"
	"rogito.dev/rogito/xades"
)

// Item is one thing to be signed: a document, a digest, or several files that
// one container will hold.
type Item struct {
	Index   int
	format  request.SignatureType
	Source  ades.Source
	files   []ades.File // of a container; nil otherwise
	Digest  []byte
	Media   Media
	Label   string
	Refused *ledger.Refusal // of a batch: why this one cannot be signed
	Anew    bool            // of a batch: Source is a rewritten copy
}

// Validate makes sure that there is something to sign: remote documents are
// fetched, formats chosen, and where the format needs one document, it is
// built. It can be repeated; what it built before is used again.
func (x *Set) Validate(ctx context.Context) error {
	if err := x.fetchAll(ctx); err != nil {
		return err
	}
	if err := x.fetchImage(ctx); err != nil {
		return err
	}
	for _, d := range x.docs {
		if err := x.refuseStatement(ctx, d); err != nil {
			return err
		}
	}
	r := x.record
	switch {
	case r.Options.Batch:
		return x.validateBatch(ctx)
	case len(x.docs) == 1:
		return x.validateOne(ctx)
	}
	return x.validateSeveral(ctx)
}

// refuseStatement refuses to sign a statement of identification: with a key that callers use here,
// it would be no evidence of who signed.
func (x *Set) refuseStatement(ctx context.Context, d *document) error {
	if d.no != nil {
		return nil
	}
	var digest []byte
	var yes bool
	err := x.bounded(ctx, func(ctx context.Context) (err error) {
		if d.digest {
			if digest, err = sourceBytes(d.src, 64); err != nil {
				return err
			}
		}
		yes, err = x.IsStatement(ctx, d.src, digest)
		return err
	})
	if errors.Is(err, limits.ErrBudget) {
		return nil // too much to be one; whether it can be signed is judged below
	}
	if err != nil || !yes {
		return err
	}
	no := &ledger.Refusal{Number: fault.NotSignable, Text: fmt.Sprintf("inputDocuments[%d] is an identification statement: its holder signs it, with a key that no server uses", d.file.Position)}
	if !x.record.Options.Batch {
		return no
	}
	d.no = no
	return nil
}

// bounded does a piece of work on documents within the memory that the work on
// one may take, beside others in the process. It may be begun twice.
func (x *Set) bounded(ctx context.Context, work func(context.Context) error) error {
	return limits.Bounded(ctx, x.Memory, work)
}

// formatOf a document: the one that was asked for, or by its content.
func (x *Set) formatOf(d *document) request.SignatureType {
	if f := x.record.Asked(); f != "" {
		return f
	}
	if d.digest {
		return request.CAdES
	}
	return d.format
}

func (x *Set) newItem(d *document) *Item {
	return &Item{Index: d.file.Position, format: x.formatOf(d), Source: d.src, Media: d.media(), Label: d.file.Label}
}

func (x *Set) validateOne(ctx context.Context) error {
	d, r := x.docs[0], x.record
	it := x.newItem(d)
	r.Type = it.format
	if err := x.check(it, d); err != nil {
		return err
	}
	x.Items = []*Item{it}
	if it.format == request.PAdES && r.Options.EncryptAny && !x.encrypted(ctx, d.src) {
		if err := x.unsigned(ctx, 0, d, "encrypting"); err != nil {
			return err
		}
		return x.build(ctx, it, mediaPDF, func(ctx context.Context, w *upload.Writer) error {
			return pdfmerge.Encrypt(ctx, w, d.src, x.secrets.EncryptionPassword)
		})
	}
	if it.format == request.PAdES {
		twofold, err := x.twofold(ctx, it.Index, d)
		if err != nil {
			return err
		}
		if twofold {
			return x.build(ctx, it, mediaPDF, func(ctx context.Context, w *upload.Writer) error { return x.anew(ctx, w, d) })
		}
	}
	if r.Validated == nil {
		r.Validated = d.file.AsValidated()
	}
	return nil
}

// build makes the one document to sign, unless an earlier attempt has.
func (x *Set) build(ctx context.Context, it *Item, m Media, make func(context.Context, *upload.Writer) error) error {
	r := x.record
	if r.Validated != nil {
		src, err := x.open(ctx, r.Validated)
		it.Source, it.Media = src, m
		return err
	}
	var w *upload.Writer
	err := x.bounded(ctx, func(ctx context.Context) error {
		w = x.Spool().Write()
		return make(ctx, w)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var no *ledger.Refusal
	if errors.Is(err, fault.Unavailable) || errors.As(err, &no) {
		return err
	}
	if err != nil {
		return &ledger.Refusal{Number: fault.NotSignable, Text: fmt.Sprintf("the document to sign could not be built: %v", plain(err)), Err: err}
	}
	it.Media, r.Validated = m, &ledger.File{ID: store.NewID(), Role: ledger.RoleValidated, CreatedAt: x.Now()}
	it.Source, err = x.Store(ctx, r.Validated, w.Source(), m)
	return err
}

// plain keeps the innermost text of an error from a library: the first line,
// and not too much of it.
func plain(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return ClipTo(s, 300)
}

// check looks at the structure of one document, as far as its format needs.
func (x *Set) check(it *Item, d *document) error {
	if d.digest {
		if it.format == request.CAdES && x.record.Options.TargetLevel() >= ades.LevelLTA {
			return &ledger.Refusal{Number: fault.NotSignable, Text: "a signature over a digest cannot reach LTA: its archive time-stamp needs the document"}
		}
		b, err := sourceBytes(d.src, 64)
		it.Digest = b
		return err
	}
	var err error
	switch it.format {
	case request.PAdES:
		if it.Media != mediaPDF {
			return &ledger.Refusal{Number: fault.NotSignable, Text: fmt.Sprintf("inputDocuments[%d] is not a PDF", it.Index)}
		}
	case request.XAdES:
		if p := x.record.Options.Packaging; p == "enveloped" && !xades.LooksLikeXML(d.src) {
			err = xades.ErrNotXML
		}
	}
	return Unsignable(it.Index, err)
}

// Unsignable turns a format's error about a document into the record's error 113.
func Unsignable(index int, err error) error {
	if err == nil {
		return nil
	}
	var no *ledger.Refusal
	if errors.As(err, &no) {
		return err
	}
	if !rogito.BadDocument(err) {
		return err
	}
	if errors.Is(err, ades.ErrPassword) {
		return &ledger.Refusal{Number: fault.NotSignable, Text: fmt.Sprintf("inputDocuments[%d] %s, and options.encryptionPassword is not it", index, ledger.PasswordNeeded), Err: err}
	}
	return &ledger.Refusal{Number: fault.NotSignable, Text: fmt.Sprintf("inputDocuments[%d] cannot be signed: %v", index, plain(err)), Err: err}
}

// twofold says whether a PDF can be read in two ways, a damaged one among them:
// it is rewritten before it is signed.
func (x *Set) twofold(ctx context.Context, index int, d *document) (bool, error) {
	var why []string
	err := x.bounded(ctx, func(ctx context.Context) error {
		read, err := pdf.Open(d.src, pdf.Options{Password: x.secrets.EncryptionPassword, Repair: true, Context: ctx})
		if err != nil {
			return err
		}
		why, err = rewrite.Reasons(ctx, read)
		return err
	})
	var malformed *ades.MalformedError
	switch {
	case errors.As(err, &malformed) && !errors.Is(err, ades.ErrPassword):
		return true, nil // the reading before the rewrite says what is wrong
	case err != nil:
		return false, Unsignable(index, err)
	}
	if c, ok := d.src.(*content); ok && len(why) == 0 {
		c.Signable = true
	}
	return len(why) > 0, nil
}

// anew rewrites a PDF. One that has signatures is refused: they would not survive.
func (x *Set) anew(ctx context.Context, w *upload.Writer, d *document) error {
	err := pades.Anew(ctx, w, d.src, x.secrets.EncryptionPassword)
	if errors.Is(err, pades.ErrForbidden) {
		return signedAlready(d.file.Position, "repairing", err)
	}
	return Unsignable(d.file.Position, err)
}

// signedAlready refuses a PDF whose signature would not survive what is to be done with it.
func signedAlready(index int, doing string, err error) error {
	return &ledger.Refusal{
		Number: fault.NotSignable, Err: err,
		Text: fmt.Sprintf("inputDocuments[%d] is signed already: %s it would break that signature", index, doing),
	}
}

func (x *Set) validateBatch(ctx context.Context) error {
	r := x.record
	for _, d := range x.docs {
		it, err := x.batchItem(ctx, d)
		if err != nil {
			return err
		}
		x.Items = append(x.Items, it)
		if r.Type == "" {
			r.Type = it.format
		}
	}
	return nil
}

// batchItem is one document of a batch, signable or not.
func (x *Set) batchItem(ctx context.Context, d *document) (*Item, error) {
	if d.no != nil {
		return &Item{Index: d.file.Position, format: x.record.Asked(), Label: d.file.Label, Refused: d.no}, nil
	}
	it := x.newItem(d)
	err := x.check(it, d)
	if err == nil && it.format == request.PAdES {
		var twofold bool
		if twofold, err = x.twofold(ctx, it.Index, d); twofold && err == nil {
			err = x.bounded(ctx, func(ctx context.Context) error {
				w := x.Spool().Write()
				err := x.anew(ctx, w, d)
				it.Source, it.Anew = w.Source(), err == nil
				return err
			})
		}
	}
	var no *ledger.Refusal
	if errors.As(err, &no) {
		it.Refused, err = no, nil
	}
	return it, err
}

func (x *Set) validateSeveral(ctx context.Context) error {
	r := x.record
	r.Type = x.commonFormat()
	several := r.Type.Several()
	if several == request.Each {
		return x.validateEach()
	}
	it := &Item{format: r.Type, Label: r.Title}
	x.Items = []*Item{it}
	switch several {
	case request.Merged:
		return x.merge(ctx, it)
	case request.Together:
		return x.gather(ctx, it)
	}
	if p := r.Options.Packaging; p == "asic-e" || p == "asic-s" {
		return x.gather(ctx, it)
	}
	return x.build(ctx, it, Zip, func(_ context.Context, w *upload.Writer) error { return writeZip(w, x.named(), x.record.CreatedAt) })
}

// gather names the files of a container that one signature is over. The
// container as it is before that signature is the validated document.
func (x *Set) gather(ctx context.Context, it *Item) error {
	it.files = x.named()
	return x.build(ctx, &Item{}, Zip, func(_ context.Context, w *upload.Writer) error { return writeZip(w, it.files, x.record.CreatedAt) })
}

// commonFormat of several documents: pades or xades if all are such.
func (x *Set) commonFormat() request.SignatureType {
	if f := x.record.Asked(); f != "" {
		return f
	}
	format := x.docs[0].format
	for _, d := range x.docs[1:] {
		if d.format != format {
			return request.CAdES
		}
	}
	return format
}

// KnownFormat is what can be said of a record's format when its work ends
// early; empty where a document was never seen.
func (x *Set) KnownFormat() request.SignatureType {
	if f := x.record.Asked(); f != "" {
		return f
	}
	for _, d := range x.docs {
		if d.src == nil {
			return ""
		}
	}
	if len(x.docs) == 0 {
		return ""
	}
	return x.commonFormat()
}

func (x *Set) validateEach() error {
	for _, d := range x.docs {
		it := x.newItem(d)
		if err := x.check(it, d); err != nil {
			return err
		}
		x.Items = append(x.Items, it)
	}
	return nil
}

// unsigned refuses a PDF that is signed.
func (x *Set) unsigned(ctx context.Context, i int, d *document, doing string) error {
	signed := false
	err := x.bounded(ctx, func(ctx context.Context) error {
		doc, err := pades.Read(ctx, d.src, ades.ReadOptions{Password: x.secrets.EncryptionPassword})
		signed = err == nil && len(doc.Signatures) > 0
		return err
	})
	if err != nil {
		return Unsignable(i, err)
	}
	if signed {
		return signedAlready(i, doing, nil)
	}
	return nil
}

// merge joins PDFs into one.
func (x *Set) merge(ctx context.Context, it *Item) error {
	password := x.secrets.EncryptionPassword
	srcs := make([]ades.Source, len(x.docs))
	for i, d := range x.docs {
		if d.media() != mediaPDF {
			return &ledger.Refusal{Number: fault.NotSignable, Text: fmt.Sprintf("inputDocuments[%d] is not a PDF and cannot be merged", i)}
		}
		if err := x.unsigned(ctx, i, d, "merging"); err != nil {
			return err
		}
		srcs[i] = d.src
	}
	return x.build(ctx, it, mediaPDF, func(ctx context.Context, w *upload.Writer) error {
		if !x.record.Options.EncryptAny {
			return pdfmerge.Merge(ctx, w, password, srcs...)
		}
		joined := x.Spool().Write()
		if err := pdfmerge.Merge(ctx, joined, password, srcs...); err != nil {
			return err
		}
		return pdfmerge.Encrypt(ctx, w, joined.Source(), password)
	})
}

// named gives every document the name it has in a zip or container.
func (x *Set) named() []ades.File {
	files := make([]ades.File, len(x.docs))
	for i, d := range x.docs {
		files[i] = ades.File{Name: EntryName(i, d.file.Label, d.media().Ext), Source: d.src}
	}
	return files
}

// EntryName is 0000_name.ext: the index in four digits, and what of the
// caller's name is harmless.
func EntryName(i int, label, ext string) string {
	base := visible.Name(strings.TrimSuffix(path.Base(strings.ReplaceAll(label, `\`, "/")), path.Ext(label)))
	if label == "" || base == "" {
		base = "document"
	}
	return fmt.Sprintf("%04d_%s.%s", i, base, ext)
}

func (x *Set) encrypted(ctx context.Context, src ades.Source) (yes bool) {
	err := x.bounded(ctx, func(ctx context.Context) error {
		d, err := pdf.Open(src, pdf.Options{Context: ctx})
		yes = err == nil && d.Encrypted()
		return err
	})
	return yes || errors.Is(err, ades.ErrPassword)
}

// writeZip writes files, compressed, all with the same time.
func writeZip(w io.Writer, files []ades.File, at time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: at.UTC()}
		e, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := io.Copy(e, io.NewSectionReader(f.Source, 0, f.Source.Size())); err != nil {
			return err
		}
	}
	return z.Close()
}

// ClipTo is the beginning of a text.
func ClipTo(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
