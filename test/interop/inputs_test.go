package interop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
)

// TestPAdESLibreOffice signs what an office suite writes.
func TestPAdESLibreOffice(t *testing.T) {
	shared(t)
	office := tool(t, "soffice")
	in := write(t, "letter.txt", []byte(strings.Repeat("A letter with accents: perché, così, più.\n", 80)))
	dir := filepath.Dir(in)
	cmd := exec.Command(office, "-env:UserInstallation=file://"+filepath.Join(dir, "profile"), "--headless", "--convert-to", "pdf:writer_pdf_Export", "--outdir", dir, in)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: LibreOffice does not convert: %v: %s", err, msg)
	}
	doc, err := os.ReadFile(filepath.Join(dir, "letter.pdf"))
	if err != nil {
		t.Skipf("SKIPPED: LibreOffice wrote nothing: %v", err)
	}
	signTwice(t, "LibreOffice", doc, "")
}

// TestPAdESGhostscript signs what Ghostscript writes in its versions.
func TestPAdESGhostscript(t *testing.T) {
	gs := tool(t, "gs")
	for _, version := range []string{"1.4", "1.7", "2.0"} {
		t.Run(version, func(t *testing.T) {
			ps := write(t, "in.ps", []byte(postscript))
			out := filepath.Join(filepath.Dir(ps), "out.pdf")
			if msg, err := exec.Command(gs, "-q", "-o", out, "-sDEVICE=pdfwrite", "-dCompatibilityLevel="+version, ps).CombinedOutput(); err != nil {
				t.Fatalf("gs: %v: %s", err, msg)
			}
			doc, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			signTwice(t, "Ghostscript, PDF "+version, doc, "")
		})
	}
}

// TestPAdESLarge signs a PDF of 120 MB and has poppler read it.
func TestPAdESLarge(t *testing.T) {
	if !full {
		t.Skip("SKIPPED: 120 MB are signed by `make interop` (ROGITO_INTEROP=1)")
	}
	const size = 120 << 20
	doc := append(make([]byte, 0, size+1<<20), "%PDF-1.7\n"...)
	var offsets []int
	for i, o := range []string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>"} {
		offsets = append(offsets, len(doc))
		doc = fmt.Appendf(doc, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	offsets = append(offsets, len(doc))
	doc = fmt.Appendf(doc, "4 0 obj\n<</Length %d>>\nstream\n", size)
	doc = append(append(doc, bytes.Repeat([]byte("q Q\n"), size/4)...), "\nendstream\nendobj\n"...)
	start := len(doc)
	doc = append(doc, "xref\n0 5\n0000000000 65535 f \n"...)
	for _, o := range offsets {
		doc = fmt.Appendf(doc, "%010d 00000 n \n", o)
	}
	doc = fmt.Appendf(doc, "trailer\n<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", start)
	file := write(t, "large.pdf", signPAdES(t, doc, padesCase{actor: "good", level: ades.LevelT}))
	out, _ := exec.Command(tool(t, "pdfsig"), "-nocert", file).CombinedOutput() // its exit code is about trust
	ok := bytes.Contains(out, []byte("Signature is Valid"))
	table.add(row{"pdfsig", "PAdES", "120 MB", "T", "RSA SHA256"}, ok)
	if !ok {
		t.Errorf("pdfsig: %s", out)
	}
}

// TestPAdESRaisesTheirs raises to LTA what DSS and pyHanko have signed with a
// key of ours.
func TestPAdESRaisesTheirs(t *testing.T) {
	shared(t)
	p12 := writeP12(t, pki.Actor(t, "both-usages")) // pyHanko asks for digitalSignature too
	in := write(t, "in.pdf", somePDF(t))
	common := []string{"sign", "--p12", p12, "--password", "password", "--tsa", pki.TSA(), "--trust", rootPEM}
	for _, who := range []struct {
		name, program string
		args          []string
	}{
		{"DSS", "bin/dss", append(common, "--format", "pades")},
		{"pyHanko", "pyhanko-oracle", common},
	} {
		for _, level := range levels {
			t.Run(who.name+" "+level.String(), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "theirs.pdf")
				args := append(who.args[:len(who.args):len(who.args)], "--level", level.String(), "--out", out, in)
				oracleRun(t, who.program, args...)
				b, facts := readPAdES(t, out)
				ok := len(facts.Signatures) == 1 && facts.Signatures[0].Intact() == ades.Yes
				table.add(row{"rogito, of " + who.name, "PAdES", "", level.String(), ""}, ok)
				if !ok {
					t.Errorf("we find %d signatures, not intact", len(facts.Signatures))
				}
				raised := write(t, "raised.pdf", raisePAdES(t, b, ades.LevelLTA))
				noUndefinedChanges(t, dss.Passed(t, Ask{File: raised, What: "made by " + who.name + ", raised by us"}, "PAdES-BASELINE-LTA"))
			})
		}
	}
}
