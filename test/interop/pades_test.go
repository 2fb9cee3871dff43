package interop

import (
	"bytes"
	"context"
	"crypto"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
)

const postscript = `%!PS
/Helvetica findfont 12 scalefont setfont
1 1 3 { /i exch def 72 720 moveto (Page ) show i 10 string cvs show
1 1 40 { /j exch def 72 700 j 12 mul sub moveto (The quick brown fox ) show i j mul 20 string cvs show } for
showpage } for
`

// gsPDF is a document made by Ghostscript.
var gsPDF = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "gs")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ps, out := filepath.Join(dir, "in.ps"), filepath.Join(dir, "out.pdf")
	if err := os.WriteFile(ps, []byte(postscript), 0o600); err != nil {
		return nil, err
	}
	if msg, err := exec.Command("gs", "-q", "-o", out, "-sDEVICE=pdfwrite", ps).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gs: %w: %s", err, msg)
	}
	return os.ReadFile(out)
})

func somePDF(t testing.TB) []byte {
	t.Helper()
	tool(t, "gs")
	b, err := gsPDF()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// qpdfed is what qpdf makes of a document.
func qpdfed(t testing.TB, doc []byte, args ...string) []byte {
	t.Helper()
	in := write(t, "in.pdf", doc)
	out := filepath.Join(filepath.Dir(in), "out.pdf")
	args = append(append([]string{"--allow-weak-crypto"}, args...), in, out)
	if msg, err := exec.Command(tool(t, "qpdf"), args...).CombinedOutput(); err != nil {
		t.Fatalf("qpdf: %v: %s", err, msg)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type padesCase struct {
	actor string
	hash  crypto.Hash
	pss   bool
	level ades.Level
	vri   bool
	opts  pades.Options
}

func signPAdES(t testing.TB, doc []byte, c padesCase) []byte {
	t.Helper()
	a := pki.Actor(t, c.actor)
	s := a.Signing(pki.Now())
	s.Hash, s.PSS = c.hash, c.pss
	var out bytes.Buffer
	o := rogito.Options{SignParams: s, Format: ades.PAdES, Level: c.level, Stamper: pki.Unit, Gatherer: pki, VRI: c.vri, PAdES: c.opts}
	if _, err := rogito.Sign(context.Background(), rogito.File("", bytes.NewReader(doc)), &out, a.Key, o); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(out.Bytes(), doc) {
		t.Fatal("the document was not kept byte for byte")
	}
	return out.Bytes()
}

func raisePAdES(t testing.TB, doc []byte, level ades.Level) []byte {
	t.Helper()
	var out bytes.Buffer
	r := ades.AugmentOptions{Level: level, Stamper: pki.Unit, Gatherer: pki}
	if err := pades.Augment(context.Background(), bytes.NewReader(doc), &out, r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readPAdES reads a file and what is signed in it.
func readPAdES(t testing.TB, file string) ([]byte, *ades.Document) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := pades.Read(t.Context(), bytes.NewReader(b), ades.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return b, facts
}

// structure asks qpdf and poppler.
func structure(t testing.TB, what row, file, password string, signatures int) {
	t.Helper()
	msg, err := exec.Command(tool(t, "qpdf"), "--password="+password, "--check", file).CombinedOutput()
	what.validator = "qpdf"
	table.add(what, err == nil)
	if err != nil {
		t.Errorf("qpdf: %v: %s", err, msg)
	}
	args := []string{"-nocert", file}
	if password != "" {
		args = []string{"-nocert", "-upw", password, file}
	}
	msg, _ = exec.Command(tool(t, "pdfsig"), args...).CombinedOutput() // its exit code is about trust
	n := strings.Count(string(msg), "Signature is Valid")
	what.validator = "pdfsig"
	table.add(what, n == signatures)
	if n != signatures {
		t.Errorf("pdfsig finds %d of %d signatures valid: %s", n, signatures, msg)
	}
}

// noUndefinedChanges looks at what DSS noticed after signing.
func noUndefinedChanges(t testing.TB, v Verdict) {
	t.Helper()
	for i, s := range v.Signatures {
		if n, _ := s.PDF["undefinedChanges"].(float64); n != 0 || len(s.Warnings) > 0 {
			t.Errorf("signature %d: %v undefined changes, warnings %v", i, n, s.Warnings)
		}
	}
}

func TestPAdES(t *testing.T) {
	doc := somePDF(t)
	for _, v := range variants {
		for _, level := range levels {
			t.Run(fmt.Sprintf("%v/%v", v, level), func(t *testing.T) {
				c := padesCase{actor: v.actor, hash: v.hash, pss: v.pss, level: level}
				file := write(t, "a.pdf", signPAdES(t, doc, c))
				noUndefinedChanges(t, dss.Passed(t, Ask{File: file, What: "one signature"}, "PAdES-BASELINE-"+level.String()))
				a := pki.Actor(t, v.actor)
				s := a.Signing(pki.Now())
				s.Hash, s.PSS = v.hash, v.pss
				structure(t, row{"", "PAdES", "one signature", level.String(), algorithm(s)}, file, "", 1)
			})
		}
	}
}

// TestPAdESInputs signs twice, and raises, what many producers write.
func TestPAdESInputs(t *testing.T) {
	doc := somePDF(t)
	for name, in := range map[string]struct {
		password string
		args     []string
	}{
		"plain":          {"", nil},
		"objects":        {"", []string{"--object-streams=generate"}},
		"linear":         {"", []string{"--linearize"}},
		"linear objects": {"", []string{"--linearize", "--object-streams=generate"}},
		"RC4-40":         {"u", []string{"--encrypt", "u", "o", "40", "--"}},
		"RC4-128":        {"u", []string{"--encrypt", "u", "o", "128", "--use-aes=n", "--"}},
		"AES-128":        {"u", []string{"--encrypt", "u", "o", "128", "--use-aes=y", "--"}},
		"AES-128 meta":   {"u", []string{"--encrypt", "u", "o", "128", "--use-aes=y", "--cleartext-metadata", "--"}},
		"AES-256 R5":     {"u", []string{"--encrypt", "u", "o", "256", "--force-R5", "--"}},
		"AES-256":        {"pä€ ß", []string{"--object-streams=generate", "--encrypt", "pä€ ß", "o", "256", "--"}},
	} {
		t.Run(name, func(t *testing.T) {
			signTwice(t, "qpdf, "+name, qpdfed(t, doc, in.args...), in.password)
		})
	}
}

// signTwice signs a document twice at LTA and hands it to everybody.
func signTwice(t *testing.T, what string, doc []byte, password string) {
	t.Helper()
	for range 2 {
		c := padesCase{actor: "good", level: ades.LevelLTA}
		c.opts.Password, c.opts.Reason = password, "Perché"
		doc = signPAdES(t, doc, c)
	}
	file := write(t, "a.pdf", doc)
	structure(t, row{"", "PAdES", what, "LTA", "RSA SHA256"}, file, password, 2)
	v := dss.Passed(t, Ask{File: file, Password: password, What: what}, "PAdES-BASELINE-LTA")
	if len(v.Signatures) != 2 {
		t.Errorf("%d signatures", len(v.Signatures))
	}
}

// TestPAdESSameEvidence signs again with validation data that is already in the
// file and still current: DSS gives a signature only what was stored after it.
func TestPAdESSameEvidence(t *testing.T) {
	store := &trust.Store{Client: http.DefaultClient}
	if err := store.AddAnchors(pki.RootPEM()); err != nil {
		t.Fatal(err)
	}
	for _, level := range []ades.Level{ades.LevelLT, ades.LevelLTA} {
		t.Run(level.String(), func(t *testing.T) {
			doc := somePDF(t)
			for range 3 {
				a := pki.Actor(t, "good")
				var out bytes.Buffer
				o := rogito.Options{SignParams: a.Signing(pki.Now()), Level: level, Stamper: pki.Unit, Gatherer: &trust.Gatherer{Store: store}}
				if _, err := rogito.Sign(t.Context(), rogito.File("", bytes.NewReader(doc)), &out, a.Key, o); err != nil {
					t.Fatal(err)
				}
				doc = out.Bytes()
			}
			file := write(t, "a.pdf", doc)
			structure(t, row{"", "PAdES", "three of one signer", level.String(), "RSA SHA256"}, file, "", 3)
			noUndefinedChanges(t, dss.Passed(t, Ask{File: file, What: "three of one signer"}, "PAdES-BASELINE-"+level.String()))
			v := verdict(t, file, rootPEM, false)
			for i, s := range v.Signatures {
				if s.Indication != report.TotalPassed || *s.SignatureLevel != "PAdES-BASELINE-"+level.String() {
					t.Errorf("signature %d: %s, %s", i, s.Indication, *s.SignatureLevel)
				}
			}
		})
	}
}

func TestPAdESCertifiedAndLTV(t *testing.T) {
	doc := somePDF(t)
	c := padesCase{actor: "good", level: ades.LevelLT, vri: true}
	c.opts.Certify = 2
	signed := signPAdES(t, doc, c)
	if !bytes.Contains(signed, []byte("/VRI")) {
		t.Error("no VRI entry")
	}
	noUndefinedChanges(t, dss.Passed(t, Ask{File: write(t, "ltv.pdf", signed), What: "certified, LTV, then locked"}, "PAdES-BASELINE-LT"))
	c = padesCase{actor: "p256", level: ades.LevelT}
	c.opts.Lock = &pades.Lock{Action: pades.LockAll}
	file := write(t, "two.pdf", signPAdES(t, signed, c))
	dss.Passed(t, Ask{File: file, What: "certified, LTV, then locked"}, "")
	structure(t, row{"", "PAdES", "certified, LTV, then locked", "LT", "RSA SHA256"}, file, "", 2)
}

func TestPAdESEd25519Intact(t *testing.T) {
	v := dss.Validate(t, Ask{File: write(t, "a.pdf", signPAdES(t, somePDF(t), padesCase{actor: "ed25519"}))})
	if len(v.Signatures) != 1 || v.Signatures[0].Intact == nil || !*v.Signatures[0].Intact {
		t.Fatalf("not intact: %s", v.Raw)
	}
}

// oracleRun runs one of the oracles and returns what it prints.
func oracleRun(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(filepath.Join(shared(t), "oracle", name), args...)
	cmd.Env = brief()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		t.Fatalf("%s: %v: %s", name, err, stderr.Bytes())
	}
	return out
}

func TestPAdESPyHanko(t *testing.T) {
	tool(t, "python3")
	for _, level := range levels {
		t.Run(level.String(), func(t *testing.T) {
			file := write(t, "a.pdf", signPAdES(t, somePDF(t), padesCase{actor: "good", level: level}))
			var v struct {
				Integrity        string `json:"integrity"`
				ChangesPermitted bool   `json:"changesPermitted"`
				Lenient          bool   `json:"lenient"`
				Valid            bool   `json:"valid"`
				Signatures       []struct {
					Level      string `json:"level"`
					Indication string `json:"adesIndication"`
				} `json:"signatures"`
			}
			out := oracleRun(t, "pyhanko-oracle", "validate", "--trust", rootPEM, file)
			if err := json.Unmarshal(out, &v); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			ok := v.Integrity == "intact" && v.ChangesPermitted && !v.Lenient && v.Valid && len(v.Signatures) == 1 &&
				v.Signatures[0].Level == level.String() && v.Signatures[0].Indication == "TOTAL-PASSED"
			table.add(row{"pyHanko", "PAdES", "one signature", level.String(), "RSA SHA256"}, ok)
			if !ok {
				t.Errorf("pyHanko: %s", out)
			}
		})
	}
}

// TestPAdESTheirs has DSS raise ours, and us read and raise what DSS makes.
func TestPAdESTheirs(t *testing.T) {
	dir := t.TempDir()
	oracleRun(t, "bin/dss", "pki", dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	in := write(t, "in.pdf", somePDF(t))
	evidence := []string{
		"--tsa-p12", at("tsa.p12"), "--tsa-password", "password", "--trust", at("root.pem"),
		"--crl", at("root.crl"), "--crl", at("issuing.crl"), "--offline",
	}
	for _, level := range levels {
		t.Run("DSS "+level.String(), func(t *testing.T) {
			out := at("dss-" + level.String() + ".pdf")
			args := []string{"sign", "--p12", at("signer-rsa.p12"), "--password", "password", "--format", "pades", "--level", level.String()}
			oracleRun(t, "bin/dss", append(append(args, evidence...), "--out", out, in)...)
			b, facts := readPAdES(t, out)
			s := facts.Signatures[0]
			if got := pades.Profile(s, facts, func(...[]byte) bool { return true }).Name; s.Intact() != ades.Yes || got != "PAdES-BASELINE-"+level.String() {
				t.Errorf("we say %v, %s: %v", s.Intact(), got, s.Problems)
			}
			for _, c := range s.PDF.Changes {
				if !c.Permitted {
					t.Errorf("%s: %s", c.Kind, c.Description)
				}
			}
			stamped := write(t, "raised.pdf", raisePAdES(t, b, ades.LevelT))
			v := dss.Validate(t, Ask{File: stamped, Trust: []string{rootPEM, at("root.pem")}})
			if len(v.Signatures) != 1 || v.Signatures[0].Intact == nil || !*v.Signatures[0].Intact || len(v.DocumentTimestamps) == 0 {
				t.Errorf("time-stamped by us: %s", v.Raw)
			}
		})
	}
	t.Run("ours raised by DSS", func(t *testing.T) {
		ours := write(t, "b.pdf", signPAdES(t, somePDF(t), padesCase{actor: "good"}))
		out := at("extended.pdf")
		args := []string{"extend", "--level", "LTA", "--tsa", pki.TSA(), "--trust", rootPEM, "--out", out, ours}
		oracleRun(t, "bin/dss", args...)
		dss.Passed(t, Ask{File: out, What: "raised by DSS"}, "PAdES-BASELINE-LTA")
		_, facts := readPAdES(t, out)
		if s := facts.Signatures[0]; s.Intact() != ades.Yes {
			t.Errorf("we say %v: %v", s.Intact(), s.Problems)
		}
	})
}

// TestPAdESPDFA has veraPDF look at what became of PDF/A.
func TestPAdESPDFA(t *testing.T) {
	tool(t, "gs")
	tool(t, "java")
	def, err := filepath.Glob("/usr/share/ghostscript/*/lib/PDFA_def.ps")
	icc := "/usr/share/color/icc/ghostscript/srgb.icc"
	if _, stat := os.Stat(icc); err != nil || len(def) == 0 || stat != nil {
		t.Skip("SKIPPED: Ghostscript without its PDF/A prologue")
	}
	prologue, err := os.ReadFile(def[0])
	if err != nil {
		t.Fatal(err)
	}
	prologue = bytes.ReplaceAll(prologue, []byte("(srgb.icc)"), []byte("("+icc+")"))
	for part := 1; part <= 3; part++ {
		t.Run(fmt.Sprintf("PDF A-%db", part), func(t *testing.T) {
			ps := write(t, "in.ps", []byte(postscript))
			head := write(t, "def.ps", prologue)
			out := filepath.Join(filepath.Dir(ps), "out.pdf")
			msg, err := exec.Command("gs", "-q", fmt.Sprintf("-dPDFA=%d", part), "-dBATCH", "-dNOPAUSE", "-dNOSAFER",
				"-sColorConversionStrategy=RGB", "-sDEVICE=pdfwrite", "-dPDFACompatibilityPolicy=1", "-sOutputFile="+out, head, ps).CombinedOutput()
			if err != nil {
				t.Fatalf("gs: %v: %s", err, msg)
			}
			doc, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				doc = signPAdES(t, doc, padesCase{actor: "p256", level: ades.LevelLTA})
			}
			answer := oracleRun(t, "bin/verapdf", "--flavour", fmt.Sprintf("%db", part), write(t, "a.pdf", doc))
			ok := bytes.Contains(answer, []byte(`"compliant":true`))
			table.add(row{"veraPDF", "PAdES", fmt.Sprintf("PDF/A-%db", part), "LTA", "ECDSA SHA256"}, ok)
			if !ok {
				t.Errorf("veraPDF: %s", answer)
			}
		})
	}
}
