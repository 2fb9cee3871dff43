//go:build pkcs11

package master_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/hsm"
	"rogito.dev/rogito/internal/hsm/hsmtest"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A token derives the master key: nothing of it is on disk, another token, PIN or
// label opens nothing, a rotation leaves one secret, and one that was cut short
// leaves an installation that opens.
func TestTokenDerivesMasterKey(t *testing.T) {
	ctx := context.Background()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			in, token := e.Config(t), hsmtest.New(t)
			pin := filepath.Join(t.TempDir(), "pin")
			if err := os.WriteFile(pin, []byte(token.PIN+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			db, err := store.Open(ctx, in)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			at := master.Token{Module: token.Library, Label: token.Label, PINFile: pin, Key: "rogito"}
			cfg := master.Config{Data: in.Data, Token: &at}
			if err := cfg.CheckToken(); err == nil {
				t.Error("a token without the secret derives a key")
			}
			var sealed []byte
			opens := func() {
				t.Helper()
				m, err := master.Open(ctx, db, cfg)
				if err != nil {
					t.Fatal(err)
				}
				if sealed == nil {
					if sealed, err = m.Seal("x", []byte("before")); err != nil {
						t.Fatal(err)
					}
				}
				if plain, err := m.Unseal("x", sealed); err != nil || string(plain) != "before" {
					t.Errorf("%q, %v", plain, err)
				}
			}
			secrets := func() []hsm.Secret {
				t.Helper()
				open, err := hsm.OpenSecrets(token.Config)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { open.Close() })
				all, err := open.Secrets("rogito")
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
			opens()
			opens()
			if err := cfg.CheckToken(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(cfg.Path()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a key file was made: %v", err)
			}
			if _, err := master.Open(ctx, db, master.Config{Data: t.TempDir()}); !errors.Is(err, master.ErrNoKey) {
				t.Errorf("opened without the token: %v", err)
			}
			other := at
			other.Key = "another"
			if _, err := master.Open(ctx, db, master.Config{Data: in.Data, Token: &other}); !errors.Is(err, master.ErrNoKey) {
				t.Errorf("opened by another secret: %v", err)
			}
			wrong := filepath.Join(t.TempDir(), "wrong")
			if err := os.WriteFile(wrong, []byte("9999"), 0o600); err != nil {
				t.Fatal(err)
			}
			other = at
			other.PINFile = wrong
			if _, err := master.Open(ctx, db, master.Config{Data: in.Data, Token: &other}); err == nil || strings.Contains(err.Error(), "9999") {
				t.Errorf("opened with a wrong PIN: %v", err)
			}

			before, err := master.WantedID(ctx, db)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := master.Rotate(ctx, db, cfg, pin); err == nil {
				t.Error("rotated to a key of a file")
			}
			id, err := master.Rotate(ctx, db, cfg, "")
			if err != nil {
				t.Fatal(err)
			}
			if now, err := master.WantedID(ctx, db); err != nil || now != id || id == before {
				t.Errorf("%s after %s: %v", now, before, err)
			}
			opens()
			if n := len(secrets()); n != 1 {
				t.Errorf("%d secrets after a rotation", n)
			}
			// A rotation that was cut short before the database knew of it.
			open, err := hsm.OpenSecrets(token.Config)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := open.MakeSecret("rogito"); err != nil {
				t.Fatal(err)
			}
			open.Close()
			opens()
			if _, err := master.Rotate(ctx, db, cfg, ""); err != nil {
				t.Fatal(err)
			}
			opens()
			if n := len(secrets()); n != 1 {
				t.Errorf("%d secrets after the next rotation", n)
			}
		})
	}
}
