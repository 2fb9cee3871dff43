package signing_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// PDFs that a viewer shows are merged, encrypted and signed, be their forms,
// versions or cross-references not as they should be.
func TestImperfectPDFs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	off := bytes.Replace(sitetest.SamplePDF, []byte("\n"), []byte("\n\n"), 1)
	form := bytes.Replace(sitetest.SamplePDF, []byte("/Type/Catalog"), []byte("/AcroForm<</Fields[77 0 R]>>/Type/Catalog"), 1)
	if bytes.Equal(form, sitetest.SamplePDF) {
		form = bytes.Replace(sitetest.SamplePDF, []byte("/Type /Catalog"), []byte("/AcroForm<</Fields[77 0 R]>> /Type /Catalog"), 1)
	}
	newer := bytes.Replace(sitetest.SamplePDF, sitetest.SamplePDF[:8], []byte("%PDF-2.0"), 1)
	if bytes.Equal(form, sitetest.SamplePDF) || bytes.Equal(newer, sitetest.SamplePDF) {
		t.Fatal("the sample has changed")
	}
	encrypt := optionsOf(m{"encryptInAnyCase": true, "encryptionPassword": "secret"})
	for name, c := range map[string]struct {
		docs  []string
		more  m
		pages string
	}{
		"cross-references":       {[]string{b64(off)}, nil, "1"},
		"cross-references, two":  {[]string{b64(off), b64(sitetest.SamplePDF)}, nil, "2"},
		"form":                   {[]string{b64(sitetest.SamplePDF), b64(form)}, nil, "2"},
		"form, encrypted":        {[]string{b64(form)}, encrypt, "1"},
		"merged, encrypted":      {[]string{b64(form), b64(off)}, encrypt, "2"},
		"newer behind an older":  {[]string{b64(sitetest.SamplePDF), b64(newer)}, nil, "2"},
		"older behind a newer":   {[]string{b64(newer), b64(sitetest.SamplePDF)}, nil, "2"},
		"many, at another level": {[]string{b64(form), b64(off), b64(newer), b64(sitetest.SamplePDF)}, optionsOf(m{"level": "T"}), "4"},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.Sign(c.docs, c.more)
			if r.State != "DONE" {
				t.Fatalf("%d %s", r.Number(), deref(r.ErrorMessage))
			}
			b := s.Download(r.ID, "signedDocument")
			a := s.Do("POST", "/verify", m{"inputDocument": b64(b), "withPlainDocument": false, "pdfEncryptionPassword": "secret"})
			if !strings.Contains(string(a.Data), `"overallVerified":true`) {
				t.Errorf("%s", a.Data)
			}
			if got := pagesOf(t, b); got != "" && got != c.pages {
				t.Errorf("%s pages, want %s", got, c.pages)
			}
		})
	}
	signed := s.Download(s.Sign(b64(sitetest.SamplePDF)).ID, "signedDocument")
	for name, r := range map[string]*record{
		"merged":    s.Sign([]string{b64(signed), b64(sitetest.SamplePDF)}),
		"encrypted": s.Sign(b64(signed), encrypt),
	} {
		if r.State != "ERROR" || r.Number() != 113 || !strings.Contains(deref(r.ErrorMessage), "signed already") {
			t.Errorf("a signed one %s: %s %d %s", name, r.State, r.Number(), deref(r.ErrorMessage))
		}
	}
}

// pagesOf asks qpdf, where it is installed.
func pagesOf(t *testing.T, b []byte) string {
	t.Helper()
	qpdf, err := exec.LookPath("qpdf")
	if err != nil {
		return ""
	}
	name := filepath.Join(t.TempDir(), "x.pdf")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(qpdf, "--warning-exit-0", "--no-warn", "--password=secret", "--show-npages", name).CombinedOutput()
	if err != nil {
		t.Errorf("qpdf: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}
