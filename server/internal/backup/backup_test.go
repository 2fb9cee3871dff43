package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"rogito.dev/rogito/server/internal/backup"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

var document = bytes.Repeat([]byte("document"), 125)

// A backup under load, restored elsewhere: every blob that a row refers to is
// there and whole, and the key is not.
func TestBackupUnderLoad(t *testing.T) {
	ctx := context.Background()
	cfg := store.Config{Data: t.TempDir(), Reserve: -1}
	db, m := storetest.Open(t, cfg)
	blobs, err := blob.Open(ctx, blob.Config{Data: cfg.Data, Reserve: -1}, m)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Exec(t, db, storetest.Things)
	put := func() {
		b, err := blobs.Put(ctx, bytes.NewReader(document))
		if err != nil {
			t.Error(err)
			return
		}
		storetest.Exec(t, db, `insert into things (id, n) values ($1, 1)`, b.ID)
	}
	for range 20 {
		put()
	}
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					put()
				}
			}
		})
	}
	var archive bytes.Buffer
	err = backup.Write(ctx, cfg, master.Config{Data: cfg.Data}, &archive)
	close(stop)
	load.Wait()
	if err != nil {
		t.Fatal(err)
	}
	key, _ := os.ReadFile(master.Config{Data: cfg.Data}.Path())
	if bytes.Contains(archive.Bytes(), bytes.TrimSpace(key)) {
		t.Error("the master key is in the backup")
	}

	elsewhere := store.Config{Data: filepath.Join(t.TempDir(), "new"), Reserve: -1}
	id, err := backup.Restore(ctx, elsewhere.Data, master.Config{Data: elsewhere.Data}, bytes.NewReader(archive.Bytes()))
	if wanted, werr := master.WantedID(ctx, db); err != nil || werr != nil || id != wanted {
		t.Fatalf("restore wants key %s, %v", id, err)
	}
	if err := os.WriteFile(master.Config{Data: elsewhere.Data}.Path(), key, 0o600); err != nil {
		t.Fatal(err)
	}
	db2, m2 := storetest.Open(t, elsewhere)
	blobs2, err := blob.Open(ctx, blob.Config{Data: elsewhere.Data, Reserve: -1}, m2)
	if err != nil {
		t.Fatal(err)
	}
	if n := storetest.Count(t, db2, `select count(*) from things`); n < 20 {
		t.Errorf("%d rows restored", n)
	}
	rows, err := db2.Read().Query(ctx, `select id from things`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		r, err := blobs2.Open(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, document) {
			t.Errorf("blob %s: %v", id, err)
		}
		r.Close()
	}

	if _, err := backup.Restore(ctx, elsewhere.Data, master.Config{Data: elsewhere.Data}, bytes.NewReader(archive.Bytes())); err == nil || !strings.Contains(err.Error(), "empty folder") {
		t.Errorf("over another installation: %v", err)
	}
	cut := archive.Bytes()[:archive.Len()-4096]
	if _, err := backup.Restore(ctx, t.TempDir(), master.Config{Data: t.TempDir()}, bytes.NewReader(cut)); err == nil {
		t.Error("a cut backup was restored")
	}
	bad := bytes.Clone(archive.Bytes())
	bad[len(bad)/2] ^= 1
	if _, err := backup.Restore(ctx, t.TempDir(), master.Config{Data: t.TempDir()}, bytes.NewReader(bad)); err == nil {
		t.Error("a changed backup was restored")
	}
}

// What a backup holds is copied in an order: checkpoints of the audit log may
// not be newer than the database, nor the database newer than the blobs.
func TestBackupOrder(t *testing.T) {
	ctx := context.Background()
	cfg := store.Config{Data: t.TempDir(), Reserve: -1}
	_, m := storetest.Open(t, cfg)
	blobs, err := blob.Open(ctx, blob.Config{Data: cfg.Data, Reserve: -1}, m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.Put(ctx, bytes.NewReader(document)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(cfg.Data, "audit"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cfg.Data, "audit", "witness"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := backup.Write(ctx, cfg, master.Config{Data: cfg.Data}, &archive); err != nil {
		t.Fatal(err)
	}
	var names []string
	for in := tar.NewReader(&archive); ; {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if len(names) < 4 || names[0] != "audit/witness" || names[1] != "rogito.db" || !strings.HasPrefix(names[2], "blobs/") {
		t.Errorf("%q", names)
	}
}

// rewrite changes the entries of an archive; those that change to nil go.
func rewrite(t *testing.T, archive []byte, change func(name string, content []byte) []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	var sums bytes.Buffer
	for in := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		b, rerr := io.ReadAll(in)
		if err != nil || rerr != nil {
			t.Fatal(err, rerr)
		}
		if h.Name == "SHA256SUMS" {
			b = sums.Bytes() // an attacker who changes a file can recompute the plain digests
		}
		if b = change(h.Name, b); b == nil {
			continue
		}
		if !strings.HasPrefix(h.Name, "SHA256SUMS") {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(b), h.Name)
		}
		h.Size = int64(len(b))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Who can write where backups lie, and does the digests over, is found out: at
// once where the master key is at hand, else before anything is opened.
func TestChangedBackups(t *testing.T) {
	ctx := context.Background()
	cfg := store.Config{Data: t.TempDir(), Reserve: -1}
	db, m := storetest.Open(t, cfg)
	storetest.Exec(t, db, storetest.Things)
	blobs, err := blob.Open(ctx, blob.Config{Data: cfg.Data, Reserve: -1}, m)
	if err != nil {
		t.Fatal(err)
	}
	take := func() []byte {
		b, err := blobs.Put(ctx, bytes.NewReader(document))
		if err != nil {
			t.Fatal(err)
		}
		storetest.Exec(t, db, `insert into things (id, n) values ($1, 1)`, b.ID)
		var archive bytes.Buffer
		if err := backup.Write(ctx, cfg, master.Config{Data: cfg.Data}, &archive); err != nil {
			t.Fatal(err)
		}
		return archive.Bytes()
	}
	first, good := take(), take()
	key, err := os.ReadFile(master.Config{Data: cfg.Data}.Path())
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := master.WantedID(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	rewrite(t, first, func(name string, b []byte) []byte { parts[name] = b; return b })
	same := func(_ string, b []byte) []byte { return b }
	for name, tc := range map[string]struct {
		archive []byte
		good    bool
	}{
		"as it was": {rewrite(t, good, same), true},
		"a database": {rewrite(t, good, func(name string, b []byte) []byte {
			if name == "rogito.db" {
				b = append(bytes.Clone(b[:len(b)-1]), b[len(b)-1]^1)
			}
			return b
		}), false},
		"the database of another day": {rewrite(t, good, func(name string, b []byte) []byte {
			if name == "rogito.db" {
				return parts[name]
			}
			return b
		}), false},
		"a document less": {rewrite(t, good, func(name string, b []byte) []byte {
			if strings.HasPrefix(name, "blobs/") {
				return nil
			}
			return b
		}), false},
		"the keyed digest of another day": {rewrite(t, good, func(name string, b []byte) []byte {
			if name == "SHA256SUMS.hmac" {
				return parts[name]
			}
			return b
		}), false},
		"a keyed digest of zeros": {rewrite(t, good, func(name string, b []byte) []byte {
			if name == "SHA256SUMS.hmac" {
				id, _, _ := strings.Cut(string(b), "  ")
				return []byte(id + "  " + strings.Repeat("00", 32) + "\n")
			}
			return b
		}), false},
		"an empty keyed digest": {rewrite(t, good, func(name string, b []byte) []byte {
			if name == "SHA256SUMS.hmac" {
				id, _, _ := strings.Cut(string(b), "  ")
				return []byte(id + "  \n")
			}
			return b
		}), false},
		"another key's digest": {rewrite(t, good, func(name string, b []byte) []byte {
			if name == "SHA256SUMS.hmac" {
				return []byte("0011223344556677  " + strings.Repeat("00", 32) + "\n")
			}
			return b
		}), false},
		"no keyed digest": {rewrite(t, good, func(name string, b []byte) []byte {
			if name == "SHA256SUMS.hmac" {
				return nil
			}
			return b
		}), false},
	} {
		for _, before := range []bool{true, false} { // the key is there before the restore, or after
			dir := filepath.Join(t.TempDir(), "new")
			put := func() {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "master.key"), key, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if before {
				put()
			}
			id, err := backup.Restore(ctx, dir, master.Config{Data: dir}, bytes.NewReader(tc.archive))
			if err == nil && !before {
				if cerr := backup.CheckRestored(dir, master.Config{Data: dir}); cerr == nil {
					t.Errorf("%s: opened without the key", name)
				}
				put()
			}
			if err == nil { // the server's first step
				err = backup.CheckRestored(dir, master.Config{Data: dir})
			}
			if (err == nil) != tc.good || tc.good && id != wanted {
				t.Errorf("%s, key before %v: %v", name, before, err)
			}
			if err == nil && backup.CheckRestored(dir, master.Config{Data: dir}) != nil {
				t.Errorf("%s: compared again", name)
			}
		}
	}
}
