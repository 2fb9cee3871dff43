package forgery

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/cades"
	raw "rogito.dev/rogito/internal/pdf"
)

func init() {
	register("pdf-undrawn", makeUndrawn)
	register("pdf-unseen", makeUnseen)
	register("pdf-further", makeFurther)
}

// again signs a document again by hand: do writes what else the update has, and
// is given the signature. Objects from 150 to 159 are free to be set.
func (m *materials) again(doc []byte, do func(e *editor, sig raw.Ref)) []byte {
	m.t.Helper()
	const room = 8192
	ranges := fmt.Sprintf("%-60s", "[0 0 0 0]")
	out := change(m.t, doc, func(e *editor) {
		for e.add("null").Num < 160 {
		}
		do(e, e.add("<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/ETSI.CAdES.detached/ByteRange"+ranges+"/Contents<"+strings.Repeat("0", room)+">>>"))
	})
	from := bytes.LastIndex(out, []byte("/Contents<00")) + len("/Contents")
	to := from + room + 2
	copy(out[bytes.LastIndex(out, []byte(ranges)):], fmt.Sprintf("%-60s", fmt.Sprintf("[0 %d %d %d]", from, to, len(out)-to)))
	value := m.sign([]ades.File{{Name: "x.pdf", Source: bytes.NewReader(append(bytes.Clone(out[:from]), out[to:]...))}}, func(o *rogito.Options) {
		o.Format, o.CAdES = ades.CAdES, cades.Options{Detached: true}
	})
	copy(out[from+1:], fmt.Sprintf("%x", value))
	return out
}

// makeUndrawn fills in fields and leaves it to readers to draw them: over the page,
// in colours, sizes and fonts that their author chose.
func makeUndrawn(t *testing.T, m *materials) []specimen {
	var list []prepared
	const over, aside = "/Rect[100 145 130 170]", "/Rect[100 15 130 40]"
	const field = "/Type/Annot/Subtype/Widget/F 4/P 3 0 R/T(note)"
	for name, k := range map[string][2]string{
		"text":              {"/FT/Tx/DA(/Helv 18 Tf 0 g)", "/V(8)"},
		"white text":        {"/FT/Tx/DA(/Helv 18 Tf 1 g)", "/V(8888)"},
		"text of any size":  {"/FT/Tx/DA(/Helv 0 Tf 0 g)", "/V(8)"},
		"large white text":  {"/FT/Tx/DA(/Helv 90 Tf 1 g)", "/V(888)"},
		"lines":             {"/FT/Tx/Ff 4096/DA(/Helv 9 Tf 1 g)", "/V(88888 88888 88888)"},
		"a combo box":       {"/FT/Ch/Ff 131072/Opt[(8)]/DA(/Helv 18 Tf 0 g)", "/V(8)"},
		"a list box":        {"/FT/Ch/Opt[(8)(9)]/DA(/Helv 9 Tf 0 g)", "/V(8)"},
		"a comb":            {"/FT/Tx/Ff 16777216/MaxLen 2/DA(/Helv 18 Tf 0 g)", "/V(88)"},
		"text with a wrong": {"/FT/Tx/DA(/Helv 18 Tf 1 g 0 g)", "/V(8)"},
	} {
		for _, ap := range []string{"", "/AP<<>>"} {
			list = append(list, prepared{name + ap + " over the amount", 0, "", func(e *editor) { e.putField(field + over + k[0]) }, func(e *editor) {
				e.set(101, "<<"+field+over+k[0]+k[1]+ap+">>")
			}})
		}
		anew := func(name, want, rect string) {
			list = append(list, prepared{name, 0, want, func(e *editor) {
				e.putField(field + rect + k[0])
				e.put(6, "NeedAppearances", "true")
			}, func(e *editor) { e.set(101, "<<"+field+rect+k[0]+k[1]+">>") }})
		}
		anew(name+" over the amount, drawn anew", "", over)
		if !strings.Contains(name, "white") && name != "lines" && !strings.Contains(name, "wrong") {
			anew(name+" beside the amount, drawn anew", genuine, aside)
			list = append(list, prepared{name + " beside the amount", 0, genuine, func(e *editor) { e.putField(field + aside + k[0]) }, func(e *editor) {
				e.set(101, "<<"+field+aside+k[0]+k[1]+">>")
			}})
		}
	}
	// A text that is drawn in a place of its own, and by readers over the amount.
	tall := field + "/Rect[15 110 285 175]/FT/Tx/Ff 4096/DA(/Helv 18 Tf 0 g)"
	list = append(list, prepared{"text below the amount, drawn anew", 0, "", func(e *editor) {
		e.putField(tall)
		e.put(6, "NeedAppearances", "true")
	}, func(e *editor) {
		e.setStream(110, "/Type/XObject/Subtype/Form/BBox[0 0 270 65]/Resources<</Font<</Helv 5 0 R>>>>", "/Tx BMC BT 0 g /Helv 18 Tf 2 5 Td (888) Tj ET EMC")
		e.set(101, "<<"+tall+"/V(888)/AP<</N 110 0 R>>>>")
	}})
	// Fonts of the form with glyphs of their own.
	descriptor := "<</Type/FontDescriptor/FontName/Big/Flags 32/FontBBox[0 0 500 700]/ItalicAngle 0/Ascent 700/Descent 0/CapHeight 700/StemV 80/FontFile2 104 0 R>>"
	simple := "<</Type/Font/Subtype/TrueType/BaseFont/Big/Encoding/WinAnsiEncoding/FirstChar 65/LastChar 65/Widths[500]/FontDescriptor 103 0 R>>"
	glyphs := func(name, want, font, value string, program []byte, page string) {
		whole := field + page + "/FT/Tx/DA(/Big 12 Tf 0 g)"
		list = append(list, prepared{name, 0, want, func(e *editor) {
			e.set(102, font)
			e.set(103, descriptor)
			e.setStream(104, fmt.Sprintf("/Length1 %d", len(program)), string(program))
			e.setStream(106, "", "1 0 d0 0 0 300 200 re f")
			e.put(6, "DR", "<</Font<</Helv 5 0 R/Big 102 0 R>>>>")
			e.putField(whole)
		}, func(e *editor) { e.set(101, "<<"+whole+"/V("+value+")>>") }})
	}
	large, letter := makeFont(1000, []glyphBox{{0, 0, 20000, 9000}}, 0), makeFont(1000, []glyphBox{{50, 0, 450, 700}}, 0)
	glyphs("a glyph as large as the page", "", simple, "A", large, "/Rect[0 0 300 200]")
	glyphs("a procedure as large as the page", "", strings.Replace(type3, "102 0 R", "106 0 R", 1), "a", large, "/Rect[0 0 300 200]")
	glyphs("a letter", genuine, simple, "A", letter, aside)
	return forge(t, m, list)
}

// makeUnseen fills in fields where the page is drawn by something that says it is
// no text, with glyphs that hide it, or where it stands on several pages.
func makeUnseen(t *testing.T, m *materials) []specimen {
	var list []prepared
	descriptor := "<</Type/FontDescriptor/FontName/Big/Flags 32/FontBBox[0 0 500 700]/ItalicAngle 0/Ascent 700/Descent 0/CapHeight 700/StemV 80/FontFile2 104 0 R>>"
	simple := "<</Type/Font/Subtype/TrueType/BaseFont/Big/Encoding/WinAnsiEncoding/FirstChar 65/LastChar 65/Widths[500]/FontDescriptor 103 0 R>>"
	block := makeFont(1000, []glyphBox{{0, -200, 500, 900}}, 0)
	over := "/Type/Annot/Subtype/Widget/FT/Tx/Rect[15 140 285 175]/F 4/P 3 0 R/DA(/Big 18 Tf 0 g)/T(note)"
	for name, content := range map[string]string{
		"paths":     "20 150 m 40 170 l 60 150 l f 70 150 20 15 re f 100 150 m 120 170 l 3 w S",
		"strokes":   "1 w 20 150 m 40 170 l 60 150 l S 70 150 m 75 165 l S",
		"a picture": "q 100 0 0 20 20 150 cm /X Do Q",
	} {
		list = append(list, prepared{"blocks over " + name, 0, forged, func(e *editor) {
			e.setStream(4, "", content)
			e.setStream(105, "/Type/XObject/Subtype/Image/Width 2/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray/Filter/ASCIIHexDecode", "80C0>")
			e.page("/XObject<</X 105 0 R>>")
			e.set(102, simple)
			e.set(103, descriptor)
			e.setStream(104, fmt.Sprintf("/Length1 %d", len(block)), string(block))
			e.put(6, "DR", "<</Font<</Helv 5 0 R/Big 102 0 R>>>>")
			e.putField(over)
		}, func(e *editor) {
			e.setStream(110, "/Type/XObject/Subtype/Form/BBox[0 0 270 35]/Resources<</Font<</Big 102 0 R>>>>", "/Tx BMC BT 0 g /Big 18 Tf 2 8 Td (AAAAAAAAAAAA) Tj ET EMC")
			e.set(101, "<<"+over+"/V(AAAAAAAAAAAA)/AP<</N 110 0 R>>>>")
		}})
	}
	const dots = "<</Type/Font/Subtype/Type3/FontBBox[0 0 1000 1000]/FontMatrix[.001 0 0 .001 0 0]/CharProcs<</period 106 0 R/space 106 0 R>>/Encoding<</Type/Encoding/Differences[46/period 32/space]>>" +
		"/FirstChar 32/LastChar 46/Widths[600 600 600 600 600 600 600 600 600 600 600 600 600 600 600]/Resources<</Font<</F 5 0 R>>>>>>"
	write := func(name, want, shown, glyph string) {
		list = append(list, prepared{name, 0, want, func(e *editor) {
			e.setStream(4, "", "BT /T3 18 Tf 20 150 Td "+shown+" Tj ET")
			e.set(105, dots)
			e.setStream(106, "", "600 0 d0 BT /F 1000 Tf ("+glyph+") Tj ET")
			e.put(3, "Resources", "<</Font<</F1 5 0 R/T3 105 0 R>>>>")
			e.putField(overAmount + "/FT/Tx")
		}, func(e *editor) {
			e.setStream(110, overBox, "BT 0 g /Helv 18 Tf 5 10 Td (888) Tj ET")
			e.set(101, "<<"+overAmount+"/FT/Tx/V(888)/AP<</N 110 0 R>>>>")
		}})
	}
	write("digits over digits that are called dots", forged, "(...)", "3")
	write("digits over digits that are called blanks", forged, "(   )", "3")
	// A value that readers draw, and another one over it.
	for name, keys := range map[string]string{"a field": "/Subtype/Widget/FT/Tx/T(first)/V(333)", "a comment": "/Subtype/FreeText/Contents(333)"} {
		list = append(list, prepared{"digits over " + name + " that readers draw", 0, forged, func(e *editor) {
			e.setStream(4, "", "n")
			e.set(102, "<</Type/Annot/Rect[15 140 285 175]/F 4/P 3 0 R/DA(/Helv 18 Tf 0 g)"+keys+">>")
			e.putField(overAmount + "/FT/Tx")
			e.put(3, "Annots", "[102 0 R 7 0 R 9 0 R 12 0 R 101 0 R]")
			if name == "a field" {
				e.put(6, "Fields", "[102 0 R 7 0 R 9 0 R 101 0 R]")
			}
		}, func(e *editor) {
			e.setStream(110, overBox, "BT 0 g /Helv 18 Tf 2 10 Td (888) Tj ET")
			e.set(101, "<<"+overAmount+"/FT/Tx/V(888)/AP<</N 110 0 R>>>>")
		}})
	}
	const ground = "1 g 0 0 270 35 re f 0 g BT /Helv 18 Tf 5 10 Td (Pay EUR 900 to Anna) Tj ET"
	fill := func(keys string) func(e *editor) {
		return func(e *editor) {
			e.setStream(110, overBox, ground)
			e.set(101, "<<"+keys+"/FT/Tx/V(Pay EUR 900 to Anna)/AP<</N 110 0 R>>>>")
		}
	}
	list = append(list, prepared{"a ground on two pages", 0, forged, func(e *editor) {
		e.putField(overAmount + "/FT/Tx")
		e.set(105, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<<>>/Contents[]/Annots[101 0 R]>>")
		e.put(2, "Kids", "[3 0 R 105 0 R]")
		e.put(2, "Count", "2")
	}, fill(overAmount)})
	upright := strings.Replace(strings.Replace(overAmount, "[15 140 285 175]", "[150 10 290 45]", 1), "/F 4", "/F 20", 1)
	list = append(list, prepared{"a ground that stays upright on a page that is turned", 0, "", func(e *editor) {
		e.putField(upright + "/FT/Tx")
		e.put(3, "Rotate", "90")
	}, fill(upright)})
	return forge(t, m, list)
}

// makeFurther signs again with fields that show more than a picture of their own.
func makeFurther(t *testing.T, m *materials) []specimen {
	see := newEyes(t)
	var out []specimen
	add := func(name string, base, data []byte) {
		if !see.same(base, data) {
			out = append(out, specimen{name: name, data: data, want: forged})
		}
	}
	const white, page = "1 g 0 0 300 200 re f", "/Type/XObject/Subtype/Form/BBox[0 0 300 200]"
	field := func(base []byte, rect, keys string, more func(e *editor)) []byte {
		return m.again(base, func(e *editor, sig raw.Ref) {
			e.setStream(150, page, white)
			if more != nil {
				more(e)
			}
			w := e.add(fmt.Sprintf("<</Type/Annot/Subtype/Widget/FT/Sig/T(again)/V %v/P 3 0 R/Rect[%s]%s>>", sig, rect, keys))
			e.annots(w)
			e.fields(w)
		})
	}
	base := m.signOne("contract.pdf", pdf(), nil)
	need := m.signOne("contract.pdf", change(t, pdf(), func(e *editor) { e.put(6, "NeedAppearances", "true") }), nil)
	for name, keys := range map[string]string{
		"a ground":                                "/MK<</BG[1 1 1]>>",
		"a ground and a border":                   "/MK<</BG[1 1 1]/BC[1 0 0]>>/BS<</W 80>>",
		"a border":                                "/BS<</W 150>>/MK<</BC[1 1 1]>>",
		"a line around it":                        "/Border[0 0 150]/C[1 1 1]",
		"a ground, an empty appearance":           "/AP<<>>/MK<</BG[1 1 1]>>",
		"a ground, an appearance without states":  "/AP<</N<<>>>>/MK<</BG[1 1 1]>>",
		"states":                                  "/AP<</N<</Off 150 0 R>>>>/AS/Off",
		"states, none of which is named":          "/AP<</N<</A 150 0 R>>>>",
		"states, another one named":               "/AP<</N<</A 150 0 R>>>>/AS/B",
		"a picture and one that is shown pressed": "/AP<</N 8 0 R/D 150 0 R>>",
	} {
		for _, flags := range []string{"/F 4", "/F 132", ""} {
			add(name+flags, base, field(base, "0 0 300 200", keys+flags, nil))
		}
		add(name+", drawn anew", need, field(need, "0 0 300 200", keys+"/F 4", nil))
	}
	for name, ap := range map[string][2]string{
		"enlarged":              {"/Type/XObject/Subtype/Form/BBox[0 0 10 10]/Matrix[30 0 0 20 0 0]", "1 g 0 0 10 10 re f"},
		"without a box":         {"/Type/XObject/Subtype/Form", white},
		"with an empty box":     {"/Type/XObject/Subtype/Form/BBox[0 0 0 0]", white},
		"with an odd box":       {"/Type/XObject/Subtype/Form/BBox[0 0 /a 0]", white},
		"with a short box":      {"/Type/XObject/Subtype/Form/BBox[0 0 300]", white},
		"with a long box":       {"/Type/XObject/Subtype/Form/BBox[0 0 300 200 1]", white},
		"with a short matrix":   {page + "/Matrix[1 0 0 1 0]", white},
		"with an empty matrix":  {page + "/Matrix[0 0 0 0 0 0]", white},
		"turned":                {page + "/Matrix[.7 .7 -.7 .7 0 0]", white},
		"of a picture":          {"/Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray", "\xff"},
		"without a subtype":     {"/BBox[0 0 300 200]", white},
		"of a stroke":           {page, "1 G 200 w 0 100 m 300 100 l S"},
		"of a point":            {page, "1 G 1 J 300 w 150 100 m 150 100 l S"},
		"of a width elsewhere":  {page + "/Resources<</ExtGState<</G<</LW 200>>>>>>", "/G gs 1 G 0 100 m 300 100 l S"},
		"of a spike":            {page, "1 G 60 w 0 60 m 10 60 l 0 59 l S 0 120 m 10 120 l 0 119 l S"},
		"of a spike, a limit":   {page, "1 G 90 M 30 w 0 60 m 10 60 l 0 59 l S 0 120 m 10 120 l 0 119 l S 0 160 m 10 160 l 0 159 l S"},
		"of a picture within":   {page, "q 300 0 0 200 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \xff EI Q"},
		"of a glyph":            {page + "/Resources<</Font<</T3<</Type/Font/Subtype/Type3/FontBBox[0 0 0 0]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a 151 0 R>>/Encoding<</Type/Encoding/Differences[97/a]>>/FirstChar 97/LastChar 97/Widths[1]>>>>>>", "1 g BT /T3 1 Tf 0 0 Td (a) Tj ET"},
		"of a shading":          {page + "/Resources<</Shading<</S<</ShadingType 2/ColorSpace/DeviceGray/Coords[0 0 300 0]/Extend[true true]/Function<</FunctionType 2/Domain[0 1]/C0[1]/C1[1]/N 1>>>>>>>>", "/S sh"},
		"of a pattern":          {page + "/Resources<</Pattern<</P 152 0 R>>>>", "/Pattern cs /P scn 0 0 300 200 re f"},
		"of large letters":      {page + "/Resources<</Font<</F1 5 0 R>>>>", "1 g BT /F1 400 Tf -50 -20 Td (\\225\\225) Tj ET"},
		"of outlined letters":   {page + "/Resources<</Font<</F1 5 0 R>>>>", "1 G 200 w BT /F1 40 Tf 1 Tr 0 100 Td (lllllll) Tj ET"},
		"of a letter's outline": {page + "/Resources<</Font<</F1 5 0 R>>>>", "1 G 1 g 200 w BT /F1 4 Tf 2 Tr 150 100 Td (l) Tj ET"},
		"in a form of its own":  {page + "/Resources<</XObject<</X 150 0 R>>>>", "/X Do"},
	} {
		add("an appearance "+name, base, field(base, "0 0 300 200", "/F 4/AP<</N 153 0 R>>", func(e *editor) {
			e.setStream(151, "", "1 0 d0 0 0 300 200 re f")
			e.setStream(152, "/Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 10 10]/XStep 10/YStep 10/Resources<<>>", "1 g 0 0 10 10 re f")
			e.setStream(153, ap[0], ap[1])
		}))
	}
	turned := m.signOne("contract.pdf", change(t, pdf(), func(e *editor) {
		e.put(3, "Rotate", "90")
		e.put(3, "Annots", "[]")
		e.put(6, "Fields", "[]")
	}), nil)
	add("a picture that stays upright on a page that is turned", turned, field(turned, "10 10 290 130", "/F 20/AP<</N 150 0 R>>", nil))

	// A field that was there and empty, in several places.
	second := func(kids, annots, first string, more func(e *editor)) []byte {
		return m.signOne("contract.pdf", change(t, pdf(), func(e *editor) {
			for e.add("null").Num < 120 {
			}
			e.set(110, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents[]/Resources<<>>/Annots["+annots+"]>>")
			e.put(2, "Count", "2")
			e.put(2, "Kids", "["+first+"]")
			e.set(100, kids)
			more(e)
			e.fields(raw.Ref{Num: 100})
		}), nil)
	}
	for _, order := range []string{"3 0 R 110 0 R", "110 0 R 3 0 R"} {
		two := second("<</FT/Sig/T(approval)/Kids[101 0 R 102 0 R]>>", "101 0 R", order, func(e *editor) {
			e.set(101, "<</Type/Annot/Subtype/Widget/Parent 100 0 R/F 4/P 110 0 R/Rect[10 10 40 40]>>")
			e.set(102, "<</Type/Annot/Subtype/Widget/Parent 100 0 R/F 4/P 3 0 R/Rect[0 0 300 200]>>")
			e.annots(raw.Ref{Num: 102})
		})
		one := second("<</FT/Sig/T(approval)/Type/Annot/Subtype/Widget/F 4/P 110 0 R/Rect[0 0 300 200]>>", "100 0 R", order, func(e *editor) { e.annots(raw.Ref{Num: 100}) })
		for name, c := range map[string]struct {
			base []byte
			at   int
			want string
		}{
			"two places, the picture over the page": {two, 102, forged}, "one place on two pages": {one, 100, forged}, "two places, the picture beside": {two, 101, genuine},
		} {
			out = append(out, specimen{name: name + ", pages " + order, want: c.want, data: m.again(c.base, func(e *editor, sig raw.Ref) {
				e.setStream(150, page, white)
				e.put(100, "V", sig.String())
				e.put(c.at, "AP", "<</N 150 0 R>>")
			})})
		}
	}
	for name, keys := range map[string]string{"nothing to show": "", "a ground": "/MK<</BG[1 1 1]>>", "a picture": "/AP<</N 150 0 R>>", "a picture for each state": "/AP<</N<</A 150 0 R>>>>/AS/A"} {
		out = append(out, specimen{name: "small, " + name, data: field(base, "150 20 200 40", "/F 132"+keys, nil), want: genuine})
	}
	out = append(out, specimen{name: "as large as the page, nothing to show", data: field(base, "0 0 300 200", "/F 132", nil), want: genuine})
	return out
}
