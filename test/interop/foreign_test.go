package interop

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
)

// verdict has us verify a file with one anchor; online the services that the
// certificates name may be asked.
func verdict(t testing.TB, file, anchor string, online bool, detached ...ades.File) *report.View {
	t.Helper()
	root, err := os.ReadFile(anchor)
	if err != nil {
		t.Fatal(err)
	}
	store := new(trust.Store)
	if err := store.AddAnchors(root); err != nil {
		t.Fatal(err)
	}
	if online {
		store.Client = http.DefaultClient
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&rogito.Verifier{Trust: store}).Verify(context.Background(), bytes.NewReader(b), rogito.VerifyOptions{Detached: detached})
	if err != nil {
		t.Fatal(err)
	}
	v, err := r.View(false, "en")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// passed demands TOTAL-PASSED of one signature at a level.
func passed(t testing.TB, who string, v *report.View, level string) {
	t.Helper()
	if len(v.Signatures) != 1 {
		t.Fatalf("%d signatures", len(v.Signatures))
	}
	s := v.Signatures[0]
	ok := v.OverallVerified && s.Indication == report.TotalPassed && s.SignatureLevel != nil && *s.SignatureLevel == level
	table.add(row{validator: "rogito verifies " + who, format: v.SignatureFormat, level: level}, ok)
	if !ok {
		sub, got := "", ""
		if s.SubIndication != nil {
			sub = *s.SubIndication
		}
		if s.SignatureLevel != nil {
			got = *s.SignatureLevel
		}
		t.Errorf("%s %s, level %s, want %s; %v", s.Indication, sub, got, level, s.Errors)
	}
}

// TestVerifyDSS verifies what DSS signs and extends, with its root as anchor:
// LT and LTA by what is in the file alone, B and T with its lists on loopback.
func TestVerifyDSS(t *testing.T) {
	bin := filepath.Join(shared(t), "oracle", "bin", "dss")
	tool(t, "java")
	dir := t.TempDir()
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	runTool(t, bin, "pki", dir, "--base", server.URL+"/")
	at := func(name string) string { return filepath.Join(dir, name) }
	evidence := []string{
		"--tsa-p12", at("tsa.p12"), "--tsa-password", "password", "--trust", at("root.pem"),
		"--crl", at("root.crl"), "--crl", at("issuing.crl"), "--offline",
	}
	pdf := write(t, "in.pdf", somePDF(t))
	xml := write(t, "in.xml", []byte(invoiceXML))
	for _, c := range []struct {
		format, packaging, ext, in, key, level string
		more                                   []string
	}{
		{"pades", "", ".pdf", pdf, "rsa", "PAdES", nil},
		{"cades", "", ".p7m", xml, "rsa", "CAdES", []string{"--pss"}},
		{"cades", "detached", ".p7s", xml, "p256", "CAdES", nil},
		{"xades", "enveloped", ".xml", xml, "p256", "XAdES", nil},
		{"xades", "enveloping", ".xml", xml, "rsa", "XAdES", []string{"--pss"}},
		{"asice-cades", "", ".asice", xml, "rsa", "CAdES", nil},
		{"asice-xades", "", ".asice", xml, "p256", "XAdES", nil},
		{"asics-cades", "", ".asics", xml, "p256", "CAdES", nil},
		{"asics-xades", "", ".asics", xml, "rsa", "XAdES", nil},
	} {
		t.Run(c.format+c.packaging, func(t *testing.T) {
			t.Parallel()
			sign := []string{"sign", "--p12", at("signer-" + c.key + ".p12"), "--password", "password", "--format", c.format}
			sign = append(append(sign, c.more...), evidence...)
			extend := append([]string{"extend", "--format", c.format}, evidence...)
			var detached []ades.File
			if c.packaging != "" {
				sign = append(sign, "--packaging", c.packaging)
			}
			if c.packaging == "detached" {
				extend = append(extend, "--detached", c.in)
				detached = []ades.File{{Name: "in.xml", Source: strings.NewReader(invoiceXML)}}
			}
			out := func(level string) string { return at(c.format + c.packaging + level + c.ext) }
			// B and LTA are signed so, T and LT are extended: both ways are taken.
			for _, level := range []string{"B", "LTA"} {
				runTool(t, bin, append(sign, "--level", level, "--out", out(level), c.in)...)
			}
			for _, level := range []string{"T", "LT"} {
				runTool(t, bin, append(extend, "--level", level, "--out", out(level), out("B"))...)
			}
			for _, level := range []string{"B", "T", "LT", "LTA"} {
				v := verdict(t, out(level), at("root.pem"), level == "B" || level == "T", detached...)
				passed(t, "DSS", v, c.level+"-BASELINE-"+level)
			}
		})
	}
}

// TestVerifyPyHanko verifies what pyHanko signs with our own PKI.
func TestVerifyPyHanko(t *testing.T) {
	shared(t)
	p12 := writeP12(t, pki.Actor(t, "both-usages"))
	in := write(t, "in.pdf", somePDF(t))
	dir := t.TempDir()
	for _, level := range []string{"B", "T", "LT", "LTA"} {
		for _, certify := range []bool{false, true} {
			name := level
			args := []string{"sign", "--p12", p12, "--password", "password", "--level", level, "--trust", rootPEM}
			if level != "B" {
				args = append(args, "--tsa", pki.TSA())
			}
			if certify {
				name += "-certified"
				args = append(args, "--certify")
			}
			t.Run(name, func(t *testing.T) {
				out := filepath.Join(dir, name+".pdf")
				oracleRun(t, "pyhanko-oracle", append(args, "--out", out, in)...)
				passed(t, "pyHanko", verdict(t, out, rootPEM, level == "B" || level == "T"), "PAdES-BASELINE-"+level)
			})
		}
	}
}
