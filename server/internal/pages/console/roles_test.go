package console

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// Every page that somebody is logged in for names the roles that may open it, and
// nothing else does.
func TestEveryPageHasItsRoles(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "console.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	mounted := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			if lit, ok := kv.Key.(*ast.BasicLit); ok && strings.Contains(lit.Value, " /console") {
				pattern, _ := strconv.Unquote(lit.Value)
				mounted[pattern] = true
			}
		}
		return true
	})
	if len(mounted) < 40 {
		t.Fatalf("only %d pages were found", len(mounted))
	}
	for pattern := range mounted {
		if mayOpen[pattern] == nil {
			t.Errorf("%s: nobody says who may open it", pattern)
		}
	}
	for pattern, who := range mayOpen {
		if !mounted[pattern] {
			t.Errorf("%s is not there", pattern)
		}
		if who[0] != everybody[0] {
			t.Errorf("%s: owners may do everything", pattern)
		}
	}
}
