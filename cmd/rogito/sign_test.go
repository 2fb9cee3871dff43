package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pkcs12 "software.sslmate.com/src/go-pkcs12"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/pades"
)

// minimalPDF is the smallest document with a page.
const minimalPDF = "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n" +
	"2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n" +
	"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] >>\nendobj\n" +
	"xref\n0 4\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n0000000115 00000 n \n" +
	"trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n186\n%%EOF\n"

// workdir is a folder with a key and things to sign.
type workdir struct {
	t   *testing.T
	dir string
	pki *adestest.PKI
}

func newWorkdir(t *testing.T) *workdir {
	t.Helper()
	t.Setenv("ROGITO_NETWORK_ALLOW_PRIVATE", "127.0.0.1") // the PKI is on loopback
	d := &workdir{t, t.TempDir(), adestest.Start(t, time.Now)}
	me := d.pki.Actor(t, "good")
	p12, err := pkcs12.Modern2023.Encode(me.Key, me.Certificate, me.Chain, "pw")
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"me.p12": p12, "pin": []byte("pw\n"), "root.pem": d.pki.RootPEM(),
		"in/a.pdf": []byte(minimalPDF), "in/b.xml": []byte("<a><b/></a>"), "in/c.txt": []byte("plain"),
	} {
		path := filepath.Join(d.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// run runs a command with the words that follow; names with @ before them are
// files of the folder.
func (d *workdir) run(words ...string) (code int, out, notes string) {
	for i, w := range words {
		if rest, ok := strings.CutPrefix(w, "@"); ok {
			words[i] = filepath.Join(d.dir, rest)
		}
	}
	var stdout, stderr bytes.Buffer
	s := &session{ctx: context.Background(), stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr}
	return run(s, words), stdout.String(), stderr.String()
}

func (d *workdir) read(name string) *ades.Document {
	d.t.Helper()
	f, err := openFile(filepath.Join(d.dir, name))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	doc, err := rogito.Read(context.Background(), f, ades.ReadOptions{})
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	for _, s := range doc.Signatures {
		if s.Intact() != ades.Yes {
			d.t.Errorf("%s: not intact: %+v", name, s.References)
		}
	}
	return doc
}

func TestSignFolder(t *testing.T) {
	d := newWorkdir(t)
	code, _, notes := d.run("sign", "--key", "@me.p12", "--password-file", "@pin", "--out", "@out", "@in")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, notes)
	}
	for name, format := range map[string]ades.Format{"a-signed.pdf": ades.PAdES, "b-signed.xml": ades.XAdES, "c.txt.p7m": ades.CAdES} {
		if doc := d.read("out/" + name); len(doc.Signatures) != 1 || doc.Signatures[0].Format != format {
			t.Errorf("%s: %d signatures", name, len(doc.Signatures))
		}
	}
	if code, _, notes = d.run("sign", "--key", "@me.p12", "--password-file", "@pin", "--out", "@out", "@in/c.txt"); code != exitError || !strings.Contains(notes, "--force") {
		t.Errorf("overwrites: exit %d: %s", code, notes)
	}
}

func TestOneFailureDoesNotStopTheRest(t *testing.T) {
	d := newWorkdir(t)
	if err := os.WriteFile(filepath.Join(d.dir, "in/bad.pdf"), []byte("%PDF-1.7\nnothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, notes := d.run("sign", "--key", "@me.p12", "--password-file", "@pin", "--out", "@out", "@in")
	if code != exitError || strings.Count(out, "\n") != 3 || !strings.Contains(notes, "bad.pdf") || !strings.Contains(notes, "1 of 4 files failed") {
		t.Errorf("exit %d\n%s\n%s", code, out, notes)
	}
}

func TestSignAndAugment(t *testing.T) {
	d := newWorkdir(t)
	tsa := d.pki.TSA()
	steps := [][]string{
		{"sign", "--key", "@me.p12", "--password-file", "@pin", "--visible", "1,20,30", "--reason", "test", "--out", "@b.pdf", "@in/a.pdf"},
		{"augment", "--tsa", tsa, "--trust", "@root.pem", "--level", "LTA", "--out", "@lta.pdf", "@b.pdf"},
		{"sign", "--key", "@me.p12", "--password-file", "@pin", "--level", "LT", "--tsa", tsa, "--trust", "@root.pem", "--out", "@c.p7m", "@in/c.txt"},
		{"sign", "--key", "@me.p12", "--password-file", "@pin", "--together", "--out", "@all.asice", "@in"},
		{"timestamp", "--tsa", tsa, "--out", "@c.tst", "@in/c.txt"},
		{"timestamp", "--tsa", tsa, "--into", "--out", "@stamped.pdf", "@in/a.pdf"},
		{"extract", "--out", "@c.out", "@c.p7m"},
		{"extract", "--out", "@files", "@all.asice"},
	}
	for _, words := range steps {
		if code, _, notes := d.run(words...); code != exitOK {
			t.Fatalf("%v: exit %d: %s", words, code, notes)
		}
	}
	if doc := d.read("lta.pdf"); len(doc.Timestamps) == 0 || len(doc.Evidence) == 0 {
		t.Errorf("LTA with %d time-stamps, %d pieces of evidence", len(doc.Timestamps), len(doc.Evidence))
	}
	if doc := d.read("stamped.pdf"); len(doc.Timestamps) != 1 {
		t.Errorf("%d time-stamps in the PDF", len(doc.Timestamps))
	}
	for name, want := range map[string]string{"c.out": "plain", "files/c.txt": "plain", "files/b.xml": "<a><b/></a>"} {
		if b, err := os.ReadFile(filepath.Join(d.dir, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

func TestSignRefusals(t *testing.T) {
	d := newWorkdir(t)
	if err := os.WriteFile(filepath.Join(d.dir, "bad"), []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, words := range map[string][]string{
		"wrong password":      {"sign", "--key", "@me.p12", "--password-file", "@bad", "@in/c.txt"},
		"ROGITO_KEY_PASSWORD": {"sign", "--key", "@me.p12", "@in/c.txt"},
		"--tsa":               {"sign", "--key", "@me.p12", "--password-file", "@pin", "--level", "T", "@in/c.txt"},
		"no such file":        {"sign", "--key", "@me.p12", "--password-file", "@pin", "@none"},
		"xades cannot be":     {"sign", "--key", "@me.p12", "--password-file", "@pin", "--format", "xades", "--packaging", "attached", "@in/c.txt"},
		"module-path":         {"sign", "--key", "pkcs11:token=x", "--password-file", "@pin", "@in/c.txt"},
		"not a signed":        {"extract", "@in/c.txt"},
	} {
		if code, _, notes := d.run(words...); code != exitError || !strings.Contains(notes, want) {
			t.Errorf("%v: exit %d: %s", words, code, notes)
		}
	}
}

// A place that is written otherwise is refused, and not taken for another one.
func TestPlaceOfASignature(t *testing.T) {
	for text, want := range map[string]string{
		"2": "2 36 36 164 45", "-1": "-1 36 36 164 45", "1,50,700": "1 50 700 164 45", "1,50.5,700,200,60": "1 50.5 700 200 60",
		"": "", "x": "", "1:50,700": "", "1,50": "", "1,50,700,200": "", "1,50,700,200,60,7": "", "1,50,700 px": "", "1,NaN,700": "", "1,,": "",
	} {
		a := &pades.Appearance{X: 36, Y: 36, Width: 164, Height: 45}
		err := place(a, text)
		if got := fmt.Sprint(a.Page, a.X, a.Y, a.Width, a.Height); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q: %s %v, want %q", text, got, err, want)
		}
	}
}
