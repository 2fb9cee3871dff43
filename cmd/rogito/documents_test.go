package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bench runs the command line in a folder of its own.
type bench struct {
	t      *testing.T
	dir    string
	signed map[string][]byte // by content: what detached has made
}

func newBench(t *testing.T) *bench { return &bench{t, t.TempDir(), map[string][]byte{}} }

func (b *bench) run(args ...string) (code int, out, notes string) {
	var stdout, stderr strings.Builder
	code = run(&session{ctx: b.t.Context(), stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr}, args)
	return code, stdout.String(), stderr.String()
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *bench) write(name string, data []byte) string {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), data, 0o600); err != nil {
		b.t.Fatal(err)
	}
	return b.path(name)
}

func (b *bench) sign(args ...string) {
	b.t.Helper()
	sample := filepath.Join("..", "..", "sample")
	args = append([]string{"sign", "--key", filepath.Join(sample, "key.p12"), "--password-file", filepath.Join(sample, "password.txt")}, args...)
	if code, _, notes := b.run(args...); code != 0 {
		b.t.Fatalf("%v: exit %d, %s", args, code, notes)
	}
}

// verify gives one line a file.
func (b *bench) verify(args ...string) (int, string) {
	b.t.Helper()
	root := filepath.Join("..", "..", "sample", "signer.pem")
	code, out, notes := b.run(append([]string{"verify", "--no-lists", "--no-network", "--trust", root}, args...)...)
	return code, out + notes
}

func zipped(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, data := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What sign --packaging detached writes is found again beside its file, in a
// folder and in a zip.
func TestPairs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	plan := b.write("d/plan.dwg", []byte("plan of the house"))
	note := b.write("d/note.txt", []byte("a note"))
	alone := b.write("d/alone.xml", []byte("<alone/>"))
	b.write("d/alone", []byte("what has nothing to do with alone.xml"))
	b.sign("--format", "cades", "--packaging", "detached", plan)
	b.sign("--format", "xades", "--packaging", "detached", note)
	b.sign("--format", "xades", "--force", "--out", alone, alone)
	code, out := b.verify(b.path("d"))
	for _, want := range []string{"plan.dwg.p7s", "note.txt.xml", "alone.xml", "alone: NOT SIGNED"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, never := range []string{"plan.dwg: ", "note.txt: "} {
		if strings.Contains(out, never) {
			t.Errorf("%q has a verdict of its own:\n%s", never, out)
		}
	}
	if strings.Contains(out, "NOT intact") || strings.Count(out, "The content is intact") != 3 || code == 3 {
		t.Errorf("exit %d\n%s", code, out)
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(b.path(name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	archive := b.write("plans.zip", zipped(t, map[string][]byte{"x/plan.dwg": read("d/plan.dwg"), "x/plan.dwg.p7s": read("d/plan.dwg.p7s")}))
	if _, out := b.verify(archive); strings.Count(out, "The content is intact") != 1 || strings.Contains(out, "plan.dwg: ") {
		t.Errorf("in a zip:\n%s", out)
	}
	if _, out := b.verify(b.path("d/plan.dwg.p7s")); !strings.Contains(out, "The content is intact") {
		t.Errorf("the signature alone, its file beside it:\n%s", out)
	}
	b.write("d/plan.dwg", []byte("another plan"))
	if code, out := b.verify(b.path("d")); code != exitInvalid || !strings.Contains(out, "plan.dwg.p7s: NOT VALID") {
		t.Errorf("a pair that does not fit: exit %d\n%s", code, out)
	}
}

// A tampered p7m inside a good one is told without asking, but for --outer.
func TestLayersByDefault(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := b.write("a.txt", []byte("pay 100"))
	b.sign("--format", "cades", "--packaging", "attached", text)
	inner, err := os.ReadFile(text + ".p7m")
	if err != nil {
		t.Fatal(err)
	}
	b.write("forged.txt.p7m", bytes.Replace(inner, []byte("pay 100"), []byte("pay 900"), 1))
	b.sign("--format", "cades", "--packaging", "attached", "--out", b.path("outer.p7m"), b.path("forged.txt.p7m"))
	if code, out := b.verify(b.path("outer.p7m")); code != exitInvalid || !strings.Contains(out, "NOT VALID") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if _, out := b.verify("--outer", b.path("outer.p7m")); strings.Contains(out, "NOT VALID") {
		t.Errorf("--outer:\n%s", out)
	}
}

// Files that are signed in ways that are not read here are told by name.
// packedPGP is a signed message in a compressed packet, as gpg -s writes it.
func packedPGP(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	out.Write([]byte{0xa3, 0x01})
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err == nil {
		_, err = w.Write(append([]byte{0x90, 0x0d, 0x03, 0x00, 0x08, 0x01}, make([]byte, 60)...))
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestNamedNotJudged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	pe := make([]byte, 600)
	copy(pe, "MZ")
	pe[0x3c] = 0x80
	copy(pe[0x80:], "PE\x00\x00")
	copy(pe[0x80+24:], "\x0b\x02")
	unsigned := bytes.Clone(pe)
	pe[0x80+24+112+32+4] = 1
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"a.asc":     {[]byte("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nhi\n-----BEGIN PGP SIGNATURE-----\n\nxx\n-----END PGP SIGNATURE-----\n"), "PGP"},
		"note.asc":  {[]byte("Hello\n-----BEGIN PGP SIGNATURE-----\r\n\r\nxx\r\n-----END PGP SIGNATURE-----\r\n"), "PGP"},
		"old.sig":   {append([]byte{0x89, 0x01, 0x33, 0x04, 0x00, 0x01, 0x08}, make([]byte, 20)...), "PGP"},
		"new.sig":   {append([]byte{0xc2, 0x75, 0x04, 0x00, 0x16, 0x0a}, make([]byte, 20)...), "PGP"},
		"one.gpg":   {append([]byte{0x90, 0x0d, 0x03, 0x00, 0x08, 0x01}, make([]byte, 20)...), "PGP"},
		"z.gpg":     {packedPGP(t), "PGP"},
		"a.cose":    {[]byte{0xd2, 0x84, 0x43, 0xa1, 0x01, 0x26, 0xa0, 0x41, 1, 0x41, 2}, "COSE"},
		"b.cose":    {[]byte{0xd8, 0x62, 0x84, 0x40, 0xa0, 0x41, 1, 0x80}, "COSE"},
		"a.sdjwt":   {[]byte("eyJhbGciOiJFUzI1NiJ9.e30.AAAA~WyJhIl0~"), "SD-JWT"},
		"a.jar":     {zipped(t, map[string][]byte{"META-INF/MANIFEST.MF": nil, "META-INF/A.SF": nil, "META-INF/A.RSA": nil}), "JAR"},
		"a.apk":     {zipped(t, map[string][]byte{"META-INF/MANIFEST.MF": nil, "META-INF/CERT.SF": nil, "AndroidManifest.xml": nil}), "APK"},
		"a.pkpass":  {zipped(t, map[string][]byte{"pass.json": nil, "manifest.json": nil, "signature": nil}), "pkpass"},
		"a.nupkg":   {zipped(t, map[string][]byte{"[Content_Types].xml": []byte(`<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`), "_rels/.rels": []byte(`<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"/>`), ".signature.p7s": nil}), "NuGet"},
		"a.exe":     {pe, "Authenticode"},
		"a.ps1":     {[]byte("Write-Host hi\r\n# SIG # Begin signature block\r\n# AA\r\n# SIG # End signature block\r\n"), "Authenticode"},
		"plain.exe": {unsigned, ""},
		"plain.jar": {zipped(t, map[string][]byte{"META-INF/MANIFEST.MF": []byte("x")}), ""},
		"text.txt":  {[]byte("no signature at all, but ~ and . and ."), ""},
		"noise.bin": {bytes.Repeat([]byte{0x89, 0xff, 0x17, 0x33}, 64), ""},
	} {
		code, out := b.verify(b.write(name, c.data))
		switch {
		case c.want == "" && (strings.Contains(out, "NOT JUDGED") || code != exitInvalid):
			t.Errorf("%s: exit %d, %s", name, code, out)
		case c.want != "" && (code != exitUndetermined || !strings.Contains(out, "NOT JUDGED") || !strings.Contains(out, c.want)):
			t.Errorf("%s: exit %d, %s", name, code, out)
		}
	}
}
