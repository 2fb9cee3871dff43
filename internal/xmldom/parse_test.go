package xmldom

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/corpus"
)

func parse(t testing.TB, s string) *Document {
	t.Helper()
	d, err := Parse(s, Limits{})
	if err != nil {
		t.Fatalf("Parse(%.60q): %v", s, err)
	}
	return d
}

func TestParseRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		doc  string
		want error // nil: any
	}{
		"empty":                    {"", nil},
		"text only":                {"hello", nil},
		"not closed":               {"<a><b></b>", nil},
		"crossed":                  {"<a><b></a></b>", nil},
		"two roots":                {"<a/><b/>", nil},
		"text after root":          {"<a/>x", nil},
		"doctype":                  {"<!DOCTYPE a><a/>", ErrDoctype},
		"doctype with entities":    {`<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>`, ErrDoctype},
		"entity":                   {"<a>&nbsp;</a>", ErrEntity},
		"entity in attribute":      {`<a b="&x;"/>`, ErrEntity},
		"bare ampersand":           {"<a>a & b</a>", nil},
		"unquoted attribute":       {"<a b=c/>", nil},
		"attribute twice":          {`<a b="1" b="2"/>`, nil},
		"expanded attribute twice": {`<a xmlns:p="u" xmlns:q="u" p:b="1" q:b="2"/>`, nil},
		"less-than in attribute":   {`<a b="<"/>`, nil},
		"no space":                 {`<a b="1"c="2"/>`, nil},
		"undeclared prefix":        {"<p:a/>", nil},
		"undeclared attr prefix":   {`<a p:b="1"/>`, nil},
		"prefix undeclared":        {`<a xmlns:p=""/>`, nil},
		"xml rebound":              {`<a xmlns:xml="urn:x"/>`, nil},
		"xmlns namespace":          {`<a xmlns:p="http://www.w3.org/2000/xmlns/"/>`, nil},
		"two colons":               {`<a:b:c xmlns:a="u"/>`, nil},
		"cdata end in text":        {"<a>]]></a>", nil},
		"comment with dashes":      {"<a><!-- a -- b --></a>", nil},
		"control character":        {"<a>\x01</a>", nil},
		"reference to control":     {"<a>&#1;</a>", nil},
		"reference to surrogate":   {"<a>&#xD800;</a>", nil},
		"noncharacter":             {"<a>\uFFFF</a>", nil},
		"not utf-8":                {"<a>\xff</a>", nil},
		"late declaration":         {"<a/><?xml version='1.0'?>", nil},
		"odd utf-16":               {"\xFE\xFF\x00<\x00a\x00/\x00>x", nil},
		"unknown encoding":         {"<?xml version='1.0' encoding='x-nope'?><a/>", nil},
		"end tag alone":            {"</a>", nil},
		"deep":                     {strings.Repeat("<a>", 100_000), ErrLimit},
		"many attributes":          {"<a " + manyAttributes(5000) + "/>", ErrLimit},
		"many namespaces":          {"<a " + strings.ReplaceAll(manyAttributes(900), " a", " xmlns:a") + "><b " + strings.ReplaceAll(manyAttributes(900), " a", " xmlns:a") + "/></a>", ErrLimit},
	} {
		_, err := Parse(tt.doc, Limits{})
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: error %v, want a *SyntaxError", name, err)
		}
		if tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", name, err, tt.want)
		}
	}
}

// TestMemory reads the worst that a limit allows.
func TestMemory(t *testing.T) {
	await.All(t)
	doc := "<r>" + strings.Repeat(`<a b=""/>`, 8<<20) + "</r>"
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, err := Parse(doc, Limits{})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrLimit) {
		t.Errorf("error %v, want ErrLimit", err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 400<<20 {
		t.Errorf("%d MB for %d MB of text", used>>20, len(doc)>>20)
	}
}

func manyAttributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ` a%d="v"`, i)
	}
	return b.String()
}

func TestParseValues(t *testing.T) {
	d := parse(t, "<?xml version=\"1.0\"?>\r\n<a  b='x\r\n\ty' c=\"&#10;&lt;&quot;\">one\r\ntwo\rthree<![CDATA[<&\r\n]]>&#13;&amp;</a>")
	a := d.Root()
	if got, want := a.Attr("b"), "x  y"; got != want {
		t.Errorf("b = %q, want %q", got, want)
	}
	if got, want := a.Attr("c"), "\n<\""; got != want {
		t.Errorf("c = %q, want %q", got, want)
	}
	if got, want := a.Text(), "one\ntwo\nthree<&\n\r&"; got != want {
		t.Errorf("text = %q, want %q", got, want)
	}
}

func TestParseEncodings(t *testing.T) {
	utf16 := func(s string, big bool) []byte {
		var b bytes.Buffer
		for _, r := range s {
			if big {
				b.Write([]byte{byte(r >> 8), byte(r)})
			} else {
				b.Write([]byte{byte(r), byte(r >> 8)})
			}
		}
		return b.Bytes()
	}
	const body = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><a>\u00e8\u20ac</a>"
	for name, b := range map[string][]byte{
		"utf-8 bom":       []byte("\xEF\xBB\xBF<a>\u00e8\u20ac</a>"),
		"utf-16be bom":    append([]byte{0xFE, 0xFF}, utf16(body, true)...),
		"utf-16le bom":    append([]byte{0xFF, 0xFE}, utf16(body, false)...),
		"utf-16le no bom": utf16(body, false),
		"windows-1252":    []byte("<?xml version='1.0' encoding='windows-1252'?><a>\xe8\x80</a>"),
		"iso-8859-15":     []byte("<?xml version='1.0' encoding='iso-8859-15'?><a>\xe8\xa4</a>"),
	} {
		d, err := Parse(string(b), Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := d.Root().Text(); got != "\u00e8\u20ac" {
			t.Errorf("%s: text %q", name, got)
		}
		same, err := d.Splice()
		if err != nil || same != string(b) {
			t.Errorf("%s: splicing nothing changed the bytes: %v", name, err)
		}
		more, err := d.Splice(d.Append(d.Root(), "<b/>"))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(more, Limits{}); err != nil || again.Root().Child("", "b") == nil || again.Root().Text() != "\u00e8\u20ac" {
			t.Errorf("%s: spliced document does not read back: %v", name, err)
		}
	}
}

func TestOffsets(t *testing.T) {
	const doc = "<!-- c --><a x='1'><b/>text<c>d</c></a>"
	d := parse(t, doc)
	for n := range d.All() {
		raw := d.Raw(n)
		switch n.Kind {
		case Element:
			if !strings.HasPrefix(raw, "<"+n.Name.QName) || !strings.HasSuffix(raw, ">") {
				t.Errorf("element %s has text %q", n.Name.QName, raw)
			}
		case Text:
			if raw != n.Data {
				t.Errorf("text %q has text %q", n.Data, raw)
			}
		}
	}
	a := d.Root()
	out, err := d.Splice(d.Append(a.Child("", "b"), "<n/>"), d.AddAttr(a.Child("", "c"), "Id", "i"), Edit{Offset: int(a.Child("", "c").End), Insert: "!"}, d.Append(a, "<z/>"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "<!-- c --><a x='1'><b><n/></b>text<c Id=\"i\">d</c>!<z/></a>"; out != want {
		t.Errorf("spliced %s\nwant    %s", out, want)
	}
}

func TestByID(t *testing.T) {
	d := parse(t, `<a xmlns:w="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"><b Id="1"/><c ID="2" id="2"/><d xml:id="3"/><e w:Id="4"/><f Id="5"/><g ID="5"/></a>`)
	for id, want := range map[string]string{"1": "b", "2": "c", "3": "d", "4": "e"} {
		n, err := d.ByID(id)
		if err != nil || n.Name.Local != want {
			t.Errorf("ByID(%s) = %v, %v, want %s", id, n, err, want)
		}
	}
	if _, err := d.ByID("5"); !errors.Is(err, ErrDuplicate) {
		t.Errorf("ByID(5): %v, want ErrDuplicate", err)
	}
	if _, err := d.ByID("6"); !errors.Is(err, ErrNotFound) {
		t.Errorf("ByID(6): %v, want ErrNotFound", err)
	}
}

func TestNamespaces(t *testing.T) {
	d := parse(t, `<a xmlns="urn:a" xmlns:p="urn:p"><p:b x="1" p:y="2"><c xmlns=""/></p:b><p:b xmlns:p="urn:q"/></a>`)
	var got []string
	for n := range d.All() {
		if n.Kind == Element {
			got = append(got, n.Name.Space+" "+n.Name.Local)
			for _, a := range n.Attrs() {
				got = append(got, "@"+a.Name.Space+" "+a.Name.Local)
			}
		}
	}
	want := "urn:a a|urn:p b|@ x|@urn:p y| c|urn:q b"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
	if p := d.Root().First.Next.Path(); p != "/a/b[2]" {
		t.Errorf("path %s", p)
	}
}

func TestSelect(t *testing.T) {
	d := parse(t, `<r xmlns:p="urn:p"><p:a k="1"/><b><p:a k="2">x</p:a></b><!--c--></r>`)
	for expr, want := range map[string]int{"//p:a": 2, "/r/b/p:a": 1, "//p:a[@k='2']": 1, "//*": 4, "//nope": 0, "//p:a[text()='x']": 1, "//b/preceding-sibling::*": 1} {
		got, err := d.Select(expr, nil)
		if err != nil || len(got) != want {
			t.Errorf("Select(%s) = %d elements, %v, want %d", expr, len(got), err, want)
		}
	}
	for _, expr := range []string{"//@k", "//text()", "1+1", "//p:a[", "//q:a", strings.Repeat("(", 600), strings.Repeat("/", 2000)} {
		if got, err := d.Select(expr, nil); err == nil {
			t.Errorf("Select(%.20s) = %d elements, want an error", expr, len(got))
		}
	}
}

func TestSelectBudget(t *testing.T) {
	d := parse(t, "<r>"+strings.Repeat("<a><b/></a>", 3000)+"</r>")
	_, err := d.Select("//*[count(//*[count(//*)>0])>0]", nil)
	if !errors.Is(err, ErrBudget) {
		t.Errorf("error %v, want ErrBudget", err)
	}
}

func BenchmarkParse(b *testing.B) {
	data := string(corpus.Read(b, "tl", "cache-IT.xml"))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("<a b='c' xmlns:d='e'><d:f/>&#10;<!--x--><?y z?><![CDATA[w]]></a>"))
	f.Add([]byte("\xFE\xFF\x00<\x00a\x00/\x00>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Parse(string(b), Limits{})
		if err != nil {
			return
		}
		for n := range d.All() {
			if n.Start > n.End || int(n.End) > len(d.Source()) {
				t.Fatalf("node at %d..%d of %d", n.Start, n.End, len(d.Source()))
			}
			if n.Kind == Element && (n.Inner > n.InnerEnd || n.InnerEnd > n.End || n.Inner < n.Start) {
				t.Fatalf("element at %d..%d..%d..%d", n.Start, n.Inner, n.InnerEnd, n.End)
			}
		}
	})
}

func FuzzSelect(f *testing.F) {
	f.Add("//a[@b='c']")
	f.Add("count(//*) > 1")
	d, err := Parse("<a b='c'><d>e</d><!--f--></a>", Limits{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(_ *testing.T, expr string) { _, _ = d.Select(expr, nil) })
}

// TestOneMeaning: texts that readers take in two ways are refused.
func TestOneMeaning(t *testing.T) {
	utf16 := func(s string) string {
		out := "\xFF\xFE"
		for _, c := range []byte(s) {
			out += string([]byte{c, 0})
		}
		return out
	}
	for doc, ok := range map[string]bool{
		"\xEF\xBB\xBF<?xml version='1.0' encoding='utf-8'?><a/>":         true,
		"\xEF\xBB\xBF<?xml version='1.0' encoding='ISO-8859-1'?><a/>":    false,
		utf16("<?xml version='1.0' encoding='UTF-16'?><a/>"):             true,
		utf16("<?xml version='1.0' encoding='UTF-8'?><a/>"):              false,
		"<?xml version='1.0' encoding='US-ASCII'?><a>\xc3\xa8</a>":       false,
		"<?xml version='1.0' encoding='ISO-2022-JP'?><a/>":               false,
		"<?xml version='1.0' encoding='UTF-7'?><a/>":                     false,
		"<?xml version='1.0' encoding='UTF-8' encoding='UTF-8'?><a/>":    false,
		"<?xml version='1.0' standalone='encoding=\"UTF-8\"'?><a/>":      false,
		"<?xml encoding='UTF-8' version='1.0'?><a/>":                     false,
		"<?xml version='1.1'?><a/>":                                      true,
		"<?xml version='1.1'?><a>\u0085</a>":                             false,
		"<?xml version='1.0'?><a>\u0085</a>":                             true,
		"<?xml version='1.0' encoding='ISO-8859-1'?><a>caff\xe8</a>":     true,
		"<?xml version='1.0' encoding='ISO-8859-1'?><a>caff\xe8\x80</a>": false,
		"<?xml version='1.0' encoding='cp819'?><a>\xe8</a>":              true,
		"<?xml version='1.0' encoding='cp819'?><a>\x80</a>":              false,
		"<?xml version='1.0' encoding='iso88591'?><a/>":                  false,
		"<?xml version='1.0' encoding='windows-1252'?><a>\x80</a>":       true,
		"<?xml version='1.0' encoding='windows-1252'?><a>\x81</a>":       false,
		"<?xml version='1.0' encoding='windows-1255'?><a>\xca</a>":       false,
		"<?xml version='1.0' encoding='ANSI_X3.4-1968'?><a>\x80</a>":     false,
		"<?xml version='1.0' encoding='GB2312'?><a/>":                    false,
		"<?xml version='1.0' encoding='Shift_JIS'?><a/>":                 false,
		utf16("<?xml version='1.0' encoding='UTF-16BE'?><a/>"):           false,
	} {
		if _, err := Parse(doc, Limits{}); (err == nil) != ok {
			t.Errorf("%q: error %v", doc, err)
		}
	}
}

// TestClaims: whatever some reader takes for an Id makes another one of the
// same value ambiguous, but is none by itself.
func TestClaims(t *testing.T) {
	for attr, want := range map[string]error{
		`Id="y"`: nil, `name="x"`: nil, `Id="x"`: ErrDuplicate, `ID="x"`: ErrDuplicate, `iD="x"`: ErrDuplicate, `xml:id="x"`: ErrDuplicate,
		`xmlns:q="urn:q" q:id="x"`: ErrDuplicate, `Id=" x "`: ErrDuplicate, `AssertionID="x"`: ErrDuplicate,
	} {
		d, err := Parse(`<r><a Id="x"/><b `+attr+`/></r>`, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.ByID("x"); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", attr, err, want)
		}
	}
	d, err := Parse(`<r><a xmlns:q="urn:q" q:Id="x" Id=" y"/></r>`, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"x", "y"} {
		if n, err := d.ByID(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v, error %v", id, n, err)
		}
	}
}

// A list of declared prefixes that grows with the document would cost its square.
func TestDeclares(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, maxDeclared, maxDeclared + 1, 5000} {
		var b strings.Builder
		b.WriteString("<r>")
		for i := range n {
			fmt.Fprintf(&b, `<a xmlns:p%d="u"/>`, i)
		}
		o := parse(t, b.String()+"</r>").Root().Origin()
		if !o.Declares(fmt.Sprintf("p%d", n-1)) || o.Declares("q") != (n > maxDeclared) || len(o.declared) > maxDeclared {
			t.Errorf("%d prefixes: %d are listed, more %t", n, len(o.declared), o.more)
		}
	}
}
