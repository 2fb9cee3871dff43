package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/fault"
)

// s3Bucket keeps objects in a bucket of an S3 service. An object is sealed
// into a spool first, so that its size is known and a failed upload can be
// repeated.
type s3Bucket struct {
	client *minio.Client
	core   minio.Core
	bucket string
	prefix string
	spool  string
	disk   *disk.Reserve
}

// inMemory is the size up to which an object is spooled in memory.
const inMemory = 1 << 20

func openS3(ctx context.Context, cfg Config) (*s3Bucket, error) {
	u, err := url.Parse(cfg.Location)
	if err != nil || u.Host == "" {
		return nil, errors.New("blobs: want s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION")
	}
	q := u.Query()
	endpoint, err := url.Parse(q.Get("endpoint"))
	if err != nil || (q.Has("endpoint") && endpoint.Host == "") {
		return nil, errors.New("blobs: endpoint wants http:// or https://")
	}
	if endpoint.Host == "" {
		endpoint = &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	}
	secure := endpoint.Scheme != "http"
	transport, err := s3Transport(secure)
	if err != nil {
		return nil, err
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: s3Credentials(cfg), Secure: secure, Region: q.Get("region"), Transport: transport, MaxRetries: tries,
	})
	if err != nil {
		return nil, err
	}
	b := &s3Bucket{
		client: client, core: minio.Core{Client: client}, spool: cfg.Spool, disk: disk.NewReserve(cfg.Spool, cfg.Reserve),
		bucket: u.Host, prefix: strings.Trim(u.Path, "/"),
	}
	return b, b.exists(ctx)
}

// A bucket that does not answer is given up in half a minute: a call may take ten
// minutes, for a thousand documents, and its client should know sooner.
const (
	tries       = 3
	connectTime = 5 * time.Second
	answerTime  = 10 * time.Second
	stillTime   = 30 * time.Second // in which nothing moves
)

func s3Transport(secure bool) (*http.Transport, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: connectTime, KeepAlive: 30 * time.Second}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return movingConn{c}, nil
	}
	t.TLSHandshakeTimeout, t.ResponseHeaderTimeout = connectTime, answerTime
	return t, nil
}

// movingConn is a connection that breaks when the other side takes or gives nothing.
type movingConn struct{ net.Conn }

func (c movingConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(stillTime)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c movingConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(stillTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func s3Credentials(cfg Config) *credentials.Credentials {
	if cfg.AccessKey != "" {
		return credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, "")
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{},
		&credentials.FileAWSCredentials{},
		&credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}},
	})
}

func (b *s3Bucket) exists(ctx context.Context) error {
	switch ok, err := b.client.BucketExists(ctx, b.bucket); {
	case err != nil:
		return fault.Storage(fmt.Errorf("bucket %s: %w", b.bucket, err))
	case !ok:
		return fault.Storage(fmt.Errorf("bucket %s does not exist", b.bucket))
	}
	return nil
}

func (b *s3Bucket) reserve(ctx context.Context) error { return b.disk.Check(ctx) }

// probeName is the one object that all servers write over to see whether the bucket takes it.
const probeName = "probe"

func (b *s3Bucket) probe(ctx context.Context) error {
	_, err := b.client.PutObject(ctx, b.bucket, path.Join(b.prefix, probeName), strings.NewReader("."), 1, minio.PutObjectOptions{})
	if err != nil {
		return fault.Storage(fmt.Errorf("bucket %s takes nothing: %w", b.bucket, err))
	}
	return nil
}

func (b *s3Bucket) name(id string) string { return path.Join(b.prefix, id[len(id)-2:], id) }

func (b *s3Bucket) create(ctx context.Context, id string) (sink, error) {
	if err := b.disk.Check(ctx); err != nil {
		return nil, err
	}
	return &s3Sink{bucket: b, id: id}, nil
}

// s3Sink spools, in memory first and then in a file that has no name.
type s3Sink struct {
	bucket *s3Bucket
	id     string
	mem    bytes.Buffer
	file   *os.File
	n      int64
}

func (s *s3Sink) Write(p []byte) (int, error) {
	s.n += int64(len(p))
	if s.file == nil && s.mem.Len()+len(p) <= inMemory {
		return s.mem.Write(p)
	}
	if s.file == nil {
		f, err := os.CreateTemp(s.bucket.spool, "blob-*")
		if err != nil {
			return 0, err
		}
		s.file = f
		_ = os.Remove(f.Name()) // the open file is enough, and a crash leaves nothing
		if _, err := f.Write(s.mem.Bytes()); err != nil {
			return 0, err
		}
		s.mem = bytes.Buffer{}
	}
	return s.file.Write(p)
}

// space is the free part of the memory, which is empty once there is a file.
func (s *s3Sink) space(n int) []byte {
	if s.mem.Available() < n {
		s.mem.Grow(n)
	}
	return s.mem.AvailableBuffer()
}

func (s *s3Sink) commit(ctx context.Context) (string, error) {
	var r io.Reader = bytes.NewReader(s.mem.Bytes())
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
		r = s.file
	}
	_, err := s.bucket.client.PutObject(ctx, s.bucket.bucket, s.bucket.name(s.id), r, s.n, minio.PutObjectOptions{
		ContentType: "application/octet-stream",
		PartSize:    16 << 20,
	})
	return "", err
}

func (s *s3Sink) abort() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name()) // for systems that keep the name of an open file
	}
}

func (b *s3Bucket) remove(ctx context.Context, id string) error {
	err := s3Error(b.client.RemoveObject(ctx, b.bucket, b.name(id), minio.RemoveObjectOptions{}))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (b *s3Bucket) list(ctx context.Context, fn func(id string) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing where fn does
	prefix := b.prefix
	if prefix != "" {
		prefix += "/"
	}
	for info := range b.client.ListObjects(ctx, b.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if info.Err != nil {
			return s3Error(info.Err)
		}
		if err := fn(path.Base(info.Key)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// missing lists instead of asking object by object: a listing answers a thousand
// names, which are in the order of time within each of the bucket's 256 folders.
func (b *s3Bucket) missing(ctx context.Context, ids []string) (out []string, err error) {
	folders := map[string][]string{} // names, by their folder
	for _, id := range ids {
		name := b.name(id)
		folders[path.Dir(name)] = append(folders[path.Dir(name)], name)
	}
	for folder, names := range folders {
		slices.Sort(names)
		there, err := b.between(ctx, folder, names[0], names[len(names)-1])
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !there[name] {
				out = append(out, path.Base(name))
			}
		}
	}
	return out, nil
}

// between lists the names of a folder from one to another.
func (b *s3Bucket) between(ctx context.Context, folder, first, last string) (map[string]bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing behind the last
	there := map[string]bool{}
	after := first[:len(first)-1] // a name before the first
	for info := range b.client.ListObjects(ctx, b.bucket, minio.ListObjectsOptions{Prefix: folder + "/", Recursive: true, StartAfter: after}) {
		if info.Err != nil {
			return nil, s3Error(info.Err)
		}
		if info.Key > last {
			return there, nil
		}
		there[info.Key] = true
	}
	return there, ctx.Err()
}

func s3Error(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if code := minio.ToErrorResponse(err).Code; code == "NoSuchKey" || code == "NotFound" {
		return ErrNotFound
	}
	return fault.Storage(err)
}
