package completion_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// needReaders skips a test where the programs that read certificates of completion are not
// installed. It is asked before anything else: a subtest cannot skip the test around it.
func needReaders(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"pdftotext", "qpdf", "pdfsig", "pdfdetach"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED, NOT TESTED: there is no %s here", tool)
		}
	}
}

// certificateOf gets the audit of a record as PDF, in a language, and its text
// page by page.
func certificateOf(s *site, id, lang string) (file string, pages []string) {
	s.T.Helper()
	resp, b := s.Raw(http.MethodGet, "/signatures/"+id+"/audit", nil, "Accept", "application/pdf", "Accept-Language", lang)
	if resp.Status != 200 {
		s.T.Fatalf("%d %s", resp.Status, b)
	}
	dir := s.T.TempDir()
	if keep := os.Getenv("ROGITO_TEST_SCREENSHOTS"); keep != "" {
		dir = keep
	}
	file = filepath.Join(dir, strings.ReplaceAll(s.T.Name(), "/", "_")+"-"+lang+".pdf")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		s.T.Fatal(err)
	}
	out, err := exec.Command("pdftotext", "-layout", file, "-").Output()
	if err != nil {
		s.T.Fatalf("pdftotext: %v", err)
	}
	return file, strings.Split(strings.TrimSuffix(string(out), "\f"), "\f")
}

// sealHolds looks at the PDF as others do: its seal holds, at LTA, and covers it all;
// it is well formed; the trail is attached.
func sealHolds(s *site, file string) {
	s.T.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		s.T.Fatal(err)
	}
	var v struct {
		OverallVerified     bool
		SignatureReportList []struct {
			SignatureLevel      string
			CoversWholeDocument bool
		}
	}
	if err := json.Unmarshal(s.Do(http.MethodPost, "/verify", m{"inputDocument": b64(b), "withPlainDocument": false}).Data, &v); err != nil {
		s.T.Fatal(err)
	}
	if !v.OverallVerified || len(v.SignatureReportList) != 1 || v.SignatureReportList[0].SignatureLevel != "PAdES-BASELINE-LTA" || !v.SignatureReportList[0].CoversWholeDocument {
		s.T.Errorf("the seal: %+v", v)
	}
	for tool, want := range map[string]string{"qpdf --check": "", "pdfsig -nocert": "Signature is Valid", "pdfdetach -list": ".json"} {
		args := append(strings.Fields(tool), file)
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			s.T.Errorf("%s: %v: %s", tool, err, out)
		}
	}
}

// inMargins checks that no word stands beyond the margins of its page, or over
// another.
func inMargins(s *site, file string) {
	s.T.Helper()
	out, err := exec.Command("pdftotext", "-bbox", file, "-").Output()
	if err != nil {
		s.T.Fatal(err)
	}
	var before [][4]float64
	for _, w := range regexp.MustCompile(`<page|xMin="([-0-9.]+)" yMin="([-0-9.]+)" xMax="([-0-9.]+)" yMax="([-0-9.]+)">([^<]*)<`).FindAllStringSubmatch(string(out), -1) {
		if w[5] == "" {
			before = nil
			continue
		}
		var at [4]float64
		for i := range at {
			at[i], _ = strconv.ParseFloat(w[i+1], 64)
		}
		if at[0] < 55 || at[1] < 30 || at[2] > 540.5 || at[3] > 815 {
			s.T.Errorf("%q stands at %v", w[5], at)
		}
		for _, o := range before {
			if min(at[2], o[2])-max(at[0], o[0]) > 1 && min(at[3], o[3])-max(at[1], o[1]) > 4 {
				s.T.Errorf("%q at %v stands over another word at %v", w[5], at, o)
			}
		}
		before = append(before, at)
	}
}

func has(t *testing.T, where, text string, all ...string) {
	t.Helper()
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range all {
		if !strings.Contains(flat, want) {
			t.Errorf("%s does not say %q:\n%s", where, want, text)
		}
	}
}

// The audit of a record as PDF says on one page what was signed, by whom, how
// they were identified, when, what it is worth, and what happened; what is needed
// to repeat it is attached.
func TestCertificateOfCompletion(t *testing.T) {
	needReaders(t)
	t.Parallel()
	s := newSite(t)
	r := s.Sign(m{"sourceType": "base64", "payload": b64(sitetest.SamplePDF), "name": "Contratto di compravendita.pdf"}, m{"title": "Compravendita di via Garibaldi 12", "description": "Contratto preliminare con due allegati"}, optionsOf(m{"level": "LTA"}))
	s.Download(r.ID, "signedDocument")
	for lang, words := range map[string][3][]string{
		"it": {
			{"Certificato di completamento", "Valida", "Ada Prova", "nessuna identificazione: è un certificato di prova", "Contratto di compravendita.pdf", "Compravendita di via Garibaldi 12", "provato da una marca temporale", "/check", "Sigillo elettronico di", r.Document.SignedDocument.SHA256},
			{"Che cosa è accaduto", "La richiesta di firma è arrivata da 127.0.0.1", "La firma è stata apposta", "È stata aggiunta una marca temporale", "Il documento firmato è stato scaricato da 127.0.0.1"},
			{"è allegato come audit-"},
		},
		"en": {
			{"Certificate of completion", "Valid", "Ada Prova", "nobody was identified: this is a certificate for tests", "proven by a time-stamp", "Electronically sealed by"},
			{"What happened", "The request to sign arrived from 127.0.0.1", "The signature was made"},
			{"is attached as audit-"},
		},
	} {
		t.Run(lang, func(t *testing.T) {
			s := s.In(t)
			file, pages := certificateOf(s, r.ID, lang)
			if len(pages) != 1 {
				t.Errorf("%d pages for one signature", len(pages))
			}
			for _, some := range words {
				has(t, "the page", pages[0], some...)
			}
			sealHolds(s, file)
			inMargins(s, file)
		})
	}
}

// Many documents, many signers, long and foreign names: the first page stays
// one, and what does not fit it is listed further on.
func TestCertificateOfMuch(t *testing.T) {
	needReaders(t)
	t.Parallel()
	s := newSite(t)
	long := strings.Repeat("Atto notarile rep. 12345 con allegati planimetrie e visure catastali ", 3)
	var docs []any
	for i := range 50 {
		name := fmt.Sprintf("%s n. %d.pdf", long, i+1)
		if i%3 == 1 {
			name = "Συμβόλαιο αγοράς – Договор купли-продажи – 买卖合同.pdf"
		}
		docs = append(docs, m{"sourceType": "base64", "payload": b64(sitetest.SamplePDF), "name": name})
	}
	batch := s.Sign(docs, m{"title": long, "description": strings.Repeat(long, 4)}, optionsOf(m{"batch": true}))
	file, pages := certificateOf(s, batch.ID, "it")
	has(t, "the first page", pages[0], "Certificato di completamento", "Valida", "Ognuna delle 50 firme", "e altri 47, elencati più avanti", "elencati più avanti", "/check")
	if len(pages) > 30 {
		t.Errorf("%d pages", len(pages))
	}
	has(t, "the rest", strings.Join(pages[1:], ""), "Συμβόλαιο αγοράς – Договор купли-продажи", "n. 49.pdf", "Firme nel documento")
	inMargins(s, file)
	sealHolds(s, file)

	signed := sitetest.SamplePDF
	var last *record
	for range 6 {
		last = s.Sign(b64(signed), optionsOf(m{"level": "T"}))
		signed = s.Download(last.ID, "signedDocument")
	}
	file, pages = certificateOf(s, last.ID, "en")
	has(t, "the first page", pages[0], "Certificate of completion", "and 3 more, listed below")
	if n := strings.Count(strings.Join(pages[1:], ""), "SANDBOX Ada Prova"); n < 6 {
		t.Errorf("%d of 6 signatures are listed", n)
	}
	inMargins(s, file)
}

// Of an archive with more than a verification opens it is said what was checked
// again, and not that something in it is not signed.
func TestCertificateOfVeryMuch(t *testing.T) {
	await.All(t)
	needReaders(t)
	t.Parallel()
	s := newSite(t)
	var docs []any
	for i := range 260 {
		docs = append(docs, m{"sourceType": "base64", "payload": b64(fmt.Appendf(nil, "document %d", i)), "name": fmt.Sprintf("%d.txt", i)})
	}
	batch := s.Sign(docs, m{"signatureType": "cades"}, optionsOf(m{"batch": true}))
	_, pages := certificateOf(s, batch.ID, "en")
	has(t, "the first page", pages[0], "Signed", "of the 260 signatures in the archive were checked again, and hold. Each was checked when it was made.")
}

// What cannot be checked again is not called valid, and what failed says so.
func TestCertificateOfLittle(t *testing.T) {
	needReaders(t)
	t.Parallel()
	s := newSite(t)
	failed := s.Sign(b64([]byte("%PDF-1.4 broken")), m{"signatureType": "pades"})
	_, pages := certificateOf(s, failed.ID, "it")
	has(t, "of a failure", pages[0], "Non firmato", "La richiesta è terminata con l'errore 113")
	value := s.Sign(b64(sitetest.SampleTXT), m{"signatureType": "pkcs1"})
	_, pages = certificateOf(s, value.ID, "it")
	has(t, "of a value", pages[0], "Firmato", "senza certificato")
	locked := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"encryptInAnyCase": true, "encryptionPassword": "x"}))
	_, pages = certificateOf(s, locked.ID, "en")
	has(t, "of a locked one", pages[0], "Signed", "protected by a password")
	detached := s.Sign(b64(sitetest.SampleTXT), optionsOf(m{"detached": true}))
	_, pages = certificateOf(s, detached.ID, "en")
	has(t, "of a detached one", pages[0], "Valid", "The content is intact.")
}
