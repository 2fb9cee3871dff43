package signing_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// The tables of docs/lifecycle.md are the ones that the code follows.
func TestLifecycleIsDocumented(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../docs/lifecycle.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "## Signatures")
	signatures, certificates, _ := strings.Cut(rest, "## Certificates")
	var want []string
	for _, s := range ledger.States {
		for _, n := range s.Next() {
			want = append(want, string(s)+" "+string(n))
		}
	}
	compare(t, "signatures", table(signatures), want)
	want = nil
	for _, s := range enroll.States {
		for _, n := range s.Next() {
			want = append(want, string(s)+" "+string(n))
		}
	}
	compare(t, "certificates", table(certificates), want)
}

func table(text string) []string {
	var rows []string
	for _, line := range strings.Split(text, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) == 5 && strings.ToUpper(cells[1]) == cells[1] && strings.TrimSpace(cells[1]) != "" && !strings.Contains(cells[1], "---") {
			rows = append(rows, strings.TrimSpace(cells[1])+" "+strings.TrimSpace(cells[2]))
		}
	}
	return rows
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: the document has\n%v\nthe code\n%v", what, got, want)
	}
}
