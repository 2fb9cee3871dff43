package look

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"
)

// names stand in templates as they are: they are the same in both languages.
var names = []string{"Rogito", "English", "Italiano", "SPID", "CIE", "PDF", "SHA-256", "QR", "File"}

// Every text on a page is there in Italian and in English, and no text stands in
// a template outside {{t}}. The test reads all packages of pages.
func TestTextsAreTranslated(t *testing.T) {
	checked := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, ".html"):
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, problem := range templateProblems(path, string(b), &checked) {
				t.Error(problem)
			}
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			for _, problem := range goProblems(t, path, nil, &checked) {
				t.Error(problem)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d texts", checked)
	if checked < 15 {
		t.Errorf("only %d texts were found: the test reads the wrong folder", checked)
	}
}

// The test finds what it is there for.
func TestTextsAreTranslatedFinds(t *testing.T) {
	for text, want := range map[string]string{
		`<p>Hello</p>`:                                            "outside",
		`<p>{{t "Hello" ""}}</p>`:                                 "missing",
		`<p>{{t "Hello" "Hello"}}</p>`:                            "same",
		`<p>{{t "%d files" "file" 3}}</p>`:                        "verbs",
		`<input placeholder="Your name">`:                         "outside",
		`<p>{{if .X}}Hello{{end}}</p>`:                            "outside",
		`<a title="{{t "Hi" "Ciao"}}">{{.N}}</a>`:                 "",
		`<p>{{t "Hello" "Ciao"}} <code>x</code></p>`:              "",
		`<p>{{template "alert" alert "Text" (t "Hello" "")}}</p>`: "missing",
	} {
		n := 0
		got := templateProblems("x.html", text, &n)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: %v, not %q", text, got, want)
		}
	}
	n := 0
	src := "package x\nimport \"look\"\nvar a = look.T(\"Hello\", \"\")\nvar b = look.T(\"Hello\", \"Ciao\")\n"
	if got := goProblems(t, "x.go", src, &n); len(got) != 1 || n != 2 {
		t.Errorf("in Go: %v of %d", got, n)
	}
}

var (
	tags    = regexp.MustCompile(`(?s)<!--.*?-->|<(script|style|code|title)\b.*?</(script|style|code|title)>|<[^>]*>`)
	spoken  = regexp.MustCompile(`\s(?:alt|title|placeholder|aria-label|label)="([^"]*)"`)
	letters = regexp.MustCompile(`\pL{2,}`)
	verbs   = regexp.MustCompile(`%[a-z]`)
)

// templateProblems reads a template's tree.
func templateProblems(path, text string, checked *int) (problems []string) {
	tree := parse.New(path)
	tree.Mode = parse.SkipFuncCheck
	set := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", set); err != nil {
		return []string{path + ": " + err.Error()}
	}
	for _, one := range set {
		if one.Root == nil {
			continue
		}
		var plain strings.Builder
		walk(one.Root, func(n parse.Node) {
			switch n := n.(type) {
			case *parse.TextNode:
				plain.Write(n.Text)
			case *parse.CommandNode:
				if p := checkCall(n); p != "" {
					problems = append(problems, fmt.Sprintf("%s: %s: %s", path, n, p))
				}
				if id, ok := n.Args[0].(*parse.IdentifierNode); ok && id.Ident == "t" {
					*checked++
				}
			}
		})
		html := plain.String()
		for _, m := range spoken.FindAllStringSubmatch(html, -1) {
			if outside(m[1]) {
				problems = append(problems, fmt.Sprintf("%s: %q stands outside {{t}}", path, m[1]))
			}
		}
		for piece := range strings.SplitSeq(tags.ReplaceAllString(html, "\x00"), "\x00") {
			if outside(piece) {
				problems = append(problems, fmt.Sprintf("%s: %q stands outside {{t}}", path, strings.TrimSpace(piece)))
			}
		}
	}
	return problems
}

func outside(s string) bool {
	return slices.ContainsFunc(letters.FindAllString(s, -1), func(word string) bool { return !slices.Contains(names, word) && word != "SHA" })
}

// checkCall looks at a call of t.
func checkCall(n *parse.CommandNode) string {
	id, ok := n.Args[0].(*parse.IdentifierNode)
	if !ok || id.Ident != "t" {
		return ""
	}
	if len(n.Args) < 3 {
		return "a text is missing"
	}
	english, ok1 := n.Args[1].(*parse.StringNode)
	italian, ok2 := n.Args[2].(*parse.StringNode)
	if !ok1 || !ok2 {
		return "texts are literals"
	}
	if len(verbs.FindAllString(english.Text, -1)) != len(n.Args)-3 {
		return "verbs and arguments differ"
	}
	return checkPair(english.Text, italian.Text)
}

func checkPair(english, italian string) string {
	switch {
	case strings.TrimSpace(english) == "" || strings.TrimSpace(italian) == "":
		return "a text is missing"
	case english == italian && outside(english):
		return "both texts are the same"
	case !slices.Equal(verbs.FindAllString(english, -1), verbs.FindAllString(italian, -1)):
		return "verbs differ"
	}
	return ""
}

// goProblems reads the calls of T in a Go file.
func goProblems(t *testing.T, path string, src any, checked *int) (problems []string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := ""
		switch f := call.Fun.(type) {
		case *ast.SelectorExpr:
			if x, ok := f.X.(*ast.Ident); ok && x.Name == "look" {
				name = f.Sel.Name
			}
		case *ast.Ident:
			if filepath.Base(filepath.Dir(path)) == ".." || strings.HasPrefix(filepath.ToSlash(path), "../look/") {
				name = f.Name
			}
		}
		if name != "T" {
			return true
		}
		problem := "texts are literals"
		if len(call.Args) == 2 {
			english, ok1 := literal(call.Args[0])
			italian, ok2 := literal(call.Args[1])
			if ok1 && ok2 {
				problem = checkPair(english, italian)
				*checked++
			} else if inT(call) {
				problem = "" // the function itself, and its use for templates
			}
		}
		if problem != "" {
			problems = append(problems, fmt.Sprintf("%s: %s", set.Position(call.Pos()), problem))
		}
		return true
	})
	return problems
}

// inT: the arguments are called as those of the template function are.
func inT(call *ast.CallExpr) bool {
	a, ok1 := call.Args[0].(*ast.Ident)
	b, ok2 := call.Args[1].(*ast.Ident)
	return ok1 && ok2 && a.Name == "english" && b.Name == "italian"
}

func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		a, ok1 := literal(e.X)
		b, ok2 := literal(e.Y)
		return a + b, ok1 && ok2
	}
	return "", false
}

// walk visits the nodes of a tree in order.
func walk(n parse.Node, visit func(parse.Node)) {
	if n == nil {
		return
	}
	visit(n)
	list := func(l *parse.ListNode) {
		if l != nil {
			for _, c := range l.Nodes {
				walk(c, visit)
			}
		}
	}
	branch := func(p *parse.PipeNode, a, b *parse.ListNode) {
		walk(p, visit)
		list(a)
		list(b)
	}
	switch n := n.(type) {
	case *parse.ListNode:
		list(n)
	case *parse.ActionNode:
		walk(n.Pipe, visit)
	case *parse.TemplateNode:
		if n.Pipe != nil {
			walk(n.Pipe, visit)
		}
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			walk(c, visit)
		}
	case *parse.CommandNode:
		for _, a := range n.Args {
			if p, ok := a.(*parse.PipeNode); ok {
				walk(p, visit)
			}
		}
	case *parse.IfNode:
		branch(n.Pipe, n.List, n.ElseList)
	case *parse.RangeNode:
		branch(n.Pipe, n.List, n.ElseList)
	case *parse.WithNode:
		branch(n.Pipe, n.List, n.ElseList)
	}
}
