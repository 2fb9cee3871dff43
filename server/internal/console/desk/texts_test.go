package desk

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/signing"
)

// Every kind of event that a record can have is named in both languages.
func TestEveryEventHasAName(t *testing.T) {
	for _, kind := range append([]string{"callback", "audit-lost"}, signing.Kinds...) {
		if name := events[kind]; name.English == "" || name.Italian == "" {
			t.Errorf("%s is called %+v", kind, name)
		}
	}
	for kind := range events {
		if kind != "callback" && kind != "audit-lost" && !slices.Contains(signing.Kinds, kind) {
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

// Everything that the doctor says is said in Italian on a page in Italian: the
// test reads what package doctor hands to fine, warn, bad and finding.
func TestEveryFindingIsTranslated(t *testing.T) {
	packages, err := parser.ParseDir(token.NewFileSet(), "../../doctor", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") && f.Name() != "provider.go" }, 0)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	check := func(at string, e ast.Expr, constants map[string]string) {
		text, ok := written(e, constants)
		if !ok || text == "%s" || text == "%v" {
			return
		}
		checked++
		said := verb.ReplaceAllString(strings.ReplaceAll(text, "%%", "%"), "7")
		if got := findings.in(said); got.Italian == "" || got.Italian == got.English && !strings.HasPrefix(text, "chmod") && text != "rogito trust update" {
			t.Errorf("%s: %q is %q in Italian", at, text, got.Italian)
		} else if strings.Contains(got.Italian, "%!") || got.English != said {
			t.Errorf("%s: %q has other values than %q", at, text, got.Italian)
		}
	}
	for _, p := range packages {
		for name, file := range p.Files {
			constants := map[string]string{}
			ast.Inspect(file, func(n ast.Node) bool {
				if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
					if s, ok := written(v.Values[0], nil); ok {
						constants[v.Names[0].Name] = s
					}
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
				case "fine", "finding":
					check(name, call.Args[0], constants)
				case "warn", "bad":
					check(name, call.Args[0], constants)
					check(name, call.Args[1], constants)
				}
				return true
			})
		}
	}
	if checked < 50 {
		t.Errorf("only %d sentences were found: the test reads the wrong folder", checked)
	}
}
