package fault

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
		"A server has this page at `/docs/errors`; a failed call names its row in the header `Link` (rel=help),\n" +
		"and `application/problem+json` in `type`: `/docs/errors#625`.\n\n" +
		"| code | HTTP | meaning | cause | cure |\n|---|---|---|---|---|\n")
	for _, r := range Table {
		a := Cure(r.Code)
		if a.Cause == "" || a.Cure == "" {
			fmt.Fprintf(&b, "| %d HAS NO CURE |\n", r.Code)
		}
		fmt.Fprintf(&b, "| <a id=\"%d\"></a>%d | %s | %s | %s | %s |\n", r.Code, r.Code, where(r), r.Meaning, a.Cause, a.Cure)
	}
	return b.String()
}

func where(r Row) string {
	switch r.Code {
	case NoRoute:
		return "404, 405"
	case CertificateLocked:
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
	if !slices.IsSortedFunc(Table, func(a, b Row) int { return int(a.Code - b.Code) }) {
		t.Error("not sorted")
	}
	for i := 1; i < len(Table); i++ {
		if Table[i].Code == Table[i-1].Code {
			t.Errorf("%d stands twice", Table[i].Code)
		}
	}
}

func TestStatus(t *testing.T) {
	for code, want := range map[Code]int{WrongToken: 401, BadLatitude: 422, SigningFailed: 500, 99999: 500, WrongCredentials: 500} {
		if got := Status(code); got != want {
			t.Errorf("%d: %d, want %d", code, got, want)
		}
	}
	if e := (&Error{Code: NoRoute, Status: 405}); e.HTTP() != 405 {
		t.Error("the error's own status does not win")
	}
}

func TestBecauseIsNotShown(t *testing.T) {
	cause := errors.New("secret")
	e := New(Unavailable, "storage is %s", "down").Because(cause)
	if strings.Contains(e.Error(), "secret") || !errors.Is(e, cause) {
		t.Error(e.Error())
	}
}

func TestIsAsksForTheCode(t *testing.T) {
	err := fmt.Errorf("load: %w", New(NotFound, "no such record").Because(os.ErrNotExist))
	if !errors.Is(err, NotFound) || errors.Is(err, Deleted) || !errors.Is(err, os.ErrNotExist) {
		t.Error("errors.Is must find the code and the cause, and no other code")
	}
}

// Codes are written by name. Lists of the codes that an operation may answer
// (Errors, BadField) repeat the numbers of the contract.
func TestCodesAreNamed(t *testing.T) {
	bare := regexp.MustCompile(`fault\.New\(\d|fault\.Error\{\s*Code: \d|\.Code [!=]= \d`)
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		for _, at := range bare.FindAllIndex(src, -1) {
			if src[at[1]-1] != '0' { // "== 0" asks whether there is a code
				t.Errorf("%s: %s…", path, src[at[0]:at[1]])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
