package master_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

func assertPrivate(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%s is %v", path, info.Mode())
	}
}

func TestSealIsBoundToItsPurpose(t *testing.T) {
	_, m := storetest.Open(t, store.Config{Data: t.TempDir()})
	sealed, err := m.Seal("password", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("secret")) {
		t.Error("the secret stands in the sealed value")
	}
	if plain, err := m.Unseal("password", sealed); err != nil || string(plain) != "secret" {
		t.Errorf("unseal: %q, %v", plain, err)
	}
	if _, err := m.Unseal("otp", sealed); !errors.Is(err, master.ErrUnseal) {
		t.Errorf("opened for another purpose: %v", err)
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if _, err := m.Unseal("password", bad); !errors.Is(err, master.ErrUnseal) {
			t.Fatalf("a flipped bit in byte %d: %v", i, err)
		}
	}
	for n := range len(sealed) {
		if _, err := m.Unseal("password", sealed[:n]); !errors.Is(err, master.ErrUnseal) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	if m.MAC("a", []byte("x")) == m.MAC("b", []byte("x")) {
		t.Error("a MAC does not depend on its purpose")
	}
}

func TestRotateMasterKey(t *testing.T) {
	ctx := context.Background()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			in := e.Config(t)
			cfg := master.Config{Data: in.Data}
			db, m := storetest.Open(t, in)
			sealed, err := m.Seal("x", []byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			mac := m.MAC("pepper", []byte("t"))
			old, err := os.ReadFile(cfg.Path())
			if err != nil {
				t.Fatal(err)
			}
			was, err := master.WantedID(ctx, db)
			if err != nil {
				t.Fatal(err)
			}
			id, err := master.Rotate(ctx, db, cfg, "")
			if err != nil {
				t.Fatal(err)
			}
			after, err := master.Open(ctx, db, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if now, err := master.WantedID(ctx, db); err != nil || now != id || id == was {
				t.Errorf("key %s after the rotation to %s from %s: %v", now, id, was, err)
			}
			if plain, err := after.Unseal("x", sealed); err != nil || string(plain) != "before" {
				t.Errorf("sealed before: %q, %v", plain, err)
			}
			if after.MAC("pepper", []byte("t")) != mac {
				t.Error("the pepper changed: every token would be lost")
			}
			assertPrivate(t, cfg.Path())

			// The old key alone opens nothing, and the message says what is wanted.
			if err := os.WriteFile(cfg.Path(), old, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := master.Open(ctx, db, cfg); err == nil || !strings.Contains(err.Error(), id) {
				t.Errorf("with the old key: %v", err)
			}
		})
	}
}

// A rotation cut short between database and file is finished by the next start.
func TestRotationCutShort(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	cfg := master.Config{Data: dir}
	db, _ := storetest.Open(t, store.Config{Data: dir})
	old, _ := os.ReadFile(cfg.Path())
	if _, err := master.Rotate(ctx, db, cfg, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(cfg.Path(), cfg.Path()+".next"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cfg.Path(), old, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := master.Open(ctx, db, cfg); err != nil {
		t.Errorf("start: %v", err)
	}
	if _, err := master.Rotate(ctx, db, cfg, ""); err != nil {
		t.Errorf("rotate again: %v", err)
	}
	if _, err := os.Stat(cfg.Path() + ".next"); !os.IsNotExist(err) {
		t.Errorf("a key file is left over: %v", err)
	}
}

func TestMasterKeyMissingOrOpen(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	cfg := master.Config{Data: dir}
	db, _ := storetest.Open(t, store.Config{Data: dir})
	if err := os.Chmod(cfg.Path(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := master.Open(ctx, db, cfg); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key open to others: %v", err)
	}
	if err := os.Remove(cfg.Path()); err != nil {
		t.Fatal(err)
	}
	if _, err := master.Open(ctx, db, cfg); err == nil || !strings.Contains(err.Error(), filepath.Base(cfg.Path())) {
		t.Errorf("no key: %v", err)
	}
	if _, err := os.Stat(cfg.Path()); !os.IsNotExist(err) {
		t.Error("a second key was made for a database that has one")
	}
}
