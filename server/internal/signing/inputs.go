package signing

import (
	"context"
	"crypto/md5" //nolint:gosec // what clients know a document by
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/server/internal/fault"
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
		var err error
		if d.src, err = x.store(ctx, f, in.Source, d.media()); err != nil {
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
	d := &document{file: r.image, src: src}
	if err := x.look(ctx, d); err != nil {
		return err
	}
	var err error
	x.image, err = x.store(ctx, r.image, src, d.media())
	return err
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

func (f *File) fill(size int64, md5, sha256 []byte, m media) {
	f.Size, f.MD5, f.SHA256 = size, hexOf(md5), hexOf(sha256)
	f.MimeType, f.Extension = m.mime, m.ext
	if f.Name == "" {
		f.Name = f.MD5 + "." + m.ext
	}
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
	var err error
	if d.src, err = x.store(ctx, d.file, d.src, d.media()); err != nil {
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
