package master_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// A key that a command prints opens the data; one that it does not print is told
// without a word of what the command said.
func TestCommandPrintsMasterKey(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: no sh")
	}
	ctx := context.Background()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			in := e.Config(t)
			db, m := storetest.Open(t, in)
			sealed, err := m.Seal("x", []byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			vault := filepath.Join(t.TempDir(), "vault")
			if err := os.Rename(master.Config{Data: in.Data}.Path(), vault); err != nil {
				t.Fatal(err)
			}
			cfg := master.Config{Data: in.Data, Command: []string{"sh", "-c", `echo "token canary" >&2; cat "$0"`, vault}}
			opens := func() {
				t.Helper()
				m, err := master.Open(ctx, db, cfg)
				if err != nil {
					t.Fatal(err)
				}
				if plain, err := m.Unseal("x", sealed); err != nil || string(plain) != "before" {
					t.Errorf("%q, %v", plain, err)
				}
			}
			opens()
			for script, want := range map[string]string{
				`echo canary >&2; exit 3`:        "exit status 3",
				`echo canary`:                    "no master key",
				`yes canary`:                     "more than 256 bytes",
				`printf %064d 1`:                 "is sealed under master key",
				`kill -9 $$`:                     "killed",
				`echo canary; echo; sleep 0; : `: "no master key",
			} {
				bad := cfg
				bad.Command = []string{"sh", "-c", script}
				if _, err := master.Open(ctx, db, bad); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
					t.Errorf("%s: %v", script, err)
				}
			}
			gone := cfg
			gone.Command = []string{filepath.Join(t.TempDir(), "none")}
			if err := gone.CheckCommand(); err == nil {
				t.Error("a command that is not there prints a key")
			}
			if _, err := os.Stat(cfg.Path()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a key file was made: %v", err)
			}

			// The new key is the operator's to store.
			if _, err := master.Rotate(ctx, db, cfg, ""); err == nil || !strings.Contains(err.Error(), "--to") {
				t.Errorf("rotated without a place for the new key: %v", err)
			}
			if _, err := master.Rotate(ctx, db, cfg, vault); err == nil {
				t.Error("rotated to the old key")
			}
			opens()
			next := filepath.Join(t.TempDir(), "next")
			if err := os.WriteFile(next, []byte(strings.Repeat("ab", 32)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			id, err := master.Rotate(ctx, db, cfg, next)
			if err != nil {
				t.Fatal(err)
			}
			if now, err := master.WantedID(ctx, db); err != nil || now != id {
				t.Errorf("%s, want %s: %v", now, id, err)
			}
			if _, err := master.Open(ctx, db, cfg); !errors.Is(err, master.ErrNoKey) {
				t.Errorf("the old key still opens: %v", err)
			}
			cfg.Command[3] = next
			opens()
		})
	}
}
