package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/report"
)

// zipOf writes files in turns of name and content.
func zipOf(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: files[i], Method: zip.Store})
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// entries takes a ZIP apart into turns of name and content.
func entries(t *testing.T, b []byte) []string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f.Name, string(data))
	}
	return out
}

// TestCoverage: what is covered decides, and the caller may say what counts.
func TestCoverage(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ROGITO_NETWORK_ALLOW_PRIVATE", "127.0.0.1")
	pki := adestest.Start(t, time.Now)
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sign := func(format ades.Format, name, content string) []byte {
		a := pki.Actor(t, "p256")
		var out bytes.Buffer
		o := rogito.Options{SignParams: a.Signing(pki.Now()), Format: format}
		if _, err := rogito.Sign(context.Background(), rogito.File(name, strings.NewReader(content)), &out, a.Key, o); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	digest := sha256.Sum256([]byte("hello"))
	token, err := pki.Unit.Stamp(context.Background(), crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	asice, p7m := sign(ades.ASiCE, "a.txt", "hello"), sign(ades.CAdES, "a.txt", "hello")
	write("root.pem", pki.RootPEM())
	write("whole.asice", asice)
	write("part.asice", zipOf(t, append([]string{"0.txt", "stranger"}, entries(t, asice)...)...))
	write("good.zip", zipOf(t, "x/a.p7m", string(p7m), "b.asice", string(asice)))
	write("mixed.zip", zipOf(t, "a.p7m", string(p7m), "note.txt", "hello"))
	write("stamp.tst", token)
	write("content.txt", []byte("hello"))
	write("other.txt", []byte("hallo"))
	write("a.p7m", p7m)
	for _, row := range []struct {
		args string
		code int
		want string
	}{
		{"DIR/whole.asice", 0, "VALID"},
		{"DIR/part.asice", 2, "0.txt"},
		{"--file a.txt DIR/part.asice", 0, "VALID"},
		{"--file 0.txt DIR/part.asice", 2, "0.txt"},
		{"--file missing.txt DIR/part.asice", 2, "missing.txt"},
		{"--file missing.txt DIR/whole.asice", 2, "missing.txt"},
		{"--element x DIR/whole.asice", 2, ""},
		{"DIR/good.zip", 0, "good.zip/x/a.p7m"},
		{"DIR/mixed.zip", 1, "mixed.zip/note.txt"},
		{"--detached DIR/content.txt DIR/stamp.tst", 0, ""},
		{"--detached DIR/other.txt DIR/stamp.tst", 1, ""},
		{"DIR/stamp.tst", 2, ""},
		{"--detached DIR/content.txt DIR/a.p7m", 0, "VALID"},
		{"--detached DIR/other.txt DIR/a.p7m", 1, "HASH_FAILURE"},
		{"--detached DIR/other.txt DIR/whole.asice", 2, ""},
	} {
		code, out := runVerify(dir, append([]string{"--trust", "DIR/root.pem"}, strings.Fields(row.args)...)...)
		if code != row.code || !strings.Contains(out, row.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s", row.args, code, row.code, row.want, out)
		}
	}
	_, out := runVerify(dir, "--trust", "DIR/root.pem", "--json", "DIR/part.asice")
	line, _, _ := strings.Cut(out, "\n")
	var v report.View
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		t.Fatal(err)
	}
	s := v.Signatures[0]
	if v.OverallVerified || v.Indication != report.Indeterminate || s.Indication != report.TotalPassed || s.CoversWhole ||
		strings.Join(s.SignedFiles, " ") != "a.txt" || strings.Join(s.UnsignedFiles, " ") != "0.txt" || v.PlainDocument == nil || *v.PlainDocument.Base64 != "aGVsbG8=" {
		t.Errorf("a part: %s", out)
	}
	// Extract hands out what is covered.
	var content, notes bytes.Buffer
	session := &session{ctx: context.Background(), stdin: strings.NewReader(""), stdout: &content, stderr: &notes}
	if code := run(session, []string{"extract", filepath.Join(dir, "part.asice")}); code != exitOK || content.String() != "hello" {
		t.Errorf("extract: exit %d, %q, %s", code, content.String(), notes.String())
	}
}
