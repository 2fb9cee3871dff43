package pades

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/pdf"
)

// A box without a place stands where nothing is written, in the order right, left,
// middle from the end of the page; it grows with its text. One with a place stays
// on the page, and what is hard to read is remarked on.
func TestPlaceOfTheBox(t *testing.T) {
	pki := adestest.Must(t, nil)
	signing := pki.Actor(t, "good").Signing(pki.Now())
	written := func(rotate int, content string) []byte {
		b := newBuilder()
		b.object(1, "<</Type/Catalog/Pages 2 0 R>>")
		b.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
		b.object(3, fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Rotate %d/Contents 4 0 R>>", rotate))
		b.stream(4, "", content)
		return b.table("/Root 1 0 R/ID[<01020304><05060708>]")
	}
	const ground = "1 1 1 rg 0 0 600 800 re f 0 0 0 rg "
	long := strings.Repeat("approvazione del contratto ", 6)
	for _, row := range []struct {
		name    string
		rotate  int
		content string
		a       Appearance
		o       Options
		want    pdf.Rect // in user space
		remark  string
	}{
		{"empty", 0, ground, Appearance{Width: 164, Height: 45, Anywhere: true}, Options{}, pdf.Rect{LLX: 400, LLY: 36, URX: 564, URY: 81}, ""},
		{"right is taken", 0, ground + "500 50 20 20 re f", Appearance{Width: 164, Height: 45, Anywhere: true}, Options{}, pdf.Rect{LLX: 36, LLY: 36, URX: 200, URY: 81}, ""},
		{"end is taken", 0, ground + "0 0 600 100 re f", Appearance{Width: 164, Height: 45, Anywhere: true}, Options{}, pdf.Rect{LLX: 400, LLY: 108, URX: 564, URY: 153}, ""},
		{"turned", 90, ground, Appearance{Width: 164, Height: 45, Anywhere: true}, Options{}, pdf.Rect{LLX: 519, LLY: 600, URX: 564, URY: 764}, ""},
		{"full", 0, "0 0 600 800 re f", Appearance{X: 20, Y: 20, Width: 164, Height: 45, Anywhere: true}, Options{}, pdf.Rect{LLX: 20, LLY: 735, URX: 184, URY: 780}, ""},
		{"grows", 0, ground, Appearance{Width: 164, Height: 45, Anywhere: true}, Options{Reason: long, Location: "Reggio nell'Emilia"}, pdf.Rect{LLX: 400, LLY: 36, URX: 564, URY: 111}, ""},
		{"off the page", 0, ground, Appearance{X: 700, Y: 900, Width: 164, Height: 45}, Options{}, pdf.Rect{LLX: 436, LLY: 0, URX: 600, URY: 45}, "moved onto the page, to 436,755"},
		{"larger than the page", 0, ground, Appearance{X: -5, Y: 0, Width: 900, Height: 1000}, Options{}, pdf.Rect{URX: 600, URY: 800}, "moved onto the page"},
		{"small", 0, ground, Appearance{X: 50, Y: 50, Width: 60, Height: 20}, Options{}, pdf.Rect{LLX: 50, LLY: 730, URX: 110, URY: 750}, "hard to read"},
		{"too small", 0, ground, Appearance{X: 50, Y: 50, Width: 60, Height: 20}, Options{Reason: long}, pdf.Rect{LLX: 50, LLY: 730, URX: 110, URY: 750}, "not all of the text fits"},
	} {
		o := row.o
		o.Appearance = &row.a
		d, err := Prepare(context.Background(), bytes.NewReader(written(row.rotate, row.content)), signing, o)
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		var got string
		for _, r := range d.Remarks() {
			got += r.Text + "; "
		}
		if row.remark == "" && got != "" || !strings.Contains(got, row.remark) {
			t.Errorf("%s: remarks %q", row.name, got)
		}
		value, err := d.Value(pki.Actor(t, "good").Key)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := d.Finish(&out, value); err != nil {
			t.Fatal(err)
		}
		doc, err := pdf.Open(bytes.NewReader(out.Bytes()), pdf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		page, err := doc.Page(0)
		if err != nil {
			t.Fatal(err)
		}
		annots, _ := doc.Array(page.Dict.Get("Annots"))
		widget, _ := doc.Dict(annots[0])
		if got, _ := doc.Rect(widget.Get("Rect")); got != row.want {
			t.Errorf("%s: the box stands at %v, not at %v", row.name, got, row.want)
		}
	}
}
