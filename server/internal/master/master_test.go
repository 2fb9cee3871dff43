package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	if _, err := m.Unseal("otp", sealed); !errors.Is(err, store.ErrUnseal) {
		t.Errorf("opened for another purpose: %v", err)
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if _, err := m.Unseal("password", bad); !errors.Is(err, store.ErrUnseal) {
			t.Fatalf("a flipped bit in byte %d: %v", i, err)
		}
	}
	for n := range len(sealed) {
		if _, err := m.Unseal("password", sealed[:n]); !errors.Is(err, store.ErrUnseal) {
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
			cfg := e.Config(t)
			db, m := storetest.Open(t, cfg)
			sealed, err := m.Seal("x", []byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			mac := m.MAC("pepper", []byte("t"))
			old, err := os.ReadFile(cfg.MasterKeyPath())
			if err != nil {
				t.Fatal(err)
			}
			id, err := store.RotateMasterKey(ctx, db, cfg)
			if err != nil {
				t.Fatal(err)
			}
			after, err := store.OpenMaster(ctx, db, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if after.KeyID() != id || id == m.KeyID() {
				t.Errorf("key %s after the rotation to %s from %s", after.KeyID(), id, m.KeyID())
			}
			if plain, err := after.Unseal("x", sealed); err != nil || string(plain) != "before" {
				t.Errorf("sealed before: %q, %v", plain, err)
			}
			if after.MAC("pepper", []byte("t")) != mac {
				t.Error("the pepper changed: every token would be lost")
			}
			assertPrivate(t, cfg.MasterKeyPath())

			// The old key alone opens nothing, and the message says what is wanted.
			if err := os.WriteFile(cfg.MasterKeyPath(), old, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := store.OpenMaster(ctx, db, cfg); err == nil || !strings.Contains(err.Error(), id) {
				t.Errorf("with the old key: %v", err)
			}
		})
	}
}

// A rotation cut short between database and file is finished by the next start.
func TestRotationCutShort(t *testing.T) {
	ctx := context.Background()
	cfg := store.Config{Data: t.TempDir()}
	db, _ := storetest.Open(t, cfg)
	old, _ := os.ReadFile(cfg.MasterKeyPath())
	if _, err := store.RotateMasterKey(ctx, db, cfg); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(cfg.MasterKeyPath(), cfg.MasterKeyPath()+".next"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cfg.MasterKeyPath(), old, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.OpenMaster(ctx, db, cfg); err != nil {
		t.Errorf("start: %v", err)
	}
	if _, err := store.RotateMasterKey(ctx, db, cfg); err != nil {
		t.Errorf("rotate again: %v", err)
	}
	if _, err := os.Stat(cfg.MasterKeyPath() + ".next"); !os.IsNotExist(err) {
		t.Errorf("a key file is left over: %v", err)
	}
}

func TestMasterKeyMissingOrOpen(t *testing.T) {
	ctx := context.Background()
	cfg := store.Config{Data: t.TempDir()}
	db, _ := storetest.Open(t, cfg)
	if err := os.Chmod(cfg.MasterKeyPath(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.OpenMaster(ctx, db, cfg); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key open to others: %v", err)
	}
	if err := os.Remove(cfg.MasterKeyPath()); err != nil {
		t.Fatal(err)
	}
	if _, err := store.OpenMaster(ctx, db, cfg); err == nil || !strings.Contains(err.Error(), filepath.Base(cfg.MasterKeyPath())) {
		t.Errorf("no key: %v", err)
	}
	if _, err := os.Stat(cfg.MasterKeyPath()); !os.IsNotExist(err) {
		t.Error("a second key was made for a database that has one")
	}
}
