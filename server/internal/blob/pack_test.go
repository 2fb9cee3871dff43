package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

func openPacked(t *testing.T) (*sealedBlobs, *folder) {
	t.Helper()
	cfg := Config{Data: t.TempDir(), Reserve: -1}
	b, err := openFolder(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, m := storetest.Open(t, store.Config{Data: cfg.Data})
	return newSealed(b, m), b.(*folder)
}

func small(i int) []byte { return bytes.Repeat([]byte(fmt.Sprintf("small %d ", i)), 1000+i) }

func readBlob(s *sealedBlobs, id string) ([]byte, error) {
	r, err := s.Open(context.Background(), id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// Many small objects at once share a file, each is read as it was put, and a
// deleted one leaves nothing that could be read.
func TestPackedBlobs(t *testing.T) {
	s, f := openPacked(t)
	ctx := context.Background()
	ids := make([]string, 60)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			b, err := s.Put(ctx, bytes.NewReader(small(i)))
			if err != nil {
				t.Error(err)
			}
			ids[i] = b.ID
		})
	}
	wg.Wait()
	if files, err := os.ReadDir(f.packs.dir); err != nil || len(files) != 1 {
		t.Fatalf("%d packs, %v", len(files), err)
	}
	for i, id := range ids {
		if got, err := readBlob(s, id); err != nil || !bytes.Equal(got, small(i)) {
			t.Fatalf("%d: %d bytes, %v", i, len(got), err)
		}
	}
	_, at, _, _ := splitID(ids[7])
	for range 2 {
		if err := s.Delete(ctx, ids[7]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := readBlob(s, ids[7]); !errors.Is(err, ErrNotFound) {
		t.Errorf("a deleted blob: %v", err)
	}
	all, _ := os.ReadFile(f.packs.path(at.pack))
	if _, n, err := readFrame(bytes.NewReader(all), at.offset); err != nil || len(bytes.Trim(all[at.offset+int64(frameHead):][:n], "\x00")) != 0 {
		t.Error("bytes of a deleted blob are still there")
	}
	left := map[string]bool{}
	if err := s.List(ctx, time.Now().Add(time.Hour), func(id string) error { left[id] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	if len(left) != len(ids)-1 || left[ids[7]] || !left[ids[8]] {
		t.Errorf("%d listed", len(left))
	}
}

// What a crash leaves behind a pack's last frame is not taken for one, and a
// changed bit is found.
func TestDamagedPack(t *testing.T) {
	s, f := openPacked(t)
	ctx := context.Background()
	b, err := s.Put(ctx, bytes.NewReader(small(1)))
	if err != nil {
		t.Fatal(err)
	}
	base, at, _, _ := splitID(b.ID)
	path := f.packs.path(at.pack)
	good, _ := os.ReadFile(path)
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v", info.Mode())
	}
	for i := 0; i < len(good); i += 1 + len(good)/200 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		_ = os.WriteFile(path, bad, 0o600)
		if _, err := readBlob(s, b.ID); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("bit flip at %d: %v", i, err)
		}
	}
	for _, tail := range []string{"", "rg", "rgpk" + base, "rgpk" + base + "\x00\x00\x10\x00and no more", string(make([]byte, 500))} {
		_ = os.WriteFile(path, append(bytes.Clone(good), tail...), 0o600)
		n := 0
		if err := s.List(ctx, time.Now().Add(time.Hour), func(id string) error {
			if _, err := readBlob(s, id); err == nil {
				n++
			}
			return nil
		}); err != nil || n != 1 {
			t.Errorf("%q: %d blobs, %v", tail, n, err)
		}
	}
	for _, id := range []string{base + "." + at.pack, base + "." + at.pack + ".-1", base + "..0", base + "." + at.pack + ".00", base + "/../x.0"} {
		if _, err := s.Open(ctx, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// A pack without objects is removed once nothing writes to it.
func TestEmptyPacksGo(t *testing.T) {
	s, f := openPacked(t)
	ctx := context.Background()
	b, err := s.Put(ctx, bytes.NewReader(small(3)))
	if err != nil {
		t.Fatal(err)
	}
	_, at, _, _ := splitID(b.ID)
	old := fmt.Sprintf("%012x%s", time.Now().Add(-2*abandoned).UnixMilli(), at.pack[12:])
	if err := os.Rename(f.packs.path(at.pack), f.packs.path(old)); err != nil {
		t.Fatal(err)
	}
	look := func() (n int) {
		t.Helper()
		if err := s.List(ctx, time.Now().Add(time.Hour), func(id string) error { b.ID = id; n++; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if look() != 1 {
		t.Fatal("it is there")
	}
	good, err := os.ReadFile(f.packs.path(old))
	if err != nil {
		t.Fatal(err)
	}
	_ = os.WriteFile(f.packs.path(old), append([]byte("X"), good[1:]...), 0o600)
	if look() != 0 {
		t.Error("a damaged frame is listed")
	}
	if _, err := os.Stat(f.packs.path(old)); err != nil {
		t.Errorf("the pack of a damaged frame was taken away: %v", err)
	}
	if err := os.WriteFile(f.packs.path(old), good, 0o600); err != nil || look() != 1 {
		t.Fatal("it is there again")
	}
	if err := s.Delete(ctx, b.ID); err != nil {
		t.Fatal(err)
	}
	if look() != 0 {
		t.Error("it is still there")
	}
	if left, _ := filepath.Glob(f.packs.path("*")); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

// A disk that fails while a pack is written fails that object only; the next
// has a new pack.
func TestPackOnAFailingDisk(t *testing.T) {
	s, f := openPacked(t)
	ctx := context.Background()
	first, err := s.Put(ctx, bytes.NewReader(small(1)))
	if err != nil {
		t.Fatal(err)
	}
	_ = f.packs.last.file.Close() // every write and sync fails from here
	if _, err := s.Put(ctx, bytes.NewReader(small(2))); err == nil {
		t.Fatal("stored in a closed file")
	}
	second, err := s.Put(ctx, bytes.NewReader(small(2)))
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{first.ID, second.ID} {
		if got, err := readBlob(s, id); err != nil || !bytes.Equal(got, small(i+1)) {
			t.Errorf("%d: %v", i, err)
		}
	}
}
