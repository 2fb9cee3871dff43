package blob_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// eachBlobs runs a test on a folder and on S3.
func eachBlobs(t *testing.T, test func(t *testing.T, blobs blob.Store)) {
	t.Run("folder", func(t *testing.T) { test(t, openBlobs(t, blob.Config{Data: t.TempDir(), Reserve: -1})) })
	t.Run("s3", func(t *testing.T) {
		b := storetest.S3(t)
		test(t, openBlobs(t, blob.Config{
			Location: b.URL, AccessKey: b.AccessKey, SecretKey: b.SecretKey, Data: t.TempDir(), Spool: t.TempDir(), Reserve: -1,
		}))
	})
}

func openBlobs(t testing.TB, cfg blob.Config) blob.Store {
	t.Helper()
	_, m := storetest.Open(t, store.Config{Data: cfg.Data})
	blobs, err := blob.Open(context.Background(), cfg, m)
	if err != nil {
		t.Fatal(err)
	}
	return blobs
}

func content(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestBlobRoundTrip(t *testing.T) {
	eachBlobs(t, func(t *testing.T, blobs blob.Store) {
		ctx := context.Background()
		for _, size := range []int{0, 1, 65535, 65536, 65537, 131072, 3<<20 + 17} {
			want := content(size)
			b, err := blobs.Put(ctx, iotest.HalfReader(bytes.NewReader(want)))
			if err != nil {
				t.Fatal(err)
			}
			if b.Size != int64(size) || b.SHA256 != sha256.Sum256(want) || b.MD5 != md5.Sum(want) {
				t.Errorf("%d bytes: put says %+v", size, b)
			}
			r, err := blobs.Open(ctx, b.ID)
			if err != nil {
				t.Fatal(err)
			}
			if r.ID != b.ID || r.Info.Size != b.Size || r.SHA256 != b.SHA256 || r.MD5 != b.MD5 {
				t.Errorf("%d bytes: opened %+v", size, r.Info)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes: read %d, %v", size, len(got), err)
			}
			checkRandomAccess(t, r, want)
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A blob that begins with another has the digests of its own content, and only
// what is new is stored.
func TestBlobThatGrew(t *testing.T) {
	eachBlobs(t, func(t *testing.T, blobs blob.Store) {
		ctx := context.Background()
		for _, sizes := range [][]int{{0, 10}, {1, 1}, {100, 65536}, {65536, 65537}, {70_000, 150_000}, {131072, 400_000}, {400_000, 431_072}} {
			want := content(sizes[1])
			from, err := blobs.Put(ctx, bytes.NewReader(want[:sizes[0]]))
			if err != nil {
				t.Fatal(err)
			}
			opened, err := blobs.Open(ctx, from.ID)
			if err != nil {
				t.Fatal(err)
			}
			if opened.Grows() {
				t.Error("one that was not read has digests to go on with")
			}
			var copied bytes.Buffer
			read, err := opened.Copy(&copied)
			if err != nil || read.SHA256 != from.SHA256 || !read.Grows() || !bytes.Equal(copied.Bytes(), want[:sizes[0]]) {
				t.Fatalf("copied: %+v, %v", read, err)
			}
			opened.Close()
			for _, from := range []blob.Info{from, from, read} { // one may grow into many
				if state := from.SHA256State().Sum(nil); !bytes.Equal(state, from.SHA256[:]) {
					t.Errorf("%v: its state is %x", sizes, state)
				}
				b, err := blobs.PutGrown(ctx, from, bytes.NewReader(want[sizes[0]:]))
				if err != nil {
					t.Fatal(err)
				}
				if b.Size != int64(len(want)) || b.SHA256 != sha256.Sum256(want) || b.MD5 != md5.Sum(want) {
					t.Errorf("%v: put says %+v", sizes, b)
				}
				r, err := blobs.Open(ctx, b.ID)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) || r.SHA256 != b.SHA256 || r.MD5 != b.MD5 || r.Size() != b.Size {
					t.Errorf("%v: read %d, %v", sizes, len(got), err)
				}
				checkRandomAccess(t, r, want)
				if again, err := r.Copy(io.Discard); err != nil || again.Grows() {
					t.Errorf("%v: grows %v, %v", sizes, again.Grows(), err)
				}
				if _, err := blobs.PutGrown(ctx, b, bytes.NewReader(nil)); err == nil {
					t.Error("one that grew was grown from")
				}
				r.Close()
			}
			if err := blobs.Delete(ctx, from.ID); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What a blob begins with is that blob and no other: not there it is not found,
// changed it is corrupt, and every changed byte of the rest is noticed.
func TestGrownBlobTampering(t *testing.T) {
	cfg := blob.Config{Data: t.TempDir(), Reserve: -1}
	blobs := openBlobs(t, cfg)
	ctx := context.Background()
	want := content(900_000)
	from, err := blobs.Put(ctx, bytes.NewReader(want[:400_000])) // a file for each, not a pack
	if err != nil {
		t.Fatal(err)
	}
	b, err := blobs.PutGrown(ctx, from, bytes.NewReader(want[400_000:]))
	if err != nil {
		t.Fatal(err)
	}
	verdict := func() error {
		r, err := blobs.Open(ctx, b.ID)
		if err == nil {
			_, err = io.ReadAll(r)
			r.Close()
		}
		return err
	}
	if err := verdict(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{from.ID, b.ID} {
		path := blobFile(t, cfg, id)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := []int{len(good) - 1, len(good) - 40, len(good) - 100, len(good) - 130, 0, 7}
		for i := 0; i < len(good); i += 1 + len(good)/60 {
			last = append(last, i)
		}
		for _, i := range last {
			bad := bytes.Clone(good)
			bad[i] ^= 1
			if i == 7 { // the other magic
				bad[i] = good[i] ^ '1' ^ '2'
			}
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := verdict(); !errors.Is(err, blob.ErrCorrupt) {
				t.Errorf("bit flip at %d of %d: %v", i, len(good), err)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := blobs.Delete(ctx, from.ID); err != nil {
		t.Fatal(err)
	}
	if err := verdict(); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("without what it begins with: %v", err)
	}
}

func checkRandomAccess(t *testing.T, r *blob.Reader, want []byte) {
	t.Helper()
	if len(want) == 0 {
		return
	}
	for range 8 {
		off := rand.IntN(len(want))
		n := rand.IntN(len(want)-off) + 1
		n = min(n, 150000)
		got := make([]byte, n)
		if _, err := r.ReadAt(got, int64(off)); err != nil || !bytes.Equal(got, want[off:off+n]) {
			t.Fatalf("ReadAt %d+%d of %d: %v", off, n, len(want), err)
		}
		if _, err := r.Seek(int64(off), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want[off:off+n]) {
			t.Fatalf("Read at %d+%d of %d: %v", off, n, len(want), err)
		}
	}
}

func TestBlobListAndDelete(t *testing.T) {
	eachBlobs(t, func(t *testing.T, blobs blob.Store) {
		ctx := context.Background()
		put := map[string]bool{}
		for i := range 12 {
			b, err := blobs.Put(ctx, bytes.NewReader(content(i)))
			if err != nil {
				t.Fatal(err)
			}
			put[b.ID] = true
		}
		seen := map[string]bool{}
		collect := func(id string) error { seen[id] = true; return nil }
		if err := blobs.List(ctx, time.Now().Add(time.Minute), collect); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(seen) != fmt.Sprint(put) {
			t.Errorf("listed %d, put %d", len(seen), len(put))
		}
		clear(seen)
		if err := blobs.List(ctx, time.Now().Add(-time.Minute), collect); err != nil || len(seen) != 0 {
			t.Errorf("%d blobs are older than they can be: %v", len(seen), err)
		}
		stop := errors.New("enough")
		if err := blobs.List(ctx, time.Now().Add(time.Minute), func(string) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("List went on: %v", err)
		}
		strange := []string{"", "../../etc/passwd", store.NewID()}
		missing, err := blobs.Missing(ctx, append(slices.Collect(maps.Keys(put)), strange...))
		if slices.Sort(missing); err != nil || !slices.Equal(missing, strange) {
			t.Errorf("missing: %v %v", missing, err)
		}
		for id := range put {
			if err := errors.Join(blobs.Delete(ctx, id), blobs.Delete(ctx, id)); err != nil {
				t.Error(err)
			}
			if _, err := blobs.Open(ctx, id); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("a deleted blob: %v", err)
			}
		}
		if missing, err := blobs.Missing(ctx, slices.Collect(maps.Keys(put))); err != nil || len(missing) != len(put) {
			t.Errorf("deleted, and not missing: %v %v", missing, err)
		}
		for _, id := range []string{"", "../../etc/passwd", "0123", store.NewID()} {
			if _, err := blobs.Open(ctx, id); !errors.Is(err, blob.ErrNotFound) {
				t.Errorf("Open(%q): %v", id, err)
			}
		}
		if err := blobs.Ready(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestBlobPutThatFailsLeavesNothing(t *testing.T) {
	eachBlobs(t, func(t *testing.T, blobs blob.Store) {
		ctx := context.Background()
		broken := errors.New("broken off")
		_, err := blobs.Put(ctx, io.MultiReader(bytes.NewReader(content(2<<20)), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := blobs.Put(gone, bytes.NewReader(content(1<<20))); err == nil {
			t.Error("put for a caller that has gone")
		}
		if err := blobs.List(ctx, time.Now().Add(time.Minute), func(id string) error { return errors.New(id) }); err != nil {
			t.Errorf("left behind: %v", err)
		}
	})
}

func TestBlobsInParallel(t *testing.T) {
	eachBlobs(t, func(t *testing.T, blobs blob.Store) {
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				want := content(100000 + i)
				b, err := blobs.Put(context.Background(), bytes.NewReader(want))
				if err != nil {
					t.Error(err)
					return
				}
				r, err := blobs.Open(context.Background(), b.ID)
				if err != nil {
					t.Error(err)
					return
				}
				defer r.Close()
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
					t.Errorf("blob %d: %d bytes, %v", i, len(got), err)
				}
			})
		}
		all.Wait()
	})
}

func TestBlobReaderKeepsTheRules(t *testing.T) {
	blobs := openBlobs(t, blob.Config{Data: t.TempDir(), Reserve: -1})
	want := content(70000)
	b, err := blobs.Put(context.Background(), bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	grown, err := blobs.PutGrown(context.Background(), b, bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][]byte{b.ID: want, grown.ID: append(bytes.Clone(want), want...)} {
		r, err := blobs.Open(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(r, want); err != nil {
			t.Error(err)
		}
		r.Close()
	}
}

// Every single changed byte of the stored file is noticed, and the content
// does not stand in it.
func TestBlobTampering(t *testing.T) {
	cfg := blob.Config{Data: t.TempDir(), Reserve: -1}
	blobs := openBlobs(t, cfg)
	ctx := context.Background()
	want := bytes.Repeat([]byte("a line that must not be on disk\n"), 10000)
	b, err := blobs.Put(ctx, bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	other, err := blobs.Put(ctx, bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	path := blobFile(t, cfg, b.ID)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%s is open to others: %v, %v", path, info, err)
	}
	good, _ := os.ReadFile(path)
	if bytes.Contains(good, []byte("must not be on disk")) {
		t.Error("the content is readable on disk")
	}
	check := func(what string, bad []byte) {
		t.Helper()
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := blobs.Open(ctx, b.ID)
		if err == nil {
			_, err = io.ReadAll(r)
			r.Close()
		}
		if !errors.Is(err, blob.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := 0; i < len(good); i += 1 + len(good)/400 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x40
		check(fmt.Sprint("bit flip at ", i), bad)
	}
	check("cut", good[:len(good)-100])
	check("grown", append(bytes.Clone(good), 0))
	check("empty", nil)
	foreign, _ := os.ReadFile(blobFile(t, cfg, other.ID))
	check("another blob's file", foreign)
	swapped := bytes.Clone(good)
	const head, step = 8 + 4 + 5 + 12 + 32 + 16, 64<<10 + 16
	copy(swapped[head:], good[head+step:head+2*step])
	copy(swapped[head+step:], good[head:head+step])
	check("two chunks swapped", swapped)
}

func blobFile(t *testing.T, cfg blob.Config, id string) (path string) {
	t.Helper()
	_ = filepath.WalkDir(filepath.Join(cfg.Data, "blobs"), func(p string, d fs.DirEntry, _ error) error {
		if d.Name() == id {
			path = p
		}
		return nil
	})
	if path == "" {
		t.Fatal("no file for the blob")
	}
	return path
}

func TestBlobReserve(t *testing.T) {
	cfg := blob.Config{Data: t.TempDir(), Reserve: -1}
	_, m := storetest.Open(t, store.Config{Data: cfg.Data})
	cfg.Reserve = 1 << 60
	blobs, err := blob.Open(context.Background(), cfg, m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.Put(context.Background(), bytes.NewReader(nil)); !errors.Is(err, fault.Unavailable) {
		t.Errorf("got %v, want fault 105", err)
	}
}

func BenchmarkBlob1MiB(b *testing.B) {
	blobs := openBlobs(b, blob.Config{Data: b.TempDir(), Reserve: -1})
	data := content(1 << 20)
	b.SetBytes(1 << 20)
	for b.Loop() {
		if _, err := blobs.Put(context.Background(), bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}

// A blob opens for its owner and for no other account that names it.
func TestBlobsHaveOwners(t *testing.T) {
	eachBlobs(t, func(t *testing.T, blobs blob.Store) {
		ctx := context.Background()
		b, err := blobs.For("signature a r").Put(ctx, strings.NewReader("a contract"))
		if err != nil {
			t.Fatal(err)
		}
		for _, owner := range []string{"", "signature a s", "signature b r", "signature a r ", "certificate r"} {
			if r, err := blobs.For(owner).Open(ctx, b.ID); !errors.Is(err, blob.ErrCorrupt) {
				t.Errorf("%q opens it: %v %v", owner, r, err)
			}
		}
		r, err := blobs.For("signature a r").Open(ctx, b.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if got, err := io.ReadAll(r); err != nil || string(got) != "a contract" {
			t.Errorf("%q %v", got, err)
		}
	})
}
