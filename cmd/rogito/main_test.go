package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
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
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"ready": waitReady,
		},
	})
}

// waitReady waits for a line in a background server's welcome: the file it was
// told to write its address to.
func waitReady(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: ready DATA")
	}
	for range 400 {
		if _, err := os.Stat(filepath.Join(ts.MkAbs(args[0]), "master.key")); err == nil {
			return
		}
		sleep()
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
		if c.summary == "" || c.summary[0] >= 'A' && c.summary[0] <= 'Z' && !strings.HasPrefix(c.summary, "OMI") || strings.HasSuffix(c.summary, ".") {
			t.Errorf("%s: the summary %q is not a phrase", c.name, c.summary)
		}
	}
}
