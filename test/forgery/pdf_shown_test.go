package forgery

import (
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/pades"
)

func init() {
	register("pdf-asked", makeAsked)
	register("pdf-shown", makeShown)
}

// prepared is a document that its author prepared before someone else signed it, and what the
// author does with it afterwards.
type prepared struct {
	name    string
	certify int
	want    string // "" is forged, if a reader shows another picture
	before  func(e *editor)
	after   func(e *editor)
}

// forge signs the prepared documents and changes them. A reader must show
// that a forgery looks different.
func forge(t *testing.T, m *materials, list []prepared) []specimen {
	t.Helper()
	see := newEyes(t)
	room := change(t, pdf(), func(e *editor) { // objects up to 119, for them to fill
		for e.add("null").Num < 119 {
		}
	})
	var out []specimen
	for _, p := range list {
		doc := change(t, room, p.before)
		base := m.signOne("contract.pdf", doc, func(o *rogito.Options) { o.PAdES = pades.Options{Certify: p.certify} })
		sp := specimen{name: p.name, data: change(t, base, p.after), want: p.want}
		if p.want == "" {
			if see.same(base, sp.data) {
				continue
			}
			sp.want = forged
		}
		out = append(out, specimen{name: p.name + ", as signed", data: base, want: genuine}, sp)
		if p.want == forged {
			see.differ(p.name, base, sp.data)
		}
	}
	return out
}

const (
	pageForm = "/Type/XObject/Subtype/Form/BBox[0 0 300 200]"
	pageFont = "/Resources<</Font<</F1 5 0 R>>>>"
	over     = "1 g 0 0 300 200 re f 0 g BT /F1 18 Tf 20 150 Td (Pay EUR 900) Tj ET"
	under    = "BT /F1 18 Tf 20 150 Td (Pay EUR 100 to Anna) Tj ET "
	type3    = "<</Type/Font/Subtype/Type3/FontBBox[0 0 300 200]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a 102 0 R>>/Encoding<</Type/Encoding/Differences[97/a]>>/FirstChar 97/LastChar 97/Widths[0]>>"
	masked   = "<</Type/ExtGState/SMask<</Type/Mask/S/Luminosity/G 102 0 R>>>>"
)

// page sets the resources of the page, beside its font.
func (e *editor) page(resources string) {
	e.put(3, "Resources", "<</Font<</F1 5 0 R>>"+resources+">>")
}

// makeAsked adds resources to a page or to the form which something that is
// drawn already asks for.
func makeAsked(t *testing.T, m *materials) []specimen {
	var list []prepared
	add := func(name string, certify int, want string, before, after func(e *editor)) {
		list = append(list, prepared{name, certify, want, before, after})
	}
	// content asks for what resources hold, and that asks for /Xq, which the page
	// gets later.
	asks := func(name, content, resources string, more func(e *editor)) {
		add(name, 1, forged, func(e *editor) {
			e.setStream(4, "", under+content)
			e.page(resources)
			more(e)
		}, func(e *editor) {
			e.setStream(110, pageForm+pageFont, over)
			e.page(resources + "/XObject<</Xq 110 0 R>>")
			if strings.Contains(resources, "/XObject<<") {
				e.page(strings.Replace(resources, "/XObject<<", "/XObject<</Xq 110 0 R", 1))
			}
			if strings.HasPrefix(resources, "/Font") {
				e.put(3, "Resources", "<<"+resources+"/XObject<</Xq 110 0 R>>>>")
			}
		})
	}
	fonts := func(name string) string { return "/Font<</F1 5 0 R/" + name + " 101 0 R>>" }
	glyph := func(e *editor) {
		e.set(101, type3)
		e.setStream(102, "", "0 0 d0 /Xq Do")
	}
	group := "/Group<</S/Transparency/CS/DeviceGray>>"
	for _, name := range []string{"P", "Parent", "Data", "Page", "Start", "Obj", "CharProcs", "Resources", "FontDescriptor", "Metadata"} {
		add("glyph of a font called "+name, 1, forged, func(e *editor) {
			e.setStream(4, "", under+"BT /"+name+" 1 Tf 0 0 Td (a) Tj ET")
			e.put(3, "Resources", "<<"+fonts(name)+">>")
			glyph(e)
		}, func(e *editor) {
			e.setStream(110, pageForm+pageFont, over)
			e.put(3, "Resources", "<<"+fonts(name)+"/XObject<</Xq 110 0 R>>>>")
		})
	}
	mask := func(dict string) func(e *editor) {
		return func(e *editor) {
			e.set(101, masked)
			e.setStream(102, dict+"/BBox[0 0 300 200]"+group, "/Xq Do")
		}
	}
	lit := "q /GS gs " + over + " Q"
	white := func(name, gs, dict string) {
		add(name, 1, forged, func(e *editor) {
			e.setStream(4, "", under+strings.Replace(lit, "GS", gs, 1))
			e.page("/ExtGState<</" + gs + " 101 0 R>>")
			mask(dict)(e)
		}, func(e *editor) {
			e.setStream(110, pageForm, "1 g 0 0 300 200 re f")
			e.page("/ExtGState<</" + gs + " 101 0 R>>/XObject<</Xq 110 0 R>>")
		})
	}
	white("mask of a state called P", "P", "/Type/XObject/Subtype/Form")
	white("mask without a subtype", "GS", "")
	white("mask that is a picture by its subtype", "GS", "/Subtype/Image")
	white("mask of a state called Metadata", "Metadata", "/Type/XObject/Subtype/Form")
	asks("font of a graphics state", "/GS gs BT 0 0 Td (a) Tj ET", "/ExtGState<</GS<</Font[101 0 R 1]>>>>", glyph)
	asks("form without resources", "/Fm Do", "/XObject<</Fm 102 0 R>>", func(e *editor) { e.setStream(102, pageForm, "/Xq Do") })
	asks("form called CharProcs", "/CharProcs Do", "/XObject<</CharProcs 102 0 R>>", func(e *editor) { e.setStream(102, pageForm, "/Xq Do") })
	asks("form in a form", "/Fm Do", "/XObject<</Fm 102 0 R>>", func(e *editor) {
		e.setStream(102, pageForm+"/Resources<</XObject<</In 103 0 R>>>>", "/In Do")
		e.setStream(103, pageForm, "/Xq Do")
	})
	asks("escaped name", "/#58q Do", "", func(*editor) {})
	asks("name in two parts", "", "", func(e *editor) {
		e.setStream(102, "", "/Xq ")
		e.setStream(103, "", " Do")
		e.put(3, "Contents", "[4 0 R 102 0 R 103 0 R]")
	})
	add("colour space of a picture", 1, forged, func(e *editor) {
		e.setStream(4, "", under+"q 100 0 0 100 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /CSq ID \x01 EI Q")
	}, func(e *editor) { e.page("/ColorSpace<</CSq[/Indexed/DeviceRGB 1<FFFFFFFF0000>]>>") })
	add("shading", 1, forged, func(e *editor) { e.setStream(4, "", under+"/Sq sh") }, func(e *editor) {
		e.page("/Shading<</Sq<</ShadingType 2/ColorSpace/DeviceGray/Coords[0 0 300 0]/Function<</FunctionType 2/Domain[0 1]/C0[0]/C1[1]/N 1>>/Extend[true true]>>>>")
	})
	add("layer", 1, forged, func(e *editor) {
		e.setStream(4, "", "/OC /Mq BDC "+under+"EMC")
		e.set(102, "<</Type/OCG/Name(x)>>")
		e.put(1, "OCProperties", "<</OCGs[102 0 R]/D<</OFF[102 0 R]/Order[102 0 R]>>>>")
	}, func(e *editor) { e.page("/Properties<</Mq 102 0 R>>") })
	for _, name := range []string{"P", "Popup", "IRT"} {
		add("note that is a graphics state called "+name, 3, forged, func(e *editor) {
			e.setStream(4, "", "/"+name+" gs "+under)
			e.set(102, "<</"+name+" 12 0 R>>")
			e.put(12, "ca", "1")
			e.page("/ExtGState 102 0 R")
		}, func(e *editor) { e.put(12, "ca", "0") })
	}

	// Controls.
	nothing := func(*editor) {}
	add("font that nobody asks for", 1, genuine, nothing, func(e *editor) { e.put(3, "Resources", "<</Font<</F1 5 0 R/Zq 5 0 R>>>>") })
	add("font of a longer name", 1, genuine, nothing, func(e *editor) { e.put(3, "Resources", "<</Font<</F1 5 0 R/F10 5 0 R>>>>") })
	add("form that has what it asks for", 1, genuine, func(e *editor) {
		e.setStream(4, "", under+"/Fm Do")
		e.page("/XObject<</Fm 102 0 R>>")
		e.setStream(102, pageForm+"/Resources<</XObject<</Xq 103 0 R>>>>", "/Xq Do")
		e.setStream(103, pageForm, "n")
	}, func(e *editor) { e.page("/XObject<</Fm 102 0 R/Xq 103 0 R>>") })

	// The form's default resources.
	const digits = "<</Type/Font/Subtype/Type3/FontBBox[0 0 1000 1000]/FontMatrix[.001 0 0 .001 0 0]/CharProcs<</one 112 0 R/zero 112 0 R>>" +
		"/Encoding<</Type/Encoding/Differences[48/zero/one]>>/FirstChar 48/LastChar 49/Widths[600 600]/Resources<</Font<</F 5 0 R>>>>>>"
	supply := func(e *editor) {
		e.set(111, digits)
		e.setStream(112, "", "600 0 d0 BT /F 1000 Tf (9) Tj ET")
		e.put(6, "DR", "<</Font<</Helv 5 0 R/Zz 111 0 R>>>>")
	}
	annot := func(num int, keys string, field bool) func(e *editor) {
		return func(e *editor) {
			e.set(num, "<</Type/Annot/Rect[20 20 120 50]/F 4/P 3 0 R"+keys+">>")
			e.put(3, "Annots", fmt.Sprintf("[7 0 R 9 0 R 12 0 R %d 0 R]", num))
			if field {
				e.put(6, "Fields", fmt.Sprintf("[7 0 R 9 0 R %d 0 R]", num))
			}
		}
	}
	for name, keys := range map[string]string{
		"text field":         "/Subtype/Widget/FT/Tx/T(x)/V(100)/DA(/Zz 18 Tf 0 g)",
		"escaped name":       "/Subtype/Widget/FT/Tx/T(x)/V(100)/DA(/Z#7a 18 Tf 0 g)",
		"escaped twice":      "/Subtype/Widget/FT/Tx/T(x)/V(100)/DA(/#5A#7A 18 Tf 0 g)",
		"escaped in string":  "/Subtype/Widget/FT/Tx/T(x)/V(100)/DA(/Z\\172 18 Tf 0 g)",
		"hexadecimal string": "/Subtype/Widget/FT/Tx/T(x)/V(100)/DA<2F5A7A20313820546620302067>",
		"several lines":      "/Subtype/Widget/FT/Tx/Ff 4096/T(x)/V(100)/DA(/Zz 18 Tf 0 g)",
		"combo box":          "/Subtype/Widget/FT/Ch/Ff 131072/T(x)/Opt[(100)]/V(100)/DA(/Zz 18 Tf 0 g)",
		"list box":           "/Subtype/Widget/FT/Ch/T(x)/Opt[(100)]/V(100)/DA(/Zz 18 Tf 0 g)",
		"push button":        "/Subtype/Widget/FT/Btn/Ff 65536/T(x)/MK<</CA(100)>>/DA(/Zz 18 Tf 0 g)",
	} {
		add("default appearance, "+name, 0, forged, annot(101, keys, true), supply)
	}
	for name, keys := range map[string]string{
		"free text":               "/Subtype/FreeText/Contents(100)/DA(/Zz 18 Tf 0 g)",
		"free text, colour first": "/Subtype/FreeText/Contents(100)/DA(0 g\\n/Zz\\t18 Tf)",
	} {
		add("default appearance, "+name, 0, forged, annot(101, keys, false), supply)
	}
	add("default appearance, handed down", 0, forged, func(e *editor) {
		annot(101, "/Subtype/Widget/T(x)/Parent 102 0 R", false)(e)
		e.set(102, "<</T(g)/FT/Tx/V(100)/DA(/Zz 18 Tf 0 g)/Kids[101 0 R]>>")
		e.put(6, "Fields", "[7 0 R 9 0 R 102 0 R]")
	}, supply)
	add("default appearance, by way of another parent", 0, forged, func(e *editor) {
		annot(101, "/Subtype/Widget/FT/Tx/T(x)/V(100)/Parent 102 0 R", true)(e)
		e.set(102, "<</DA(/Zz 18 Tf 0 g)>>")
	}, supply)
	add("default appearance, of the form", 0, forged, func(e *editor) {
		annot(101, "/Subtype/Widget/FT/Tx/T(x)/V(100)", true)(e)
		e.put(6, "DA", "(/Zz 18 Tf 0 g)")
	}, supply)
	add("font added to the form", 1, genuine, nothing, func(e *editor) { e.put(6, "DR", "<</Font<</Helv 5 0 R/Zz 5 0 R>>>>") })
	return forge(t, m, list)
}

// makeShown fills in fields so that the page shows something else: by covering it, by states that
// were never shown, or where a field did not show its value.
func makeShown(t *testing.T, m *materials) []specimen {
	var list []prepared
	const (
		whole = "/Type/XObject/Subtype/Form/BBox[0 0 300 200]/Resources<</Font<</Helv 5 0 R>>>>"
		field = "/Type/Annot/Subtype/Widget/Rect[0 0 300 200]/F 4/P 3 0 R/DA(/Helv 18 Tf 0 g)/T(note)"
		words = " BT 0 g /Helv 18 Tf 20 120 Td (Pay EUR 900) Tj ET"
	)
	write := func(e *editor, keys string) { e.set(101, "<<"+keys+">>") }
	put := func(e *editor, keys string) {
		write(e, keys)
		e.put(3, "Annots", "[7 0 R 9 0 R 12 0 R 101 0 R]")
		e.put(6, "Fields", "[7 0 R 9 0 R 101 0 R]")
	}
	// cover is a field over the whole page, what it draws when it is signed ("-"
	// for no appearance), and what it draws with its value.
	cover := func(name, want, kind, signed, drawn string) {
		for _, certify := range []int{0, 2} {
			before := ""
			if signed != "-" {
				before = "/AP<</N 102 0 R>>"
			}
			list = append(list, prepared{fmt.Sprintf("%s, %d", name, certify), certify, want, func(e *editor) {
				if signed != "-" {
					e.setStream(102, whole, signed)
				}
				put(e, field+kind+before)
			}, func(e *editor) {
				e.setStream(103, whole, drawn)
				value := "Pay EUR 900"
				if !strings.Contains(drawn, "9") {
					value = "\\204" // a dash
				}
				write(e, field+kind+"/V("+value+")/AP<</N 103 0 R>>")
			}})
		}
	}
	bars := func(step, wide int) string {
		var b strings.Builder
		for x := 0; x < 300; x += step {
			fmt.Fprintf(&b, "%d 0 %d 200 re ", x, wide)
		}
		return b.String()
	}
	var strokes strings.Builder
	for x := 2; x < 300; x += 4 {
		fmt.Fprintf(&strokes, "%d 0 m %d 200 l ", x, x)
	}
	const text, lines, listed = "/FT/Tx", "/FT/Tx/Ff 4096", "/FT/Ch/Opt[(Pay EUR 900)]"
	cover("ground", forged, lines, "/Tx BMC EMC", "1 g 0 0 300 200 re f"+words)
	cover("ground that the field asks for and did not paint", forged, lines+"/MK<</BG[1 1 1]>>", "/Tx BMC EMC", "1 g 0 0 300 200 re f"+words)
	cover("ground without an appearance before", forged, lines, "-", "1 g 0 0 300 200 re f"+words)
	cover("ground of bars", forged, lines, "-", "1 g "+bars(8, 9)+"f"+words)
	cover("ground of thin bars", forged, lines, "-", "1 g "+bars(2, 2)+"f"+words)
	cover("ground of bars in a comb", forged, "/FT/Tx/Ff 16777216/MaxLen 100", "-", "1 g "+bars(2, 2)+"f"+words)
	cover("ground of strokes", forged, lines, "-", "1 G 4 w "+strokes.String()+"S"+words)
	cover("ground of strokes in a comb", forged, "/FT/Tx/Ff 16777216/MaxLen 30", "-", "1 G 2 w "+strings.ReplaceAll(strokes.String(), "S", "")+"S"+words)
	cover("ground that was clipped", forged, lines, "q 0 0 10 10 re W n 1 g 0 0 300 200 re f Q", "1 g 0 0 300 200 re f"+words)
	cover("ground that was smaller", forged, lines, "1 g 0 0 300 141 re f", "1 g 0 0 300 200 re f"+words)
	cover("ground around the edges", forged, lines, "/Tx BMC EMC", "1 g 0 0 m 300 0 l 300 200 l 0 200 l 0 199 l f"+words)
	cover("border that is thick", genuine, lines, "/Tx BMC EMC", "0 G 4 w 4 4 292 192 re s"+words)
	cover("border beside a ground", genuine, lines, "1 g 0 0 300 141 re f", "1 g 0 0 300 141 re f 1 g 0 197 300 3 re f 1 G 4 w 0 197 m 300 197 l S 0 G"+words)
	cover("letters as large as the page", forged, text, "/Tx BMC EMC", "BT 0 g /Helv 200 Tf 0 20 Td (\\227) Tj ET")
	cover("band of a list box", forged, listed, "/Tx BMC EMC", "0.8 g 0 0 300 200 re f"+words)
	cover("band and ground of a list box", forged, listed, "/Tx BMC EMC", "0.8 g 0 110 300 30 re f 1 g 0 0 300 200 re f 0.8 g 0 110 300 30 re f"+words)
	cover("text without a ground", genuine, text, "/Tx BMC EMC", words)
	cover("text with a line around it", genuine, lines, "-", "0 G .5 .5 299 199 re s"+words)
	cover("ground as it was", genuine, lines, "1 g 0 0 300 200 re f", "1 g 0 0 300 200 re f"+words)
	cover("ground that some viewers painted", forged, lines+"/MK<</BG[1 1 1]>>", "-", "1 g 0 0 300 200 re f"+words)
	cover("comb", genuine, "/FT/Tx/Ff 16777216/MaxLen 15", "-", "BT 0 g /Helv 12 Tf 10 30 Td [(P)-1000(a)-1000(y)-1200( )-900(E)-1000(U)-1000(R)-1000( )-900(9)-1000(0)-1000(0)] TJ ET")

	// Text that was shown and was not the value.
	const small = "/Type/Annot/Subtype/Widget/Rect[20 20 220 44]/F 4/P 3 0 R/DA(/Helv 18 Tf 0 g)/T(note)"
	box := "/Type/XObject/Subtype/Form/BBox[0 0 200 24]/Resources<</Font<</Helv 5 0 R>>>>"
	says := func(s string) string { return "/Tx BMC BT 0 g /Helv 18 Tf 2 4 Td (" + s + ") Tj ET EMC" }
	redraw := func(name, want, kind, value, shown, now string) {
		list = append(list, prepared{"redrawn, " + name, 0, want, func(e *editor) {
			e.setStream(102, box, shown)
			put(e, small+kind+value+"/AP<</N 102 0 R>>")
		}, func(e *editor) {
			e.setStream(103, box, now)
			write(e, small+kind+value+"/AP<</N 103 0 R>>")
		}})
	}
	redraw("another text", forged, "/FT/Tx", "/V(Pay 900)", says("Pay 100"), says("Pay 900"))
	redraw("no text", forged, "/FT/Tx", "/V(Pay 900)", "/Tx BMC EMC", says("Pay 900"))
	redraw("a combo box", forged, "/FT/Ch/Ff 131072/Opt[(Pay 900)(Pay 100)]", "/V(Pay 900)", says("Pay 100"), says("Pay 900"))
	redraw("a label", forged, "/FT/Ch/Ff 131072/Opt[[(a)(Pay 900)]]", "/V(a)", says("Pay 100"), says("Pay 900"))
	redraw("a drawing", forged, "/FT/Tx", "/V(Pay 900)", "0 0 100 20 re f", says("Pay 900"))
	redraw("a value that is empty", forged, "/FT/Tx", "/V()", says("Pay 100"), "/Tx BMC EMC")
	redraw("a text cut off", forged, "/FT/Tx", "/V(Pay 900)", "0 0 40 24 re W n "+says("Pay 900"), says("Pay 900"))
	redraw("a list box", forged, "/FT/Ch/Opt[(Pay 900)(Pay 100)]", "/V(Pay 900)", says("Pay 100"), "0.7 g 0 2 200 20 re f "+says("Pay 900"))
	redraw("the same text", genuine, "/FT/Tx", "/V(Pay 900)", says("Pay 900"), says("Pay 900")+" ")

	list = append(list, buttons()...)
	return append(forge(t, m, list), manyFields(t, m)...)
}

// buttons are check boxes whose states show something else than their names say.
func buttons() []prepared {
	var list []prepared
	const (
		box   = "/Type/XObject/Subtype/Form/BBox[0 0 20 20]/Resources<</Font<</Helv 5 0 R>>>>"
		frame = "0 0 20 20 re s "
		cross = "2 w 2 2 m 18 18 l 2 18 m 18 2 l S "
	)
	check := func(name, want, on, off, before, after string) {
		set := func(e *editor, keys string) {
			e.set(101, "<</Type/Annot/Subtype/Widget/FT/Btn/T(no)/Rect[20 20 40 40]/F 4/P 3 0 R/AP<</N<</Yes 102 0 R/Off 103 0 R>>>>"+keys+">>")
		}
		list = append(list, prepared{"check box, " + name, 0, want, func(e *editor) {
			e.setStream(102, box, on)
			e.setStream(103, box, off)
			set(e, before)
			e.put(3, "Annots", "[7 0 R 9 0 R 12 0 R 101 0 R]")
			e.put(6, "Fields", "[7 0 R 9 0 R 101 0 R]")
		}, func(e *editor) { set(e, after) }})
	}
	check("checked", genuine, frame+cross, frame, "/V/Off/AS/Off", "/V/Yes/AS/Yes")
	check("checked, without a state before", genuine, frame+cross, frame, "", "/V/Yes/AS/Yes")
	check("cleared, without a value", forged, frame+cross, frame, "/AS/Yes", "/V/Off/AS/Off")
	check("cleared, against its value", forged, frame+cross, frame, "/V/Off/AS/Yes", "/V/Off/AS/Off")
	check("cleared, the value taken away", forged, frame+cross, frame, "/V/Off/AS/Yes", "/AS/Off")
	check("lit, with its value", forged, frame+cross, frame, "/V/Yes/AS/Off", "/V/Yes/AS/Yes")
	check("cleared", forged, frame+cross, frame, "/V/Yes/AS/Yes", "/V/Off/AS/Off")
	check("the other way round", forged, frame, frame+cross, "/V/Off/AS/Off", "/V/Yes/AS/Yes")
	check("on without a mark", forged, "", frame, "/V/Off/AS/Off", "/V/Yes/AS/Yes")
	check("on with a text", forged, frame+"BT /Helv 14 Tf 2 4 Td (90) Tj ET", frame, "/V/Off/AS/Off", "/V/Yes/AS/Yes")
	check("on with a ground where nothing is below", genuine, "0.9 g 0 0 20 20 re f "+cross, "", "/V/Off/AS/Off", "/V/Yes/AS/Yes")
	check("on with many strokes", forged, frame+"2 2 m 2 18 l 6 18 l S 8 2 m 8 18 l S 12 2 m 12 18 l 18 2 l S 18 2 m 18 18 l S", frame, "/V/Off/AS/Off", "/V/Yes/AS/Yes")

	// Many boxes that show one picture together.
	tiles := func(name string, wide int, on func(x int) string) {
		draw := func(e *editor, state string) {
			kids := ""
			for i := range 8 {
				e.set(20+i, fmt.Sprintf("<</Type/Annot/Subtype/Widget/Parent 101 0 R/Rect[%d 140 %d %d]/F 4/P 3 0 R/AP<</N<</Off 103 0 R/Yes %d 0 R>>>>/AS/%s>>",
					20+i*wide, 20+(i+1)*wide, 140+wide, 30+i, state))
				kids += fmt.Sprintf("%d 0 R ", 20+i)
			}
			e.set(101, "<</FT/Btn/T(no)/Kids["+kids+"]/V/"+state+">>")
			if state == "Off" {
				e.put(3, "Annots", "[7 0 R 9 0 R 12 0 R "+kids+"]")
			}
		}
		list = append(list, prepared{"boxes, " + name, 0, forged, func(e *editor) {
			size := fmt.Sprintf("/Type/XObject/Subtype/Form/BBox[0 0 %d %d]/Resources<</Font<</Helv 5 0 R>>>>", wide, wide)
			e.setStream(103, size, "")
			for i := range 8 {
				e.setStream(30+i, size, on(i))
			}
			draw(e, "Off")
			e.put(6, "Fields", "[7 0 R 9 0 R 101 0 R]")
		}, func(e *editor) { draw(e, "Yes") }})
	}
	tiles("a picture in pieces", 30, func(i int) string {
		return fmt.Sprintf("1 g 0 0 30 30 re f q 1 0 0 1 %d 0 cm BT 0 g /Helv 18 Tf 0 10 Td (Pay EUR 900 to Mallory) Tj ET Q", -30*i)
	})
	tiles("grounds", 30, func(int) string { return "1 g 0 0 30 30 re f 0 G 2 2 m 10 10 l S" })
	tiles("digits of lines", 16, func(i int) string {
		return "1.5 w " + []string{
			"2 2 m 2 14 l 8 14 l 8 8 l 2 8 l S", "2 2 m 6 14 l 10 2 l S 4 8 m 8 8 l S", "2 14 m 6 8 l 10 14 l S 6 8 m 6 2 l S", "2 2 m 10 14 l S",
			"8 2 m 8 14 l 2 14 l 2 8 l 8 8 l S", "2 2 m 2 14 l 10 14 l 10 2 l 2 2 l S", "2 2 m 10 2 l 10 14 l 2 14 l 2 3 l S", "2 14 m 10 14 l S",
		}[i]
	})
	return list
}
