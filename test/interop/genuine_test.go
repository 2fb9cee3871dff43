package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/report"
)

// signers are PDFBox, OpenPDF and iText in one process (pdfsigners), built
// with Maven into a folder of the test's own.
type signers struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func startSigners(t *testing.T) *signers {
	t.Helper()
	shared(t)
	tool(t, "java")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("pdfsigners")); err != nil {
		t.Fatal(err)
	}
	build := exec.Command(tool(t, "mvn"), "-q", "-B", "compile", "dependency:build-classpath", "-Dmdep.outputFile=classpath")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: Maven does not build pdfsigners: %v: %.400s", err, out)
	}
	path, err := os.ReadFile(filepath.Join(dir, "classpath"))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true",
		"-cp", filepath.Join(dir, "target", "classes")+string(os.PathListSeparator)+strings.TrimSpace(string(path)), "pdfsigners.Main")
	c.Stderr = os.Stderr
	s := &signers{}
	if s.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.in.Close()
		_ = c.Wait()
	})
	return s
}

func (s *signers) do(t *testing.T, words ...string) error {
	t.Helper()
	if _, err := fmt.Fprintln(s.in, strings.Join(words, "\t")); err != nil {
		t.Fatal(err)
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if line = strings.TrimSpace(line); line != "ok" {
		return fmt.Errorf("%s", line)
	}
	return nil
}

// formPDF has a text field, a check box and an empty signature field.
func formPDF() []byte { return formWith("", "") }

// formWith has a value in its text field, and what draws it.
func formWith(value, code string) []byte {
	stream := func(dict, data string) string {
		return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data)
	}
	form := "/Type/XObject/Subtype/Form/BBox[0 0 200 20]/Resources<</Font<</Helv 5 0 R>>>>"
	box := "/Type/XObject/Subtype/Form/BBox[0 0 20 20]"
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R/AcroForm 6 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 595 842]>>",
		"<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R/Annots[7 0 R 9 0 R 12 0 R]>>",
		stream("", "BT /F1 18 Tf 72 750 Td (A contract about EUR 100) Tj ET"),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Fields[7 0 R 9 0 R 12 0 R]/DR<</Font<</Helv 5 0 R>>>>/DA(/Helv 0 Tf 0 g)>>",
		"<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(" + value + ")/DA(/Helv 12 Tf 0 g)/Rect[72 600 272 620]/F 4/P 3 0 R/AP<</N 8 0 R>>>>",
		stream(form, "/Tx BMC"+code+" EMC"),
		"<</Type/Annot/Subtype/Widget/FT/Btn/T(agreed)/V/Off/AS/Off/Rect[72 560 92 580]/F 4/P 3 0 R/AP<</N<</Yes 10 0 R/Off 11 0 R>>>>>>",
		stream(box, "0 0 20 20 re S 2 2 m 18 18 l S"),
		stream(box, "0 0 20 20 re S"),
		"<</Type/Annot/Subtype/Widget/FT/Sig/T(approval)/Rect[72 460 272 520]/F 4/P 3 0 R>>",
		"<</Title(Contract)>>",
	}
	return numberedPDF(objects, "/Info 13 0 R")
}

// numberedPDF writes objects from 1 on with a classic table.
func numberedPDF(objects []string, trailer string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	table := fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, o := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "%strailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n", table, len(objects)+1, trailer, at)
	return b.Bytes()
}

// taggedPDF has a logical structure, which some products extend.
func taggedPDF() []byte {
	code := "/P <</MCID 0>> BDC BT /F1 18 Tf 20 150 Td (Pay EUR 100) Tj ET EMC"
	return numberedPDF([]string{
		"<</Type/Catalog/Pages 2 0 R/MarkInfo<</Marked true>>/StructTreeRoot 6 0 R/Lang(en)>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R/StructParents 0/Tabs/S>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(code), code),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Type/StructTreeRoot/K 7 0 R/ParentTree<</Nums[0[8 0 R]]>>/ParentTreeNextKey 1>>",
		"<</Type/StructElem/S/Document/P 6 0 R/K[8 0 R]>>",
		"<</Type/StructElem/S/P/P 7 0 R/Pg 3 0 R/K 0>>",
	}, "")
}

// matrix makes documents that several products worked on.
type matrix struct {
	t    *testing.T
	java *signers
	dir  string
	p12  string
	n    int
	dss  string
}

func (m *matrix) path() string {
	m.n++
	return filepath.Join(m.dir, fmt.Sprintf("%04d.pdf", m.n))
}

var products = []string{"ours", "pdfbox", "openpdf", "itext", "pyhanko", "dss"}

// sign has a product sign a file. field is "-" for a new one.
func (m *matrix) sign(product, in, field string, shown bool) (string, error) {
	out := m.path()
	switch product {
	case "ours":
		b, err := os.ReadFile(in)
		if err != nil {
			return "", err
		}
		a := pki.Actor(m.t, "both-usages")
		o := rogito.Options{SignParams: a.Signing(pki.Now())}
		if field != "-" {
			o.PAdES.Field = field
		}
		if shown {
			o.PAdES.Appearance = &pades.Appearance{X: 300, Y: 300, Width: 120, Height: 40, Lines: []string{"signed"}}
		}
		var signed bytes.Buffer
		if _, err := rogito.Sign(m.t.Context(), rogito.File("", bytes.NewReader(b)), &signed, a.Key, o); err != nil {
			return "", err
		}
		return out, os.WriteFile(out, signed.Bytes(), 0o600)
	case "pyhanko":
		args := []string{"sign", "--p12", m.p12, "--password", "password", "--level", "B", "--trust", rootPEM, "--out", out}
		if field != "-" {
			args = append(args, "--field", field)
		} else {
			args = append(args, "--field", fmt.Sprintf("PyHanko%d", m.n))
		}
		oracleRun(m.t, "pyhanko-oracle", append(args, in)...)
		return out, nil
	case "dss":
		runTool(m.t, m.dss, "sign", "--p12", m.p12, "--password", "password", "--format", "pades", "--level", "B", "--trust", rootPEM, "--offline", "--out", out, in)
		return out, nil
	}
	visible := "0"
	if shown {
		visible = "1"
	}
	return out, m.java.do(m.t, "sign", product, in, out, m.p12, "password", field, visible)
}

// fill has a product fill in a text field.
func (m *matrix) fill(product, in, out, field, value string) error {
	if product != "pyhanko" {
		return m.java.do(m.t, "fill", product, in, out, field, value)
	}
	oracleRun(m.t, "pyhanko-oracle", "validate", "--trust", rootPEM, in) // which installs it
	cache := os.Getenv("ROGITO_ORACLE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		cache = filepath.Join(home, ".cache", "rogito-oracle")
	}
	said, err := exec.Command(filepath.Join(cache, "pyhanko", "venv", "bin", "python"), filepath.Join("testdata", "fill.py"), in, out, field, value).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// judge wants every signature of a file free of changes that are not permitted.
func (m *matrix) judge(name, file string, signatures int) {
	m.t.Helper()
	v := verdict(m.t, file, rootPEM, true)
	if len(v.Signatures) != signatures {
		m.t.Errorf("%s: %d signatures, want %d", name, len(v.Signatures), signatures)
	}
	for i, s := range v.Signatures {
		for _, ch := range s.Changes {
			if !ch.Permitted {
				m.t.Errorf("%s: signature %d: %s", name, i+1, ch.Description)
			}
		}
		if s.Indication != report.TotalPassed {
			m.t.Errorf("%s: signature %d: %s: %v", name, i+1, s.Indication, s.Errors)
		}
	}
	if !v.OverallVerified {
		m.t.Errorf("%s: not verified", name)
	}
	if folder := os.Getenv("ROGITO_KEEP"); folder != "" && m.t.Failed() {
		b, _ := os.ReadFile(file)
		_ = os.WriteFile(filepath.Join(folder, strings.NewReplacer(" ", "_", ",", "").Replace(name)+".pdf"), b, 0o600)
	}
}

// TestGenuineMatrix: documents that one product signed after another, with
// fields filled in between and evidence added at the end, are valid throughout.
func TestGenuineMatrix(t *testing.T) {
	m := &matrix{t: t, java: startSigners(t), dir: t.TempDir(), p12: writeP12(t, pki.Actor(t, "both-usages"))}
	m.dss = filepath.Join(shared(t), "oracle", "bin", "dss")
	bases := map[string][]byte{"plain": formPDF()}
	if _, err := exec.LookPath("qpdf"); err == nil {
		bases["object streams"] = qpdfed(t, formPDF(), "--object-streams=generate")
		bases["linearised"] = qpdfed(t, formPDF(), "--linearize")
	} else {
		t.Log("SKIPPED: object streams and linearised documents need qpdf")
	}
	combinations := 0
	for kind, doc := range bases {
		base := write(t, "base.pdf", doc)
		for _, first := range products {
			if kind != "plain" && (first == "dss" || first == "pyhanko") {
				continue // started anew for each file: plain documents will do
			}
			one, err := m.sign(first, base, "-", true)
			if err != nil {
				t.Errorf("%s, %s: %v", kind, first, err)
				continue
			}
			m.judge(fmt.Sprintf("%s, %s", kind, first), one, 1)
			fillers := []string{"", "pdfbox", "openpdf", "itext"}
			if kind == "plain" {
				combinations += m.raised(first, one)
			} else {
				fillers = fillers[:2]
			}
			for _, filler := range fillers {
				before := one
				if filler != "" {
					before = m.path()
					if err := m.java.do(t, "fill", filler, one, before, "name", "Anna Verdi"); err != nil {
						t.Errorf("%s, %s, filled by %s: %v", kind, first, filler, err)
						continue
					}
					m.judge(fmt.Sprintf("%s, %s, filled by %s", kind, first, filler), before, 1)
					combinations++
				}
				for _, second := range products {
					if kind != "plain" && (second == "dss" || second == "pyhanko") || filler != "" && second != "ours" && second != "itext" {
						continue
					}
					for _, field := range []string{"-", "approval"} {
						if field == "approval" && second == "dss" || field == "-" && filler != "" {
							continue
						}
						name := fmt.Sprintf("%s, %s, filled by %q, %s into %s", kind, first, filler, second, field)
						two, err := m.sign(second, before, field, field == "-" || second != "pdfbox")
						if err != nil {
							t.Errorf("%s: %v", name, err)
							continue
						}
						m.judge(name, two, 2)
						combinations++
					}
				}
			}
		}
	}
	combinations += m.encrypted()
	tagged := write(t, "tagged.pdf", taggedPDF())
	for _, first := range []string{"ours", "pdfbox", "openpdf", "itext"} {
		one, err := m.sign(first, tagged, "-", true)
		if err != nil {
			t.Errorf("tagged, %s: %v", first, err)
			continue
		}
		for _, second := range []string{"ours", "pdfbox", "openpdf", "itext"} {
			two, err := m.sign(second, one, "-", true)
			if err != nil {
				t.Errorf("tagged, %s, %s: %v", first, second, err)
				continue
			}
			m.judge(fmt.Sprintf("tagged, %s, %s", first, second), two, 2)
			combinations++
		}
	}
	t.Logf("%d combinations", combinations)
}

// raised adds evidence to a signature, ours and that of DSS, and signs again.
func (m *matrix) raised(first, one string) int {
	b, err := os.ReadFile(one)
	if err != nil {
		m.t.Fatal(err)
	}
	long := m.path()
	if err := os.WriteFile(long, raisePAdES(m.t, b, ades.LevelLTA), 0o600); err != nil {
		m.t.Fatal(err)
	}
	byDSS := m.path()
	runTool(m.t, m.dss, "extend", "--format", "pades", "--level", "LTA", "--tsa", pki.TSA(), "--trust", rootPEM, "--out", byDSS, one)
	n := 0
	for who, file := range map[string]string{"ours": long, "dss": byDSS} {
		m.judge(fmt.Sprintf("%s, LTA by %s", first, who), file, 1)
		for _, second := range []string{"ours", "pdfbox", "openpdf", "itext"} {
			two, err := m.sign(second, file, "approval", second != "pdfbox")
			if err != nil {
				m.t.Errorf("%s, LTA by %s, %s: %v", first, who, second, err)
				continue
			}
			m.judge(fmt.Sprintf("%s, LTA by %s, %s", first, who, second), two, 2)
			n++
		}
	}
	return n
}

// encrypted documents are signed by those who can.
func (m *matrix) encrypted() int {
	if _, err := exec.LookPath("qpdf"); err != nil {
		m.t.Log("SKIPPED: encrypted documents need qpdf")
		return 0
	}
	base := write(m.t, "encrypted.pdf", qpdfed(m.t, formPDF(), "--encrypt", "", "owner", "256", "--"))
	n := 0
	for _, first := range []string{"ours", "pdfbox"} {
		one, err := m.sign(first, base, "-", first == "ours")
		if err != nil {
			m.t.Errorf("encrypted, %s: %v", first, err)
			continue
		}
		m.judge("encrypted, "+first, one, 1)
		for _, second := range []string{"ours", "pdfbox"} {
			two, err := m.sign(second, one, "-", second == "ours")
			if err != nil {
				m.t.Errorf("encrypted, %s, %s: %v", first, second, err)
				continue
			}
			m.judge(fmt.Sprintf("encrypted, %s, %s", first, second), two, 2)
			n++
		}
	}
	return n
}

// TestCertifiedForms: a form that was certified with P=2 or 3 is filled in after it was signed, by
// anyone; fields that had a value get another one. The certification permits it. An approval
// signature does not.
func TestCertifiedForms(t *testing.T) {
	m := &matrix{t: t, java: startSigners(t), dir: t.TempDir(), p12: writeP12(t, pki.Actor(t, "both-usages"))}
	filled := formWith("Old", " BT /Helv 12 Tf 0 g 2 5 Td (Old) Tj ET")
	a := pki.Actor(t, "both-usages")
	combinations := 0
	for _, certify := range []int{2, 3, 0} {
		for _, shown := range []bool{false, true} {
			o := rogito.Options{SignParams: a.Signing(pki.Now()), PAdES: pades.Options{Certify: certify}}
			if shown {
				o.PAdES.Appearance = &pades.Appearance{X: 300, Y: 300, Width: 120, Height: 40, Lines: []string{"signed"}}
			}
			var signed bytes.Buffer
			if _, err := rogito.Sign(t.Context(), rogito.File("", bytes.NewReader(filled)), &signed, a.Key, o); err != nil {
				t.Fatal(err)
			}
			one := m.path()
			if err := os.WriteFile(one, signed.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, filler := range []string{"pdfbox", "openpdf", "itext", "pyhanko"} {
				name := fmt.Sprintf("P=%d, filled anew by %s", certify, filler)
				two := m.path()
				if err := m.fill(filler, one, two, "name", "Anna Verdi"); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if certify == 0 {
					if v := verdict(t, two, rootPEM, true); v.OverallVerified {
						t.Errorf("%s: valid, though the value is another one than was signed", name)
					}
					continue
				}
				m.judge(name, two, 1)
				combinations++
				for _, second := range []string{"ours", "pdfbox", "openpdf", "itext", "pyhanko"} {
					if second == "pyhanko" && shown {
						continue // started anew for each file
					}
					three, err := m.sign(second, two, "approval", second != "pdfbox")
					if err != nil {
						t.Errorf("%s, %s: %v", name, second, err)
						continue
					}
					m.judge(name+", signed by "+second, three, 2)
					combinations++
				}
			}
		}
	}
	t.Logf("%d combinations", combinations)
}
