package rogito_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What make builds is called by the release to come, or by its tag.
func TestMakeKnowsTheVersion(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: no make")
	}
	out, err := exec.Command("make", "-n", "build").CombinedOutput()
	if err != nil || !regexp.MustCompile(`version\.Number=[0-9]+\.[0-9]`).Match(out) {
		t.Errorf("%v: %s", err, out)
	}
}

// The same sources give the same program, from another folder and with nothing
// remembered; every module in it is named with its sum, and the modules on this
// machine are those of go.sum.
func TestReleaseIsReproducible(t *testing.T) {
	if os.Getenv("ROGITO_TEST_SOAK") == "" {
		t.Skip("SKIPPED: long; set ROGITO_TEST_SOAK")
	}
	run := func(dir string, env []string, name string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
		return out
	}
	if out := run(".", nil, "go", "mod", "verify"); !bytes.Contains(out, []byte("all modules verified")) {
		t.Errorf("%s", out)
	}
	build := func(dir string, env ...string) [32]byte {
		t.Helper()
		bin := filepath.Join(t.TempDir(), "rogito")
		run(dir, append(env, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly -buildvcs=false"), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "./cmd/rogito")
		if env == nil {
			namesModules(t, run(".", nil, "go", "version", "-m", bin))
		}
		b, err := os.ReadFile(bin)
		if err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(b)
	}
	there := filepath.Join(t.TempDir(), "elsewhere")
	for _, f := range strings.Fields(string(run(".", nil, "git", "ls-files"))) {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // deleted, not yet committed
		}
		to := filepath.Join(there, f)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if build(".") != build(there, "GOCACHE="+t.TempDir()) {
		t.Error("two builds differ")
	}
}

// namesModules holds the list of modules in a program to its form: each with a
// version and a sum.
func namesModules(t *testing.T, list []byte) {
	t.Helper()
	n := 0
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "dep" {
			continue
		}
		if n++; len(f) != 4 || !strings.HasPrefix(f[3], "h1:") {
			t.Errorf("a module without a sum: %s", line)
		}
	}
	if n < 20 {
		t.Errorf("only %d modules are named", n)
	}
}
