package blob

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
)

// A request to a bucket takes as long as some hundred kilobytes. So what is short
// comes whole with the first, and who reads on from piece to piece gets them from
// one request that goes on: a document of 10 MB takes six.
const (
	// headBytes is what comes with the opening.
	headBytes = 256 << 10
	// leastAhead and mostAhead bound what is asked for to be read on, each time
	// twice as much as before: who stops early leaves little that was sent for
	// nothing, and who reads slowly keeps no request open for hours.
	leastAhead = 1 << 20
	mostAhead  = 64 << 20
	// readTime bounds one read.
	readTime = time.Minute
)

// s3Object is an object of a bucket; its context is that of the opening, which
// io.ReaderAt has no room for.
type s3Object struct {
	ctx    context.Context
	bucket *s3Bucket
	name   string
	length int64
	head   []byte // its first bytes, or all of them

	mu   sync.Mutex
	end  int64 // of what was read last
	next following
}

// following is a request for what comes next.
type following struct {
	body      io.ReadCloser // nil: there is none
	at, until int64         // what it gives
	asked     int64         // how much that was to be
}

func (b *s3Bucket) open(ctx context.Context, id string) (object, error) {
	o := &s3Object{ctx: ctx, bucket: b, name: b.name(id)}
	err := o.begin()
	if minio.ToErrorResponse(err).Code == minio.InvalidRange {
		return o, nil // it is empty
	}
	if err != nil {
		return nil, s3Error(err)
	}
	return o, nil
}

func (o *s3Object) size() int64 { return o.length }

// begin reads the head and learns the length.
func (o *s3Object) begin() error {
	ctx, cancel := context.WithTimeout(o.ctx, readTime)
	defer cancel()
	body, length, err := o.get(ctx, 0, headBytes)
	if err != nil {
		return err
	}
	defer body.Close()
	o.length, o.head = length, make([]byte, min(headBytes, length))
	_, err = io.ReadFull(body, o.head)
	return err
}

// get asks for n bytes, or as many as there are, and returns the total length.
func (o *s3Object) get(ctx context.Context, off, n int64) (body io.ReadCloser, length int64, err error) {
	var opts minio.GetObjectOptions
	if err := opts.SetRange(off, off+n-1); err != nil {
		return nil, 0, err
	}
	body, info, header, err := o.bucket.core.GetObject(ctx, o.bucket.bucket, o.name, opts)
	if err != nil {
		return nil, 0, err
	}
	length = info.Size
	if _, all, partial := strings.Cut(header.Get("Content-Range"), "/"); partial {
		length, err = strconv.ParseInt(all, 10, 64)
	} else if off > 0 {
		err = errors.New("the bucket does not give a part of an object")
	}
	if err == nil && length < 0 {
		err = errors.New("the bucket does not tell how long an object is")
	}
	if err != nil {
		_ = body.Close()
		return nil, 0, err
	}
	return body, length, nil
}

// ReadAt implements io.ReaderAt. A read that goes on where the one before it ended
// is taken for one of many.
func (o *s3Object) ReadAt(p []byte, off int64) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p = p[:max(0, min(int64(len(p)), o.length-off))]
	if len(p) == 0 {
		return 0, io.EOF
	}
	end := off + int64(len(p))
	switch {
	case end <= int64(len(o.head)):
		copy(p, o.head[off:])
	case off == o.end && o.readOn(p, off):
	default:
		if err := o.readPart(p, off); err != nil {
			return 0, s3Error(err)
		}
	}
	o.end = end
	if end == o.length {
		return len(p), io.EOF
	}
	return len(p), nil
}

func (o *s3Object) readPart(p []byte, off int64) error {
	ctx, cancel := context.WithTimeout(o.ctx, readTime)
	defer cancel()
	body, _, err := o.get(ctx, off, int64(len(p)))
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.ReadFull(body, p)
	return err
}

// readOn reads from the open ranged GET; false if that connection is gone, as after
// an idle timeout.
func (o *s3Object) readOn(p []byte, off int64) bool {
	f := &o.next
	for len(p) > 0 {
		if (f.body == nil || f.at != off || f.at == f.until) && !o.ask(off) {
			return false
		}
		n, err := io.ReadFull(f.body, p[:min(int64(len(p)), f.until-off)])
		if err != nil {
			f.end()
			return false
		}
		p, off = p[n:], off+int64(n)
		f.at = off
	}
	return true
}

// ask makes the request for what comes next.
func (o *s3Object) ask(off int64) bool {
	f := &o.next
	n := int64(leastAhead)
	if f.at == off {
		n = min(max(2*f.asked, leastAhead), mostAhead)
	}
	f.end()
	body, _, err := o.get(o.ctx, off, n)
	if err != nil {
		return false
	}
	*f = following{body, off, min(off+n, o.length), n}
	return true
}

// end closes the request.
func (f *following) end() {
	if f.body != nil {
		_ = f.body.Close() // only read from
	}
	f.body = nil
}

// Close ends the reading.
func (o *s3Object) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.next.end()
	return nil
}
