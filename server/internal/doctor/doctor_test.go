package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is wrong around an installation, before anything of it is opened, is
// found with what to do about it.
func TestSurroundings(t *testing.T) {
	file := func(t *testing.T, dir string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, "master.key")
		if err := os.WriteFile(path, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name    string
		examine func(t *testing.T, dir string) Finding
		state   string
		text    string
	}{
		{"a configuration that contradicts itself", func(*testing.T, string) Finding {
			return examineConfig(&Settings{Problem: errors.New("two masters")})
		}, FindingBad, "two masters"},
		{"production without its address", func(*testing.T, string) Finding {
			return examineConfig(&Settings{Production: true, Listen: ":8080"})
		}, FindingWarning, ":8080"},
		{"production with its address", func(*testing.T, string) Finding {
			return examineConfig(&Settings{Production: true, PublicURL: "https://sign.example", StatusURL: "http://sign.example"})
		}, FindingOK, ""},
		{"status by https alone", func(*testing.T, string) Finding {
			return examineConfig(&Settings{Production: true, PublicURL: "https://sign.example"})
		}, FindingWarning, "by https"},

		{"no data folder", func(_ *testing.T, dir string) Finding {
			return examineData(&Settings{Data: filepath.Join(dir, "none")})
		}, FindingBad, "does not exist"},
		{"a file in place of the data folder", func(t *testing.T, dir string) Finding {
			return examineData(&Settings{Data: file(t, dir, 0o600)})
		}, FindingBad, "not a folder"},
		{"a data folder open to others", func(t *testing.T, dir string) Finding {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			return examineData(&Settings{Data: dir})
		}, FindingWarning, "others"},
		{"a data folder", func(_ *testing.T, dir string) Finding { return examineData(&Settings{Data: dir}) }, FindingOK, ""},

		{"no master key", func(_ *testing.T, dir string) Finding {
			return examineMasterKey(&Settings{MasterKeyPath: filepath.Join(dir, "none")})
		}, FindingBad, "does not exist"},
		{"a master key that others read", func(t *testing.T, dir string) Finding {
			return examineMasterKey(&Settings{MasterKeyPath: file(t, dir, 0o644)})
		}, FindingBad, "may read"},
		{"a master key beside the data in production", func(t *testing.T, dir string) Finding {
			return examineMasterKey(&Settings{Production: true, Data: dir, MasterKeyPath: file(t, dir, 0o600)})
		}, FindingWarning, "lies in the data folder"},
		{"a master key elsewhere", func(t *testing.T, dir string) Finding {
			return examineMasterKey(&Settings{Production: true, Data: t.TempDir(), MasterKeyPath: file(t, dir, 0o600)})
		}, FindingOK, ""},
		{"a master key in the environment", func(*testing.T, string) Finding {
			return examineMasterKey(&Settings{MasterKeyGiven: true})
		}, FindingOK, ""},

		{"a clock that was set back", func(t *testing.T, dir string) Finding {
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(file(t, dir, 0o600), later, later); err != nil {
				t.Fatal(err)
			}
			return examineClock(dir)
		}, FindingWarning, "in the future"},
		{"a clock that goes right", func(t *testing.T, dir string) Finding {
			file(t, dir, 0o600)
			return examineClock(dir)
		}, FindingOK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			f := c.examine(t, dir)
			if f.State != c.state || !strings.Contains(f.Text.String(), c.text) || f.Advice.IsZero() != (c.state == FindingOK) {
				t.Errorf("%+v, want %s with %q", f, c.state, c.text)
			}
		})
	}
}
