package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing is handed out whose signature does not fit, whatever the format, and
// the exit code tells which it is.
func TestExtractRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sample := filepath.Join("..", "..", "sample")
	rogito := func(args ...string) (int, string, string) {
		var out, notes strings.Builder
		s := &session{ctx: t.Context(), stdin: strings.NewReader(""), stdout: &out, stderr: &notes}
		code := run(s, args)
		return code, out.String(), notes.String()
	}
	text := filepath.Join(dir, "invoice.xml")
	if err := os.WriteFile(text, []byte("<Invoice><Total>100</Total></Invoice>"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := []string{"--key", filepath.Join(sample, "key.p12"), "--password-file", filepath.Join(sample, "password.txt")}
	sign := func(name string, args ...string) string {
		t.Helper()
		out := filepath.Join(dir, name)
		if code, _, notes := rogito(append(append([]string{"sign", "--out", out}, key...), args...)...); code != 0 {
			t.Fatalf("sign %s: exit %d, %s", name, code, notes)
		}
		return out
	}
	tampered := func(path, old, with string) string {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Replace(b, []byte(old), []byte(with), 1)
		if bytes.Equal(b, changed) {
			t.Fatalf("%q is not in %s", old, path)
		}
		out := filepath.Join(dir, "tampered-"+filepath.Base(path))
		if err := os.WriteFile(out, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		return out
	}
	p7m := sign("a.xml.p7m", "--format", "cades", "--packaging", "attached", text)
	xades := sign("a.xml", "--format", "xades", text)
	asic := sign("a.asice", "--format", "xades", "--packaging", "asic-e", text)
	pdf := sign("a.pdf", filepath.Join(sample, "contract.pdf"))
	p7s := sign("a.p7s", "--format", "cades", "--packaging", "detached", text)
	for _, row := range []struct {
		file string
		code int
	}{
		{p7m, 0},
		{xades, 0},
		{asic, 0},
		{pdf, 0},
		{tampered(p7m, ">100<", ">900<"), 1},
		{tampered(xades, ">100<", ">900<"), 1},
		{tampered(pdf, "endobj", "endobJ"), 1},
		{p7s, 2},
		{text, 3},
	} {
		code, out, notes := rogito("extract", "--out", "-", row.file)
		if code != row.code || (out == "") != (row.code != 0) || row.code != 0 && notes == "" {
			t.Errorf("%s: exit %d, want %d; %d bytes, %s", filepath.Base(row.file), code, row.code, len(out), notes)
		}
	}
}

// A name cannot say a second verdict: it is one line, with what is hidden shown.
func TestNamesAreOneLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "a.pdf\nb.pdf: VALID (PAdES, 1 signature). \u202ecod\u200b.pdf")
	b, err := os.ReadFile(filepath.Join("..", "..", "sample", "contract.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Skipf("SKIPPED: no such names here: %v", err)
	}
	for _, form := range [][]string{nil, {"--summary"}, {"--csv", "-"}, {"--html"}} {
		var out, notes strings.Builder
		s := &session{ctx: t.Context(), stdin: strings.NewReader(""), stdout: &out, stderr: &notes}
		if code := run(s, append(append([]string{"verify", "--no-network"}, form...), name)); code != 1 {
			t.Errorf("%v: exit %d, %s", form, code, notes.String())
		}
		if strings.Contains(out.String(), "\nb.pdf: VALID") || strings.ContainsAny(out.String(), "\u202e\u200b") || !strings.Contains(out.String(), `\nb.pdf`) {
			t.Errorf("%v: %q", form, out.String())
		}
	}
}
