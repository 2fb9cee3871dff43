package csc

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/test/dialog"
)

// dss is one warm process of the European validator for all tests.
var dss oracle

type oracle struct {
	dialog.Program
	no string // why it cannot be asked
}

// start starts it, once; it says so where that is not possible.
func (o *oracle) start(t testing.TB) bool {
	t.Helper()
	if o.Runs() || o.no != "" {
		return o.no == ""
	}
	dir := os.Getenv("ROGITO_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	program, err := filepath.Abs(filepath.Join(dir, "oracle", "bin", "dss"))
	if err == nil {
		_, err = os.Stat(program)
	}
	if err == nil {
		_, err = exec.LookPath("java")
	}
	if err == nil {
		err = o.Start(exec.Command(program, "serve"))
	}
	if err != nil {
		o.no = err.Error()
	}
	return err == nil
}

// passed demands that DSS says TOTAL-PASSED of every signature, at the level
// (without "BASELINE": "PAdES-B"). Where it is not installed it says so.
func (o *oracle) passed(t testing.TB, doc []byte, name, level string, detached []byte, anchors ...string) {
	t.Helper()
	o.Lock()
	defer o.Unlock()
	if !o.start(t) {
		t.Logf("SKIPPED: DSS is not asked: %s", o.no)
		return
	}
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ask := m{"file": write(name, doc)}
	var trust []string
	for i, a := range anchors {
		trust = append(trust, write(fmt.Sprintf("anchor%d.pem", i), []byte(a)))
	}
	ask["trust"] = trust
	if detached != nil {
		ask["detached"] = []string{write("content", detached)}
	}
	answer, err := o.Ask(ask)
	if err != nil {
		t.Fatalf("DSS: %v", err)
	}
	var v struct {
		Exception  string
		Signatures []struct {
			Level, Indication, SubIndication string
			Errors                           []any
		}
	}
	if err := json.Unmarshal(answer, &v); err != nil || v.Exception != "" || len(v.Signatures) == 0 {
		t.Errorf("DSS finds no signature: %v %.1500s", err, answer)
		return
	}
	for i, s := range v.Signatures {
		want := strings.Replace(level, "-", "-BASELINE-", 1)
		if s.Indication != "TOTAL-PASSED" || s.Level != want {
			t.Errorf("DSS says of signature %d: %s %s, level %s, want %s: %v", i, s.Indication, s.SubIndication, s.Level, want, s.Errors)
		}
	}
}
