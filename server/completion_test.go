package server

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// certificateOf gets the audit of a record as PDF, in a language, and its text
// page by page.
func (s *site) certificateOf(id, lang string) (file string, pages []string) {
	s.t.Helper()
	resp, b := s.raw(http.MethodGet, "/signatures/"+id+"/audit", nil, "Accept", "application/pdf", "Accept-Language", lang)
	if resp.Status != 200 {
		s.t.Fatalf("%d %s", resp.Status, b)
	}
	dir := s.t.TempDir()
	if keep := os.Getenv("ROGITO_TEST_SCREENSHOTS"); keep != "" {
		dir = keep
	}
	file = filepath.Join(dir, strings.ReplaceAll(s.t.Name(), "/", "_")+"-"+lang+".pdf")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		s.t.Fatal(err)
	}
	out, err := exec.Command("pdftotext", "-layout", file, "-").Output()
	if err != nil {
		s.t.Skip("SKIPPED: no pdftotext")
	}
	return file, strings.Split(strings.TrimSuffix(string(out), "\f"), "\f")
}

func TestCertificateOfCompletion(t *testing.T) {
	s := newSite(t)
	r := s.sign(m{"sourceType": "base64", "payload": b64(samplePDF), "name": "Contratto di compravendita.pdf"}, m{"title": "Compravendita di via Garibaldi 12", "description": "Contratto preliminare con due allegati"}, optionsOf(m{"level": "LTA"}))
	s.download(r.ID, "signedDocument")
	for _, lang := range []string{"it", "en"} {
		file, pages := s.certificateOf(r.ID, lang)
		fmt.Println(file, len(pages))
	}
}
