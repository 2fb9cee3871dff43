package xmldsig

import (
	"bytes"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/xmldom"
)

// programs are documents that are written as canonical XML is, or nearly.
var programs = []string{
	`<r:list xmlns:r="urn:r"><r:entry n="1"><name>One</name><value unit="EUR">1.00</value></r:entry><r:entry n="2"><r:name>Two</r:name></r:entry></r:list>`,
	`<a xmlns="urn:a"><b c="1" d="2">x</b><b d="2" c="1">x</b><b  c="1">x</b><b c='1'>x</b><b c ="1">x</b><b c="1" >x</b><b>x</b ></a>`,
	`<a><b>&amp;</b><b>></b><b>&#10;</b><b c="&#10;">y</b><b c=">">y</b><b c="&amp;">y</b><b/><b><c/></b><b>` + "\t\n" + `</b><b c="` + "\t" + `">z</b></a>`,
	"<a>\r\n<b>x</b></a>",
	`<a><b><!--c-->x</b><b><?p i?>x</b><b><![CDATA[x]]></b><b>x</b></a>`,
	`<a xmlns:p="urn:p" xmlns:q="urn:q"><b><p:c>1</p:c></b><p:d><p:c>1</p:c></p:d><d p:e="1"><p:c>2</p:c></d><d p:e="1" q:e="2">3</d><q:d xmlns:p="urn:x"><p:c>4</p:c></q:d></a>`,
	`<p:a xmlns:p="urn:p" xmlns="urn:d"><p:b><c>1</c></p:b><d xmlns=""><e>2</e></d><d><p:e>3</p:e><e xml:lang="it">4</e></d></p:a>`,
	`<a><b/><b /><b c="1"/><b c="1" /><b><c/>x<c d="/"/></b><b>/</b></a>`,
	`<p:a xmlns:p="urn:p"><b Id="x"><p:c>1</p:c></b></p:a>`,
	`<a xml:lang="it" xml:space="preserve"><b xml:lang="en">1</b><b><c>2</c></b></a>`,
}

// written are all kinds of canonicalisation.
var written = []Method{{}, {Comments: true}, {Exclusive: true}, {Exclusive: true, Comments: true}, {Exclusive: true, Prefixes: []string{"", "p", "r"}}, {V11: true}}

// FuzzAsWritten: the canonical form of what is taken as it is written is that
// of what is written anew.
func FuzzAsWritten(f *testing.F) {
	for _, doc := range programs {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := xmldom.Parse([]byte(text), xmldom.Limits{})
		if err != nil {
			return
		}
		var elements []*xmldom.Node
		for n := range d.All() {
			if n.Kind == xmldom.Element && len(elements) < 20 {
				elements = append(elements, n)
			}
		}
		for _, m := range written {
			for i, apex := range append(elements, d.Node) {
				for _, set := range []NodeSet{
					{Apex: apex, Comments: true},
					{Apex: apex},
					{Apex: apex, Drop: elements[i/2 : min(i/2+1, len(elements))]},
					{Apex: apex, Keep: elements[i/2 : min(i/2+1, len(elements))]},
				} {
					var fast, slow bytes.Buffer
					if err := Canonicalize(&fast, set, m); err != nil {
						t.Fatal(err)
					}
					if err := canonicalize(&slow, set, m, nil); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(fast.Bytes(), slow.Bytes()) {
						t.Fatalf("%q, %+v:\n%s\nnot\n%s", text, m, fast.Bytes(), slow.Bytes())
					}
				}
			}
		}
	})
}

// What programs write is mostly taken as it is.
func TestAsWritten(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{programs[0]: "r:entry name value r:entry r:name", programs[1]: "b", programs[2]: "b b", programs[5]: "b p:c p:d p:c d p:c p:c"} {
		d, err := xmldom.Parse([]byte(doc), xmldom.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for n := range d.All() {
			if _, ok := n.AsWritten(); ok {
				got = append(got, n.Name.QName)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q is as canonical XML has it, not %q", doc, s, want)
		}
	}
}
