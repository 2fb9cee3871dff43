package revision

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/pdf"
)

// buttonsAndList is a page with a check box (4, on 5, off 6), a list box (7,
// drawn by 8) and a font (9).
func buttonsAndList() []byte {
	stream := func(box, data string) string {
		return fmt.Sprintf("<< /Type /XObject /Subtype /Form /BBox [%s] /Resources << /Font << /Helv 9 0 R >> >> /Length %d >>\nstream\n%s\nendstream", box, len(data), data)
	}
	return file(
		"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [4 0 R 7 0 R] /DR << /Font << /Helv 9 0 R >> >> >> >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Annots [4 0 R 7 0 R] >>",
		"<< /Type /Annot /Subtype /Widget /FT /Btn /T (agreed) /V /Off /AS /Off /Rect [20 60 40 80] /AP << /N << /Yes 5 0 R /Off 6 0 R >> >> >>",
		stream("0 0 20 20", "0 0 20 20 re S 2 2 m 18 18 l S"),
		stream("0 0 20 20", "0 0 20 20 re S"),
		"<< /Type /Annot /Subtype /Widget /FT /Ch /T (list) /Opt [[(a) (Apple)] [(b) (Banana)] [(c) (Cherry)]] /Rect [20 100 120 160] /AP << /N 8 0 R >> >>",
		stream("0 0 100 60", options("")),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	)
}

// options draws the options, those named on a ground of their own.
func options(chosen string) string {
	var b strings.Builder
	b.WriteString("/Tx BMC q 1 1 98 58 re W n ")
	for i, o := range []string{"Apple", "Banana", "Cherry"} {
		if strings.Contains(chosen, o) {
			fmt.Fprintf(&b, "0.6 0.75 0.85 rg 1 %d 98 14 re f ", 44-14*i)
		}
	}
	b.WriteString("0 g ")
	for i, o := range []string{"Apple", "Banana", "Cherry"} {
		fmt.Fprintf(&b, "BT /Helv 12 Tf 2 %d Td (%s) Tj ET ", 48-14*i, o)
	}
	return b.String() + "Q EMC"
}

// A check box that is filled in may be drawn anew, and so may a list box, as
// long as a mark is a mark and the choice is the value.
func TestRedrawn(t *testing.T) {
	form := func(box, data string) *pdf.Stream {
		fonts := "<< /Font << /Helv 9 0 R /ZaDb << /Type /Font /Subtype /Type1 /BaseFont /ZapfDingbats >> /Evil << /Type /Font /Subtype /Type1 /BaseFont /ZapfDingbats /Encoding << /Differences [52 /a20] >> >> >> >>"
		return &pdf.Stream{
			Dict: pdf.NewDict(pdf.Name("Type"), pdf.Name("XObject"), pdf.Name("Subtype"), pdf.Name("Form"), pdf.Name("BBox"), pdf.Raw("["+box+"]"), pdf.Name("Resources"), pdf.Raw(fonts)),
			Data: []byte(data),
		}
	}
	check := func(on, off string) func(u *pdf.Update) {
		return func(u *pdf.Update) {
			states := pdf.NewDict(pdf.Name("Yes"), u.New(form("0 0 20 20", on)), pdf.Name("Off"), u.New(form("0 0 20 20", off)))
			edit(t, u, 4, pdf.Name("V"), pdf.Name("Yes"), pdf.Name("AS"), pdf.Name("Yes"), pdf.Name("AP"), pdf.NewDict(pdf.Name("N"), states))
		}
	}
	choose := func(value, drawn string, more ...pdf.Object) func(u *pdf.Update) {
		return func(u *pdf.Update) {
			edit(t, u, 7, append([]pdf.Object{pdf.Name("V"), pdf.String{Bytes: []byte(value)}}, more...)...)
			u.Set(ref(8), form("0 0 100 60", drawn))
		}
	}
	const frame = "q 1 w 0.5 0.5 19 19 re s Q "
	const circle = "10 19 m 15 19 19 15 19 10 c 19 5 15 1 10 1 c 5 1 1 5 1 10 c 1 15 5 19 10 19 c "
	for _, row := range []struct {
		name   string
		change func(u *pdf.Update)
		want   string
	}{
		{"a check of ZapfDingbats", check(frame+"q BT /ZaDb 16 Tf 0 g 3 4 Td (4) Tj ET Q", frame), "form-fill"},
		{"a cross of lines", check(frame+"q 0 G 1 w 2 2 m 18 18 l 2 18 m 18 2 l S Q", frame), "form-fill"},
		{"a radio button", check("q 0 G "+circle+"S Q q 0 g 10 14 m 12 14 14 12 14 10 c 14 8 12 6 10 6 c 8 6 6 8 6 10 c 6 12 8 14 10 14 c f Q", "q 0 G "+circle+"S Q"), "form-fill"},
		{"on without a mark", check(frame, frame), "field-changed"},
		{"on with a mark in white", check(frame+"1 G 2 2 m 18 18 l S", frame), "form-fill-odd"},
		{"off with a mark", check(frame+"2 2 m 18 18 l S", frame+"2 2 m 18 18 l S"), "field-changed"},
		{"off filled in black", check(frame+"2 2 m 18 18 l S", "0 0 20 20 re f"), "field-changed"},
		{"a text", check(frame+"BT /Helv 6 Tf 0 g 1 4 Td (900) Tj ET", frame), "form-fill-odd"},
		{"many strokes", check(frame+strings.Repeat("2 2 m 18 18 l S ", 20), frame), "form-fill-odd"},
		{"outside of its box", check(frame+"0 g 2 2 m 40 18 l 18 2 l f", frame), "form-fill-odd"},
		{"a font of its own", check(frame+"BT /Evil 16 Tf 0 g 3 4 Td (4) Tj ET", frame), "form-fill-odd"},
		{"a state more", func(u *pdf.Update) {
			states := pdf.NewDict(pdf.Name("Yes"), ref(5), pdf.Name("Off"), ref(6), pdf.Name("Maybe"), u.New(form("0 0 20 20", frame+"2 2 m 18 18 l S")))
			edit(t, u, 4, pdf.Name("V"), pdf.Name("Maybe"), pdf.Name("AS"), pdf.Name("Maybe"), pdf.Name("AP"), pdf.NewDict(pdf.Name("N"), states))
		}, "field-changed"},
		{"drawn anew without being filled", func(u *pdf.Update) {
			states := pdf.NewDict(pdf.Name("Yes"), ref(5), pdf.Name("Off"), u.New(form("0 0 20 20", frame)))
			edit(t, u, 4, pdf.Name("AP"), pdf.NewDict(pdf.Name("N"), states))
		}, "field-changed"},
		{"a list box", choose("b", options("Banana")), "form-fill"},
		{"a list box with its index", choose("b", options("Banana"), pdf.Name("I"), pdf.Array{pdf.Integer(1)}), "form-fill"},
		{"a list box with another index", choose("b", options("Banana"), pdf.Name("I"), pdf.Array{pdf.Integer(2)}), "form-fill-other"},
		{"a list box that shows another choice", choose("b", options("Cherry")), "form-fill-other"},
		{"a list box that shows two", choose("b", options("Banana Cherry")), "form-fill-other"},
		{"a list box that shows none", choose("b", options("")), "form-fill-odd"},
		{"a list box with another option", choose("b", strings.Replace(options("Banana"), "Cherry", "Mango", 1)), "form-fill-other"},
		{"a list box in another order", choose("b", strings.NewReplacer("Apple", "Cherry", "Cherry", "Apple").Replace(options("Banana"))), "form-fill-other"},
		{"a list box with a ground behind nothing", choose("b", "0 0 1 rg 1 1 98 5 re f "+options("Banana")), "form-fill-odd"},
	} {
		d, err := pdf.Open(bytes.NewReader(buttonsAndList()), pdf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		u := d.Update()
		row.change(u)
		more, err := u.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		after, err := pdf.Open(bytes.NewReader(append(buttonsAndList(), more...)), pdf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := New(t.Context(), after).Compare(1, Rules{DocMDP: formFilling})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].What != row.want {
			t.Errorf("%s: %v, want %s", row.name, got, row.want)
		}
	}
}
