package ledger

import (
	"reflect"
	"testing"

	"rogito.dev/rogito/server/internal/fault"
)

// What a batch came to is read as it was stored, a list reads its tally alone, and a
// row that contradicts itself is refused.
func TestResultsAreStored(t *testing.T) {
	file, sum, number, why := "0000_a.pdf", "ab", fault.NotSignable, "inputDocuments[1] "+PasswordNeeded+", <&\n"
	all := []DocumentResult{
		{Index: 0, Name: "a.pdf", File: &file, State: Done, SHA256: &sum, Findings: []DocumentNote{{Code: "X", Severity: "warning", Text: "x"}}},
		{Index: 1, Name: "b\n.pdf", State: Error, ErrorNumber: &number, ErrorMessage: &why},
	}
	text, err := storedResults(all)
	if err != nil {
		t.Fatal(err)
	}
	want := Tally{Signed: 1, Of: 2}
	got, tally, err := readResults(text)
	if err != nil || !reflect.DeepEqual(got, all) || tally != want || !tally.Partly() || tally.String() != "1 of 2 signed" {
		t.Errorf("%+v %v %v", got, tally, err)
	}
	if got[0].NeedsPassword() || !got[1].NeedsPassword() {
		t.Error("the second needs a password, the first does not")
	}
	if got, tally, err := readResults(text[:tallyLength]); err != nil || got != nil || tally != want {
		t.Errorf("a list reads %+v %v %v", got, tally, err)
	}
	for _, text := range []string{"x", "00002" + text[5:], text[:tallyLength-1] + "x", text + "x", "1 2\n[]"} {
		if got, tally, err := readResults(text); err == nil {
			t.Errorf("%.20q is read as %+v %v", text, got, tally)
		}
	}
	if text, err := storedResults(nil); text != "" || err != nil {
		t.Error("nothing is stored as", text, err)
	}
}
