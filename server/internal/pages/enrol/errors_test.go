package enrol

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
)

// notOnPages are the files whose faults no page of enrolment can show.
var notOnPages = map[string]string{
	"enroll/order.go":  "an order is checked when it is bought: API and command line",
	"enroll/buy.go":    "what an account does to its certificates: API and command line",
	"enroll/client.go": "client certificates: API",
	"enroll/import.go": "certificates that are brought along: command line",
}

// Every refusal that a page of enrolment can show has a sentence of its own in both languages. The
// test reads the calls of fault.New in what the pages call: a new one needs a sentence.
func TestEveryFaultIsASentence(t *testing.T) {
	checked, unused := 0, map[string]bool{}
	for name := range notOnPages {
		unused[name] = true
	}
	for _, dir := range []string{"enroll", "identify", "identify/spid", "identify/cie", "identify/cns", "keys", "remote", "csc/client", "arss", "sws", "pages/enrol"} {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, path := range files {
			name := dir + "/" + filepath.Base(path)
			if delete(unused, name); strings.HasSuffix(path, "_test.go") || notOnPages[name] != "" {
				continue
			}
			for _, f := range faultsOf(t, path) {
				if f.format == "%s" { // what carries its sentences itself: a refusal in both languages
					continue
				}
				checked++
				args := slices.Repeat([]any{"7"}, strings.Count(f.format, "%s")+strings.Count(f.format, "%v"))
				said := sentence(fault.New(f.code, f.format, args...))
				plain := sentence(&fault.Error{Code: f.code})
				if said.Italian == plain.Italian || said.English == "" || said.Italian == said.English || strings.Contains(said.Italian+said.English, "%!") {
					t.Errorf("%s: %q is said as %q and %q", f.at, f.format, said.English, said.Italian)
				}
				for _, s := range []string{said.English, said.Italian} {
					if r := []rune(s); !strings.ContainsRune(".»7", r[len(r)-1]) || strings.ToUpper(string(r[0])) != string(r[0]) {
						t.Errorf("%s: %q is no sentence", f.at, s)
					}
				}
			}
		}
	}
	for name := range unused {
		t.Errorf("%s is not there any more", name)
	}
	if checked < 70 {
		t.Errorf("only %d faults were found: the test reads the wrong folders", checked)
	}
}

type written struct {
	at, format string
	code       fault.Code
}

// faultsOf finds the calls of fault.New in a file.
func faultsOf(t *testing.T, path string) (all []written) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || f.Sel.Name != "New" || len(call.Args) < 2 {
			return true
		}
		if x, ok := f.X.(*ast.Ident); !ok || x.Name != "fault" {
			return true
		}
		lit, ok := call.Args[1].(*ast.BasicLit)
		if !ok {
			t.Errorf("%s: the form of a fault is no literal", set.Position(call.Pos()))
			return true
		}
		format, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		// The codes are those of the table, by their names.
		code := fault.BadField
		if c, ok := call.Args[0].(*ast.SelectorExpr); ok && c.Sel.Name == "WrongState" {
			code = fault.WrongState
		}
		all = append(all, written{set.Position(call.Pos()).String(), format, code})
		return true
	})
	return all
}

// No code is said in English in an Italian page, whatever its text.
func TestNoEnglishInItalian(t *testing.T) {
	for _, row := range fault.Table {
		said := sentence(fault.New(row.Code, "the flux is %s", "odd"))
		if said.Italian == "" || strings.Contains(said.Italian, "flux") {
			t.Errorf("%d: %q", row.Code, said.Italian)
		}
	}
	if said := look.Sentence(fmt.Errorf("an accident")); strings.Contains(said.English+said.Italian, "accident") {
		t.Errorf("%+v", said)
	}
}

// What a reviewer can choose, and what the steps and ways are called, is there in both.
func TestWordsAreThere(t *testing.T) {
	for _, r := range enroll.Reasons {
		if r.Word == "" || r.English == "" || r.Italian == "" || r.English == r.Italian {
			t.Errorf("%+v", r)
		}
	}
	for step := range places {
		if titles[step].IsZero() {
			t.Errorf("%s has no title", step)
		}
	}
	for _, w := range ways {
		if titles[w.Method].IsZero() {
			t.Errorf("%s has no title", w.Method)
		}
	}
}
