package blob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// wire stands between us and a bucket.
type wire struct {
	requests atomic.Int64 // to read
	sent     atomic.Int64 // bytes of answers to them
	cut      atomic.Int64 // after so many bytes of each; 0: never
}

// wired opens a bucket behind a wire.
func wired(t *testing.T) (*wire, blob.Store) {
	t.Helper()
	w := &wire{}
	b := storetest.S3(t).Behind(t, func(bucket http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet || r.Method == http.MethodHead {
				w.requests.Add(1)
				rw = &cutting{ResponseWriter: rw, w: w, left: w.cut.Load()}
			}
			bucket.ServeHTTP(rw, r)
		})
	})
	blobs := openBlobs(t, blob.Config{
		Location: b.URL, AccessKey: b.AccessKey, SecretKey: b.SecretKey, Data: t.TempDir(), Spool: t.TempDir(), Reserve: -1,
	})
	return w, blobs
}

// cutting counts what is written of an answer, and ends it early.
type cutting struct {
	http.ResponseWriter
	w    *wire
	left int64 // 0: no end
}

func (c *cutting) Write(p []byte) (int, error) {
	end := c.left > 0 && int64(len(p)) >= c.left
	if end {
		p = p[:c.left]
	}
	n, err := c.ResponseWriter.Write(p)
	c.w.sent.Add(int64(n))
	if end {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	if c.left > 0 {
		c.left -= int64(n)
	}
	return n, err
}

// Whether objects are there is asked folder by folder, not one by one.
func TestBucketIsLookedThroughInFewRequests(t *testing.T) {
	w, blobs := wired(t)
	ctx := context.Background()
	var ids []string
	for range 600 {
		b, err := blobs.Put(ctx, bytes.NewReader(content(10)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, b.ID)
	}
	w.requests.Store(0)
	if missing, err := blobs.Missing(ctx, ids); err != nil || len(missing) > 0 {
		t.Errorf("%v %v", missing, err)
	}
	if n := w.requests.Load(); n > 256 {
		t.Errorf("%d requests for %d objects in 256 folders", n, len(ids))
	}
}

// The requests that reading takes do not grow with the pieces it is read in.
func TestBucketIsReadInFewRequests(t *testing.T) {
	w, blobs := wired(t)
	ctx := context.Background()
	put := func(size int) ([]byte, blob.Info) {
		t.Helper()
		want := content(size)
		b, err := blobs.Put(ctx, bytes.NewReader(want))
		if err != nil {
			t.Fatal(err)
		}
		return want, b
	}
	open := func(id string) *blob.Reader {
		t.Helper()
		r, err := blobs.Open(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	for _, c := range []struct {
		size     int
		requests int64
	}{{0, 1}, {1000, 1}, {100_000, 1}, {250_000, 1}, {300_000, 3}, {1 << 20, 3}, {10 << 20, 6}, {40 << 20, 8}} {
		want, b := put(c.size)
		w.requests.Store(0)
		var got bytes.Buffer
		if info, err := open(b.ID).Copy(&got); err != nil || info.SHA256 != sha256.Sum256(want) || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%d bytes: %v", c.size, err)
		}
		if n := w.requests.Swap(0); n > c.requests {
			t.Errorf("%d bytes took %d requests, want %d", c.size, n, c.requests)
		}
		if all, err := io.ReadAll(open(b.ID)); err != nil || !bytes.Equal(all, want) {
			t.Errorf("%d bytes: %v", c.size, err)
		}
		if n := w.requests.Load(); n > c.requests {
			t.Errorf("%d bytes in small pieces took %d requests, want %d", c.size, n, c.requests)
		}
		grown, err := blobs.PutGrown(ctx, b, bytes.NewReader(want[:min(c.size, 20_000)]))
		if err != nil {
			t.Fatal(err)
		}
		w.requests.Store(0)
		if _, err := open(grown.ID).Copy(io.Discard); err != nil || w.requests.Load() > c.requests+1 {
			t.Errorf("%d bytes, and more behind them: %d requests, %v", c.size, w.requests.Load(), err)
		}
	}
	// Who wants a part of a large one gets little more.
	want, b := put(40 << 20)
	r := open(b.ID)
	w.requests.Store(0)
	w.sent.Store(0)
	const from, length = 20 << 20, 200_000
	if _, err := r.Seek(from, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, length)
	if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want[from:from+length]) {
		t.Error(err)
	}
	for at := from + length; at < from+2*length; at += 1000 {
		if _, err := r.ReadAt(got[:1000], int64(at)); err != nil || !bytes.Equal(got[:1000], want[at:at+1000]) {
			t.Fatal(err)
		}
	}
	if n, sent := w.requests.Load(), w.sent.Load(); n > 2 || sent > 3<<19 {
		t.Errorf("a part of 400 kB took %d requests and %d bytes", n, sent)
	}
}

// An answer that breaks off is asked for again from there; one that always does is
// the storage's trouble, and no corruption.
func TestBucketThatBreaksOff(t *testing.T) {
	w, blobs := wired(t)
	ctx := context.Background()
	want := content(5 << 20)
	b, err := blobs.Put(ctx, bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	w.cut.Store(300_000)
	r, err := blobs.Open(ctx, b.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got bytes.Buffer
	if _, err := r.Copy(&got); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
	w.cut.Store(40_000)
	if _, err := r.Copy(io.Discard); !errors.Is(err, fault.Unavailable) {
		t.Errorf("answers of 40 kB: %v", err)
	}
	if _, err := blobs.Open(ctx, b.ID); !errors.Is(err, fault.Unavailable) {
		t.Errorf("opened with answers of 40 kB: %v", err)
	}
	w.cut.Store(0)
	got.Reset()
	if _, err := r.Copy(&got); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("when it is well again: %d bytes, %v", got.Len(), err)
	}
}
