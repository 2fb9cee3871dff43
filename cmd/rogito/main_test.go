package main

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
)

func TestMain(m *testing.M) {
	os.Setenv("ROGITO_TRUST_LISTS", "false") // no test dials out
	testscript.Main(m, map[string]func(){"rogito": main})
}

// TestScripts runs testdata/*.txtar: stories that can be read without Go.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			for _, kv := range os.Environ() {
				if strings.HasPrefix(kv, "ROGITO_SHARED=") {
					e.Vars = append(e.Vars, kv)
				}
			}
			e.Setenv("ROGITO_LIMITS_RESERVE", "-1")
			sample, err := filepath.Abs(filepath.Join("..", "..", "sample"))
			if err != nil {
				return err
			}
			e.Setenv("SAMPLE", sample)
			e.Setenv("ROGITO_TRUST_LISTS", "false")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"ready":    waitReady,
			"keep":     keep,
			"armour":   armour,
			"pack":     pack,
			"readme":   readme,
			"tutorial": tutorial,
		},
	})
}

// A variable that a command reads is not called unknown by those that read the
// configuration from the environment.
func TestOwnVariablesAreKnown(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range regexp.MustCompile(`ROGITO_[A-Z][A-Z_]+[A-Z]`).FindAllString(string(text), -1) {
			found++
			if _, unknown, _ := server.Load("", []string{v + "=1"}, nil); len(unknown) > 0 {
				t.Errorf("%s reads %s, which is called unknown", name, v)
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d variables found", found)
	}
}

// armour writes a file as base64, between the lines of PEM where a label is given.
func armour(ts *testscript.TestScript, _ bool, args []string) {
	label := ""
	if len(args) == 3 {
		label, args = args[0], args[1:]
	}
	b := []byte(ts.ReadFile(args[0]))
	text := []byte(base64.StdEncoding.EncodeToString(b))
	if label != "" {
		text = pem.EncodeToMemory(&pem.Block{Type: label, Bytes: b})
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o600))
}

// pack makes a zip of files.
func pack(ts *testscript.TestScript, _ bool, args []string) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range args[1:] {
		w, err := z.Create(name)
		ts.Check(err)
		_, err = io.WriteString(w, ts.ReadFile(name))
		ts.Check(err)
	}
	ts.Check(z.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o600))
}

// readme writes a block of shell out of the README into a file: as it stands, but
// for the building, which was done, and the address of the server. The sample and
// the binary are beside it, as in a checkout.
func readme(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	ts.Check(err)
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	blocks := regexp.MustCompile("(?s)\n```sh\n(.*?)```\n").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < n {
		ts.Fatalf("the README has %d blocks", len(blocks))
	}
	block := regexp.MustCompile(`(?m)^go build -tags files -o bin/rogito ./cmd/rogito .*\n`).ReplaceAllString(blocks[n-1][1], "") // TestFilesBuild does
	if url := ts.Getenv("URL"); url != "" {
		block = strings.ReplaceAll(block, "http://127.0.0.1:8080", url)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(block), 0o600))
	checkout(ts)
}

// tutorial writes the shell of one section of a tutorial into a file, behind that of
// others: tutorial PAGE SECTION FILE [FILE-BEFORE...]. The section ” is what stands
// before the first.
func tutorial(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorials", args[0]))
	ts.Check(err)
	script := ""
	for _, before := range args[3:] {
		script += ts.ReadFile(before)
	}
	found := false
	for i, section := range strings.Split("\n"+string(text), "\n## ") {
		title, rest, _ := strings.Cut(section, "\n")
		if title != args[1] && (i > 0 || args[1] != "") {
			continue
		}
		for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)```\n").FindAllStringSubmatch("\n"+rest+"\n", -1) {
			script, found = script+block[1], true
		}
	}
	if !found {
		ts.Fatalf("%s has no shell under %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(script), 0o600))
	checkout(ts)
}

// checkout puts the sample beside a script, as in a checkout of the repository.
func checkout(ts *testscript.TestScript) {
	ts.Check(os.Chmod(ts.MkAbs("bin/rogito"), 0o700)) //nolint:gosec // it is run
	if _, err := os.Stat(ts.MkAbs("sample")); err != nil {
		for _, name := range []string{"contract.pdf", "key.p12", "password.txt", "signer.pem"} {
			b := ts.ReadFile(filepath.Join(ts.Getenv("SAMPLE"), name))
			ts.Check(os.MkdirAll(ts.MkAbs("sample"), 0o700))
			ts.Check(os.WriteFile(ts.MkAbs(filepath.Join("sample", name)), []byte(b), 0o600))
		}
	}
}

// keep puts what a pattern finds in the last output into a variable.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: keep VARIABLE PATTERN")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if m == nil {
		ts.Fatalf("%s is not in the output", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// waitReady waits until the sandbox in a data folder answers that it is ready.
func waitReady(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: ready DATA")
	}
	for range await.Within(await.Limit) {
		text, err := os.ReadFile(filepath.Join(ts.MkAbs(args[0]), "sandbox.json"))
		if err != nil {
			continue
		}
		var b server.Sandbox
		if json.Unmarshal(text, &b) != nil {
			continue
		}
		resp, err := http.Get(b.BaseURL + "/readyz")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			ts.Setenv("URL", b.BaseURL)
			ts.Setenv("ADDR", strings.TrimPrefix(b.BaseURL, "http://"))
			return
		}
	}
	ts.Fatalf("the server did not come up")
}

// Every command, and every command of a command, is called in a script, so
// that its words can be read there as people write them.
func TestEveryCommandHasAScript(t *testing.T) {
	var scripts strings.Builder
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		scripts.Write(b)
	}
	parser, err := newParser(&session{ctx: t.Context()}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(true) {
		call := "rogito " + leaf.Path()
		if !regexp.MustCompile(`(?m)^!? ?(exec )?` + regexp.QuoteMeta(call) + `( |$)`).MatchString(scripts.String()) {
			t.Errorf("no script calls %s", call)
		}
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	for _, c := range commands {
		var out, errs strings.Builder
		s := &session{ctx: t.Context(), stdout: &out, stderr: &errs}
		if code := run(s, []string{c.name, "--help"}); code != exitOK || !strings.Contains(out.String(), "Usage: rogito "+c.name) {
			t.Errorf("%s: exit %d\n%s%s", c.name, code, out.String(), errs.String())
		}
		first, _, _ := strings.Cut(c.summary, " ")
		if c.summary == "" || first != strings.ToLower(first) && first != strings.ToUpper(first) || strings.HasSuffix(c.summary, ".") {
			t.Errorf("%s: the summary %q is not a phrase", c.name, c.summary)
		}
	}
}

// Names from untrusted documents do nothing to the terminal that lists them.
func TestOutputIsPlain(t *testing.T) {
	data := t.TempDir()
	evil := "\x1b[2J\x1b]0;x\x07\u202egnp.exe\u009b31m\nforged line\tcolumn"
	rogito := func(args ...string) (out, errs string) {
		var o, e strings.Builder
		run(&session{ctx: t.Context(), stdin: strings.NewReader(""), stdout: &o, stderr: &e, env: []string{"ROGITO_LIMITS_RESERVE=-1", "ROGITO_LOG_LEVEL=error"}}, args)
		return o.String(), e.String()
	}
	rogito("init", "--data", data, "a@example.org")
	rogito("token", "create", "--data", data, "--name", evil, "a@example.org")
	file := filepath.Join(t.TempDir(), "x\x1b[31m\u202e.pdf")
	if err := os.WriteFile(file, []byte("no signature"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"list of tokens": {"token", "list", "--data", data, "a@example.org"},
		"an error":       {"token", "list", "--data", data, evil},
		"a report":       {"verify", "--no-network", file},
		"a page":         {"verify", "--no-network", "--html", file},
		"a missing file": {"verify", filepath.Join(data, evil)},
		"a command":      {evil},
	} {
		out, errs := rogito(args...)
		if out+errs == "" {
			t.Errorf("%s: nothing was printed", name)
		}
		for _, bad := range []string{"\x1b", "\x07", "\u202e", "\u009b"} {
			if strings.Contains(out+errs, bad) {
				t.Errorf("%s has %q:\n%q", name, bad, out+errs)
			}
		}
		if name == "list of tokens" && (strings.Contains(out, "\nforged") || !strings.Contains(out, "gnp.exe")) {
			t.Errorf("%s: %q", name, out)
		}
	}
}
