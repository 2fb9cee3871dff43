package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// Whatever the verdict, a person reads in both languages whether to rely on the
// document, and where it is not valid what to do.
func TestAnswers(t *testing.T) {
	for _, i := range []Indication{TotalPassed, TotalFailed, Indeterminate} {
		subs := []SubIndication{""}
		if i != TotalPassed {
			for sub := range meanings {
				subs = append(subs, sub)
			}
		}
		for _, sub := range subs {
			r := sample(i, sub)
			english, italian := r.Answers(English), r.Answers(Italian)
			for _, pair := range [][2]string{{english.Word, italian.Word}, {english.Rely, italian.Rely}, {english.Then, italian.Then}} {
				if pair[0] == "" || pair[0] == pair[1] {
					t.Errorf("%s %s: %q in English, %q in Italian", i, sub, pair[0], pair[1])
				}
			}
			if len(english.Signers) != 1 || english.Signers[0].When == "" {
				t.Errorf("%s %s: signers %+v", i, sub, english.Signers)
			}
			if want := map[Indication]string{TotalPassed: "Valida", TotalFailed: "Non valida", Indeterminate: "Non determinabile"}[i]; italian.Word != want {
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
	if err := sample(TotalFailed, HashFailure).WriteFragment(&b, "<b>x</b>.pdf", Italian); err != nil {
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
