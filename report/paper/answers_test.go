package paper

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
)

// Whatever the verdict, a person reads in both languages whether to rely on the
// document, and where it is not valid what to do.
func TestAnswers(t *testing.T) {
	for _, i := range []report.Indication{report.TotalPassed, report.TotalFailed, report.Indeterminate} {
		subs := []report.SubIndication{""}
		if i != report.TotalPassed {
			for sub := range meanings {
				subs = append(subs, sub)
			}
		}
		for _, sub := range subs {
			r := sample(i, sub)
			english, italian := AnswersTo(r, English), AnswersTo(r, Italian)
			for _, pair := range [][2]string{{english.Word, italian.Word}, {english.Rely, italian.Rely}, {english.Then, italian.Then}} {
				if pair[0] == "" || pair[0] == pair[1] {
					t.Errorf("%s %s: %q in English, %q in Italian", i, sub, pair[0], pair[1])
				}
			}
			if len(english.Signers) != 1 || english.Signers[0].When == "" {
				t.Errorf("%s %s: signers %+v", i, sub, english.Signers)
			}
			if want := map[report.Indication]string{report.TotalPassed: "Valida", report.TotalFailed: "Non valida", report.Indeterminate: "Non determinabile"}[i]; italian.Word != want {
				t.Errorf("%s %s: %q, not %q", i, sub, italian.Word, want)
			}
		}
	}
}

// A document that is only time-stamped has wording of its own: nothing mentions a signature,
// whatever became of the time-stamp.
func TestAnswersOfTimestamps(t *testing.T) {
	for _, format := range []ades.Format{ades.PAdES, ades.ASiCE, ades.TST} {
		for _, row := range []struct {
			i           report.Indication
			sub         report.SubIndication
			class, word string
		}{
			{report.Passed, "", "valid", "Marca temporale valida"},
			{report.Failed, report.HashFailure, "invalid", "Marca temporale non valida"},
			{report.Indeterminate, report.NoCertificateChainFound, "undetermined", "Marca temporale non determinabile"},
			{report.Indeterminate, report.OutOfBoundsNoPOE, "undetermined", "Marca temporale non determinabile"},
			{report.Indeterminate, report.TryLater, "undetermined", "Marca temporale non determinabile"},
			{report.Indeterminate, report.SignedDataNotFound, "undetermined", "Marca temporale non determinabile"},
		} {
			r := &report.Report{
				Facts: &report.Facts{Layers: []*report.Layer{{Document: &ades.Document{Format: format}}}},
				Conclusions: &report.Conclusions{
					Indication: report.Indeterminate, TimestampsVerified: row.i == report.Passed,
					Timestamps: []*report.Conclusion{{Indication: row.i, SubIndication: row.sub, Timestamp: &ades.Timestamp{Time: at}}},
				},
			}
			a := AnswersTo(r, Italian)
			if a.Class != row.class || a.Word != row.word || a.Sign != Sign(row.class) {
				t.Errorf("%s %s %s: %s %q", format, row.i, row.sub, a.Class, a.Word)
			}
			for _, text := range []string{a.Rely, a.Then, AnswersTo(r, English).Then, Summarize(r, Italian).Lines[0]} {
				for _, bad := range []string{"perde la firma", "firmatario", "alla firma", "signer", "signature", "as it was signed", "NON FIRMATO"} {
					if strings.Contains(text, bad) {
						t.Errorf("%s %s %s: %q", format, row.i, row.sub, text)
					}
				}
			}
			if a.Then == "" || a.Then == AnswersTo(r, English).Then {
				t.Errorf("%s %s %s: %q", format, row.i, row.sub, a.Then)
			}
		}
	}
}

// Standard words stand where who looks for them finds them, and red is for what is
// wrong with the document.
func TestWordsForPeople(t *testing.T) {
	var b bytes.Buffer
	r := sample(report.Indeterminate, report.NoCertificateChainFound)
	r.Conclusions.Signatures[0].Signature.PDF.Changes = nil
	if err := WriteFragment(&b, r, "x.pdf", Italian); err != nil {
		t.Fatal(err)
	}
	seen := folded.ReplaceAllString(b.String(), "")
	for _, bad := range []string{"NO_CERTIFICATE", ">INDETERMINATE", "N/A", `class="error"`, "Errore"} {
		if strings.Contains(seen, bad) {
			t.Errorf("%s is in sight:\n%s", bad, seen)
		}
	}
	if !strings.Contains(b.String(), "NO_CERTIFICATE_CHAIN_FOUND") || !strings.Contains(b.String(), "N/A") {
		t.Error("the words of the standard are not in the details")
	}
	if !strings.Contains(seen, `datetime="2026-11-15T03:46:26Z" title="15 novembre 2026, 03:46 UTC"`) {
		t.Error("a time has no UTC")
	}
}

var folded = regexp.MustCompile(`(?s)<details>.*?</details>`)

var phrases = regexp.MustCompile(`\.T "([^"]+)"`)

// Every phrase of the template has its Italian.
func TestPageIsTranslated(t *testing.T) {
	found := phrases.FindAllStringSubmatch(htmlText, -1)
	if len(found) < 5 {
		t.Fatalf("%d phrases", len(found))
	}
	for _, m := range found {
		if italian[m[1]] == "" {
			t.Errorf("%q has no Italian", m[1])
		}
	}
}

func TestFragment(t *testing.T) {
	var b bytes.Buffer
	if err := WriteFragment(&b, sample(report.TotalFailed, report.HashFailure), "<b>x</b>.pdf", Italian); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="verdict" data-indication="TOTAL-FAILED"`, `class="card signature invalid" data-indication="TOTAL-FAILED"`, "Non valida", "Posso fidarmi?", "Che cosa fare", "Firmatario indicato", "&lt;script&gt;"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in %s", want, b.String())
		}
	}
	for _, bad := range []string{"<script>", "<b>x", "<html", "Firmato da"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("%s in %s", bad, b.String())
		}
	}
}
