// Package upgrade takes an installation of the last release over with the
// program at hand, as the runbook in docs/installing.md says.
package upgrade

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program is a build of rogito, and a data folder.
type program struct {
	t         *testing.T
	bin, data string
}

func output(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "ROGITO_TRUST_LISTS=false", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false -trimpath")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := output(t, dir, name, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}

// rogito runs a command on the data.
func (p *program) rogito(args ...string) string {
	p.t.Helper()
	return must(p.t, ".", p.bin, append(args, "--data", p.data)...)
}

type sandbox struct {
	URL          string `json:"base_url"`
	Token        string `json:"token"`
	Certificates map[string]struct{ Username, Password string }
}

// serve runs the server while f talks to it.
func (p *program) serve(f func(sandbox)) {
	p.t.Helper()
	var log bytes.Buffer
	cmd := exec.Command(p.bin, "serve", "--listen", "127.0.0.1:0", "--data", p.data)
	cmd.Stderr, cmd.Env = &log, append(os.Environ(), "ROGITO_TRUST_LISTS=false")
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			p.t.Errorf("the server ended with %v\n%s", err, &log)
		}
	}()
	var box sandbox
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(p.data, "sandbox.json"))
		if json.Unmarshal(text, &box) == nil {
			if resp, err := http.Get(box.URL + "/readyz"); err == nil {
				resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					break
				}
			}
		}
		if time.Now().After(end) {
			p.t.Fatalf("not ready\n%s", &log)
		}
	}
	f(box)
}

// call asks the server, and wants 200.
func (b *sandbox) call(t *testing.T, method, path string, body any) []byte {
	t.Helper()
	text, _ := json.Marshal(body)
	req, err := http.NewRequestWithContext(t.Context(), method, b.URL+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, out)
	}
	return out
}

func (b *sandbox) sign(t *testing.T, text string) (id string) {
	t.Helper()
	c := b.Certificates["automatic"]
	var answer struct{ Data struct{ ID, State string } }
	out := b.call(t, "POST", "/EU-QES_automatic", map[string]any{
		"certificateUsername": c.Username, "certificatePassword": c.Password, "title": text, "inputDocuments": []string{base64.StdEncoding.EncodeToString([]byte(text))},
	})
	if err := json.Unmarshal(out, &answer); err != nil || answer.Data.State != "DONE" {
		t.Fatalf("%s %v", out, err)
	}
	return answer.Data.ID
}

// released is what to upgrade from: ROGITO_UPGRADE_FROM, or the newest tag of a
// release.
func released(t *testing.T) string {
	t.Helper()
	if from := os.Getenv("ROGITO_UPGRADE_FROM"); from != "" {
		return from
	}
	tag, err := output(t, "../..", "git", "describe", "--tags", "--match", "v[0-9]*", "--abbrev=0", "HEAD^")
	if err != nil {
		t.Skip("SKIPPED: there is no release yet to upgrade from; ROGITO_UPGRADE_FROM names a commit")
	}
	return tag
}

// TestUpgrade fills an installation with the released program, and finds
// everything in it with this one.
func TestUpgrade(t *testing.T) {
	if os.Getenv("ROGITO_UPGRADE") == "" {
		t.Skip("SKIPPED: builds two programs; make upgrade")
	}
	dir, from := t.TempDir(), released(t)
	sources := filepath.Join(dir, "sources")
	if err := os.Mkdir(sources, 0o700); err != nil {
		t.Fatal(err)
	}
	must(t, "../..", "git", "archive", "-o", filepath.Join(dir, "sources.tar"), from)
	must(t, sources, "tar", "xf", "../sources.tar")
	data := filepath.Join(dir, "data")
	before := &program{t, filepath.Join(dir, "before"), data}
	after := &program{t, filepath.Join(dir, "after"), data}
	must(t, sources, "go", "build", "-o", before.bin, "./cmd/rogito")
	must(t, "../..", "go", "build", "-o", after.bin, "./cmd/rogito")

	signed := map[string][]byte{} // by record
	before.serve(func(b sandbox) {
		for i := range 3 {
			id := b.sign(t, fmt.Sprint("before ", i))
			signed[id] = b.call(t, "GET", "/signatures/"+id+"/signedDocument", nil)
		}
	})
	before.rogito("backup", filepath.Join(dir, "backup"))
	after.serve(func(b sandbox) {
		for id, want := range signed {
			if got := b.call(t, "GET", "/signatures/"+id+"/signedDocument", nil); !bytes.Equal(got, want) {
				t.Errorf("%s came back different", id)
			}
			b.call(t, "GET", "/signatures/"+id+"/audit", nil)
		}
		b.sign(t, "after")
	})
	after.rogito("doctor")
	after.rogito("audit", "verify")

	// The way back: the backup of before, with the program of before.
	restored := filepath.Join(dir, "restored")
	must(t, ".", before.bin, "restore", filepath.Join(dir, "backup"), "--data", restored)
	key, err := os.ReadFile(filepath.Join(data, "master.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(restored, "master.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	box, err := os.ReadFile(filepath.Join(data, "sandbox.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(restored, "sandbox.json"), box, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	(&program{t, before.bin, restored}).serve(func(b sandbox) {
		for id := range signed {
			b.call(t, "GET", "/signatures/"+id+"/signedDocument", nil)
		}
	})
}
