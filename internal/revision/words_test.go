package revision_test

import (
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/revision"
)

// TestWords: every line of the table is said in Italian as well.
func TestWords(t *testing.T) {
	for what, english := range revision.Words() {
		got := finding.ChangeText("it", ades.Change{What: what, Description: english})
		if got == english {
			t.Errorf("%s has no Italian", what)
		}
	}
}
