package paper

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var verb = regexp.MustCompile(`%[-+# 0]*[0-9]*(?:\.[0-9]+)?[a-zA-Z]`)

// calls are the functions whose literal arguments are said to people.
var calls = map[string]bool{"T": true, "f": true, "count": true, "advise": true}

// said collects the texts of the report.
func said(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, no files", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !calls[calledName(call)] {
				return true
			}
			for _, a := range call.Args {
				if lit, ok := a.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil {
						out[text] = set.Position(lit.Pos()).String()
					}
				}
			}
			return true
		})
	}
	return out
}

func calledName(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// TestItalianIsComplete finds text without Italian.
func TestItalianIsComplete(t *testing.T) {
	texts := said(t)
	for sub, m := range meanings {
		texts[m] = string(sub)
	}
	for q, text := range qualifications {
		texts[text] = string(q)
	}
	for text, where := range texts {
		if _, ok := italian[text]; !ok && text != "" {
			t.Errorf("%s: no Italian for %q", where, text)
		}
	}
	if len(texts) < 150 {
		t.Errorf("only %d texts found: does the test still look where they are?", len(texts))
	}
}

// TestItalianVerbs: a translation has the verbs of its template, in its order.
func TestItalianVerbs(t *testing.T) {
	for english, text := range italian {
		a, b := verb.FindAllString(english, -1), verb.FindAllString(text, -1)
		if strings.Join(a, " ") != strings.Join(b, " ") {
			t.Errorf("%q has %v, its Italian %v", english, a, b)
		}
	}
}
