package report

import (
	"regexp"
	"testing"
)

// The form of a fiscal code is what its definition says, letter by letter.
func TestFiscalCode(t *testing.T) {
	form := regexp.MustCompile(`^[A-Z]{6}[0-9LMNPQRSTUV]{2}[ABCDEHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]$`)
	for _, code := range []string{"RSSMRA80A01H501U", "RSSMRAULALMHRLMU", "", "RSSMRA80A01H501", "RSSMRA80A01H501UU"} {
		for i := range code {
			for c := range 256 {
				changed := code[:i] + string([]byte{byte(c)}) + code[i+1:]
				if got, want := isFiscalCode(changed), form.MatchString(changed); got != want {
					t.Errorf("%q: %t", changed, got)
				}
			}
		}
		if got, want := isFiscalCode(code), form.MatchString(code); got != want {
			t.Errorf("%q: %t", code, got)
		}
	}
}
