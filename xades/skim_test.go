package xades

import (
	"bytes"
	"context"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/xmldom"
)

// bothWays reads a document skimmed and parsed, and demands the same facts. It
// reports whether what was skimmed was enough.
func bothWays(t testing.TB, b []byte, o ades.ReadOptions) bool {
	t.Helper()
	whole, err := parseBytes(context.Background(), b)
	short, shortErr := skim(context.Background(), bytes.NewReader(b))
	if (err == nil) != (shortErr == nil) {
		t.Fatalf("parsed %v, skimmed %v", err, shortErr)
	}
	if err != nil {
		return true
	}
	want, err := readDocument(context.Background(), whole, o)
	got, shortErr := readDocument(context.Background(), short, o)
	if short.Wanted() {
		return false
	}
	if (err == nil) != (shortErr == nil) || err != nil && err.Error() != shortErr.Error() {
		t.Fatalf("parsed %v, skimmed %v", err, shortErr)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("skimmed, the facts are\n%+v\nnot\n%+v", got, want)
	}
	for _, sig := range got.Signatures {
		for _, c := range sig.Content {
			if o, ok := c.Source.(*octets); ok {
				whole, _ := o.write(xmldom.Parse(b, xmldom.Limits{}))
				short := make([]byte, o.Size())
				if _, err := o.ReadAt(short, 0); err != nil && err != io.EOF || !bytes.Equal(short, whole) {
					t.Fatalf("skimmed, the content is %q, %v, not %q", short, err, whole)
				}
			}
		}
	}
	return true
}

func TestSkimmedCorpus(t *testing.T) {
	t.Parallel()
	enough, total := 0, 0
	for _, cases := range [][]corpus.Case{corpus.Manifest(t), corpus.Attacks(t), corpus.Mutations(t)} {
		for _, c := range cases {
			if c.Is("XAdES", "XMLDSig") {
				if total++; bothWays(t, c.Bytes(t), c.Reading(t)) {
					enough++
				}
			}
		}
	}
	t.Logf("%d of %d documents are read without parsing all of them", enough, total)
	if 2*enough < total {
		t.Errorf("only %d of %d documents are read without parsing all of them", enough, total)
	}
}

// written are documents as programs write them.
var written = []string{
	`<r:list xmlns:r="urn:r"><r:entry n="1"><name>One</name><value unit="EUR">1.00</value></r:entry><r:entry n="2"><r:name>Two</r:name></r:entry></r:list>`,
	"<a>\n  <b>1</b>\n  <c>2026-11-16T12:30:00Z</c>\n</a>",
	`<Invoice xmlns="urn:i" xmlns:c="urn:c"><c:ID>1</c:ID><Line><Amount>2</Amount></Line></Invoice>`,
	`<a xmlns:c="urn:c"><b>c:EUR</b><d>1</d></a>`,
	`<a><b><!-- x -->1</b><d>1</d></a>`,
	`<a><b>1</b><c/><d>2</d></a>`,
	"<a>\r\n<b>1</b></a>",
}

func TestSkimmed(t *testing.T) {
	t.Parallel()
	p := adestest.Must(t, clock)
	for _, doc := range written {
		signed := sign(t, p.Actor(t, "good"), []ades.File{file("", doc)}, Options{Packaging: Enveloped})
		check(t, readBack(t, signed, nil), 1, "")
		if !bothWays(t, signed, ades.ReadOptions{}) {
			t.Errorf("%s: all of it is parsed", doc)
		}
		// A second one beside it, and something that nobody signed.
		bothWays(t, sign(t, p.Actor(t, "good"), []ades.File{file("", string(signed))}, Options{Packaging: Enveloped}), ades.ReadOptions{})
		for _, old := range []string{">1", "</b>", "<b>", "<ds:Signature ", "</ds:Signature>", "urn:"} {
			for _, put := range []string{"x", "<x>1</x>", `<x Id="y">1</x>`, "<!-- -->", "<x/>"} {
				bothWays(t, []byte(strings.Replace(string(signed), old, put+old, 1)), ades.ReadOptions{})
				bothWays(t, []byte(strings.Replace(string(signed), old, old+put, 1)), ades.ReadOptions{})
			}
		}
	}
}

// FuzzSkimmed: the same facts come of a document that is skimmed, and a signature
// over it is the same.
func FuzzSkimmed(f *testing.F) {
	p, err := adestest.New(clock, "")
	if err != nil {
		f.Fatal(err)
	}
	a, err := p.Enter("good")
	if err != nil {
		f.Fatal(err)
	}
	for _, doc := range written {
		f.Add([]byte(doc))
		f.Add(sign(f, a, []ades.File{file("", doc)}, Options{Packaging: Enveloped}))
	}
	corpus.Seeds(f, 16<<10, "files", "xmldsig", "*.xml")
	f.Fuzz(func(t *testing.T, b []byte) {
		bothWays(t, b, ades.ReadOptions{})
		doc, err := parseBytes(t.Context(), b)
		if err != nil {
			return
		}
		prepared := func(doc *xmldom.Document) ([]reference, error) {
			o := settings{a.Signing(clock()), Options{Packaging: Enveloped}}
			p := &preparation{ctx: t.Context(), files: []ades.File{{Source: bytes.NewReader(b)}}, o: o, b: builder{o: o}, doc: doc}
			err := p.enveloped()
			return p.b.refs, err
		}
		want, err := prepared(doc)
		got, shortErr := prepared(nil)
		if (err == nil) != (shortErr == nil) || err != nil && err.Error() != shortErr.Error() {
			t.Fatalf("parsed %v, skimmed %v", err, shortErr)
		}
		if !slices.EqualFunc(got, want, func(a, b reference) bool { return reflect.DeepEqual(a, b) }) {
			t.Fatalf("%q: a signature over %v, not %v", b, got, want)
		}
	})
}
