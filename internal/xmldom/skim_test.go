package xmldom

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/corpus"
)

const keptSpace = "urn:keep"

func skim(t testing.TB, text string, lim Limits) (*Document, error) {
	t.Helper()
	return Skim(context.Background(), []byte(text), lim, keptSpace)
}

// skimmed are documents, and what is folded of them.
var skimmed = map[string]string{
	`<r><a>1</a><b c="2">3</b></r>`:                                                                                 `<a>1</a><b c="2">3</b>`,
	"<r>\n <a>1</a>\n <b>2</b>\n</r>":                                                                               "<a>1</a>\n <b>2</b>\n",
	`<r><a><b>1</b><c>2</c></a>text<d>3</d></r>`:                                                                    `<a><b>1</b><c>2</c></a>|<d>3</d>`,
	`<r><a>1</a><b/><c>2</c></r>`:                                                                                   `<a>1</a><b/><c>2</c>`,
	`<r><a><x>1</x><b><y>2</y><c  /><z>3</z></b><w>4</w></a></r>`:                                                   `<x>1</x>|<y>2</y>|<z>3</z>|<w>4</w>`,
	`<r><a><b Id="x"><c>1</c></b></a><d>2</d></r>`:                                                                  `<c>1</c>|<d>2</d>`,
	`<r><a iD="x">1</a><b xml:id="y">2</b><c AssertionID="z">3</c></r>`:                                             ``,
	`<r><a c='1'>1</a><b  c="1">2</b><b c="1" >2</b><b c="1" b="1">3</b><b>4</b ></r>`:                              ``,
	`<r><a>&amp;</a><b c="&lt;">1</b><c>></c><d c="	">1</d></r>`:                                                    ``,
	`<r><a><!--c-->1</a><b><?p i?>1</b><c><![CDATA[1]]></c><d>1</d></r>`:                                            `<d>1</d>`,
	`<r><a>x:y</a><b c="x:y">1</b><c>12:30</c><d>http://h/</d><e>x: y:</e><f>x:*</f></r>`:                           `<c>12:30</c><d>http://h/</d><e>x: y:</e>`,
	`<r xmlns:p="urn:p"><a>1</a><p:b>2</p:b><c p:d="1">3</c></r>`:                                                   `<a>1</a>`,
	`<p:r xmlns:p="urn:p"><a>1</a><p:b>2</p:b><c p:d="1">3</c><c p:d="1" p:e="2">3</c><c b="1" p:d="1">3</c></p:r>`: `<a>1</a><p:b>2</p:b><c p:d="1">3</c>`,
	`<p:r xmlns:p="urn:p"><p:s xmlns:p="urn:q"><p:a>1</p:a></p:s><s xmlns:p="urn:q"><p:a>1</p:a></s></p:r>`:         `<p:a>1</p:a>`,
	`<r xmlns="urn:d" xmlns:p="urn:p" p:x="1"><a>word</a><p:b>word</p:b></r>`:                                       `<a>word</a>`,
	`<p:r xmlns="urn:d" xmlns:p="urn:p"><a>1</a><s xmlns=""><a>1</a></s></p:r>`:                                     `<a>1</a>`,
	`<r><a b="1"/><a b="1" /><a /><a><b/></a><a b="/>"/><a b="/"></a></r>`:                                          `<a b="1"/><a b="1" /><a /><a><b/></a>|<a b="/"></a>`,
	`<r><k:a xmlns:k="urn:keep"><b>1</b></k:a><c>2</c></r>`:                                                         `<c>2</c>`,
	`<k:r xmlns:k="urn:keep"><a>1</a></k:r>`:                                                                        ``,
	`<k:r xmlns:k="urn:other"><a xml:lang="it">1</a></k:r>`:                                                         `<a xml:lang="it">1</a>`,
	`<r><è>1</è><a è="1">1</a><a>è</a></r>`:                                                                         `<a>è</a>`,
	"<r><a>\r\n</a><b>1</b></r>":                                                                                    ``,
}

func TestSkim(t *testing.T) {
	t.Parallel()
	for text, want := range skimmed {
		d, err := skim(t, text, Limits{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for n := range d.All() {
			if n.Kind == Folded {
				got = append(got, d.Raw(n))
			}
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: folded %q, want %q", text, got, want)
		}
		if d.Wanted() {
			t.Errorf("%s: wanted", text)
		}
		d.Release()
	}
}

// TestWant has every way to see what is folded say so.
func TestWant(t *testing.T) {
	t.Parallel()
	const text = `<r><a><b>1</b></a><k:s xmlns:k="urn:keep"><k:t>2</k:t></k:s><b Id="x"><c>1</c></b></r>`
	for name, tt := range map[string]struct {
		look func(d *Document)
		want bool
	}{
		"nothing":           {func(*Document) {}, false},
		"elements":          {func(d *Document) { d.Root().Child("", "a") }, true},
		"elements of kept":  {func(d *Document) { d.Descendants(keptSpace, "s")[0].Child(keptSpace, "t") }, false},
		"descendants":       {func(d *Document) { d.Descendants("", "b") }, true},
		"kept descendants":  {func(d *Document) { d.Descendants(keptSpace, "t") }, false},
		"no such name":      {func(d *Document) { d.Descendants("", "nope") }, false},
		"text":              {func(d *Document) { d.Root().Text() }, true},
		"text of kept":      {func(d *Document) { d.Descendants(keptSpace, "s")[0].Text() }, false},
		"by id":             {func(d *Document) { _, _ = d.ByID("x") }, false},
		"path beside alike": {func(d *Document) { n, _ := d.ByID("x"); n.Path() }, true},
		"path":              {func(d *Document) { d.Descendants(keptSpace, "t")[0].Path() }, false},
		"XPath":             {func(d *Document) { _, _ = d.Select("//nope", nil) }, true},
	} {
		d, err := skim(t, text, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if tt.look(d); d.Wanted() != tt.want {
			t.Errorf("%s: wanted %v", name, d.Wanted())
		}
	}
}

// FuzzSkim holds a document that is skimmed against the same one that is parsed:
// both are refused alike, and what is folded holds what may be.
func FuzzSkim(f *testing.F) {
	for text := range skimmed {
		f.Add(text, uint16(0))
		f.Add(text, uint16(len(text)/8))
	}
	for text := range withColons {
		f.Add(text, uint16(0))
	}
	f.Add(`<r><a></a><b c="`, uint16(0))
	f.Add(`<r><a`, uint16(3))
	f.Add(`<p:r xmlns:p="urn:p"><a Id="x"><p:b>1</p:b></a></p:r>`, uint16(0))
	f.Add(`<r><a/><a b="1" / ><a / ></r>`, uint16(0))
	f.Fuzz(func(t *testing.T, text string, most uint16) {
		lim := Limits{Nodes: int(most), Depth: int(most) / 2, Attributes: int(most) / 4, Bindings: int(most) / 4}
		whole, err := Parse([]byte(text), lim)
		short, shortErr := skim(t, text, lim)
		if (err == nil) != (shortErr == nil) {
			t.Fatalf("%q: parsed %v, skimmed %v", text, err, shortErr)
		}
		if err != nil {
			var a, b *SyntaxError
			if err.Error() != shortErr.Error() || errors.As(err, &a) && errors.As(shortErr, &b) && a.Offset != b.Offset {
				t.Fatalf("%q: parsed %v, skimmed %v", text, err, shortErr)
			}
			return
		}
		compare(t, whole, short)
		short.Release()
		whole.Release()
	})
}

func compare(t *testing.T, whole, short *Document) {
	t.Helper()
	if whole.Plain() != short.Plain() || whole.origin.NoColon != short.origin.NoColon || len(whole.ids) != len(short.ids) {
		t.Fatalf("%q: plain %v %v, without colons %v %v, identifiers %v %v", whole.text, whole.Plain(), short.Plain(),
			whole.origin.NoColon, short.origin.NoColon, len(whole.ids), len(short.ids))
	}
	for _, n := range whole.origin.names {
		if !short.Uses(n.Space, n.Local) {
			t.Fatalf("%q: %s is not known", whole.text, n.QName)
		}
	}
	siblings(t, whole, short, whole.First, short.First)
	if short.Wanted() {
		t.Fatalf("%q: wanted", whole.text)
	}
}

// siblings compares what is side by side.
func siblings(t *testing.T, whole, short *Document, a, b *Node) {
	for ; b != nil; b = b.Next {
		if b.Kind == Folded {
			if a == nil || a.Start != b.Start || a.Kind != Element {
				t.Fatalf("%q: folded at %d", whole.text, b.Start)
			}
			for ; a != nil && a.Start < b.End; a = a.Next {
				mayFold(t, whole, short, a, b)
			}
			continue
		}
		if a == nil || a.Kind != b.Kind || a.Start != b.Start || a.End != b.End || a.Inner != b.Inner || a.InnerEnd != b.InnerEnd ||
			a.Data != b.Data || len(a.Attrs()) != len(b.Attrs()) || a.written != b.written || a.written && !slices.Equal(prefixes(whole, a), prefixes(short, b)) {
			t.Fatalf("%q: %+v is not %+v", whole.text, b, a)
		}
		if a.Kind == Element && (*a.Name).QName != b.Name.QName {
			t.Fatalf("%q: %s is not %s", whole.text, b.Name.QName, a.Name.QName)
		}
		siblings(t, whole, short, a.First, b.First)
		a = a.Next
	}
	if a != nil {
		t.Fatalf("%q: nothing at %d", whole.text, a.Start)
	}
}

// mayFold checks that a node was folded rightly.
func mayFold(t *testing.T, whole, short *Document, a, folded *Node) {
	t.Helper()
	if a.End > folded.End || a.Kind != Element && (a.Kind != Text || !isBlank(a.Data)) {
		t.Fatalf("%q: %q was folded", whole.text, whole.Raw(a))
	}
	if uses, ok := a.AsWritten(); a.Kind == Element {
		if _, as := folded.AsWritten(); as && !ok {
			t.Fatalf("%q: %q is not as canonical XML has it", whole.text, whole.Raw(a))
		}
		for i, prefix := range whole.origin.Prefixes {
			if uses&(1<<i) != 0 && !slices.Contains(prefixes(short, folded), prefix) {
				t.Fatalf("%q: prefix %q is not known to be in use", whole.text, prefix)
			}
		}
	}
	for n := range a.All() {
		if n.Kind != Element && n.Kind != Text || n.Kind == Element && (len(n.Bindings()) > 0 || n.Name.Space == keptSpace || slices.ContainsFunc(n.Attrs(), func(a Attr) bool { return mayBeID(a.Name) })) {
			t.Fatalf("%q: %q was folded", whole.text, whole.Raw(n))
		}
	}
}

func prefixes(d *Document, n *Node) []string {
	var list []string
	for i, prefix := range d.origin.Prefixes {
		if n.uses&(1<<i) != 0 {
			list = append(list, prefix)
		}
	}
	slices.Sort(list)
	return list
}

// TestSkimCorpus has documents of others be skimmed as they are parsed.
func TestSkimCorpus(t *testing.T) {
	t.Parallel()
	folded := 0
	for _, c := range corpus.Manifest(t) {
		if !c.Is("XAdES", "XMLDSig") {
			continue
		}
		b := c.Bytes(t)
		whole, err := Parse(b, Limits{})
		short, shortErr := Skim(t.Context(), b, Limits{}, "http://www.w3.org/2000/09/xmldsig#")
		if (err == nil) != (shortErr == nil) {
			t.Errorf("%s: parsed %v, skimmed %v", c.ID, err, shortErr)
		}
		if err == nil && shortErr == nil {
			if short.folded {
				folded++
			}
			compare(t, whole, short)
		}
	}
	t.Logf("%d documents have something that is folded", folded)
	if folded < 10 {
		t.Errorf("only %d documents", folded)
	}
}

// Text and values end where they end, wherever that is among others.
func TestEnds(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for at := range 19 {
			for _, fill := range []byte{'a', 0x80, 0xff, c2b(c - 1), c2b(c + 1)} {
				s := []byte(strings.Repeat(string([]byte{fill}), 19))
				s[at] = c2b(c)
				for name, end := range map[string]struct {
					got  func(string, int) int
					stop func(byte) bool
				}{
					"text":  {endOfText, func(c byte) bool { return strings.IndexByte("<>&:", c) >= 0 }},
					"value": {endOfValue, func(c byte) bool { return c < ' ' || strings.IndexByte("\"&<>:", c) >= 0 }},
				} {
					want := slices.IndexFunc(s, end.stop)
					if want < 0 {
						want = len(s)
					}
					if got := end.got(string(s), 0); got != want {
						t.Fatalf("%s %q ends at %d, not %d", name, s, got, want)
					}
				}
			}
		}
	}
}

func c2b(c int) byte { return byte(c) }
