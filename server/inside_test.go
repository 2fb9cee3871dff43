package server

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// A user without a terminal is told where the secrets are, not what they are.
func TestWelcomeShowsSecretsToATerminalOnly(t *testing.T) {
	t.Parallel()
	b := &Sandbox{Token: "rgt_canary", APIKey: "rgk_canary", Certificates: map[string]SandboxCredentials{"automatic": {Username: "AHI1", Password: "canary-password"}}}
	for _, first := range []bool{true, false} {
		var dumb, seen bytes.Buffer
		w := &welcome{URL: "http://127.0.0.1:1", File: "data/sandbox.json", Sandbox: b, New: first}
		w.print(Streams{Out: &dumb})
		w.print(Streams{Out: &seen, Terminal: true, Program: "bin/rogito"})
		if strings.Contains(dumb.String(), "canary") || !strings.Contains(dumb.String(), "rogito sandbox --data data") || !strings.Contains(dumb.String(), "curl") {
			t.Errorf("not a terminal: %s", &dumb)
		}
		if !strings.Contains(seen.String(), "Bearer rgt_canary") || !strings.Contains(seen.String(), "canary-password") || !strings.Contains(seen.String(), "\n  bin/rogito request --data data FILE.pdf\n") {
			t.Errorf("a terminal: %s", &seen)
		}
	}
}

func TestBadPriceIsNamed(t *testing.T) {
	t.Parallel()
	cfg := Defaults()
	cfg.Money.Lookup = "cheap"
	if _, err := cfg.prices(); err == nil || !strings.Contains(err.Error(), "money.lookup") {
		t.Errorf("%v", err)
	}
}

func TestSandboxFileIsPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := Sandbox{BaseURL: "u", Token: "t"}
	if err := b.write(dir); err != nil {
		t.Fatal(err)
	}
	got := ReadSandbox(dir)
	text, _ := json.Marshal(got)
	want, _ := json.Marshal(b)
	if string(text) != string(want) {
		t.Errorf("%s", text)
	}
	if st, err := os.Stat(SandboxFile(dir)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
}

func TestTimeStampsAMinute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sandbox bool
		set     int
		want    int
	}{{true, 0, sandboxStamps}, {false, 0, 0}, {false, 30, 30}, {true, -1, -1}} {
		srv := &Server{sandboxed: c.sandbox}
		srv.cfg.Signing.TSAPerMinute = c.set
		if got := srv.stampsPerMinute(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
