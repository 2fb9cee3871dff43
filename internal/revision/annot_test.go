package revision

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// A comment that hides something is permitted where comments are, and the list
// of changes says that it hides it.
func TestCoveringComments(t *testing.T) {
	stream := func(dict, data string) string {
		return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data)
	}
	before := file("<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<</Font<</F 5 0 R>>>>/Contents 4 0 R>>",
		stream("", "BT /F 18 Tf 20 150 Td (Pay EUR 100) Tj ET"),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
	const over, beside = "15 145 285 175", "15 20 285 50"
	for _, c := range []struct {
		name, kind, rect, keys, code string
		want                         bool
	}{
		{"a ground over the text", "Square", over, "", "1 g 0 0 270 30 re f", true},
		{"a ground beside it", "Square", beside, "", "1 g 0 0 270 30 re f", false},
		{"a text over the text", "FreeText", over, "", "BT /F 18 Tf 5 5 Td (Pay EUR 900) Tj ET", true},
		{"a text beside it", "FreeText", beside, "", "BT /F 18 Tf 5 5 Td (Pay EUR 900) Tj ET", false},
		{"a highlight", "Highlight", over, "", "/M gs 1 1 0 rg 0 0 270 30 re f", false},
		{"a highlight in a form", "Highlight", over, "", "/M gs /X Do", false},
		{"a highlight that is opaque", "Highlight", over, "", "1 1 0 rg 0 0 270 30 re f", true},
		{"a highlight in black", "Highlight", over, "", "/M gs 0 g 0 0 270 30 re f", true},
		{"a highlight without an appearance", "Highlight", over, "/QuadPoints[15 175 285 175 15 145 285 145]", "", false},
		{"a note over the text", "Text", over, "", "", true},
		{"a note that is hidden", "Text", over, "/F 2", "", false},
		{"a popup", "Popup", over, "", "", false},
	} {
		d, err := pdf.Open(bytes.NewReader(before), pdf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		u := d.Update()
		ap := ""
		if c.code != "" {
			x := u.New(pdf.Raw(stream("/Type/XObject/Subtype/Form/BBox[0 0 270 30]", "1 1 0 rg 0 0 270 30 re f")))
			n := u.New(pdf.Raw(stream(fmt.Sprintf("/Type/XObject/Subtype/Form/BBox[0 0 270 30]/Resources<</Font<</F 5 0 R>>/ExtGState<</M<</BM/Multiply>>>>/XObject<</X %v>>>>", x), c.code)))
			ap = fmt.Sprintf("/AP<</N %v>>", n)
		}
		edit(t, u, 3, pdf.Name("Annots"), pdf.Array{u.New(pdf.Raw(fmt.Sprintf("<</Type/Annot/Subtype/%s/Rect[%s]%s%s>>", c.kind, c.rect, ap, c.keys)))})
		more, err := u.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		after, err := pdf.Open(bytes.NewReader(append(bytes.Clone(before), more...)), pdf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := New(t.Context(), after).Compare(1, Rules{DocMDP: annotations})
		covers := slices.ContainsFunc(got, func(ch ades.Change) bool { return ch.What == "annotation-covers" })
		if err != nil || covers != c.want || slices.ContainsFunc(got, func(ch ades.Change) bool { return !ch.Permitted }) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

// TestPictureReplaced: what an empty signature field showed was signed, and whoever signs in it may
// replace only a little.
func TestPictureReplaced(t *testing.T) {
	stream := "<</Type/XObject/Subtype/Form/BBox[0 0 100 60]/Length %d>>\nstream\n%s\nendstream"
	for code, want := range map[string]string{
		"0 g 9 9 80 40 re f": "signature-covers", "0 g 9 9 8 4 re f": "signature-filled", "q Q": "signature-filled",
	} {
		before := file(
			"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[4 0 R]>>>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
			"<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]/Annots[4 0 R]>>",
			"<</Type/Annot/Subtype/Widget/FT/Sig/T(S)/Rect[0 0 100 60]/F 4/P 3 0 R/AP<</N 5 0 R>>>>", fmt.Sprintf(stream, len(code), code))
		d, err := pdf.Open(bytes.NewReader(before), pdf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		u := d.Update()
		edit(t, u, 4, pdf.Name("V"), signature(u, "Sig"), pdf.Name("AP"), pdf.NewDict(pdf.Name("N"), u.New(pdf.Raw(fmt.Sprintf(stream, 1, "n")))))
		more, err := u.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		after, err := pdf.Open(bytes.NewReader(append(before, more...)), pdf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := New(t.Context(), after).Compare(1, Rules{})
		if err != nil || len(got) != 1 || got[0].What != want {
			t.Errorf("%s: %+v, %v, want %s", code, got, err, want)
		}
	}
}

// TestPictured: readers do not need a box or a rectangle to draw. PDFium needs neither, and pdf.js
// no area of the box.
func TestPictured(t *testing.T) {
	for _, c := range []struct {
		rect, box string
		want      float64 // width
	}{
		{"0 0 100 60", "/BBox[0 0 100 60]", 80},
		{"0 0 100 60", "/BBox[0 0 50 60]", 82}, // twice as wide, in the box
		{"0 0 100 60", "/BBox[0 0 0 0]", 80},
		{"0 0 0 0", "/BBox[0 0 100 60]", 80},
		{"0 0 10 10", "", everywhere.Width()},
		{"0 0 0 0", "", everywhere.Width()},
	} {
		d, err := pdf.Open(bytes.NewReader(file("<</Pages 2 0 R>>", "<</Type/Pages/Kids[]/Count 0>>",
			"<</Rect["+c.rect+"]/AP<</N 4 0 R>>>>", "<</Subtype/Form"+c.box+"/Length 18>>\nstream\n0 g 9 9 80 40 re f\nendstream")), pdf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := New(t.Context(), d).model(1)
		if err != nil {
			t.Fatal(err)
		}
		widget := m.dict(ref(3))
		rect, _ := d.Rect(widget.Get("Rect"))
		if got := m.pictured(widget, rect).Width(); got != c.want {
			t.Errorf("%s, %s: %v points wide, want %v", c.rect, c.box, got, c.want)
		}
	}
}
