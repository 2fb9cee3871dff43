package rogito_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var hop = regexp.MustCompile(`(?m)^\d+\. \[(\w+)\]\((\.\./[\w./]+\.go)\)`)

// The walks in docs/design.md, from a request to its stored record and from the queue to the same
// steps, are true: each function is where it says, one of those before it calls it or hands it on,
// and they are short enough to be followed.
func TestWalk(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	for heading, most := range map[string]struct{ hops, files int }{
		"From `POST /EU-QES_automatic` to the stored record": {15, 6},
		"Who works on a record that waits":                   {6, 3},
	} {
		_, section, found := strings.Cut(string(text), "\n### "+heading+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		hops := hop.FindAllStringSubmatch(section, -1)
		if files := follow(t, hops); !found || len(hops) < 5 || len(hops) > most.hops || files > most.files {
			t.Errorf("%s: %d hops in %d files", heading, len(hops), files)
		}
	}
}

// follow checks the hops of a walk, and counts their files.
func follow(t *testing.T, hops [][]string) int {
	files := map[string]bool{}
	named := map[string]bool{} // called by the functions so far
	for i, h := range hops {
		name, path := h[1], filepath.Join("docs", h[2])
		files[path] = true
		body := functions(t, path)[name]
		if body == nil {
			t.Errorf("%d. there is no %s in %s", i+1, name, path)
			continue
		}
		if i > 0 && !named[name] {
			t.Errorf("%d. %s is called by none of those before it", i+1, name)
		}
		ast.Inspect(body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				for _, f := range append(call.Args, call.Fun) { // a function is called, or handed on
					switch f := f.(type) {
					case *ast.Ident:
						named[f.Name] = true
					case *ast.SelectorExpr:
						named[f.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	return len(files)
}

// functions are the bodies of the functions and methods of a file, by name.
func functions(t *testing.T, path string) map[string]ast.Node {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]ast.Node{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			out[f.Name.Name] = f.Body
		}
	}
	return out
}
