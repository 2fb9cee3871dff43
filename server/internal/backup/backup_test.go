package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
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
	err = backup.Write(ctx, cfg, &archive)
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
	id, err := backup.Restore(ctx, elsewhere.Data, bytes.NewReader(archive.Bytes()))
	if err != nil || id != m.ID() {
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

	if _, err := backup.Restore(ctx, elsewhere.Data, bytes.NewReader(archive.Bytes())); err == nil || !strings.Contains(err.Error(), "empty folder") {
		t.Errorf("over another installation: %v", err)
	}
	cut := archive.Bytes()[:archive.Len()-4096]
	if _, err := backup.Restore(ctx, t.TempDir(), bytes.NewReader(cut)); err == nil {
		t.Error("a cut backup was restored")
	}
	bad := bytes.Clone(archive.Bytes())
	bad[len(bad)/2] ^= 1
	if _, err := backup.Restore(ctx, t.TempDir(), bytes.NewReader(bad)); err == nil {
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
	if err := backup.Write(ctx, cfg, &archive); err != nil {
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
