package fault

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/errors.md")

// page is docs/errors.md: the table, for people.
func page() string {
	var b strings.Builder
	b.WriteString("# Error codes\n\n" +
		"`error` of a failed call is one of these numbers; `message` names the problem and the field.\n" +
		"Codes marked \"record\" are the `errorNumber` of a signature that ended in ERROR: the call itself\n" +
		"succeeded, or the failure came later.\n\n" +
		"This page is kept equal to the table in `server/internal/fault` by a test; write it anew with\n" +
		"`go test ./server/internal/fault -update`.\n\n" +
		"| code | HTTP | meaning |\n|---|---|---|\n")
	for _, r := range Table {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", r.Code, where(r), r.Meaning)
	}
	return b.String()
}

func where(r Row) string {
	switch r.Code {
	case 102:
		return "404, 405"
	case 111:
		return "423, record"
	}
	if r.Status == 0 {
		return "record"
	}
	return fmt.Sprint(r.Status)
}

func TestErrorsPageEqualsTheTable(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "errors.md")
	if *update {
		if err := os.WriteFile(path, []byte(page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != page() {
		t.Error("docs/errors.md differs from the table; run: go test ./server/internal/fault -update")
	}
}

func TestTableIsSortedAndUnique(t *testing.T) {
	if !slices.IsSortedFunc(Table, func(a, b Row) int { return a.Code - b.Code }) {
		t.Error("not sorted")
	}
	for i := 1; i < len(Table); i++ {
		if Table[i].Code == Table[i-1].Code {
			t.Errorf("%d stands twice", Table[i].Code)
		}
	}
}

func TestStatus(t *testing.T) {
	for code, want := range map[int]int{125: 401, 281: 422, 119: 500, 99999: 500, 110: 500} {
		if got := Status(code); got != want {
			t.Errorf("%d: %d, want %d", code, got, want)
		}
	}
	if e := (&Error{Code: 102, Status: 405}); e.HTTP() != 405 {
		t.Error("the error's own status does not win")
	}
}

func TestBecauseIsNotShown(t *testing.T) {
	cause := errors.New("secret")
	e := New(105, "storage is %s", "down").Because(cause)
	if strings.Contains(e.Error(), "secret") || !errors.Is(e, cause) {
		t.Error(e.Error())
	}
}
