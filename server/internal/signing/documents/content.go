package documents

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/handoff"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// content is a document that is among the blobs. What is signed is what is
// stored: the digest that a signature goes on from is that of the stored bytes,
// which are not digested again.
type content struct {
	handoff.Document
	stored blob.Info
}

func newContent(src ades.Source, stored blob.Info) *content {
	return &content{Document: handoff.Document{Source: src, SHA256: stored.SHA256State}, stored: stored}
}

// handed is a source as the library takes it: with what is known of it.
func handed(src ades.Source) ades.Source {
	if c, ok := src.(*content); ok {
		return &c.Document
	}
	return src
}

// Store puts a document among the blobs and fills in its file object. The name
// is the digest's, as clients know it, unless the file has one. Of a document
// that begins with one that is stored, as a signed PDF does, only the rest is:
// they belong to one record and go together.
func (x *Set) Store(ctx context.Context, f *ledger.File, src ades.Source, m Media) (ades.Source, error) {
	blobs := x.Blobs.For(x.record.Owner())
	var b blob.Info
	var err error
	if from := x.beginning(src); from == nil {
		b, err = blobs.Put(ctx, reading(src))
	} else {
		b, err = blobs.PutGrown(ctx, from.stored, io.NewSectionReader(src, from.Size(), src.Size()-from.Size()))
	}
	if err != nil {
		return nil, fmt.Errorf("signing: store document: %w", err)
	}
	f.Blob = b.ID
	f.Fill(b.Size, b.MD5[:], b.SHA256[:], m.MIME, m.Ext)
	c := newContent(src, b)
	x.contents = append(x.contents, c)
	return c, nil
}

// reading reads a document from its beginning. What is in memory can be taken from
// there without a copy.
func reading(src ades.Source) io.Reader {
	if m, ok := src.(*bytes.Reader); ok {
		own := *m // whose place is its own
		_, _ = own.Seek(0, io.SeekStart)
		return &own
	}
	return io.NewSectionReader(src, 0, src.Size())
}

// open gets a document that was stored before, as if it had just been brought: it
// will be read several times and at random, and the storage may be far away.
func (x *Set) open(ctx context.Context, f *ledger.File) (ades.Source, error) {
	b, err := x.Blobs.For(x.record.Owner()).Open(ctx, f.Blob)
	if err != nil {
		return nil, fmt.Errorf("signing: open document: %w", err)
	}
	if err := f.Holds(b); err != nil {
		return nil, &ledger.Refusal{Number: fault.SigningFailed, Text: "a stored document is not the one that the record names", Err: err}
	}
	defer b.Close()
	w := x.Spool().WriteSized(b.Size())
	stored, err := b.Copy(w)
	if err != nil {
		return nil, fmt.Errorf("signing: read document: %w", err)
	}
	c := newContent(w.Source(), stored)
	x.contents = append(x.contents, c)
	return c, nil
}

// beginning is the largest of the documents stored so far that a new one begins
// with; nil where there is none. Comparing costs a fraction of digesting, but
// not with many.
func (x *Set) beginning(src ades.Source) (longest *content) {
	if len(x.contents) > 3 {
		return nil
	}
	for _, c := range x.contents {
		if c.stored.Grows() && (longest == nil || c.Size() > longest.Size()) && begins(src, c.Source) {
			longest = c
		}
	}
	return longest
}

var compareBuffers = sync.Pool{New: func() any { return new([2][16 << 10]byte) }}

// begins reports whether a document begins with all of another.
func begins(whole, part ades.Source) bool {
	if whole.Size() < part.Size() {
		return false
	}
	bufs := compareBuffers.Get().(*[2][16 << 10]byte)
	defer compareBuffers.Put(bufs)
	a, b := &bufs[0], &bufs[1]
	for at := int64(0); at < part.Size(); at += int64(len(a)) {
		n := min(int64(len(a)), part.Size()-at)
		if k, _ := part.ReadAt(a[:n], at); k < int(n) {
			return false
		}
		if k, _ := whole.ReadAt(b[:n], at); k < int(n) || !bytes.Equal(a[:n], b[:n]) {
			return false
		}
	}
	return true
}

// signatureSize is what a signature without much evidence adds to a document;
// maxKept bounds what is in memory behind one.
const (
	signatureSize = 48 << 10
	maxKept       = 256 << 10
)

// Signed is a document as the library left it: in the spool of the run, or, of a
// PDF, in memory behind the document that was signed, if that is little.
func (x *Set) Signed(of, made ades.Source) (ades.Source, error) {
	if made.Size()-of.Size() <= maxKept {
		return made, nil
	}
	w := x.Spool().WriteSized(made.Size())
	if _, err := io.Copy(w, reading(made)); err != nil {
		return nil, fmt.Errorf("signing: write document: %w", err)
	}
	return w.Source(), nil
}

// sourceBytes reads a small source whole.
func sourceBytes(src ades.Source, limit int64) ([]byte, error) {
	if src.Size() > limit {
		return nil, fmt.Errorf("%d bytes, at most %d", src.Size(), limit)
	}
	var b bytes.Buffer
	_, err := io.Copy(&b, io.NewSectionReader(src, 0, src.Size()))
	return b.Bytes(), err
}

// Stored is how many documents were stored so far.
func (x *Set) Stored() int { return len(x.contents) }

// Discard deletes what was stored since.
func (x *Set) Discard(ctx context.Context, since int) {
	for _, c := range x.contents[since:] {
		_ = x.Blobs.Delete(ctx, c.stored.ID) // the sweep of blobs would find it later
	}
}
