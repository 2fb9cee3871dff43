package report

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

// speakers are the packages whose texts reach a report: policy and trust, and
// the readers with the parsers below them.
var speakers = []string{
	".", "ades", "policy", "report", "trust", "cades", "pades", "xades", "asic", "tsp",
	"internal/cms", "internal/limits", "internal/pdf", "internal/pkix", "internal/revision", "internal/xmldom", "internal/xmldsig",
}

// calls are the functions whose literal arguments are said to people.
var calls = map[string]bool{
	"add": true, "problem": true, "fatal": true, "note": true, "bad": true, "Malformed": true, "New": true, "Errorf": true,
	"T": true, "f": true, "count": true, "noteIn": true, "Sprintf": true, "advise": true,
}

// talkative are files whose every literal is a text.
var talkative = regexp.MustCompile(`internal/pdf/ambiguity.*\.go$`)

// makers are files that only make signatures: what they say is said to those
// who sign.
var makers = map[string]bool{
	"prepare.go": true, "augment.go": true, "client.go": true, "responder.go": true, "options.go": true, "form.go": true, "stamp.go": true,
	"appearance.go": true, "enveloped.go": true, "policy.go": true, "sign.go": true, "formats.go": true, "rogito.go": true, "build.go": true, "write.go": true, "writer.go": true,
}

// fields are members whose literal values are.
var fields = map[string]bool{"Text": true, "Detail": true, "Description": true, "Broken": true}

// said collects the texts of one package.
func said(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	names, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, no files", dir, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || makers[filepath.Base(name)] {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		take := func(n ast.Node) {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return
			}
			if text, err := strconv.Unquote(lit.Value); err == nil {
				out[text] = set.Position(lit.Pos()).String()
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if talkative.MatchString(name) {
					take(n)
				}
			case *ast.CallExpr:
				name := calledName(n)
				if !calls[name] || dir == "report" && name != "T" && name != "f" && name != "count" && name != "advise" {
					return true
				}
				for _, a := range n.Args {
					take(a)
				}
			case *ast.GenDecl:
				if n.Tok == token.CONST && dir != "report" && dir != "policy" && dir != "internal/revision" {
					ast.Inspect(n, func(v ast.Node) bool { take(v); return true })
				}
			case *ast.CompositeLit:
				if id, ok := n.Type.(*ast.Ident); ok && id.Name == "skimError" {
					ast.Inspect(n, func(v ast.Node) bool { take(v); return true })
				}
			case *ast.KeyValueExpr:
				if id, ok := n.Key.(*ast.Ident); ok && fields[id.Name] {
					ast.Inspect(n.Value, func(v ast.Node) bool { take(v); return true })
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

// operation marks an error of a caller or of the machine, which no report
// shows: it begins with the package or the verb that failed.
var operation = regexp.MustCompile(`^(ades|asic|augment|cades|complete|pades|pdf|prepare|sign|tsp|trust|verify|xades|xmldsig|pkix|cms|policy|write|copy|store|encrypt)( [a-z]+)?: `)

// parts are what a template is looked up by: itself, or its pieces between
// colons. A piece without a space is a name of the standard, one of verbs only
// is somebody else's text.
func parts(text string) []string {
	var out []string
	for _, p := range strings.Split(text, ": ") {
		bare := strings.TrimSpace(verb.ReplaceAllString(p, ""))
		if strings.Contains(bare, " ") || strings.Contains(p, " ") && strings.ContainsAny(bare, "abcdefghijklmnopqrstuvwxyz") {
			out = append(out, strings.ReplaceAll(strings.TrimSuffix(p, ": "), "%w", "%v"))
		}
	}
	return out
}

func translated(text string) bool {
	if strings.HasPrefix(text, " ") || strings.HasSuffix(text, "/") { // a piece of one
		for english := range italian {
			if strings.Contains(english, text) {
				return true
			}
		}
	}
	for _, try := range []string{text, strings.ReplaceAll(text, "%v", "%s"), strings.ReplaceAll(text, "%w", "%s")} {
		if _, ok := italian[try]; ok {
			return true
		}
	}
	return false
}

// TestItalianIsComplete finds text without Italian: every literal that a
// package of verification hands to a function that speaks.
func TestItalianIsComplete(t *testing.T) {
	n := 0
	for _, dir := range speakers {
		for text, where := range said(t, dir) {
			if text == "" || operation.MatchString(text) || translated(text) {
				n++
				continue
			}
			for _, p := range parts(text) {
				n++
				if !translated(p) {
					t.Errorf("%s: no Italian for %q", strings.TrimPrefix(where, "../"), p)
				}
			}
		}
	}
	for _, words := range []map[SubIndication]string{meanings} {
		for sub, m := range words {
			if !translated(m) {
				t.Errorf("%s: no Italian for %q", sub, m)
			}
		}
	}
	for q, text := range qualifications {
		if !translated(text) {
			t.Errorf("%s: no Italian for %q", q, text)
		}
	}
	for block, text := range synopses {
		if !translated(text) {
			t.Errorf("%s: no Italian for %q", block, text)
		}
	}
	if n < 300 {
		t.Errorf("only %d texts found: does the test still look where they are?", n)
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
