package rogito_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program of the README signs the sample, as it stands.
func TestREADMEProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```go\npackage main\n")
	program, _, end := strings.Cut(rest, "```\n")
	if !ok || !end {
		t.Fatal("there is no program in the README")
	}
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte("package main\n"+program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.CopyFS(filepath.Join(dir, "sample"), os.DirFS("sample")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "PAdES-BASELINE-B application/pdf\n" {
		t.Errorf("%v: %s", err, out)
	}
}
