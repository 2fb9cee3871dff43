package revision

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// base is a document of one page with a signed field, a text field and
// metadata, as one revision.
func base() []byte {
	return file(
		"<< /Type /Catalog /Pages 2 0 R /AcroForm 5 0 R /Metadata 9 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] /Contents 4 0 R /Annots [6 0 R 7 0 R] >>",
		"<< /Length 1 >>\nstream\nn\nendstream",
		"<< /Fields [6 0 R 7 0 R] /SigFlags 3 >>",
		"<< /Type /Annot /Subtype /Widget /FT /Sig /T (Sig) /V 8 0 R /Rect [0 0 0 0] >>",
		"<< /Type /Annot /Subtype /Widget /FT /Tx /T (Text) /Rect [0 0 90 20] /AP << /N 10 0 R >> >>",
		"<< /Type /Sig /ByteRange [0 1 2 3] /Contents <00> >>",
		"<< /Length 1 >>\nstream\nm\nendstream",
		"<< /Type /XObject /Subtype /Form /BBox [0 0 90 20] /Length 1 >>\nstream\nn\nendstream",
	)
}

// file writes objects, numbered from 1, the first of which is the catalog.
func file(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	xref := fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, o := range objects {
		xref += fmt.Sprintf("%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", xref, len(objects)+1, at)
	return b.Bytes()
}

func ref(n int) pdf.Ref { return pdf.Ref{Num: n} }

// edit sets keys of an object in an update.
func edit(t *testing.T, u *pdf.Update, num int, pairs ...pdf.Object) {
	t.Helper()
	d, err := u.Edit(ref(num))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		d.Set(pairs[i].(pdf.Name), pairs[i+1])
	}
}

func signature(u *pdf.Update, kind pdf.Name) pdf.Ref {
	return u.New(pdf.NewDict(pdf.Name("Type"), kind,
		pdf.Name("ByteRange"), pdf.Array{pdf.Integer(0)}, pdf.Name("Contents"), pdf.String{Hex: true}))
}

func newField(t *testing.T, u *pdf.Update, pairs ...pdf.Object) {
	t.Helper()
	f := pdf.NewDict(append([]pdf.Object{
		pdf.Name("Type"), pdf.Name("Annot"), pdf.Name("Subtype"), pdf.Name("Widget"),
		pdf.Name("Rect"),
		pdf.Array{pdf.Integer(0), pdf.Integer(0), pdf.Integer(0), pdf.Integer(0)},
		pdf.Name("T"),
		pdf.String{Bytes: []byte("New")},
		pdf.Name("P"), ref(3),
	}, pairs...)...)
	r := u.New(f)
	edit(t, u, 5, pdf.Name("Fields"), pdf.Array{ref(6), ref(7), r})
	edit(t, u, 3, pdf.Name("Annots"), pdf.Array{ref(6), ref(7), r})
}

// fill sets a value and draws a text.
func fill(t *testing.T, u *pdf.Update, value, shown string) {
	t.Helper()
	edit(t, u, 7, pdf.Name("V"), pdf.String{Bytes: []byte(value)})
	font := pdf.NewDict(pdf.Name("Type"), pdf.Name("Font"), pdf.Name("Subtype"), pdf.Name("Type1"),
		pdf.Name("BaseFont"), pdf.Name("Helvetica"), pdf.Name("Encoding"), pdf.Name("WinAnsiEncoding"))
	u.Set(ref(10), &pdf.Stream{
		Dict: pdf.NewDict(pdf.Name("Type"), pdf.Name("XObject"), pdf.Name("Subtype"), pdf.Name("Form"),
			pdf.Name("BBox"), pdf.Array{pdf.Integer(0), pdf.Integer(0), pdf.Integer(90), pdf.Integer(20)},
			pdf.Name("Resources"), pdf.NewDict(pdf.Name("Font"), pdf.NewDict(pdf.Name("Helv"), font))),
		Data: []byte("/Tx BMC q BT /Helv 8 Tf 0 g 1 1 Td (" + shown + ") Tj ET Q EMC"),
	})
}

// bordered fills the field and gives it a border style.
func bordered(width int64) func(t *testing.T, u *pdf.Update) {
	return func(t *testing.T, u *pdf.Update) {
		fill(t, u, "100", "100")
		edit(t, u, 7, pdf.Name("BS"), pdf.NewDict(pdf.Name("W"), pdf.Integer(width), pdf.Name("S"), pdf.Name("S")),
			pdf.Name("DA"), pdf.String{Bytes: []byte("/Helv 8 Tf 0 g")})
	}
}

// strewn adds an empty signature field without area, with an appearance that has no box.
func strewn(code string, rect pdf.Name) func(t *testing.T, u *pdf.Update) {
	return func(t *testing.T, u *pdf.Update) {
		ap := u.New(&pdf.Stream{Dict: pdf.NewDict(pdf.Name("Subtype"), pdf.Name("Form")), Data: []byte(code)})
		f := u.New(pdf.NewDict(pdf.Name("Subtype"), pdf.Name("Widget"), pdf.Name("FT"), pdf.Name("Sig"), pdf.Name("T"), pdf.String{Bytes: []byte("New")},
			rect, pdf.Rect{}.Array(), pdf.Name("AP"), pdf.NewDict(pdf.Name("N"), ap)))
		edit(t, u, 5, pdf.Name("Fields"), pdf.Array{ref(6), ref(7), f})
		edit(t, u, 3, pdf.Name("Annots"), pdf.Array{ref(6), ref(7), f})
	}
}

// emptyField adds an empty signature field with an area and an appearance.
func emptyField(code string, more ...pdf.Object) func(t *testing.T, u *pdf.Update) {
	return func(t *testing.T, u *pdf.Update) {
		ap := u.New(&pdf.Stream{Dict: pdf.NewDict(pdf.Name("Subtype"), pdf.Name("Form"), pdf.Name("BBox"), pdf.Rect{URX: 90, URY: 20}.Array()), Data: []byte(code)})
		f := u.New(pdf.NewDict(append([]pdf.Object{
			pdf.Name("Subtype"), pdf.Name("Widget"), pdf.Name("FT"), pdf.Name("Sig"), pdf.Name("T"),
			pdf.String{Bytes: []byte("New")},
			pdf.Name("Rect"), pdf.Rect{LLX: 10, LLY: 10, URX: 100, URY: 30}.Array(), pdf.Name("AP"), pdf.NewDict(pdf.Name("N"), ap),
		}, more...)...))
		edit(t, u, 5, pdf.Name("Fields"), pdf.Array{ref(6), ref(7), f})
		edit(t, u, 3, pdf.Name("Annots"), pdf.Array{ref(6), ref(7), f})
	}
}

// sealOf takes signature dictionaries at their word.
func sealOf(d *pdf.Document) func(string, int) Seal {
	m, err := newModel(&view{Document: d, shared: make(map[place]pdf.Object)}, 0, &work{ctx: context.Background()})
	if err != nil {
		panic(err)
	}
	return func(name string, _ int) Seal {
		for _, f := range m.byName[name] {
			switch d.Name(m.dict(f.attrs.Get("V")).Get("Type")) {
			case "DocTimeStamp":
				return Timestamp
			case "Void":
				return Void
			}
		}
		return Signature
	}
}

var drawing = &pdf.Stream{Dict: pdf.NewDict(), Data: []byte("q Q")}

func TestChanges(t *testing.T) {
	sig := []pdf.Object{pdf.Name("FT"), pdf.Name("Sig")}
	visible := []pdf.Object{pdf.Name("Rect"), pdf.Array{pdf.Integer(0), pdf.Integer(0), pdf.Integer(50), pdf.Integer(50)}}
	for _, c := range []struct {
		name    string
		docMDP  int
		change  func(t *testing.T, u *pdf.Update)
		kinds   []string
		allowed bool
	}{
		{"DSS", noChanges, func(t *testing.T, u *pdf.Update) {
			certs := pdf.Array{u.New(drawing)}
			edit(t, u, 1, pdf.Name("DSS"), u.New(pdf.NewDict(pdf.Name("Certs"), certs)))
		}, []string{"dss"}, true},
		{"DSS that is page content too", 0, func(t *testing.T, u *pdf.Update) {
			certs := pdf.Array{u.New(drawing)}
			edit(t, u, 1, pdf.Name("DSS"), u.New(pdf.NewDict(pdf.Name("Certs"), certs)))
			edit(t, u, 3, pdf.Name("Contents"), certs[0])
		}, []string{"content", "dss"}, false},
		{"DSS that takes the number of page content", 0, func(t *testing.T, u *pdf.Update) {
			u.Set(ref(4), drawing)
			edit(t, u, 1, pdf.Name("DSS"), u.New(pdf.NewDict(pdf.Name("Certs"), pdf.Array{ref(4)})))
		}, []string{"content", "dss"}, false},
		{"time-stamp under P=1", noChanges, func(t *testing.T, u *pdf.Update) {
			newField(t, u, append(sig, pdf.Name("V"), signature(u, "DocTimeStamp"))...)
		}, []string{"document-timestamp"}, true},
		{"void time-stamp under P=1", noChanges, func(t *testing.T, u *pdf.Update) {
			newField(t, u, append(sig, pdf.Name("V"), signature(u, "Void"))...)
		}, []string{"document-timestamp"}, false},
		{"signature", 0, func(t *testing.T, u *pdf.Update) {
			newField(t, u, append(sig, pdf.Name("V"), signature(u, "Sig"))...)
		}, []string{"signature"}, true},
		{"signature under P=1", noChanges, func(t *testing.T, u *pdf.Update) {
			newField(t, u, append(sig, pdf.Name("V"), signature(u, "Sig"))...)
		}, []string{"signature"}, false},
		{"unsigned field that shows something", formFilling, func(t *testing.T, u *pdf.Update) {
			ap := pdf.NewDict(pdf.Name("N"), u.New(drawing))
			f := slices.Concat(sig, visible, []pdf.Object{pdf.Name("AP"), ap})
			d := u.New(pdf.NewDict(append(f, pdf.Name("Subtype"), pdf.Name("Widget"), pdf.Name("T"), pdf.String{Bytes: []byte("New")})...))
			edit(t, u, 5, pdf.Name("Fields"), pdf.Array{ref(6), ref(7), d})
			edit(t, u, 3, pdf.Name("Annots"), pdf.Array{ref(6), ref(7), d})
		}, []string{"form"}, false},
		{"unsigned field without area that draws", formFilling, strewn("n 0 0 9 9 re f", "Rect"), []string{"form"}, false}, // PDFium shows it
		{"unsigned field without area that draws nothing", formFilling, strewn("n q Q", "Rect"), []string{"form"}, true},
		{"unsigned field with an empty appearance", formFilling, emptyField("\n"), []string{"form"}, true},
		{"unsigned field with an appearance beside its box", formFilling, emptyField("200 0 9 9 re f"), []string{"form"}, false}, // pdf.js shows it if the box has no area
		{"unsigned field with a border and an empty appearance", formFilling, emptyField("", pdf.Name("MK"), pdf.NewDict(pdf.Name("BG"), pdf.Array{pdf.Integer(1)})), []string{"form"}, false},
		{"unsigned field without Rect", formFilling, strewn("n", "C"), []string{"form"}, false}, // MuPDF hides the page
		{"text field", formFilling, func(t *testing.T, u *pdf.Update) {
			newField(t, u, pdf.Name("FT"), pdf.Name("Tx"))
		}, []string{"form"}, false},
		{"filling without certification", 0, func(t *testing.T, u *pdf.Update) { fill(t, u, "100", "100") }, []string{"form-fill"}, true},
		{"filling under P=2", formFilling, func(t *testing.T, u *pdf.Update) { fill(t, u, "100", "100") }, []string{"form-fill"}, true},
		{"filling under P=1", noChanges, func(t *testing.T, u *pdf.Update) { fill(t, u, "100", "100") }, []string{"form-fill"}, false},
		{"filling with another text", formFilling, func(t *testing.T, u *pdf.Update) { fill(t, u, "100", "900") }, []string{"form-fill"}, false},
		{"filling with a thin border", 0, bordered(1), []string{"form-fill"}, true}, // as PyMuPDF does
		{"filling with a thick border", 0, bordered(9), []string{"form", "form-fill"}, false},
		{"a value that does not show", 0, func(t *testing.T, u *pdf.Update) {
			edit(t, u, 7, pdf.Name("V"), pdf.String{Bytes: []byte("x")})
		}, []string{"form-fill"}, false},
		{"appearance of the signed field", annotations, func(t *testing.T, u *pdf.Update) {
			edit(t, u, 6, pdf.Name("AP"), pdf.NewDict(pdf.Name("N"), u.New(drawing)))
		}, []string{"signature"}, false},
		{"the signature itself", annotations, func(t *testing.T, u *pdf.Update) {
			edit(t, u, 8, pdf.Name("Reason"), pdf.String{Bytes: []byte("x")})
		}, []string{"signature"}, false},
		{"comment", 0, func(t *testing.T, u *pdf.Update) {
			edit(t, u, 3, pdf.Name("Annots"), pdf.Array{ref(6), ref(7), u.New(pdf.NewDict(pdf.Name("Subtype"), pdf.Name("FreeText")))})
		}, []string{"annotation"}, false},
		{"comment under P=3", annotations, func(t *testing.T, u *pdf.Update) {
			edit(t, u, 3, pdf.Name("Annots"), pdf.Array{ref(6), ref(7), u.New(pdf.NewDict(pdf.Name("Subtype"), pdf.Name("FreeText"), pdf.Name("Rect"), pdf.Rect{URX: 20, URY: 20}.Array()))})
		}, []string{"annotation"}, true},
		{"page content", annotations, func(_ *testing.T, u *pdf.Update) { u.Set(ref(4), drawing) }, []string{"content"}, false},
		{"a page whose Type is null", 0, func(t *testing.T, u *pdf.Update) { edit(t, u, 3, pdf.Name("Type"), nil) }, []string{"page"}, false}, // PDFium has none
		{"metadata", noChanges, func(_ *testing.T, u *pdf.Update) { u.Set(ref(9), drawing) }, []string{"metadata"}, true},
		{"a start action", annotations, func(t *testing.T, u *pdf.Update) {
			edit(t, u, 1, pdf.Name("OpenAction"), pdf.NewDict(pdf.Name("S"), pdf.Name("JavaScript")))
		}, []string{"action"}, false},
		{"an object nobody refers to", noChanges, func(_ *testing.T, u *pdf.Update) { u.New(drawing) }, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := pdf.Open(bytes.NewReader(base()), pdf.Options{})
			if err != nil {
				t.Fatal(err)
			}
			u := d.Update()
			c.change(t, u)
			more, err := u.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			after, err := pdf.Open(bytes.NewReader(append(base(), more...)), pdf.Options{})
			if err != nil {
				t.Fatal(err)
			}
			changes, err := New(t.Context(), after).Compare(1, Rules{DocMDP: c.docMDP, Seal: sealOf(after)})
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			allowed := true
			for _, ch := range changes {
				kinds = append(kinds, ch.Kind)
				allowed = allowed && ch.Permitted
			}
			slices.Sort(kinds)
			kinds = slices.Compact(kinds)
			if !slices.Equal(kinds, c.kinds) || allowed != c.allowed {
				t.Errorf("kinds %v, permitted %v; want %v, %v\n%+v", kinds, allowed, c.kinds, c.allowed, changes)
			}
		})
	}
}

// formOf is a form of n text fields that was filled in, each with an appearance.
func formOf(t *testing.T, n int) *pdf.Document {
	t.Helper()
	update := func(data []byte, do func(u *pdf.Update)) []byte {
		d, err := pdf.Open(bytes.NewReader(data), pdf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		u := d.Update()
		do(u)
		more, err := u.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return append(data, more...)
	}
	field := func(i int, more string) pdf.Raw {
		return pdf.Raw(fmt.Sprintf("<</Type/Annot/Subtype/Widget/FT/Tx/T(f%d)/Rect[0 0 90 20]/DA(/Helv 8 Tf 0 g)/AP<</N %d 0 R>>%s>>", i, 12+2*i, more))
	}
	drawn := func(data string) *pdf.Stream {
		return &pdf.Stream{
			Dict: pdf.NewDict(pdf.Name("Subtype"), pdf.Name("Form"), pdf.Name("BBox"), pdf.Raw("[0 0 90 20]"),
				pdf.Name("Resources"), pdf.Raw("<</Font<</Helv<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>>>>>")),
			Data: []byte(data),
		}
	}
	data := update(base(), func(u *pdf.Update) {
		all := pdf.Array{ref(6), ref(7)}
		for i := range n {
			all = append(all, u.New(field(i, "")))
			u.New(drawn("/Tx BMC EMC"))
		}
		edit(t, u, 5, pdf.Name("Fields"), all)
		edit(t, u, 3, pdf.Name("Annots"), all)
	})
	data = update(data, func(u *pdf.Update) {
		for i := range n {
			u.Set(ref(11+2*i), field(i, "/V(x)"))
			u.Set(ref(12+2*i), drawn("/Tx BMC BT /Helv 8 Tf 0 g 1 4 Td (x) Tj ET EMC"))
		}
	})
	d, err := pdf.Open(bytes.NewReader(data), pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The work that a form costs grows with its fields, and not with their square.
func TestCostOfFields(t *testing.T) {
	cost := func(n int) int {
		c := New(t.Context(), formOf(t, n))
		changes, err := c.Compare(2, Rules{DocMDP: formFilling})
		if err != nil {
			t.Fatal(err)
		}
		for _, ch := range changes {
			if ch.What != "form-fill" {
				t.Fatalf("%d fields: %+v", n, ch)
			}
		}
		if len(changes) != n {
			t.Errorf("%d of %d fields are filled in", len(changes), n)
		}
		return c.work.steps
	}
	few, many := cost(500), cost(4000)
	if many > 10*few {
		t.Errorf("500 fields cost %d steps, and 4000 cost %d", few, many)
	}
}

// Who runs out of time knows nothing: no change is called forbidden for it.
func TestOutOfTime(t *testing.T) {
	d := formOf(t, 50)
	for steps := 1; steps < 4000; steps += 37 {
		c := New(t.Context(), d)
		c.work.steps = mostSteps - steps
		changes, err := c.Compare(2, Rules{DocMDP: formFilling})
		if err != nil {
			t.Fatal(err)
		}
		for _, ch := range changes {
			if !ch.Permitted && !ch.Unexplained {
				t.Fatalf("after %d steps: %+v", steps, ch)
			}
		}
		if !slices.ContainsFunc(changes, func(ch ades.Change) bool { return ch.What == "too-much" }) && len(changes) != 50 {
			t.Fatalf("after %d steps: %d changes, and nothing says that it is not all", steps, len(changes))
		}
	}
}
