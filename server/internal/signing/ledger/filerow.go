package ledger

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"rogito.dev/rogito/server/internal/store"
)

// A document is a row, known by its record, role and place there. The only input,
// where it is signed as it is, is the validated document too. Digests are
// bytes, and a name that follows from the rest is not stored.

const fileColumns = `signature_id, id, role, position, validated, source_type, source, label, mimetype, extension, size, md5, sha256, name, blob, created_at`

const selectFile = `select ` + fileColumns + `, deleted_at from signature_files `

// fileRow is where the columns of a file go.
type fileRow struct {
	File
	record           string
	md5, sha256      []byte
	deleted, created int64
}

func (r *fileRow) fields() []any {
	f := &r.File
	return []any{
		&r.record, &f.ID, &f.Role, &f.Position, &f.validated, &f.SourceType, &f.Source, &f.Label, &f.MediaType, &f.Extension, &f.Size, &r.md5, &r.sha256, &f.Name, &f.Blob, &r.created, &r.deleted,
	}
}

func (r *fileRow) file() *File {
	f := &r.File
	f.MD5, f.SHA256, f.deleted, f.CreatedAt = hexOf(r.md5), hexOf(r.sha256), r.deleted != 0, store.Time(r.created)
	if f.Name == "" {
		f.Name = f.usualName(r.record)
	}
	return f
}

// usualName is the name of a document that was given none: for an input its digest, as clients know
// it, for an output its record. An input that was not fetched yet has none.
func (f *File) usualName(record string) string {
	switch {
	case f.MD5 == "":
		return ""
	case f.Role == RoleSigned:
		return record + "." + f.Extension
	}
	return f.MD5 + "." + f.Extension
}

func (f *File) storedName(record string) string {
	if f.Name == f.usualName(record) {
		return ""
	}
	return f.Name
}

// AsValidated is an input as the document to sign: under one id in both places.
func (f *File) AsValidated() *File {
	f.validated = true
	v := *f
	v.Role, v.Position, v.SourceType, v.validated = RoleValidated, 0, "", false
	return &v
}

// place puts a file where it belongs.
func (r *Record) place(f *File) {
	switch f.Role {
	case RoleInput:
		r.Inputs = append(r.Inputs, f)
		if f.validated {
			r.Validated = f.AsValidated()
		}
	case RoleValidated:
		r.Validated = f
	case RoleSigned:
		r.Signed = f
	case RoleImage:
		r.Image = f
	case RoleWork:
		r.Work = append(r.Work, f)
	case RoleEvidence:
		r.Evidence = append(r.Evidence, f)
	default:
		r.odd = true
	}
	r.odd = r.odd || f.validated && f.Role != RoleInput
}

// rows are the files that have rows of their own.
func (r *Record) rows() []*File {
	return slices.DeleteFunc(r.allFiles(), func(f *File) bool { return f.Role == RoleValidated && r.validatedInput() != nil })
}

// validatedInput is the input that is the validated document too, if one is.
func (r *Record) validatedInput() *File {
	if i := slices.IndexFunc(r.Inputs, func(f *File) bool { return f.validated }); i >= 0 {
		return r.Inputs[i]
	}
	return nil
}

// InsertFiles stores the rows of files, those of one request in one statement.
func (s *Ledger) InsertFiles(ctx context.Context, tx *store.Tx, record string, files ...*File) error {
	const columns = 16
	for part := range slices.Chunk(files, 50) {
		args := make([]any, 0, columns*len(part))
		for _, f := range part {
			md5, sha256, err := f.digests()
			if err != nil {
				return err
			}
			args = append(args, record, f.ID, f.Role, f.Position, f.validated, f.SourceType, f.Source, f.Label, f.MediaType, f.Extension, f.Size, md5, sha256, f.storedName(record), f.Blob, store.Millis(f.CreatedAt))
		}
		if err := tx.Later(ctx, `insert into signature_files (`+fileColumns+`) values `+store.Values(len(part), columns), args...); err != nil {
			return fmt.Errorf("signing: store files: %w", err)
		}
	}
	return nil
}

func (f *File) digests() (md5, sha256 []byte, err error) {
	if md5, err = hex.DecodeString(f.MD5); err == nil {
		sha256, err = hex.DecodeString(f.SHA256)
	}
	return md5, sha256, err
}

// InsertValidated stores the document that was validated after its record was
// stored.
func (s *Ledger) InsertValidated(ctx context.Context, tx *store.Tx, r *Record) error {
	if in := r.validatedInput(); in != nil {
		return tx.Later(ctx, `update signature_files set validated = true where signature_id = $1 and role = $2 and position = $3`, r.ID, in.Role, in.Position)
	}
	if r.Validated == nil {
		return nil
	}
	return s.InsertFiles(ctx, tx, r.ID, r.Validated)
}

func (s *Ledger) UpdateFile(ctx context.Context, tx *store.Tx, record string, f *File) error {
	md5, sha256, err := f.digests()
	if err != nil {
		return err
	}
	return tx.Later(ctx, `update signature_files set source = null, mimetype = $1, extension = $2, size = $3, md5 = $4, sha256 = $5, name = $6, blob = $7 where signature_id = $8 and role = $9 and position = $10`,
		f.MediaType, f.Extension, f.Size, md5, sha256, f.storedName(record), f.Blob, record, f.Role, f.Position)
}

// Fill says what the content of a file is. Its name is the digest's, as clients
// know it, unless the file has one.
func (f *File) Fill(size int64, md5, sha256 []byte, mime, ext string) {
	f.Size, f.MD5, f.SHA256 = size, hexOf(md5), hexOf(sha256)
	f.MediaType, f.Extension = mime, ext
	if f.Name == "" {
		f.Name = f.MD5 + "." + ext
	}
}
