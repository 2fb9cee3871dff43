package blob

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// Locked keeps small objects in a bucket with object lock: until a given time they cannot be
// changed or deleted, not even by the owner of the bucket.
type Locked struct{ bucket *s3Bucket }

// maxLocked bounds an object that is read back.
const maxLocked = 1 << 20

// OpenLocked opens the bucket that the location of a configuration names.
func OpenLocked(ctx context.Context, cfg Config) (*Locked, error) {
	b, err := openS3(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("blob: open bucket with object lock: %w", err)
	}
	return &Locked{b}, nil
}

// Put stores an object in compliance mode.
func (l *Locked) Put(ctx context.Context, name string, data []byte, until time.Time) error {
	return l.PutFrom(ctx, name, bytes.NewReader(data), int64(len(data)), until)
}

// PutFrom is Put for what is too large to be held in memory.
func (l *Locked) PutFrom(ctx context.Context, name string, data io.Reader, size int64, until time.Time) error {
	_, err := l.bucket.client.PutObject(ctx, l.bucket.bucket, path.Join(l.bucket.prefix, name), data, size, minio.PutObjectOptions{
		ContentType: "application/json", Mode: minio.Compliance, RetainUntilDate: until.UTC(), SendContentMd5: true,
	})
	return s3Error(err)
}

// Each reads all objects, of every version: a deletion, or another object of the
// same name, hides one and does not remove it.
func (l *Locked) Each(ctx context.Context, fn func(name string, data []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing where fn does
	prefix := l.bucket.prefix
	if prefix != "" {
		prefix += "/"
	}
	for info := range l.bucket.client.ListObjects(ctx, l.bucket.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, WithVersions: true}) {
		if info.Err != nil {
			return s3Error(info.Err)
		}
		if info.IsDeleteMarker {
			continue
		}
		data, err := l.read(ctx, info)
		if err != nil {
			return err
		}
		if err := fn(strings.TrimPrefix(info.Key, prefix), data); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// List calls fn with the name of every object and when it was stored.
func (l *Locked) List(ctx context.Context, fn func(name string, at time.Time)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	prefix := l.bucket.prefix
	if prefix != "" {
		prefix += "/"
	}
	for info := range l.bucket.client.ListObjects(ctx, l.bucket.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if info.Err != nil {
			return s3Error(info.Err)
		}
		fn(strings.TrimPrefix(info.Key, prefix), info.LastModified)
	}
	return ctx.Err()
}

func (l *Locked) read(ctx context.Context, info minio.ObjectInfo) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	body, _, _, err := l.bucket.core.GetObject(ctx, l.bucket.bucket, info.Key, minio.GetObjectOptions{VersionID: info.VersionID})
	if err != nil {
		return nil, s3Error(err)
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxLocked))
	if err != nil {
		return nil, s3Error(err)
	}
	return data, nil
}
