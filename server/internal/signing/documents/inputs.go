package documents

import (
	"context"
	"crypto/md5" //nolint:gosec // what clients know a document by
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
)

// StoreInputs stores what the request brought: durable before the record is.
func (x *Set) StoreInputs(ctx context.Context, req *request.Request) error {
	for i, in := range req.Inputs {
		d := x.addInput(i, in)
		f := d.file
		if in.From == request.FromRemote {
			if err := x.Records.SealSource(x.record, f, in.Remote); err != nil {
				return err
			}
			continue
		}
		if err := x.examine(ctx, d); err != nil {
			return err
		}
		var err error
		if d.src, err = x.Store(ctx, f, in.Source, d.media()); err != nil {
			return err
		}
	}
	if si := req.Options.SignerImage; si != nil && si.Image.Len() > 0 {
		src, err := si.Image.Document(maxImage)
		if err != nil {
			return imageFault(err)
		}
		return x.storeImage(ctx, src)
	}
	return nil
}

// NameInputs describes what a refused request brought, and keeps none of it.
func (x *Set) NameInputs(ctx context.Context, req *request.Request) error {
	for i, in := range req.Inputs {
		d := x.addInput(i, in)
		if in.From == request.FromRemote {
			continue
		}
		if err := x.examine(ctx, d); err != nil {
			return err
		}
		weak, strong := md5.New(), sha256.New() //nolint:gosec // MD5 is what clients know a document by
		size, err := io.Copy(io.MultiWriter(weak, strong), io.NewSectionReader(in.Source, 0, in.Source.Size()))
		if err != nil {
			return fmt.Errorf("signing: read document: %w", err)
		}
		m := d.media()
		d.file.Fill(size, weak.Sum(nil), strong.Sum(nil), m.MIME, m.Ext)
	}
	return nil
}

// addInput gives the record a file for an input of the request.
func (x *Set) addInput(position int, in request.Input) *document {
	f := &ledger.File{ID: store.NewID(), Role: ledger.RoleInput, Position: position, SourceType: in.From, Label: in.Name, CreatedAt: x.record.CreatedAt}
	d := &document{file: f, src: in.Source, digest: in.From == request.FromDigest}
	if in.From == request.FromRemote {
		d.remote = &in.Remote
	}
	x.record.Inputs, x.docs = append(x.record.Inputs, f), append(x.docs, d)
	return d
}

// storeImage stores the image that is to be shown.
func (x *Set) storeImage(ctx context.Context, src ades.Source) error {
	r := x.record
	r.Image = &ledger.File{ID: store.NewID(), Role: ledger.RoleImage, CreatedAt: x.Now()}
	d := &document{file: r.Image, src: src}
	if err := x.examine(ctx, d); err != nil {
		return err
	}
	var err error
	x.image, err = x.Store(ctx, r.Image, src, d.media())
	return err
}

// examine determines media type and format of a document. If that takes too much memory, only the
// first bytes count.
func (x *Set) examine(ctx context.Context, d *document) error {
	if d.digest {
		d.format = request.CAdES
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
	file   *ledger.File
	src    ades.Source
	digest bool
	seen   Media                 // what its content looks like
	format request.SignatureType // in which it is signed where none is asked for
	remote *fetch.Request        // not fetched yet
	no     *ledger.Refusal       // of a batch: why it could not be fetched
}

func (d *document) media() Media {
	if d.digest {
		return Media{mediaBin.MIME, "hash"}
	}
	return d.seen
}

// Load opens the inputs of a record that was stored before.
func (x *Set) Load(ctx context.Context) error {
	for _, f := range x.record.Inputs {
		d := &document{file: f, digest: f.SourceType == request.FromDigest}
		x.docs = append(x.docs, d)
		if f.Blob == "" && x.record.State == ledger.WaitSign {
			d.no = &ledger.Refusal{Number: fault.FetchFailed, Text: fmt.Sprintf("inputDocuments[%d] could not be fetched", f.Position)}
			continue
		}
		if f.Blob == "" {
			d.remote = &fetch.Request{}
			if err := x.Records.OpenSource(x.record, f, d.remote); err != nil {
				return err
			}
			continue
		}
		src, err := x.open(ctx, f)
		if err != nil {
			return err
		}
		d.src = src
		if err := x.examine(ctx, d); err != nil {
			return err
		}
	}
	if x.record.Image != nil {
		src, err := x.open(ctx, x.record.Image)
		if err != nil {
			return err
		}
		x.image = src
	}
	return nil
}

// fetchAll gets the remote documents, one after the other. In a batch one that
// cannot be had does not stop the rest.
func (x *Set) fetchAll(ctx context.Context) error {
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

func (x *Set) fetch(ctx context.Context, d *document) error {
	w := x.Spool().Write()
	if err := x.Guard.Document(ctx, *d.remote, x.Fetch, w); err != nil {
		return fetchRefusal(d.file.Position, err)
	}
	if w.Source().Size() == 0 {
		return &ledger.Refusal{Number: fault.FetchFailed, Text: fmt.Sprintf("inputDocuments[%d] could not be fetched: it is empty", d.file.Position)}
	}
	d.src, d.remote = w.Source(), nil
	if err := x.examine(ctx, d); err != nil {
		return err
	}
	var err error
	if d.src, err = x.Store(ctx, d.file, d.src, d.media()); err != nil {
		return err
	}
	d.file.Source = nil
	x.Fetched = append(x.Fetched, d.file)
	return nil
}

func fetchRefusal(i int, err error) error {
	var no *fetch.Refused
	var failed *fetch.Failed
	if errors.As(err, &no) || errors.As(err, &failed) || errors.Is(err, fetch.ErrTooLarge) {
		return &ledger.Refusal{Number: fault.FetchFailed, Text: fmt.Sprintf("inputDocuments[%d] could not be fetched: %v", i, err), Err: err}
	}
	return err
}

// Place is where a document comes from, without what may be secret in an
// address.
func (x *Set) Place(i int) string {
	if i >= len(x.docs) || x.docs[i].remote == nil {
		return ""
	}
	u, err := url.Parse(x.docs[i].remote.URL)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
