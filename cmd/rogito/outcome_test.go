package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// plainOnly are the commands whose output is in a form of its own: for a shell,
// a reader of manuals, a file of settings, or AgID.
var plainOnly = []string{"completion", "config", "help", "identify spid metadata", "man", "serve"}

// Every other command prints JSON for programs that ask for it.
func TestEveryCommandHasJSON(t *testing.T) {
	parser, err := newParser(&session{ctx: t.Context()}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(true) {
		has := slices.ContainsFunc(slices.Concat(leaf.AllFlags(true)...), func(f *kong.Flag) bool { return f.Name == "json" })
		if want := !slices.Contains(plainOnly, leaf.Path()); has != want {
			t.Errorf("rogito %s: --json is %t", leaf.Path(), has)
		}
	}
}

// What a command did it tells a program as one object, and nothing beside it.
func TestOutcomeIsJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	rogito := func(wantCode int, args ...string) map[string]any {
		t.Helper()
		var out, notes strings.Builder
		s := &session{ctx: t.Context(), stdin: strings.NewReader(""), stdout: &out, stderr: &notes, env: []string{"ROGITO_LIMITS_RESERVE=-1", "ROGITO_LISTEN=127.0.0.1:1"}}
		code := run(s, append(args, "--json"))
		var object map[string]any
		if err := json.Unmarshal([]byte(out.String()), &object); err != nil || code != wantCode {
			t.Errorf("%v: exit %d, %v\n%s%s", args, code, err, out.String(), notes.String())
		}
		return object
	}
	says := func(object map[string]any, want ...any) {
		t.Helper()
		for i := 0; i < len(want); i += 2 {
			if got := object[want[i].(string)]; got != want[i+1] {
				t.Errorf("%v is %v, want %v in %v", want[i], got, want[i+1], object)
			}
		}
	}
	const email = "a@example.org"
	rogito(0, "init", "--data", data, email)
	token := rogito(0, "token", "create", "--data", data, email)
	says(rogito(0, "token", "revoke", "--data", data, email, token["id"].(string)), "revoked", true, "email", email)
	client := rogito(0, "csc", "client", "add", "--data", data, "Contracts", "--redirect", "https://app.example.org/")["client_id"].(string)
	says(rogito(0, "csc", "client", "remove", "--data", data, client), "removed", client)
	says(rogito(0, "wallet", "credit", "--data", data, email, "5"), "email", email)
	log := filepath.Join(dir, "log.jsonl")
	says(rogito(0, "audit", "export", "--data", data, log), "file", log)
	archive := filepath.Join(dir, "b.tar")
	says(rogito(0, "backup", "--data", data, archive), "file", archive)
	there := filepath.Join(dir, "there")
	restored := rogito(0, "restore", "--data", there, archive)
	says(restored, "data", there)
	key := rogito(0, "master-key", "rotate", "--data", data)
	says(key, "file", filepath.Join(data, "master.key"))
	wanted := restored["masterKey"].(map[string]any)
	if says(wanted, "there", false, "file", filepath.Join(there, "master.key")); wanted["id"] == key["id"] || len(key["id"].(string)) != 16 {
		t.Errorf("the key of the backup is %v, the new one %v", wanted["id"], key["id"])
	}
	says(rogito(1, "health", "--data", data), "ready", false)
	says(rogito(1, "health", "--data", data, "--live"), "healthy", false)
}
