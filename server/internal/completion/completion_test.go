package completion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// kinds are those of all events that a record can have.
var kinds = append([]string{"callback", audit.KindLost}, ledger.Kinds...)

// certificate is one of a record that had every event, named in letters that the
// fonts lack and in markup.
func certificate(t *testing.T, state ledger.State, why unchecked) *Certificate {
	t.Helper()
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	c := &Certificate{
		of:     &Certificates{Producer: "Rogito", Check: func(id string) string { return "https://example.org/check?" + id }},
		record: &ledger.Record{ID: "0123456789abcdef01234567", State: state, Title: "林明 <script>alert(1)</script>", CertificateType: "EU-QES_automatic", Inputs: []*ledger.File{{Name: "a.pdf", Label: "contratto <b>.pdf", Size: 1000, SHA256: strings.Repeat("ab", 32)}}},
		why:    why, made: at,
	}
	for i, kind := range kinds {
		payload, err := json.Marshal(map[string]any{"log": "english words of " + kind, "detail": map[string]any{"address": "192.0.2.1", "index": 0, "sha256": strings.Repeat("cd", 32), "attempt": 1}})
		if err != nil {
			t.Fatal(err)
		}
		c.entries = append(c.entries, &audit.Entry{ID: fmt.Sprintf("%024d", i), Kind: kind, CreatedAt: at.Add(time.Duration(i) * time.Second).UnixMilli(), Payload: payload, Digest: []byte{1}, Seq: int64(i)})
	}
	return c
}

// Every kind of event is told in the words of people, in both languages.
func TestEveryEventHasWords(t *testing.T) {
	c := certificate(t, ledger.Done, gone)
	for _, e := range c.entries {
		log, _ := e.Text()
		what, _ := c.happened(e, paper.Italian)
		if what.English == what.Italian || what.English == log || what.Italian == "" || strings.Contains(what.Italian, "%!") {
			t.Errorf("%s is told as %q and %q", e.Kind, what.English, what.Italian)
		}
	}
	erased := &audit.Entry{Kind: "request"}
	if what, more := c.happened(erased, paper.English); what.English == "" || more != "" {
		t.Errorf("an event without its text: %q %q", what.English, more)
	}
}

// A document that was not checked again is never called valid.
func TestWhatWasNotCheckedIsNotValid(t *testing.T) {
	for _, lang := range []paper.Lang{paper.English, paper.Italian} {
		seen := map[string]bool{}
		for _, c := range []*Certificate{
			certificate(t, ledger.Error, isChecked), certificate(t, ledger.WaitSign, notSigned), certificate(t, ledger.Done, gone), certificate(t, ledger.Done, protected), certificate(t, ledger.Done, bare),
		} {
			class, word, text, _ := c.verdict(lang)
			if class == "valid" || word == "" || text == "" || seen[text] {
				t.Errorf("%s %d: %s, %s, %s", lang, c.why, class, word, text)
			}
			seen[text] = true
		}
	}
}

// More than a few events of a kind in a row are one step, with their number.
func TestManyStepsAreOne(t *testing.T) {
	c := certificate(t, ledger.Done, gone)
	one := c.entries[0]
	c.entries = nil
	for range fewSteps + 3 {
		c.entries = append(c.entries, one)
	}
	v := c.view(paper.Italian)
	if len(v.Timeline) != 1 || !strings.Contains(v.Timeline[0].What, "primo di 7") || len(v.Log) != fewSteps+3 {
		t.Errorf("%d steps of %d events: %+v", len(v.Timeline), len(v.Log), v.Timeline)
	}
	c.entries = c.entries[:fewSteps]
	if v := c.view(paper.Italian); len(v.Timeline) != fewSteps {
		t.Errorf("%d steps of %d events", len(v.Timeline), fewSteps)
	}
}

// What strangers wrote is text in the page, and legible and copied in the PDF.
func TestNamesOfStrangers(t *testing.T) {
	v := certificate(t, ledger.Done, gone).view(paper.Italian)
	var page bytes.Buffer
	if err := pageTemplate().ExecuteTemplate(&page, "completion", v); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "<script>alert") || strings.Contains(page.String(), "<b>.pdf") || !strings.Contains(page.String(), "林明 &lt;script&gt;") {
		t.Errorf("the page: %s", page.String())
	}
	b, err := v.pdf([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Skip("SKIPPED, NOT TESTED: the text of the certificate: there is no pdftotext here")
	}
	file := filepath.Join(t.TempDir(), "certificate.pdf")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("pdftotext", "-layout", file, "-").Output()
	if err != nil || !strings.Contains(string(text), "林明 <script>alert(1)</script>") || !strings.Contains(string(text), "contratto <b>.pdf") || strings.Contains(string(text), "□") {
		t.Errorf("the text: %s %v", text, err)
	}
}

// What is handed out again takes a bounded amount of memory, however large.
func TestKept(t *testing.T) {
	now := time.Now()
	c := &Certificates{Now: func() time.Time { return now }}
	for i := range 100 {
		c.keep(fmt.Sprint(i), make([]byte, 3<<20))
		if c.again(fmt.Sprint(i)) == nil {
			t.Fatalf("%d is not kept", i)
		}
	}
	c.keep("huge", make([]byte, mostSealed+1))
	size := 0
	for _, s := range c.kept {
		size += len(s.pdf)
	}
	if size > mostSealed || c.again("huge") != nil {
		t.Errorf("%d bytes are kept", size)
	}
	c.keep("one", []byte("%PDF"))
	now = now.Add(keepSealed)
	if c.again("one") != nil {
		t.Error("what is old is handed out")
	}
}
