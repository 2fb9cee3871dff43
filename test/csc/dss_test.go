package csc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// dss is one warm process of the European validator for all tests.
var dss oracle

type oracle struct {
	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	no  string // why it cannot be asked
}

// start starts it, once; it says so where that is not possible.
func (o *oracle) start(t testing.TB) bool {
	t.Helper()
	if o.cmd != nil || o.no != "" {
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
	if err != nil {
		o.no = err.Error()
		return false
	}
	cmd := exec.Command(program, "serve")
	cmd.Stderr = os.Stderr
	if o.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		o.no = err.Error()
		return false
	}
	o.cmd, o.out = cmd, bufio.NewReaderSize(out, 1<<20)
	return true
}

func (o *oracle) stop() {
	if o.cmd != nil {
		o.in.Close()
		_ = o.cmd.Wait()
	}
}

// passed demands that DSS says TOTAL-PASSED of every signature, at the level
// (without "BASELINE": "PAdES-B"). Where it is not installed it says so.
func (o *oracle) passed(t testing.TB, doc []byte, name, level string, detached []byte, anchors ...string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
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
	line, err := json.Marshal(ask)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("ask DSS: %v", err)
	}
	answer, err := o.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("answer of DSS: %v", err)
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
