// Package blob keeps documents, sealed at rest, in a folder or an S3 bucket.
package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/span"
	"rogito.dev/rogito/server/internal/store"
)

// Errors of reading a blob besides failures of the storage.
var (
	ErrNotFound = errors.New("blob: no such blob")
	ErrCorrupt  = errors.New("blob: changed on disk")
)

// Info is what is known of stored content.
type Info struct {
	ID     string
	Size   int64
	SHA256 [32]byte
	MD5    [16]byte

	digests *digests // as of its end; nil where they are not known
	base    base     // what it begins with, stored as a blob of its own; zero: nothing
}

// Grows reports whether PutGrown can extend this blob: its digest states are known, and it does
// not refer to another blob itself.
func (b Info) Grows() bool { return b.digests != nil && b.base.id == "" }

// SHA256State is a hash that was given all of the content, to go on with; nil
// where that is not known.
func (b Info) SHA256State() hash.Hash {
	if b.digests == nil {
		return nil
	}
	return b.digests.goOn().sha
}

// Store keeps documents, sealed at rest: AES-256-GCM in chunks, a key for each
// object wrapped under the data key, so that what is read is what was written,
// bit for bit, or an error. A blob never changes; it is put, read and deleted.
type Store interface {
	// For is the store of one owner, such as a record with its account. Only the owner can open
	// what is put there. The id does not reveal the owner, and any store can list and delete it.
	For(owner string) Store
	// Put stores what r gives, to its end, and returns when it is durable. On
	// an error nothing is left behind.
	Put(ctx context.Context, r io.Reader) (Info, error)
	// PutGrown is Put for content that begins with all of a blob of this owner
	// that Grows, as a document with a signature appended does. r gives what comes
	// behind it, which is all that is stored: the content is there for as long as
	// that blob is.
	PutGrown(ctx context.Context, from Info, r io.Reader) (Info, error)
	// Open opens a blob for reading, or returns ErrNotFound. The context holds
	// for as long as it is read.
	Open(ctx context.Context, id string) (*Reader, error)
	// Delete removes a blob; one that is not there is not an error.
	Delete(ctx context.Context, id string) error
	// List calls fn for every blob put before a time, in no order, until fn
	// returns an error. It is for finding what no record refers to.
	List(ctx context.Context, before time.Time, fn func(id string) error) error
	// Missing says which of some blobs are not there. Their bytes are not read, and of
	// a bucket ids that lie close together in time take few requests.
	Missing(ctx context.Context, ids []string) ([]string, error)
	// Ready says what keeps blobs from being stored, or nil. It stores a probe.
	Ready(ctx context.Context) error
}

// MaxSize is the size above which a blob is refused, with fault.TooLarge.
const MaxSize = 4 << 30

// Config says where the blobs are.
type Config struct {
	// Location is a folder ("" means Data/blobs) or
	// s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION.
	Location string
	// Data is the data folder of the server.
	Data string
	// AccessKey and SecretKey are the credentials of the bucket; empty means
	// the usual AWS_… environment or credentials file.
	AccessKey, SecretKey string
	// Reserve is the free space to keep on the disk, as in store.Config.
	Reserve int64
	// Spool is the folder for objects on their way to a bucket.
	Spool string
}

// Open opens the place for blobs that the configuration names.
func Open(ctx context.Context, cfg Config, m *master.Key) (Store, error) {
	var b bucket
	var err error
	if strings.HasPrefix(cfg.Location, "s3://") {
		b, err = openS3(ctx, cfg)
	} else {
		b, err = openFolder(cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("blob: open: %w", err)
	}
	return newSealed(b, m), nil
}

// bucket keeps sealed objects by id; it does not look inside.
type bucket interface {
	create(ctx context.Context, id string) (sink, error)
	open(ctx context.Context, id string) (object, error)
	remove(ctx context.Context, id string) error
	list(ctx context.Context, fn func(id string) error) error
	missing(ctx context.Context, ids []string) ([]string, error)
	reserve(ctx context.Context) error // whether the disk has room, by what is known of it
	probe(ctx context.Context) error   // stores something that is no object
}

// sink takes a new object; it is there after commit, whole, and not before.
type sink interface {
	io.Writer
	// space is an empty slice with capacity for n bytes that will be written next: what
	// is put there need not be copied.
	space(n int) []byte
	// commit returns what the place of the object adds to its id.
	commit(ctx context.Context) (place string, err error)
	abort() // no effect after commit
}

// object is a stored object, read at random.
type object interface {
	io.ReaderAt
	io.Closer
	size() int64
}

type sealedBlobs struct {
	bucket bucket
	master *master.Key
	owner  string
}

func newSealed(b bucket, m *master.Key) *sealedBlobs {
	return &sealedBlobs{bucket: b, master: m}
}

func (s *sealedBlobs) For(owner string) Store {
	return &sealedBlobs{bucket: s.bucket, master: s.master, owner: owner}
}

func (s *sealedBlobs) Put(ctx context.Context, r io.Reader) (Info, error) {
	return s.put(ctx, Info{ID: store.NewID(), digests: newDigests()}, r)
}

func (s *sealedBlobs) PutGrown(ctx context.Context, from Info, r io.Reader) (Info, error) {
	if !from.Grows() {
		return Info{}, fmt.Errorf("store blob: %s cannot be grown from", from.ID)
	}
	return s.put(ctx, Info{ID: store.NewID(), Size: from.Size, digests: from.digests.goOn(), base: base{from.ID, from.Size}}, r)
}

func (s *sealedBlobs) put(ctx context.Context, b Info, r io.Reader) (Info, error) {
	w, err := s.bucket.create(ctx, b.ID)
	if err != nil {
		return Info{}, err
	}
	defer w.abort()
	if err := s.seal(ctx, w, r, &b); err != nil {
		return Info{}, err
	}
	ctx, end := span.Start(ctx, span.BlobWrite)
	place, err := w.commit(ctx)
	end(err)
	if err != nil {
		return Info{}, fault.Storage(fmt.Errorf("store blob: %w", err))
	}
	b.ID += place
	return b, nil
}

// seal writes header, chunks and footer, and fills in what it learns of b.
func (s *sealedBlobs) seal(ctx context.Context, w sink, r io.Reader, b *Info) error {
	seal, header, err := newSealing(s.master, b, s.owner)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return fault.Storage(fmt.Errorf("write blob: %w", err))
	}
	next, done := chunksOf(r)
	defer done()
	for index := uint64(0); ; index++ {
		plain, err := next()
		if len(plain) > 0 {
			b.digests.write(plain)
			b.Size += int64(len(plain))
			if _, err := w.Write(seal.chunk(w.space(len(plain)+chunkOverhead), index, plain)); err != nil {
				return fault.Storage(fmt.Errorf("write blob: %w", err))
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if b.Size > MaxSize {
			return fault.New(fault.TooLarge, "document over the limit")
		}
	}
	b.digests.sum(b)
	_, err = w.Write(seal.footer(b))
	return fault.Storage(err)
}

// chunksOf gives the chunks of what is read, the last with io.EOF or
// io.ErrUnexpectedEOF. What is in memory is not copied.
func chunksOf(r io.Reader) (next func() ([]byte, error), done func()) {
	if m, ok := r.(*bytes.Reader); ok {
		var all inPlace
		_, _ = m.WriteTo(&all) // never fails
		return func() ([]byte, error) {
			if len(all) < chunkSize {
				return all, io.EOF
			}
			chunk := all[:chunkSize]
			all = all[chunkSize:]
			return chunk, nil
		}, func() {}
	}
	pooled := chunkBuffers.Get().(*[]byte)
	buf := (*pooled)[:chunkSize]
	return func() ([]byte, error) {
		n, err := io.ReadFull(r, buf)
		return buf[:n], err
	}, func() { chunkBuffers.Put(pooled) }
}

// inPlace is all that a bytes.Reader has left, which it writes at once.
type inPlace []byte

func (b *inPlace) Write(p []byte) (int, error) {
	*b = p
	return len(p), nil
}

func (s *sealedBlobs) Open(ctx context.Context, id string) (*Reader, error) {
	r, err := s.open(ctx, id)
	if err != nil || r.Info.base.id == "" {
		return r, err
	}
	if r.base, err = s.open(ctx, r.Info.base.id); err == nil && (r.base.Info.Size != r.Info.base.size || r.base.Info.base.id != "") {
		_ = r.base.Close()
		err = ErrCorrupt
	}
	if err != nil {
		r.base = nil
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// open opens one object.
func (s *sealedBlobs) open(ctx context.Context, id string) (*Reader, error) {
	name, _, _, ok := splitID(id)
	if !ok {
		return nil, ErrNotFound
	}
	ctx, end := span.Start(ctx, span.BlobRead)
	o, err := s.bucket.open(ctx, id)
	end(err)
	if err != nil {
		return nil, err
	}
	r, err := newReader(o, s.master, name, s.owner)
	if err != nil {
		_ = o.Close()
		return nil, err
	}
	r.ID = id
	return r, nil
}

func (s *sealedBlobs) Delete(ctx context.Context, id string) error {
	if _, _, _, ok := splitID(id); !ok {
		return nil
	}
	return s.bucket.remove(ctx, id)
}

func (s *sealedBlobs) List(ctx context.Context, before time.Time, fn func(id string) error) error {
	return s.bucket.list(ctx, func(id string) error {
		if base, _, _, ok := splitID(id); !ok || !store.IDTime(base).Before(before) {
			return nil
		}
		return fn(id)
	})
}

func (s *sealedBlobs) Missing(ctx context.Context, ids []string) ([]string, error) {
	var known, out []string
	for _, id := range ids {
		if _, _, _, ok := splitID(id); ok {
			known = append(known, id)
		} else {
			out = append(out, id)
		}
	}
	missing, err := s.bucket.missing(ctx, known)
	return append(out, missing...), err
}

func (s *sealedBlobs) Ready(ctx context.Context) error {
	if err := s.bucket.reserve(ctx); err != nil {
		return err
	}
	return s.bucket.probe(ctx)
}
