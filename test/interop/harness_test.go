// Package interop has other validators check what we make, and checks what they make. It holds
// tests only; they are skipped, loudly, where the oracles are not installed.
package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/test/dialog"
)

// pki answers on loopback for as long as the tests run; rootPEM is its anchor.
var (
	pki     *adestest.PKI
	rootPEM string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "interop")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	server := httptest.NewUnstartedServer(nil)
	pki, err = adestest.New(nil, "http://"+server.Listener.Addr().String())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	server.Config.Handler = pki.Handler()
	server.Start()
	defer server.Close()
	rootPEM = filepath.Join(dir, "root.pem")
	if err := os.WriteFile(rootPEM, pki.RootPEM(), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer dss.Stop()
	defer jsonDSS.Stop()
	if code := m.Run(); code != 0 {
		return code // a table is of a run in which all went well, or not written
	}
	if err := table.print(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// full runs the other validators too, as `make interop` does. Without it only what is quick is run.
var full = os.Getenv("ROGITO_INTEROP") != ""

// shared is the folder with the corpus and the oracles; the test is skipped
// where there is none.
func shared(t testing.TB) string {
	t.Helper()
	if !full {
		t.Skip("SKIPPED: the oracles are asked by `make interop` (ROGITO_INTEROP=1)")
	}
	dir := os.Getenv("ROGITO_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(abs, "oracle")); err != nil {
		t.Skip("SKIPPED: no oracles: set ROGITO_SHARED to the folder that holds them")
	}
	return abs
}

// brief is the environment of oracles that answer once: what a virtual machine
// compiles with much care would be thrown away with it.
func brief() []string {
	return append([]string{"ORACLE_JAVA_OPTS=-Xmx1g -XX:+UseSerialGC -XX:TieredStopAtLevel=1"}, os.Environ()...)
}

// tool is a program that must be installed.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed", name)
	}
	return path
}

// Ask is a request to DSS; only File is needed.
type Ask struct {
	File     string   `json:"file"`
	Trust    []string `json:"trust,omitempty"`
	Detached []any    `json:"detached,omitempty"` // file names, or {"file","name"}
	Password string   `json:"password,omitempty"`
	At       string   `json:"at,omitempty"`
	Offline  bool     `json:"offline,omitempty"`
	Cert     []string `json:"cert,omitempty"`
	What     string   `json:"-"` // packaging or input, for the table
	Warns    string   `json:"-"` // the key of a warning that another tool's signature deserves
}

// Verdict is what DSS says of a file.
type Verdict struct {
	Exception          string      `json:"exception"`
	Format             string      `json:"format"`
	Valid              bool        `json:"valid"`
	Signatures         []SigReport `json:"signatures"`
	DocumentTimestamps []TSReport  `json:"documentTimestamps"`
	Raw                string      `json:"-"`
}

// SigReport is what DSS says of a signature.
type SigReport struct {
	Level            string         `json:"level"`
	Indication       string         `json:"indication"`
	SubIndication    string         `json:"subIndication"`
	Intact           *bool          `json:"intact"`
	CounterSignature bool           `json:"counterSignature"`
	DigestAlgorithm  string         `json:"digestAlgorithm"`
	Encryption       string         `json:"encryptionAlgorithm"`
	Timestamps       []TSReport     `json:"timestamps"`
	Scopes           []string       `json:"scopes"`
	PDF              map[string]any `json:"pdf"`
	Errors           []any          `json:"errors"`
	Warnings         []any          `json:"warnings"`
}

// TSReport is what DSS says of a time-stamp.
type TSReport struct {
	Type          string `json:"type"`
	Indication    string `json:"indication"`
	ImprintIntact *bool  `json:"imprintIntact"`
}

// dss is one warm process for all tests.
var dss oracle

type oracle struct{ dialog.Program }

func (o *oracle) start(t testing.TB) {
	t.Helper()
	if o.Runs() {
		return
	}
	tool(t, "java")
	if err := o.Start(exec.Command(filepath.Join(shared(t), "oracle", "bin", "dss"), "serve")); err != nil {
		t.Skipf("SKIPPED: DSS does not start: %v", err)
	}
}

// Validate asks DSS about a file; without other anchors ours is trusted.
func (o *oracle) Validate(t testing.TB, ask Ask) Verdict {
	t.Helper()
	o.Lock()
	defer o.Unlock()
	o.start(t)
	if ask.Trust == nil {
		ask.Trust = []string{rootPEM}
	}
	answer, err := o.Program.Ask(ask)
	if err != nil {
		t.Fatalf("DSS: %v", err)
	}
	v := Verdict{Raw: string(bytes.TrimSpace(answer))}
	if err := json.Unmarshal(answer, &v); err != nil {
		t.Fatalf("answer of DSS: %v: %s", err, answer)
	}
	return v
}

// packaging is how the signature lies to the document.
func (a Ask) packaging(format string) string {
	switch {
	case a.What != "":
		return a.What
	case len(a.Detached) > 0:
		return "detached"
	case format == "CAdES":
		return "attached"
	case strings.HasPrefix(format, "ASiC"):
		return "container"
	}
	return "several"
}

// faults are what keeps a signature from being accepted: it must be
// TOTAL-PASSED and of the level, where one is given, with good time-stamps and
// without a warning but the one that is expected.
func (a Ask) faults(s SigReport, level string) []string {
	var out []string
	if s.Indication != "TOTAL-PASSED" {
		out = append(out, fmt.Sprintf("%s %s: %v", s.Indication, s.SubIndication, s.Errors))
	}
	if level != "" && !s.CounterSignature && s.Level != level {
		out = append(out, fmt.Sprintf("level %s, want %s", s.Level, level))
	}
	for _, w := range s.Warnings {
		if a.Warns == "" || !strings.HasPrefix(fmt.Sprint(w), a.Warns+":") {
			out = append(out, fmt.Sprintf("DSS warns: %v", w))
		}
	}
	for _, ts := range s.Timestamps {
		if ts.Indication != "PASSED" {
			out = append(out, fmt.Sprintf("time-stamp %s: %s", ts.Type, ts.Indication))
		}
	}
	return out
}

// Passed demands that DSS accepts every signature, and returns the verdict. An
// empty level is not looked at.
func (o *oracle) Passed(t testing.TB, ask Ask, level string) Verdict {
	t.Helper()
	v := o.Validate(t, ask)
	if v.Exception != "" || len(v.Signatures) == 0 {
		t.Fatalf("DSS finds no signature: %s", v.Raw)
	}
	for i, s := range v.Signatures {
		faults := ask.faults(s, level)
		table.add(row{"DSS", v.Format, ask.packaging(v.Format), s.Level[strings.LastIndexByte(s.Level, '-')+1:], s.Encryption + " " + s.DigestAlgorithm}, len(faults) == 0)
		for _, f := range faults {
			t.Errorf("signature %d: %s", i, f)
		}
	}
	if t.Failed() {
		t.Logf("DSS: %s", v.Raw)
	}
	return v
}

// write puts bytes into a file of the test.
func write(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
