package main

import (
	"os/exec"
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
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "files", "-o", t.TempDir(), ".").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
