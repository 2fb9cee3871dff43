package console

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/billing"
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

// written is a text as fmt has it: what is joined to it counts as a value.
func written(e ast.Expr, constants map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.Ident:
		s, ok := constants[e.Name]
		return s, ok
	case *ast.BinaryExpr:
		a, ok := written(e.X, constants)
		b, ok2 := written(e.Y, constants)
		if !ok {
			a = "%s"
		}
		if !ok2 {
			b = "%s"
		}
		return a + b, ok || ok2
	}
	return "", false
}

// saysDetail finds what a way of identification says of a part of it.
func saysDetail(n ast.Node, found func(ast.Expr)) {
	sentence := func(e ast.Expr) {
		if call, ok := e.(*ast.CallExpr); ok && len(call.Args) > 0 { // fmt.Sprintf
			e = call.Args[0]
		}
		found(e)
	}
	named := func(e ast.Expr) bool {
		s, ok := e.(*ast.SelectorExpr)
		return ok && s.Sel.Name == "Detail"
	}
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if k, ok := n.Key.(*ast.Ident); ok && k.Name == "Detail" {
			sentence(n.Value)
		}
	case *ast.AssignStmt:
		for i, e := range n.Lhs {
			if named(e) && n.Tok == token.ASSIGN && len(n.Rhs) == len(n.Lhs) {
				if index := slices.IndexFunc(n.Lhs, named); index == i {
					sentence(n.Rhs[i])
				}
			}
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "found" && len(n.Args) == 3 {
			found(n.Args[1])
		}
	}
}

// The values of a sentence are sentences too: what the audit log did not prove.
func TestFindingInAFinding(t *testing.T) {
	got := findings().in("19 entries and 2 checkpoints verify; not proved: witness file: the last 13 entries are newer than its last checkpoint; time-stamps of an outside authority: none")
	if want := "19 voci e 2 checkpoint sono integri; non dimostrato: file testimone: le ultime 13 voci sono più recenti del suo ultimo checkpoint; marche temporali di un'autorità esterna: nessuna"; got.Italian != want {
		t.Errorf("%q", got.Italian)
	}
}

// Everything that the doctor says is said in Italian on a page in Italian: the
// test reads what packages doctor and audit hand to fine, warn, bad, finding and
// unproved.
func TestEveryFindingIsTranslated(t *testing.T) {
	files, err := filepath.Glob("../../doctor/*.go")
	more, err2 := filepath.Glob("../../audit/*.go")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	checked := 0
	check := func(at string, e ast.Expr, constants map[string]string) {
		text, ok := written(e, constants)
		if !ok || slices.Contains([]string{"%s", "%v", "%s: %s"}, text) {
			return
		}
		checked++
		said := verb.ReplaceAllString(strings.ReplaceAll(text, "%%", "%"), "7")
		if got := findings().in(said); got.Italian == "" || got.Italian == got.English && !strings.HasPrefix(text, "chmod") && text != "rogito trust update" {
			t.Errorf("%s: %q is %q in Italian", at, text, got.Italian)
		} else if strings.Contains(got.Italian, "%!") || got.English != said {
			t.Errorf("%s: %q has other values than %q", at, text, got.Italian)
		}
	}
	methods, err := filepath.Glob("../../identify/*/c*.go")
	if err != nil || len(methods) < 3 {
		t.Fatal(methods, err)
	}
	for _, name := range slices.Concat(files, more, methods) {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "provider.go") || strings.HasSuffix(name, "export.go") { // these are for the command line
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		constants := map[string]string{}
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
				if s, ok := written(v.Values[0], nil); ok {
					constants[v.Names[0].Name] = s
				}
			}
			if slices.Contains(methods, name) {
				saysDetail(n, func(e ast.Expr) { check(name, e, constants) })
				return true
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			called := ""
			switch f := call.Fun.(type) {
			case *ast.Ident:
				called = f.Name
			case *ast.SelectorExpr:
				called = f.Sel.Name
			}
			switch called {
			case "fine", "finding", "unproved":
				check(name, call.Args[0], constants)
			case "warn", "bad":
				if strings.Contains(name, "doctor") {
					check(name, call.Args[0], constants)
					check(name, call.Args[1], constants)
				}
			}
			return true
		})
	}
	if checked < 50 {
		t.Errorf("only %d sentences were found: the test reads the wrong folder", checked)
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
