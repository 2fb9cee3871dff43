package rogito_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/surface.txt anew")

// public are the packages that others may build on, and those of the command, which promise nothing
// to other modules.
var public = []string{".", "ades", "adestest", "asic", "cades", "client", "jades", "omi", "pades", "pkcs1", "policy", "report", "report/paper", "server", "trust", "tsl", "tsp", "xades"}

// Everything exported stands in testdata/surface.txt, so that a change of it is
// seen in review. go test . -run TestSurface -update writes it anew.
func TestSurface(t *testing.T) {
	var all strings.Builder
	for _, dir := range public {
		lines := surface(t, dir)
		fmt.Fprintf(&all, "package %s\n", filepath.ToSlash(filepath.Join(module, dir)))
		for _, l := range lines {
			fmt.Fprintf(&all, "\n%s\n", l)
		}
		all.WriteString("\n")
	}
	file := filepath.Join("testdata", "surface.txt")
	if *update {
		if err := os.WriteFile(file, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == all.String() {
		return
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(all.String(), "\n")
	for i, l := range is {
		if i >= len(was) || was[i] != l {
			t.Fatalf("what is exported has changed, first at line %d:\n  %s\nIf that is meant: go test . -run TestSurface -update", i+1, l)
		}
	}
	t.Fatal("something exported is gone. If that is meant: go test . -run TestSurface -update")
}

// surface lists the exported declarations of a package, without bodies and
// comments. An exported declaration that names a type of an internal package
// cannot be used from outside, and is an error, except in server, which only the command and the
// tests of this module use.
func surface(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution) // comments are left out
		if err != nil {
			t.Fatal(err)
		}
		internal := map[string]string{}
		for _, i := range file.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			if base := path[strings.LastIndex(path, "/")+1:]; strings.Contains(path, "/internal/") {
				internal[base] = path
			}
		}
		if !ast.FileExports(file) {
			continue
		}
		for _, d := range file.Decls {
			var one []ast.Node
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && !ast.IsExported(receiver(d)) {
					continue
				}
				d.Body = nil
				one = append(one, d)
			case *ast.GenDecl:
				if d.Tok == token.IMPORT {
					continue
				}
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR {
						v.Values = nil // what it is at the start is not its type
					}
					one = append(one, &ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{s}})
				}
			}
			for _, n := range one {
				ast.Inspect(n, func(n ast.Node) bool {
					if v, ok := n.(*ast.ValueSpec); ok && v.Type == nil {
						return false // a constant's value names no type
					}
					if sel, ok := n.(*ast.SelectorExpr); ok {
						if x, ok := sel.X.(*ast.Ident); ok && internal[x.Name] != "" && dir != "server" {
							t.Errorf("%s: what is exported names %s of %s", name, sel.Sel.Name, internal[x.Name])
						}
					}
					return true
				})
				var b bytes.Buffer
				if err := format.Node(&b, fset, n); err != nil {
					t.Fatal(err)
				}
				lines = append(lines, squeeze(b.String()))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// receiver is the name of the type that a method is of.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// squeeze leaves out the empty lines where comments stood.
func squeeze(s string) string {
	var out []string
	for line := range strings.Lines(s) {
		if line = strings.TrimRight(line, " \t\n"); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
