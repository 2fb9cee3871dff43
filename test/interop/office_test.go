package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOffice verifies documents of Word, Excel and PowerPoint that Apache POI
// made and signed, with and without XAdES, once and twice.
func TestOffice(t *testing.T) {
	shared(t)
	tool(t, "java")
	build, out := t.TempDir(), t.TempDir()
	if err := os.CopyFS(build, os.DirFS("officesigners")); err != nil {
		t.Fatal(err)
	}
	mvn := exec.Command(tool(t, "mvn"), "-q", "-B", "compile", "dependency:build-classpath", "-Dmdep.outputFile=classpath")
	mvn.Dir = build
	if out, err := mvn.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: Maven does not build officesigners: %v: %.400s", err, out)
	}
	path, err := os.ReadFile(filepath.Join(build, "classpath"))
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("java", "-Xmx512m", "-XX:+UseSerialGC", "-Djava.awt.headless=true",
		"-cp", filepath.Join(build, "target", "classes")+string(os.PathListSeparator)+strings.TrimSpace(string(path)),
		"officesigners.Main", out, writeP12(t, pki.Actor(t, "both-usages")), "password").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("what POI says itself (it stops at 30 references of a manifest):\n%s", said)
	signed := 0
	for _, line := range strings.Split(strings.TrimSpace(string(said)), "\n") {
		name, _, _ := strings.Cut(line, " ")
		v := verdict(t, filepath.Join(out, name), rootPEM, true)
		want := 1 + strings.Count(name, "-twice")
		if !v.OverallVerified || v.SignatureFormat != "OOXML" || len(v.Signatures) != want {
			t.Errorf("%s: verified %v, %q, %d signatures", name, v.OverallVerified, v.SignatureFormat, len(v.Signatures))
		}
		signed++
	}
	if signed != 9 {
		t.Errorf("POI signed %d documents, want 9", signed)
	}
	for _, name := range []string{"contract.docx", "sheet.xlsx", "slides.pptx"} {
		if v := verdict(t, filepath.Join(out, name), rootPEM, false); v.OverallVerified || v.NrOfSignatures != 0 {
			t.Errorf("%s: %d signatures", name, v.NrOfSignatures)
		}
	}
}
