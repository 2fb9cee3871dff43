package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A build for files only, which the README begins with, compiles none of the
// service: the whole program takes three times as long.
func TestFilesBuild(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "files", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, path := range strings.Fields(string(out)) {
		if strings.HasPrefix(path, "rogito.dev/rogito/server") || strings.HasPrefix(path, "modernc.org/") || strings.HasPrefix(path, "github.com/jackc/") {
			t.Errorf("it has %s", path)
		}
	}
	program, signed := filepath.Join(t.TempDir(), "rogito"), filepath.Join(t.TempDir(), "signed.pdf")
	sample := func(name string) string { return filepath.Join("..", "..", "sample", name) }
	for _, command := range [][]string{
		{"go", "build", "-tags", "files", "-o", program, "."},
		{program, "sign", "--key", sample("key.p12"), "--password-file", sample("password.txt"), "--out", signed, sample("contract.pdf")},
		{program, "verify", "--trust", sample("signer.pem"), "--no-network", signed},
	} {
		if out, err = exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", command, err, out)
		}
	}
	if !strings.Contains(string(out), ": VALID (PAdES, 1 signature)") {
		t.Errorf("%s", out)
	}
	if out, err = exec.CommandContext(t.Context(), program, "serve").CombinedOutput(); err == nil || !strings.Contains(string(out), "works on files only") {
		t.Errorf("serve: %v: %s", err, out)
	}
}
