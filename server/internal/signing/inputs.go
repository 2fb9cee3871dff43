package signing

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // what clients know a document by
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/fetch"
	"rogito.dev/rogito/server/internal/store"
)

// takeInputs stores what the request brought: durable before the record is.
func (x *run) takeInputs(ctx context.Context, req *Request) error {
	for i, in := range req.Inputs {
		d := x.addInput(i, in)
		f := d.file
		if in.From == fromRemote {
			sealed, err := x.seal(sourcePurpose, x.record.owner()+" "+f.ID, in.Remote)
			if err != nil {
				return err
			}
			f.source = sealed
			continue
		}
		if err := x.look(ctx, d); err != nil {
			return err
		}
		if err := x.store(ctx, f, in.Source, d.media()); err != nil {
			return err
		}
	}
	if si := req.Options.SignerImage; si != nil && si.Image.Len() > 0 {
		src, err := si.Image.Document(maxImage)
		if err != nil {
			return imageFault(err)
		}
		return x.takeImage(ctx, src)
	}
	return nil
}

// nameInputs describes what a refused request brought, and keeps none of it.
func (x *run) nameInputs(ctx context.Context, req *Request) error {
	for i, in := range req.Inputs {
		d := x.addInput(i, in)
		if in.From == fromRemote {
			continue
		}
		if err := x.look(ctx, d); err != nil {
			return err
		}
		weak, strong := md5.New(), sha256.New() //nolint:gosec // MD5 is what clients know a document by
		size, err := io.Copy(io.MultiWriter(weak, strong), io.NewSectionReader(in.Source, 0, in.Source.Size()))
		if err != nil {
			return fmt.Errorf("signing: read document: %w", err)
		}
		d.file.fill(size, weak.Sum(nil), strong.Sum(nil), d.media())
	}
	return nil
}

// addInput gives the record a file for an input of the request.
func (x *run) addInput(position int, in Input) *document {
	f := &File{ID: store.NewID(), Role: roleInput, Position: position, SourceType: in.From, Label: in.Name, CreatedAt: x.record.CreatedAt}
	d := &document{file: f, src: in.Source, digest: in.From == fromDigest}
	if in.From == fromRemote {
		d.remote = &in.Remote
	}
	x.record.Inputs, x.docs = append(x.record.Inputs, f), append(x.docs, d)
	return d
}

// takeImage stores the image that is to be shown.
func (x *run) takeImage(ctx context.Context, src ades.Source) error {
	r := x.record
	r.image = &File{ID: store.NewID(), Role: roleImage, CreatedAt: x.config.Now()}
	x.image = src
	d := &document{file: r.image, src: src}
	if err := x.look(ctx, d); err != nil {
		return err
	}
	return x.store(ctx, r.image, src, d.media())
}

// look finds out what a document is. Of one that takes too much for that, only
// its first bytes count.
func (x *run) look(ctx context.Context, d *document) error {
	if d.digest {
		d.format = "cades"
		return nil
	}
	err := x.bounded(ctx, func(ctx context.Context) error {
		src := limits.Paying(d.src, limits.BudgetOf(ctx))
		d.seen, d.format = mediaOf(src, d.file.Label), formatFor(src)
		return nil
	})
	if errors.Is(err, limits.ErrBudget) {
		return nil
	}
	return err
}

// document is an input while it is worked on.
type document struct {
	file   *File
	src    ades.Source
	digest bool
	seen   media          // what its content looks like
	format string         // in which it is signed where none is asked for
	remote *fetch.Request // not fetched yet
	no     *refusal       // of a batch: why it could not be fetched
}

func (d *document) media() media {
	if d.digest {
		return media{mediaBin.mime, "hash"}
	}
	return d.seen
}

// store puts a document among the blobs and fills in its file object. The name
// is the digest's, as clients know it, unless the file has one.
func (x *run) store(ctx context.Context, f *File, src ades.Source, m media) error {
	b, err := x.blobs.For(x.record.owner()).PutGrown(ctx, x.beginning(src), io.NewSectionReader(src, 0, src.Size()))
	if err != nil {
		return fmt.Errorf("signing: store document: %w", err)
	}
	f.blob = b.ID
	f.fill(b.Size, b.MD5[:], b.SHA256[:], m)
	x.stored = append(x.stored, putBlob{b, src})
	return nil
}

func (f *File) fill(size int64, md5, sha256 []byte, m media) {
	f.Size, f.MD5, f.SHA256 = size, hexOf(md5), hexOf(sha256)
	f.MimeType, f.Extension = m.mime, m.ext
	if f.Name == "" {
		f.Name = f.MD5 + "." + m.ext
	}
}

// putBlob is a document that this run has stored.
type putBlob struct {
	blob.Info
	src ades.Source
}

// beginning is the largest of the documents stored so far that a new one begins
// with: a PDF begins with what was signed. Comparing costs a fraction of
// digesting, but not with many.
func (x *run) beginning(src ades.Source) (longest blob.Info) {
	if len(x.stored) > 3 {
		return longest
	}
	for _, b := range x.stored {
		if b.Size > longest.Size && begins(src, b.src) {
			longest = b.Info
		}
	}
	return longest
}

var compareBuffers = sync.Pool{New: func() any { return new([2][16 << 10]byte) }}

// begins tells whether a document begins with all of another.
func begins(whole, part ades.Source) bool {
	if whole.Size() < part.Size() {
		return false
	}
	room := compareBuffers.Get().(*[2][16 << 10]byte)
	defer compareBuffers.Put(room)
	a, b := &room[0], &room[1]
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

// load opens the inputs of a record that was stored before.
func (x *run) load(ctx context.Context) error {
	for _, f := range x.record.Inputs {
		d := &document{file: f, digest: f.SourceType == fromDigest}
		x.docs = append(x.docs, d)
		if f.blob == "" && x.record.State == WaitSign {
			d.no = &refusal{number: fault.FetchFailed, text: fmt.Sprintf("inputDocuments[%d] could not be fetched", f.Position)}
			continue
		}
		if f.blob == "" {
			d.remote = &fetch.Request{}
			if err := x.unseal(sourcePurpose, x.record.owner()+" "+f.ID, f.source, d.remote); err != nil {
				return err
			}
			continue
		}
		src, err := x.open(ctx, f)
		if err != nil {
			return err
		}
		d.src = src
		if err := x.look(ctx, d); err != nil {
			return err
		}
	}
	if x.record.image != nil {
		src, err := x.open(ctx, x.record.image)
		if err != nil {
			return err
		}
		x.image = src
	}
	return nil
}

func (x *run) open(ctx context.Context, f *File) (ades.Source, error) {
	b, err := x.blobs.For(x.record.owner()).Open(ctx, f.blob)
	if err != nil {
		return nil, fmt.Errorf("signing: open document: %w", err)
	}
	if err := f.holds(b); err != nil {
		return nil, &refusal{number: fault.SigningFailed, text: "a stored document is not the one that the record names", err: err}
	}
	x.closers = append(x.closers, b)
	return b, nil
}

// fetchAll gets the remote documents, one after the other. In a batch one that
// cannot be had does not stop the rest.
func (x *run) fetchAll(ctx context.Context) error {
	for _, d := range x.docs {
		if d.remote == nil || d.no != nil {
			continue
		}
		err := x.fetch(ctx, d)
		if x.record.Options.Batch && errors.As(err, &d.no) {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *run) fetch(ctx context.Context, d *document) error {
	w := x.spool().Write()
	if err := x.guard.Document(ctx, *d.remote, x.config.Fetch, w); err != nil {
		return fetchRefusal(d.file.Position, err)
	}
	if w.Source().Size() == 0 {
		return &refusal{number: fault.FetchFailed, text: fmt.Sprintf("inputDocuments[%d] could not be fetched: it is empty", d.file.Position)}
	}
	d.src, d.remote = w.Source(), nil
	if err := x.look(ctx, d); err != nil {
		return err
	}
	if err := x.store(ctx, d.file, d.src, d.media()); err != nil {
		return err
	}
	d.file.source = nil
	x.fetched = append(x.fetched, d.file)
	return nil
}

func fetchRefusal(i int, err error) error {
	var no *fetch.Refused
	var failed *fetch.Failed
	if errors.As(err, &no) || errors.As(err, &failed) || errors.Is(err, fetch.ErrTooLarge) {
		return &refusal{number: fault.FetchFailed, text: fmt.Sprintf("inputDocuments[%d] could not be fetched: %v", i, err), err: err}
	}
	return err
}
