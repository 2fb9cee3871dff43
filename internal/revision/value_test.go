package revision

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/pdf"
)

// written opens a document of one page whose catalog has more keys, and more
// objects from 10 on.
func written(t testing.TB, catalog string, objects ...string) *pdf.Document {
	t.Helper()
	all := append([]string{
		"<</Type/Catalog/Pages 2 0 R" + catalog + ">>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>", "null", "null", "null", "null", "null", "null",
	}, objects...)
	d, err := pdf.Open(bytes.NewReader(file(all...)), pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestEqual compares the values of two files under a key.
func TestEqual(t *testing.T) {
	stream := func(dict, data string) string {
		return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data)
	}
	for _, c := range []struct {
		name, a, b   string
		moreA, moreB []string
		want         bool
	}{
		{"digits", "[.1 2 -0]", "[0.10 2 0]", nil, nil, true},
		{"a real for an integer", "[2]", "[2.0]", nil, nil, false},
		{"a real for an integer in a flag", "<</F 2>>", "<</F 2.0>>", nil, nil, false},
		{"a real for an integer in a zoom and a transition", "<</PZ 1.0/Trans<</SS 1.0>>>>", "<</PZ 1/Trans<</SS 1>>>>", nil, nil, true},
		{"a real for an integer in a box", "<</BBox[0 0 2 2]>>", "<</BBox[0 0 2.0 2.]>>", nil, nil, true},
		{"integers of many digits", "9007199254740993", "9007199254740992", nil, nil, false},
		{"parameters of a filter", "10 0 R", "10 0 R", []string{stream("", "abc")}, []string{stream("/Filter/ASCIIHexDecode/DecodeParms<</Predictor 1.0>>", "616263>")}, false},
		{"copy of a layer", "10 0 R", "11 0 R", []string{"<</Type/OCG/Name(L)>>"}, []string{"2", "<</Type/OCG/Name(L)>>"}, false},
		{"layer written in place", "10 0 R", "<</Type/OCG/Name(L)>>", []string{"<</Type/OCG/Name(L)>>"}, nil, false},
		{"other numbers", "[.1]", "[.11]", nil, nil, false},
		{"order of keys", "<</A 1/B 2>>", "<</B 2/A 1>>", nil, nil, true},
		{"null is absent", "<</A 1/B null>>", "<</A 1>>", nil, nil, true},
		{"a reference to nothing is null", "<</A 1/B 99 0 R>>", "<</A 1>>", nil, nil, true},
		{"null that is left out", "<</A 1/B null>>", "<</A 1>>", nil, nil, true},
		{"null that is new", "<</A 1>>", "<</A 1/B null>>", nil, nil, false},
		{"a reference to nothing that is new", "<</A 1>>", "<</A 1/B 99 0 R>>", nil, nil, false},
		{"null that became a reference to nothing", "<</B null>>", "<</B 99 0 R>>", nil, nil, false},
		{"null under a key that readers ask for", "<</Kids null>>", "<<>>", nil, nil, false},
		{"indirect", "10 0 R", "<</A 1>>", []string{"<</A 1>>"}, nil, true},
		{"renumbered", "10 0 R", "11 0 R", []string{"<</A 1>>"}, []string{"2", "<</A 1>>"}, true},
		{"hexadecimal", "(ab)", "<6162>", nil, nil, true},
		{"optional type", "<</Type/Annot/A 1>>", "<</A 1>>", nil, nil, true},
		{"type that matters", "<</Type/OCG/A 1>>", "<</A 1>>", nil, nil, false},
		{"other type", "<</Type/Annot>>", "<</Type/Page>>", nil, nil, false},
		{"cycle", "10 0 R", "10 0 R", []string{"<</Next 10 0 R/X 1>>"}, []string{"<</Next 11 0 R/X 1>>", "<</Next 10 0 R/X 1>>"}, true},
		{"cycle that differs further on", "10 0 R", "10 0 R", []string{"<</Next 10 0 R/X 1>>"}, []string{"<</Next 11 0 R/X 1>>", "<</Next 10 0 R/X 2>>"}, false},
		{"stream in another filter", "10 0 R", "10 0 R", []string{stream("", "abc")}, []string{stream("/Filter/ASCIIHexDecode", "616263>")}, true},
		{"stream with other data", "10 0 R", "10 0 R", []string{stream("", "abc")}, []string{stream("", "abd")}, false},
		{"picture in the same bytes", "10 0 R", "10 0 R", []string{stream("/Filter/DCTDecode", "xyz")}, []string{stream("/Filter[/DCTDecode]", "xyz")}, true},
		{"a dictionary is no stream", "10 0 R", "<<>>", []string{stream("", "abc")}, nil, false},
		{"destination of a page", "[3 0 R/Fit]", "[3 0 R/Fit]", nil, nil, true},
		{"shorter array", "[1 2]", "[1]", nil, nil, false},
	} {
		w := &work{ctx: context.Background()}
		view := func(d *pdf.Document) *view { return &view{Document: d, shared: make(map[place]pdf.Object)} }
		a, err1 := newModel(view(written(t, "/Value "+c.a, c.moreA...)), 1, w)
		b, err2 := newModel(view(written(t, "/Value "+c.b, c.moreB...)), 2, w)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		ages := newClosures(b, w)
		for i := range 20 { // two files: nothing is the same object
			ages.newest[2*i], ages.newest[2*i+1] = never, never
		}
		m := newMatcher(a, b, ages, w)
		for i := range 20 {
			m.moved[i] = true
		}
		if got := m.equal(a.catalog.Get("Value"), b.catalog.Get("Value"), "Value"); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestShownText reads appearances.
func TestShownText(t *testing.T) {
	for _, c := range []struct{ code, text, why string }{
		{"/Tx BMC q BT /F 10 Tf 0 g 2 4 Td (100) Tj ET Q EMC", "100", ""},
		{"BT /F 10 Tf 2 4 Td [(1)-20(0)] TJ <30> Tj ET", "100", ""},
		{"BT /F 8 Tf 9 TL 2 11 Td (one) Tj T* (two) Tj ET", "onetwo", ""},
		{"q 1 1 98 18 re W n BT 0 g /F 10 Tf 14 TL 2 18 Td 0 0 (x) \" ET Q", "x", ""},
		{"BT /F 10 Tf 2 4 Td (x) Tj ET 0 G .5 .5 99 19 re s", "x", ""},
		{"BT /F 10 Tf 2 4 Td [(1)-20(0)] TJ T* <30> Tj ET", "", whyPlace}, // over each other
		{"BT /F 12 Tf 1 0 0 1 20 5 Tm (000) Tj ET BT /F 12 Tf 1 0 0 1 2 5 Tm (9) Tj ET", "", whyPlace},
		{"BT /F 12 Tf 2 5 Td (100) Tj ET BT /F 12 Tf 2 5 Td (900) Tj ET", "", whyPlace},
		{"BT /F 12 Tf 2 5 Td (1) Tj 70 0 Td (2) Tj ET", "", whyPlace},
		{"BT /F 8 Tf 2 2 Td (1) Tj 0 9 Td (2) Tj ET", "", whyPlace},
		{"BT /F 12 Tf 2 5 Td [(1) -1900 -1900 (000)] TJ ET", "", whyPlace},
		{"BT /F 12 Tf 2 5 Td -6.7 Tc (1000) Tj ET", "", whyPlace},
		{"BT /F 2 Tf 2 5 Td (1000) Tj ET", "", whyPlace},
		{"BT /F 5 Tf 2 5 Td -2 Tc (1000) Tj ET", "", whyPlace},
		{"0 0 20 20 re W n BT /F 12 Tf 2 5 Td (1000) Tj ET", "", whyPlace},
		{"0 0 100 20 re 0 0 100 20 re W* n BT /F 12 Tf 2 5 Td (1000) Tj ET", "", whyDrawing},
		{"W n BT /F 12 Tf 2 5 Td (1000) Tj ET", "", whyPlace},
		{"BT /F 12 Tf -1 0 0 -1 40 15 Tm (99) Tj ET", "", whyPlace},
		{"BT /F -12 Tf 40 15 Td (99) Tj ET", "", whyPlace},
		{"BT /F 12 Tf 0.01 0 0 3 2 5 Tm (1000) Tj ET", "", whyPlace},
		{"BT /F 12e0 Tf 2 5 Td (1000) Tj ET", "", whyAppearance},
		{"100 w 0 G 0 0 m 100 0 l S BT /F 12 Tf 2 5 Td (1000) Tj ET", "", whyDrawing},
		{"BT /F 12 Tf 2 5 Td (1000) Tj ET 0 10 m 100 10 l S", "", whyDrawing}, // struck out
		{"0 10 m 100 10 l S BT /F 12 Tf 2 5 Td (1000) Tj ET", "", whyDrawing},
		{"0 0 m 100 0 l 100 20 l f BT /F 12 Tf 2 5 Td (1000) Tj ET", "", whyDrawing},
		{"1 1 .69 rg BT /F 12 Tf 2 5 Td (1000) Tj ET", "", whyPlace},
		{"0 0 5 rg BT /F 12 Tf 2 5 Td (1000) Tj ET", "", whyDrawing},
		{"/G gs BT /F 12 Tf 2 5 Td (1000) Tj ET", "", whyDrawing},
		{"BT /F 12 Tf 5 Ts 2 5 Td (1000) Tj ET", "", whyPlace},
		{"BT /F 10 Tf 2 4 Td (a\\051\\\nb\\tc) Tj ET", "", whyFont}, // a tab is no letter
		{"1 1 .9 rg 0 0 100 20 re f 0 G .5 .5 99 19 re S BT 0 g /F 10 Tf 2 4 Td (x) Tj ET", "x", ""},
		{"BT /F 10 Tf 2 4 Td (x) Tj ET /X Do", "", whyDrawing},
		{"BT /F 10 Tf 2 4 Td (x) Tj ET 10 10 m 20 10 l S", "", whyDrawing},
		{"BI /W 1 ID x EI", "", whyAppearance},
		{"BT /F 10 Tf 2 4 Td 3 Tr (x) Tj ET", "", whyDrawing},
		{"BT /None 10 Tf 2 4 Td (x) Tj ET", "", whyAppearance},
		{"BT /F 10 Tf 2 400 Td (x) Tj ET", "", whyPlace},
		{"BT /F 10 Tf 1 g 2 4 Td (x) Tj ET", "", whyPlace},
		{"/OC /L BDC BT /F 10 Tf 2 4 Td (x) Tj ET EMC", "", whyDrawing},
		{"", "", ""},
	} {
		doc := written(t, "/AP 10 0 R", fmt.Sprintf("<</BBox[0 0 100 20]/Resources<</Font<</F 11 0 R>>>>/Length %d>>\nstream\n%s\nendstream", len(c.code), c.code),
			"<</Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
		w := &work{ctx: context.Background()}
		m, err := newModel(&view{Document: doc, shared: make(map[place]pdf.Object)}, 1, w)
		if err != nil {
			t.Fatal(err)
		}
		o, err := m.doc.Resolve(m.catalog.Get("AP"))
		if err != nil {
			t.Fatal(err)
		}
		cmp := &comparison{matcher: newMatcher(m, m, newClosures(m, w), w)}
		box := pdf.NewDict(pdf.Name("Rect"), pdf.Array{pdf.Integer(0), pdf.Integer(0), pdf.Integer(100), pdf.Integer(20)})
		text, why := cmp.shownText(m, o.(*pdf.Stream), &widget{dict: box})
		if text != c.text || why != c.why {
			t.Errorf("%q: %q, %q; want %q, %q", c.code, text, why, c.text, c.why)
		}
	}
}

func FuzzDefaultAppearance(f *testing.F) {
	f.Add([]byte("/Helv 12 Tf 0 g"))
	f.Fuzz(func(_ *testing.T, b []byte) { parseDA(b) })
}

// FuzzCompare compares the revisions of whatever opens.
func FuzzCompare(f *testing.F) {
	f.Add(base())
	corpus.Seeds(f, 40_000, "files", "pades", "*.pdf")
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := pdf.Open(bytes.NewReader(b), pdf.Options{})
		if err != nil {
			return
		}
		for n := 1; n < len(d.Revisions()) && n < 8; n++ {
			changes, err := New(t.Context(), d).Compare(n, Rules{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				if c.Description == "" || strings.Contains(c.Description, "{") && !strings.Contains(c.Name+c.Field, "{") {
					t.Fatalf("%+v", c)
				}
			}
		}
	})
}
