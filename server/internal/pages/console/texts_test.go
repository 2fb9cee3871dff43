package console

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/sentence"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// Every kind of event that a record can have is named in both languages.
func TestEveryEventHasAName(t *testing.T) {
	for _, kind := range append([]string{"callback", "audit-lost"}, ledger.Kinds...) {
		if name := events[kind]; name.English == "" || name.Italian == "" {
			t.Errorf("%s is called %+v", kind, name)
		}
	}
	for kind := range events {
		if kind != "callback" && kind != "audit-lost" && !slices.Contains(ledger.Kinds, kind) {
			t.Errorf("%s is no kind of event", kind)
		}
	}
}

// The values of a sentence may be sentences: what the audit log did not prove.
func TestFindingInAFinding(t *testing.T) {
	got := both(sentence.New("%d entries and %d checkpoints verify; not proved: %s", 19, 2, []sentence.Sentence{
		sentence.New("%s: the last %d entries are newer than its last checkpoint", sentence.New("witness file"), 13),
		sentence.New("time-stamps of an outside authority: none"),
	}))
	if want := "19 entries and 2 checkpoints verify; not proved: witness file: the last 13 entries are newer than its last checkpoint; time-stamps of an outside authority: none"; got.English != want {
		t.Errorf("%q", got.English)
	}
	if want := "19 voci e 2 checkpoint sono integri; non dimostrato: file testimone: le ultime 13 voci sono più recenti del suo ultimo checkpoint; marche temporali di un'autorità esterna: nessuna"; got.Italian != want {
		t.Errorf("%q", got.Italian)
	}
}

var verbs = regexp.MustCompile(`%(?:\.\d)?[a-z]`)

// Everything that the doctor says is said in Italian on a page in Italian, with the same values.
func TestEveryFindingIsTranslated(t *testing.T) {
	said := map[sentence.Form]bool{}
	err := filepath.WalkDir("../../..", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() == "console" || d.Name() == "sentence" {
			return err
		}
		eachForm(t, dir, func(at token.Position, form sentence.Form, values int) {
			said[form] = true
			italian, ok := italianFindings[form]
			want := verbs.FindAllString(string(form), -1)
			switch {
			case len(want) != values:
				t.Errorf("%s: %q has %d values", at, form, values)
			case !ok && regexp.MustCompile(`\pL`).MatchString(verbs.ReplaceAllString(string(form), "")):
				t.Errorf("%s: %q has no Italian", at, form)
			case ok && !slices.Equal(verbs.FindAllString(string(italian), -1), want):
				t.Errorf("%s: %q has other values in %q", at, form, italian)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for form := range italianFindings {
		if !said[form] {
			t.Errorf("nobody says %q", form)
		}
	}
}

// eachForm finds the forms in a package. A form is a literal that is handed to a function which
// takes one: the calls are read, and whatever else could make a form is refused, so that none is
// missed.
func eachForm(t *testing.T, dir string, found func(at token.Position, form sentence.Form, values int)) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	of := func(n ast.Node, names ...string) bool {
		s, ok := n.(*ast.SelectorExpr)
		return ok && fmt.Sprint(s.X) == "sentence" && slices.Contains(names, s.Sel.Name)
	}
	set, files, takes, seen := token.NewFileSet(), []*ast.File{}, map[string]int{}, map[ast.Node]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		for _, i := range f.Imports {
			if strings.HasSuffix(i.Path.Value, `/sentence"`) && i.Name != nil {
				t.Errorf("%s: sentence has another name", name)
			}
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			for i, at := 0, 0; ok && i < len(fn.Type.Params.List); i++ {
				p := fn.Type.Params.List[i]
				if of(p.Type, "Form") && !fn.Name.IsExported() { // others would be called elsewhere
					takes[fn.Name.Name], seen[fn.Name], seen[p.Type] = at, true, true
				}
				at += len(p.Names)
			}
		}
	}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			at, ok := 0, of(n.Fun, "New")
			switch f := n.Fun.(type) {
			case *ast.Ident:
				at, ok = takes[f.Name]
				seen[f] = true
			case *ast.SelectorExpr:
				if !ok {
					at, ok = takes[f.Sel.Name]
				}
				seen[f], seen[f.Sel] = ok, true
			}
			if !ok {
				return true
			}
			if form, ok := n.Args[at].(*ast.BasicLit); ok {
				text, _ := strconv.Unquote(form.Value)
				found(set.Position(n.Pos()), sentence.Form(text), len(n.Args)-at-1)
			} else if !n.Ellipsis.IsValid() { // with the values that a function got it hands on the form too
				t.Errorf("%s: the form is no literal", set.Position(n.Pos()))
			}
		case *ast.SelectorExpr:
			if of(n, "New", "Form") && !seen[n] {
				t.Errorf("%s: a form could be made here", set.Position(n.Pos()))
			}
		case *ast.Ident:
			if _, ok := takes[n.Name]; ok && !seen[n] {
				t.Errorf("%s: %s is called elsewhere", set.Position(n.Pos()), n.Name)
			}
		}
		return true
	}
	for _, f := range files {
		ast.Inspect(f, visit)
	}
}

// A remark is a sentence in both languages by its code; one that this version does not
// know keeps its text.
func TestRemark(t *testing.T) {
	got := remark(ledger.Remark{Code: "STAMP_MOVED", Text: "x", Values: []string{"436,755", "1", "600", "800"}})
	if got.English != "The visible signature was moved onto the page, to 436,755: page 1 is 600 by 800 points." || got.Italian != "La firma visibile è stata spostata dentro la pagina, in 436,755: la pagina 1 misura 600 per 800 punti." {
		t.Errorf("%+v", got)
	}
	if got := remark(ledger.Remark{Code: "STAMP_OF_TOMORROW", Text: "new"}); got.English != "New." || got.Italian != "New." {
		t.Errorf("%+v", got)
	}
}

// Scopes and calls are told in words where there are some.
func TestScopesInWords(t *testing.T) {
	if got := purposeOf([]string{"*:*/*"}); got.Italian != "Tutto" {
		t.Errorf("%+v", got)
	}
	if got := purposeOf([]string{"GET:*/wallet"}); !got.IsZero() {
		t.Errorf("%+v", got)
	}
	for scope, want := range map[string]string{"POST:127.0.0.1/EU-QES_automatic": "POST /EU-QES_automatic", "GET:a.example/console": "Pages of this console", "?": "?"} {
		if got := callOf(scope).English; got != want {
			t.Errorf("%s is %q", scope, got)
		}
	}
	got := usageOf([]billing.Count{{Name: "GET:a/console", Requests: 2, Amount: 1}, {Name: "POST:a/verify", Requests: 5}, {Name: "POST:b/console", Requests: 1, Errors: 1, Amount: 2}})
	if len(got) != 2 || got[0].Requests != 3 || got[0].Errors != 1 || got[0].Amount != 3 || got[1].Requests != 5 {
		t.Errorf("%+v", got)
	}
}
