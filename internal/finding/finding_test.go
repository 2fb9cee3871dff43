package finding

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
)

var update = flag.Bool("update", false, "write docs/findings.md anew")

var place = regexp.MustCompile(`\{[^}]*\}`)

// Both languages of every row have the same places in the same order, and its
// code is a word.
func TestRows(t *testing.T) {
	code := regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)
	known := map[string]bool{"{}": true, "{quoted}": true, "{word}": true, "{time}": true, "{detail}": true, "{change}": true}
	for _, k := range All() {
		en, it := place.FindAllString(k.English, -1), place.FindAllString(k.Italian, -1)
		if !code.MatchString(k.Code) || k.English == "" || k.Italian == "" || k.English == k.Italian || strings.Join(en, " ") != strings.Join(it, " ") {
			t.Errorf("%s: %q, %q", k.Code, k.English, k.Italian)
		}
		for _, p := range en {
			if !known[p] {
				t.Errorf("%s: %s is no place", k.Code, p)
			}
		}
	}
}

// Every row is used somewhere outside this package, and is given as many values
// as it has places.
func TestRowsAreUsed(t *testing.T) {
	vars := map[string]*Kind{} // by the name of the variable
	for _, name := range []string{"json.go", "judged.go", "read.go", "remarks.go", "slips.go", "xml.go", "zip.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
				call := v.Values[0].(*ast.CallExpr)
				vars[v.Names[0].Name] = table[strings.Trim(call.Args[0].(*ast.BasicLit).Value, `"`)]
			}
			return true
		})
	}
	if len(vars) != len(table) {
		t.Fatalf("%d variables for %d rows", len(vars), len(table))
	}
	used := map[string]bool{"Malformed": true, "Unreadable": true, "TooMuch": true, "PasswordWrong": true} // by Of
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "clients" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("internal/finding")) {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if name := rowName(n); vars[name] != nil {
				used[name] = true
			}
			if call, ok := n.(*ast.CallExpr); ok {
				if k, given := values(call, vars); k != nil && given != places(k) {
					t.Errorf("%s: %s has %d places, and is given %d values", set.Position(n.Pos()), k.Code, places(k), given)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range vars {
		if !used[name] {
			t.Errorf("nothing says %s", k.Code)
		}
	}
}

func places(k *Kind) int { return len(place.FindAllString(k.English, -1)) }

// rowName is X of finding.X.
func rowName(n ast.Node) string {
	if sel, ok := n.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "finding" {
			return sel.Sel.Name
		}
	}
	return ""
}

// values counts those of finding.X.Problem(where, …) and its like; the row is
// nil where it is no such call, or where the values are a list.
func values(call *ast.CallExpr, vars map[string]*Kind) (*Kind, int) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || call.Ellipsis != 0 {
		return nil, 0
	}
	k := vars[rowName(sel.X)]
	before, ok := map[string]int{"Problem": 1, "Lesser": 1, "New": 0, "Malformed": 2}[sel.Sel.Name]
	if k == nil || !ok {
		return nil, 0
	}
	return k, len(call.Args) - before
}

func TestSentence(t *testing.T) {
	p := CertRevoked.Problem("", "Anna\nVALID", time.Date(2026, 11, 17, 15, 4, 0, 0, time.UTC))
	if strings.Contains(p.Text, "\n") || !strings.Contains(p.Text, "on 2026-11-17 15:04, and") || p.Code != "CERT_REVOKED" || !p.Fatal {
		t.Errorf("%+v", p)
	}
	text, ok := Text("it", p.Code, p.Values, func(string) string { return "ieri" })
	if !ok || !strings.Contains(text, "è stato revocato il ieri, e") {
		t.Error(text)
	}
	if text, _ := Text("it", "KEY_TOO_WEAK", []string{"RSA", "512", CertificateOf("Anna")}, nil); text != "La chiave RSA di 512 bit (certificato di Anna) è troppo debole." {
		t.Error(text)
	}
	change := ades.Change{Description: "a signature was added", What: "signature-visible", Page: 3, Field: "S"}
	if text, _ := Text("it", ChangeForbidden.Code, texts(Change(change)), nil); !strings.HasSuffix(text, `a pagina 3: "S".`) {
		t.Error(text)
	}
	if p := Of("x", fmt.Errorf("read: %w", ZIPGap.Malformed("ZIP", "y", 3))); p.Code != "ZIP_GAP" || p.Values[0] != "3" || p.Where != "x" {
		t.Errorf("%+v", p)
	}
	if p := Of("", ades.Malformed("CMS", "sid", "bad length")); p.Code != "MALFORMED" || p.Text != "malformed CMS (sid: bad length)" {
		t.Errorf("%+v", p)
	}
	if _, ok := Text("en", "NONE", nil, nil); ok {
		t.Error("a text of no row")
	}
}

// docs/findings.md is the table.
func TestDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Findings\n\nEverything that a verification may say about a document: `findings[]` of `POST /verify` and of `rogito verify --json` " +
		"have `code`, `severity`, `text` and `values`. Match on the code; texts may become better. The values stand in the order of the places " +
		"in the text: `{}` and `{quoted}` a value of the document, `{word}` one of our words, `{time}` a time (`2006-01-02 15:04`, UTC, or a day), `{detail}` what a " +
		"parser or the network said (in English, may be empty), `{change}` a change after signing (description, kind, page, field, name). " +
		"A reader may rate a finding lower than it stands here where the place makes it harmless. `STAMP_…` and `LOCK_NO_FIELD` are said at signing: " +
		"`Signed.Remarks` of the library, `remarks[]` of the event `signature` of a record.\n\nWritten by `make docs`.\n\n" +
		"| code | severity | English | Italian |\n|---|---|---|---|\n")
	for _, k := range All() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Code, k.Severity, k.English, k.Italian)
	}
	name := filepath.Join("..", "..", "docs", "findings.md")
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil || string(have) != b.String() {
		t.Errorf("docs/findings.md is not the table (%v): make docs", err)
	}
}
