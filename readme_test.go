package rogito_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeProgram runs the program in the README as it stands there.
func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)\n```go\n(package main\n.*?)```\n").FindSubmatch(text)
	if block == nil {
		t.Fatal("the README has no program")
	}
	program := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(program, block[1], 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", program).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PAdES-BASELINE-B\nThe signature is valid. The content is intact. Signed by SAMPLE Signer") {
		t.Errorf("%v\n%s", err, out)
	}
}
