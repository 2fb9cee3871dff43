package browser

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// asksFirst is said of the addresses of one page, with other words in it.
const asksFirst = "the page of /console/certificates/{id}/revoke, about something else"

// notPages are addresses of the server, beside the operations of the API, that show
// no page of ours to a person.
var notPages = map[string]string{
	"/favicon.ico": "a redirection", "/console": "a redirection", "/docs/": "a redirection", "/console/{$}": "the page at /console/: TestConsoleLooks looks at it in every way",
	"/pages/*": "style sheets and scripts", "/map/areas": "outlines for the script", "/map/values.csv": "a table to download",
	"/map/*": "below it: /map/areas", "/console/*": "what is below it is listed by itself", "/console/": "an error page: TestConsoleLooks",
	"/docs": "in English, as all of the reference: TestDocsPages looks at it in every way", "/docs/reference": "a redirection", "/docs/reference/*": "in English, as all of the reference: TestDocsPages looks at two in every way", "/demo/*": "stands in for the pages of identity providers, in a sandbox",
	"/docs/errors":     "a part of the reference, in English: TestDocsPages looks at it in every way",
	"/remote/callback": "is there with a provider of remote keys only; its refusals are the page of /cie/callback",
	"/openapi.json":    "for programs", "/openapi.yaml": "for programs", "/openapi-3.0.json": "for programs", "/healthz": "for programs", "/readyz": "for programs", "/metrics": "for programs",
	"/pki/*": "certificates and lists", "/tsa": "for programs", "/spid/metadata": "for programs", "/spid/slo": "for identity providers", "/.well-known/openid-federation": "for programs",
	"/console/logout": "leads to the login", "/console/records/{id}/approve": "leads to the record", "/console/records/{id}/refuse": "leads to the record",
	"/console/records/{id}/callbacks/{callback}/resend": "leads to the record", "/console/certificates/{id}/{action}": "leads to the certificates", "/console/account/tokens/{id}/revoke": asksFirst,
	"/console/records.csv": "a table", "/console/sign/{id}/retry": "leads to the outcome: TestConsoleSignsSeveral", "/console/records/{id}/signed": "a document", "/console/records/{id}/signed/{n}": "a document", "/console/records/{id}/certificate.pdf": "a document", "/console/certificates/{id}/evidence/{n}": "a document",
	"/console/records/{id}/signers/{signer}/remind": "leads to the record", "/console/records/{id}/stop": asksFirst, "/console/records/{id}/delete": asksFirst,
	"/console/people/{id}/role": "leads to the people", "/console/people/{id}/again": "leads to the people", "/console/people/{id}/remove": asksFirst, "/console/sessions/{id}/end": "leads to the sessions",
	"/console/passkeys/{passkey}/remove": asksFirst,
	"/console/templates/{id}/delete":     asksFirst, "/console/certificates/{id}/cancel": asksFirst,
	"/sign/*":                              "what is below it is listed by itself",
	"/sign/{record}/{secret}/pages/{file}": "a picture", "/sign/{record}/{secret}/style.css": "a style sheet", "/sign/{record}/{secret}/logo": "a picture",
	"/sign/{record}/{secret}/signed": "a document", "/sign/{record}/{secret}/document": "a document",
	"/sign/{record}/{secret}/send-code": "leads to the signer's page", "/sign/{record}/{secret}/code": "leads to the signer's page", "/sign/{record}/{secret}/data": "leads to the signer's page",
	"/sign/{record}/{secret}/sign": "leads to the signer's page", "/sign/{record}/{secret}/decline": "leads to the signer's page",
	"/sign/{record}/{secret}/{method}":   "leads to an identity provider",
	"/sign/{record}/answer":              "leads to the signer's page",
	"/enrol/{id}/{secret}/statement.pdf": "a document",
	"/enrol/{id}/{secret}/send-otp":      "is there with a provider of remote keys only, and answers with the page of the order",
	"/spid/acs":                          "takes posts of identity providers only; its refusals are the page of /cie/callback",
	"/cns/{id}/{secret}":                 "asks for a card: its refusals are those of /cie/callback",
}

var pattern = regexp.MustCompile(`^(?:GET |POST )?(/\S*)$`)

// routes are the addresses that the server's sources mount, beside the operations
// of the API.
func routes(t testing.TB) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	add := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && pattern.MatchString(s) {
				all[pattern.FindStringSubmatch(s)[1]] = true
			}
		}
	}
	err := filepath.WalkDir(filepath.Join("..", "..", "server"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		console := strings.Contains(filepath.ToSlash(path), "/internal/pages/")
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Mount" || console && f.Sel.Name == "HandleFunc") && len(n.Args) > 1 {
					add(n.Args[0])
				}
			case *ast.KeyValueExpr: // the console's pages are a table
				if lit, ok := n.Key.(*ast.BasicLit); console && ok && strings.Contains(lit.Value, " /") {
					add(n.Key)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(all, "/check/*")
	return all
}

// The list of what is no page names nothing that is not there.
func TestRoutes(t *testing.T) {
	all := routes(t)
	if len(all) < 40 {
		t.Fatalf("only %d addresses were found: the test reads the wrong folder", len(all))
	}
	for path := range notPages {
		if !all[path] {
			t.Errorf("%s is not mounted any more", path)
		}
	}
}

// Before any page is looked at, all are missing, in every way.
func TestUnvisited(t *testing.T) {
	visited.Lock()
	kept := visited.ways
	visited.ways = map[string]map[string]bool{"/console/records/0123": {"English": true}, "/console/records/0123/signed": {"Italian": true}}
	visited.Unlock()
	missing := unvisited(t)
	visited.Lock()
	visited.ways = kept
	visited.Unlock()
	if want := (len(routes(t))-len(notPages))*len(demanded) - 1; len(missing) != want {
		t.Errorf("%d are missing, not %d: %v", len(missing), want, missing)
	}
}

// ways that every page has to be looked at in, by the tests together.
var demanded = []string{"English", "Italian", "scripts", "no scripts", "320 px", "400 %", "light", "dark", "forced colours", "axe-core"}

// visited says in which ways pages were held to what all pages keep.
var visited struct {
	sync.Mutex
	ways map[string]map[string]bool
}

// visit notes that a page was looked at.
func (b *tab) visit() {
	path := b.eval("location.pathname")
	h := b.how
	visited.Lock()
	defer visited.Unlock()
	if visited.ways == nil {
		visited.ways = map[string]map[string]bool{}
	}
	if visited.ways[path] == nil {
		visited.ways[path] = map[string]bool{}
	}
	for way, is := range map[string]bool{
		"English": h.Lang == "en", "Italian": h.Lang == "it", "scripts": !h.NoScripts, "no scripts": h.NoScripts, "320 px": h.Width == 320, "400 %": h.Zoom == 4,
		"light": !h.Dark, "dark": h.Dark, "forced colours": h.Forced, "axe-core": !h.Same,
	} {
		if is {
			visited.ways[path][way] = true
		}
	}
}

// fits says whether an address is one of a pattern.
func fits(path, pattern string) bool {
	a, b := strings.Split(path, "/"), strings.Split(pattern, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !strings.HasPrefix(b[i], "{") {
			return false
		}
	}
	return true
}

// unvisited are the pages, and the ways, that no test has looked at: a page that is
// added is among them until one does.
func unvisited(t testing.TB) (missing []string) {
	all := routes(t)
	for page := range all {
		if notPages[page] != "" {
			continue
		}
		seen := map[string]bool{}
		for path, ways := range visited.ways {
			if path == page || !all[path] && fits(path, page) { // an address of its own is not one of a pattern
				maps.Copy(seen, ways)
			}
		}
		for _, way := range demanded {
			if !seen[way] {
				missing = append(missing, fmt.Sprintf("%s: %s", page, way))
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// whole says that all tests of the package run.
func whole() bool {
	return flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
}

// everyPage fails a run of all tests that has left a page out.
func everyPage() (problems []string) {
	if started.c == nil || !whole() {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			problems = []string{fmt.Sprint(p)}
		}
	}()
	return unvisited(panicking{})
}

// panicking is a test's complaints after all tests.
type panicking struct{ testing.TB }

func (panicking) Helper()           {}
func (panicking) Fatal(args ...any) { panic(fmt.Sprint(args...)) }
