package xmldsig

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/xmldom"
)

// canonCases are the shapes that trip canonicalisers, without DTDs.
var canonCases = []struct{ name, doc string }{
	{"pi and comments", "<?xml version=\"1.0\"?>\n<?xml-stylesheet   href=\"doc.xsl\"\n   type=\"text/xsl\"   ?>\n<doc>Hello, world!<!-- Comment 1 --></doc>\n<?pi-without-data     ?>\n<!-- Comment 2 -->\n<!-- Comment 3 -->"},
	{"white space", "<doc>\n   <clean>   </clean>\n   <dirty>   A   B   </dirty>\n   <mixed>\n      A\n      <clean>   </clean>\n      B\n   </mixed>\n</doc>"},
	{"tags", `<doc><e1   /><e2   ></e2><e3   name = "elem3"   id="elem3"   /><e4   name="elem4"   id="elem4"   ></e4><e5 a:attr="out" b:attr="sorted" attr2="all" attr="I'm" xmlns:b="http://www.ietf.org" xmlns:a="http://www.w3.org" xmlns="http://example.org"/><e6 xmlns="" xmlns:a="http://www.w3.org"><e7 xmlns="http://www.ietf.org"><e8 xmlns="" xmlns:a="http://www.w3.org"><e9 xmlns="" xmlns:a="http://www.ietf.org"/></e8></e7></e6></doc>`},
	{"references", "<doc><text>First line&#x0d;&#10;Second line</text><value>&#x32;</value><compute><![CDATA[value>\"0\" && value<\"10\" ?\"valid\":\"error\"]]></compute><compute expr='value>\"0\" &amp;&amp; value&lt;\"10\" ?\"valid\":\"error\"'>valid</compute><norm attr=' &apos;   &#x20;&#13;&#xa;&#9;   &apos; '/></doc>"},
	{"attribute line breaks", "<doc a='one\r\ntwo\tthree\nfour\rfive' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:schemaLocation='urn:a\n  a.xsd'>x\r\ny\rz</doc>"},
	{"latin-1", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><doc>\xA9</doc>"},
	{"undeclared default", `<a xmlns="urn:a"><b xmlns=""><c xmlns="urn:a" xmlns:p="urn:p"><p:d xmlns=""/></c></b></a>`},
	{"rebound prefix", `<p:a xmlns:p="urn:1" xmlns:q="urn:2"><p:b xmlns:p="urn:2" q:x="1" p:y="2"/><q:c xmlns:p="urn:1"/></p:a>`},
	{"xml attributes", `<a xml:lang="en" xml:space="preserve" xml:base="http://x/y/"><b xml:lang="it"/></a>`},
	{"cdata neighbours", `<a>x<![CDATA[<y>]]>&gt;<![CDATA[]]>z</a>`},
	{"non-ascii", "<\u00e9l\u00e9ment attr=\"\u00fc\u4e2d\U0001F600\">\u00e0</\u00e9l\u00e9ment>"},
}

func xmllint(t *testing.T, flag string, doc []byte) []byte {
	t.Helper()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Skip("SKIPPED: xmllint is not installed")
	}
	cmd := exec.Command("xmllint", "--nonet", flag, "-")
	cmd.Stdin = bytes.NewReader(doc)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("xmllint %s: %v", flag, err)
	}
	return out
}

// xmllint keeps comments in all its forms.
var lintMethods = map[string]Method{
	"--c14n":     {Comments: true},
	"--c14n11":   {V11: true, Comments: true},
	"--exc-c14n": {Exclusive: true, Comments: true},
}

func TestCanonicalizeAsXmllint(t *testing.T) {
	for _, c := range canonCases {
		for flag, m := range lintMethods {
			t.Run(c.name+flag, func(t *testing.T) {
				d, err := xmldom.Parse(c.doc, xmldom.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				got, want := Canonical(d.Node, m), xmllint(t, flag, []byte(c.doc))
				if !bytes.Equal(got, want) {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}

func TestCanonicalizeCorpusAsXmllint(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(corpus.Path(t, "files"), "*", "*.xml"))
	lists, _ := filepath.Glob(filepath.Join(corpus.Path(t, "tl"), "*.xml"))
	same := 0
	for _, f := range append(files, lists...) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		d, err := xmldom.Parse(string(b), xmldom.Limits{})
		if err != nil {
			continue // what is refused is the business of the parser's tests
		}
		for flag, m := range lintMethods {
			if flag == "--c14n11" {
				continue
			}
			if got, want := Canonical(d.Node, m), xmllint(t, flag, b); !bytes.Equal(got, want) {
				t.Errorf("%s %s: differs at byte %d", filepath.Base(f), flag, firstDifference(got, want))
			} else {
				same++
			}
		}
	}
	t.Logf("%d canonical forms agree", same)
	if same < 100 {
		t.Errorf("only %d canonical forms compared", same)
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func TestCanonicalizeSubtree(t *testing.T) {
	const doc = `<a xmlns="urn:d" xmlns:p="urn:p" xmlns:u="urn:u" xml:lang="en" xml:id="r" xml:base="http://h/one/"><p:b Id="x" xml:base="../two/f"><c u:k="1"/><!--no--></p:b></a>`
	tests := []struct {
		name string
		m    Method
		want string
	}{
		{"inclusive", Method{}, `<p:b xmlns="urn:d" xmlns:p="urn:p" xmlns:u="urn:u" Id="x" xml:base="../two/f" xml:id="r" xml:lang="en"><c u:k="1"></c></p:b>`},
		{"inclusive 1.1", Method{V11: true}, `<p:b xmlns="urn:d" xmlns:p="urn:p" xmlns:u="urn:u" Id="x" xml:base="http://h/two/f" xml:lang="en"><c u:k="1"></c></p:b>`},
		{"exclusive", Method{Exclusive: true}, `<p:b xmlns:p="urn:p" Id="x" xml:base="../two/f"><c xmlns="urn:d" xmlns:u="urn:u" u:k="1"></c></p:b>`},
		{"exclusive with prefixes", Method{Exclusive: true, Prefixes: []string{"u", ""}}, `<p:b xmlns="urn:d" xmlns:p="urn:p" xmlns:u="urn:u" Id="x" xml:base="../two/f"><c u:k="1"></c></p:b>`},
		{"with comments", Method{Exclusive: true, Comments: true}, `<p:b xmlns:p="urn:p" Id="x" xml:base="../two/f"><c xmlns="urn:d" xmlns:u="urn:u" u:k="1"></c><!--no--></p:b>`},
	}
	d, err := xmldom.Parse(doc, xmldom.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := d.ByID("x")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		if got := string(Canonical(n, tt.m)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestUndeclared: an element that undeclares the default namespace of those around it is in none. It
// must not have the form of one that inherits it.
func TestUndeclared(t *testing.T) {
	d, err := xmldom.Parse(`<r xmlns="urn:d"><a Id="in"><b/></a><a Id="out" xmlns=""><b xmlns="urn:d"/></a></r>`, xmldom.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"in":  `<a xmlns="urn:d" Id="in"><b></b></a>`,
		"out": `<a Id="out"><b xmlns="urn:d"></b></a>`,
	} {
		n, err := d.ByID(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []Method{{}, {V11: true}, {Exclusive: true}, {Exclusive: true, Prefixes: []string{""}}} {
			if got := string(Canonical(n, m)); got != want {
				t.Errorf("%+v:\n got %s\nwant %s", m, got, want)
			}
		}
	}
}

func TestJoinURI(t *testing.T) {
	for _, tt := range [][3]string{
		{"http://h/a/b", "c", "http://h/a/c"},
		{"http://h/a/b/", "../c", "http://h/a/c"},
		{"..", "..", "../../"},
		{"foo/", "..", ""},
		{"../a/", "../../b", "../../b"},
		{"http://h", "x", "http://h/x"},
		{"http://h/a", "//o/b/./c", "http://o/b/c"},
		{"http://h/a?q", "", "http://h/a?q"},
		{"a/b", "/c//d", "/c/d"},
	} {
		if got := joinURI(tt[0], tt[1]); got != tt[2] {
			t.Errorf("joinURI(%q, %q) = %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}

func BenchmarkCanonicalize(b *testing.B) {
	data := corpus.Read(b, "tl", "cache-IT.xml")
	d, err := xmldom.Parse(string(data), xmldom.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := Canonicalize(discard{}, NodeSet{Apex: d.Node}, Method{Exclusive: true}); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func FuzzCanonicalize(f *testing.F) {
	for _, c := range canonCases {
		f.Add([]byte(c.doc))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := xmldom.Parse(string(b), xmldom.Limits{})
		if err != nil {
			return
		}
		for _, m := range []Method{{Comments: true}, {V11: true}, {Exclusive: true, Comments: true}} {
			first := Canonical(d.Node, m)
			again, err := xmldom.Parse(string(first), xmldom.Limits{})
			if err != nil {
				t.Fatalf("canonical form is not well-formed: %v\n%q", err, first)
			}
			if second := Canonical(again.Node, m); !bytes.Equal(first, second) {
				t.Fatalf("not a fixed point:\n%q\n%q", first, second)
			}
		}
	})
}
