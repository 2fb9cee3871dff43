package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
)

// Which document is asked for.
const (
	SignedDocument    = "signedDocument"
	ValidatedDocument = "validatedDocument"
)

// Download is a document on its way out.
type Download struct {
	File *File
	Data io.ReadSeekCloser
}

// Open hands out a document of a record: fault 143 while there is none, 144
// once its time is over. The download is written down.
func (s *Ledger) Open(ctx context.Context, from request.Caller, id, which string) (*Download, error) {
	r, err := s.Find(ctx, from.AccountID, id)
	if err != nil {
		return nil, err
	}
	f := r.Signed
	if which == ValidatedDocument {
		f = r.Validated
	}
	switch {
	case f == nil && r.State == Done:
		return nil, fault.New(fault.NotReady, "there is no %s: each document of this record was signed on its own, as it was sent", which)
	case f == nil && r.State == Error:
		return nil, fault.New(fault.NotReady, "there is no %s: the signature ended in error %d", which, r.ErrorNumber)
	case f == nil:
		return nil, fault.New(fault.NotReady, "there is no %s (yet): the signature is %s", which, r.State)
	case f.deleted:
		return nil, fault.New(fault.Deleted, "the document was deleted at the end of its retention")
	}
	b, err := s.content(ctx, r, f)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return nil, fault.New(fault.Unavailable, "the storage has lost the %s; the operator's doctor names it", which).Because(err)
	case errors.Is(err, blob.ErrCorrupt), errors.Is(err, errOtherDocument):
		return nil, fault.New(fault.Unavailable, "the storage has damaged the %s; the operator's doctor names it", which).Because(err)
	case err != nil:
		return nil, err
	}
	err = s.DB.Write(ctx, func(tx *store.Tx) error {
		return s.Audit.Append(ctx, tx, audit.Event{
			Account: r.AccountID, Record: r.ID, Kind: "download", Log: fmt.Sprintf("%s downloaded from %s", which, from.Address),
			Detail: from.Named(map[string]any{"address": from.Address, "token": from.TokenID, "sha256": f.SHA256}),
		})
	})
	if err != nil {
		_ = b.Close()
		return nil, err
	}
	return &Download{File: f, Data: b}, nil
}

// content opens a document of a record, after checking all of it against its seal and digest.
func (s *Ledger) content(ctx context.Context, r *Record, f *File) (io.ReadSeekCloser, error) {
	// The client reads it at its own pace, after the call's deadline.
	b, err := s.Blobs.For(r.Owner()).Open(context.WithoutCancel(ctx), f.Blob)
	if err != nil {
		return nil, fmt.Errorf("signing: open the %s document of %s: %w", f.Role, r.ID, err)
	}
	if err := whole(b); err != nil {
		_ = b.Close()
		return nil, fmt.Errorf("signing: the %s document of %s is not what was stored: %w", f.Role, r.ID, err)
	}
	return b, f.Holds(b)
}

// Copy writes a document of a record for the server's own use, which is no
// download. It says whether the document is still there.
func (s *Ledger) Copy(ctx context.Context, r *Record, f *File, w io.Writer) (bool, error) {
	if f == nil || f.deleted || f.Blob == "" {
		return false, nil
	}
	b, err := s.content(ctx, r, f)
	if err != nil {
		return false, err
	}
	_, err = io.Copy(w, b)
	return true, errors.Join(err, b.Close())
}

// Peek opens the signed document of a record to look into it; none of it may leave the server.
func (s *Ledger) Peek(ctx context.Context, r *Record) (*blob.Reader, error) {
	b, err := s.Blobs.For(r.Owner()).Open(ctx, r.Signed.Blob)
	if err != nil {
		return nil, fmt.Errorf("signing: open signed document of %s: %w", r.ID, err)
	}
	return b, nil
}

// whole reads a document to its end, which checks the seal of every piece, before the first
// byte is sent: half a document with status 200 is no answer.
func whole(b io.ReadSeeker) error {
	if _, err := io.Copy(io.Discard, b); err != nil {
		return err
	}
	_, err := b.Seek(0, io.SeekStart)
	return err
}

// Trail returns a record and its events, in order.
func (s *Ledger) Trail(ctx context.Context, account, id string) (*Record, []*audit.Entry, error) {
	r, err := s.Find(ctx, account, id)
	if err != nil {
		return nil, nil, err
	}
	events, err := s.Audit.Of(ctx, id)
	return r, events, err
}
