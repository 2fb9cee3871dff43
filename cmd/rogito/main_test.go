package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

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
			"ready": waitReady,
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

// waitReady waits until the sandbox in a data folder answers that it is ready.
func waitReady(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: ready DATA")
	}
	for range 800 {
		time.Sleep(25 * time.Millisecond)
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
			return
		}
	}
	ts.Fatalf("the server did not come up")
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
