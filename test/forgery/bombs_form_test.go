package forgery

import (
	"fmt"
	"strings"
	"testing"

	raw "rogito.dev/rogito/internal/pdf"
)

// bigForm is a form of n empty text fields, signed; the fields have the numbers
// from 14 on, every second one, and their appearances those between.
func bigForm(t *testing.T, m *materials, n int, font string) []byte {
	t.Helper()
	return m.signOne("form.pdf", change(t, pdf(), func(e *editor) {
		var refs []raw.Ref
		for i := range n {
			f := e.add(bigField(i, ""))
			e.stream(strings.Replace(fieldDict, "5 0 R", font, 1), "/Tx BMC EMC")
			refs = append(refs, f)
		}
		e.annots(refs...)
		e.fields(refs...)
	}), nil)
}

func bigField(i int, value string) string {
	return fmt.Sprintf("<</Type/Annot/Subtype/Widget/FT/Tx/T(f%d)/DA(/Helv 12 Tf 0 g)/Rect[%d %d %d %d]/F 4/P 3 0 R/AP<</N %d 0 R>>%s>>",
		i, 150+i%3, i%5*20, 250+i%3, i%5*20+20, 15+2*i, value) // where the page is empty
}

func fillBigForm(e *editor, n int, font string) {
	for i := range n {
		e.set(14+2*i, bigField(i, "/V(x)"))
		e.setStream(15+2*i, strings.Replace(fieldDict, "5 0 R", font, 1), showing("x"))
	}
}

const inlineFont = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"

// manyFields are large forms that were filled in: they are judged.
func manyFields(t *testing.T, m *materials) []specimen {
	var out []specimen
	const n = 1500
	for name, font := range map[string]string{"one font": "5 0 R", "a font each": inlineFont} {
		data := change(t, bigForm(t, m, n, font), func(e *editor) { fillBigForm(e, n, font) })
		out = append(out, specimen{name: fmt.Sprintf("form of %d fields, %s", n, name), data: data, want: genuine})
	}
	return out
}

// formBombs are forms and pages that want every name held against everything.
func formBombs(m *materials, out map[string][]byte) {
	t := m.t
	names := func(n int, value string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "/Q%d %s", i, value)
		}
		return b.String()
	}
	form := bigForm(t, m, 4000, "5 0 R")
	out["form, filled"] = change(t, form, func(e *editor) { fillBigForm(e, 4000, "5 0 R") })
	out["form, fonts of their own"] = change(t, form, func(e *editor) {
		for i := range 4000 {
			e.set(14+2*i, bigField(i, "/V(x)"))
			e.setStream(15+2*i, strings.Replace(fieldDict, "5 0 R", fmt.Sprintf("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/Name/Q%d>>", i), 1), showing("x"))
		}
	})
	out["form, resources"] = change(t, form, func(e *editor) { e.put(6, "DR", "<</Font<</Helv 5 0 R"+names(20000, "5 0 R")+">>>>") })
	long := m.signOne("long.pdf", change(t, pdf(), func(e *editor) {
		e.setStream(4, "/Filter/FlateDecode", repeated("BT /F1 18 Tf 20 150 Td (x) Tj ET\n", "/A", 1<<20))
	}), nil)
	out["page, resources"] = change(t, long, func(e *editor) { e.put(3, "Resources", "<</Font<</F1 5 0 R"+names(20000, "5 0 R")+">>>>") })
	glyphs := m.signOne("glyphs.pdf", change(t, pdf(), func(e *editor) {
		g := e.stream("/Filter/FlateDecode", repeated("0 0 d0 ", "/A ", 1<<20))
		var fonts strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&fonts, "/T%d<</Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a %v>>/Encoding<</Differences[97/a]>>/FirstChar 97/LastChar 97/Widths[0]/Resources<</Font<</X 5 0 R>>>>>>", i, g)
		}
		e.put(3, "Resources", "<</Font<</F1 5 0 R"+fonts.String()+">>>>")
	}), nil)
	out["page, glyphs"] = change(t, glyphs, func(e *editor) {
		d, err := e.u.Edit(raw.Ref{Num: 3})
		if err != nil {
			t.Fatal(err)
		}
		r := d.Get("Resources").(*raw.Dict).Clone()
		r.Set("ExtGState", raw.Raw("<<"+names(4000, "<<>>")+">>"))
		d.Set("Resources", r)
	})
}
