package paper

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

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
