package forgery

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	raw "rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/pades"
)

func init() { register("pdf-changes", makePDFChanges) }

// editor writes an incremental update behind a signed document.
type editor struct {
	t   *testing.T
	doc *raw.Document
	u   *raw.Update
}

func (e *editor) set(num int, body string) { e.u.Set(raw.Ref{Num: num}, raw.Raw(body)) }

func (e *editor) add(body string) raw.Ref { return e.u.New(raw.Raw(body)) }

// stream is a new stream; dict is its dictionary without brackets.
func (e *editor) stream(dict, data string) raw.Ref {
	return e.add(fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data))
}

func (e *editor) setStream(num int, dict, data string) {
	e.set(num, fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data))
}

// put sets a key of an object that is there; an empty body takes it out.
func (e *editor) put(num int, key, body string) {
	e.t.Helper()
	d, err := e.u.Edit(raw.Ref{Num: num})
	if err != nil {
		e.t.Fatal(err)
	}
	if body == "" {
		d.Delete(raw.Name(key))
		return
	}
	d.Set(raw.Name(key), raw.Raw(body))
}

// putStream writes a stream again with the same data and more in its dictionary.
func (e *editor) putStream(num int, dict string) {
	e.t.Helper()
	o, err := e.doc.Get(raw.Ref{Num: num})
	if err != nil {
		e.t.Fatal(err)
	}
	data, err := e.doc.Data(o.(*raw.Stream))
	if err != nil {
		e.t.Fatal(err)
	}
	e.setStream(num, dict, string(data))
}

// list adds to an array of a dictionary.
func (e *editor) list(num int, key string, refs ...raw.Ref) {
	e.t.Helper()
	d, err := e.u.Edit(raw.Ref{Num: num})
	if err != nil {
		e.t.Fatal(err)
	}
	a, err := e.doc.Array(d.Get(raw.Name(key)))
	if err != nil {
		e.t.Fatal(err)
	}
	a = append(raw.Array{}, a...)
	for _, r := range refs {
		a = append(a, r)
	}
	d.Set(raw.Name(key), a)
}

func (e *editor) annots(refs ...raw.Ref) { e.list(3, "Annots", refs...) }
func (e *editor) fields(refs ...raw.Ref) { e.list(6, "Fields", refs...) }

// picture is an appearance that says what the forger wants to be read.
func (e *editor) picture() raw.Ref {
	return e.stream(formDict, "1 1 1 rg 0 0 200 30 re f 0 g BT /Helv 16 Tf 4 8 Td (Pay EUR 900) Tj ET")
}

const (
	formDict  = "/Type/XObject/Subtype/Form/BBox[0 0 200 30]/Resources<</Font<</Helv 5 0 R>>>>"
	fieldDict = "/Type/XObject/Subtype/Form/BBox[0 0 100 20]/Resources<</Font<</Helv 5 0 R>>>>"
	onPage    = "/Type/Annot/Rect[20 145 220 175]/F 4/P 3 0 R"
)

// annot is an annotation with that picture.
func (e *editor) annot(subtype, more string) raw.Ref {
	return e.add(fmt.Sprintf("<<%s/Subtype/%s/AP<</N %v>>%s>>", onPage, subtype, e.picture(), more))
}

// fill gives the field "amount" a value and a text that it shows.
func (e *editor) fill(value, code string) {
	e.put(7, "V", "("+value+")")
	e.put(7, "AP", fmt.Sprintf("<</N %v>>", e.stream(fieldDict, code)))
}

// blank is the document with one more text field, which is empty: 14 is its
// appearance, 15 the field.
func blank(t *testing.T) []byte {
	return change(t, pdf(), func(e *editor) {
		ap := e.stream(fieldDict, "/Tx BMC EMC")
		f := e.add(fmt.Sprintf("<</Type/Annot/Subtype/Widget/FT/Tx/T(place)/DA(/Helv 12 Tf 0 g)/Rect[140 100 240 120]/F 4/P 3 0 R/AP<</N %v>>>>", ap))
		e.annots(f)
		e.fields(f)
	})
}

// enter gives the empty field a value and a text that it shows.
func (e *editor) enter(value, code string) { e.enterWith(fieldDict, value, code) }

func (e *editor) enterWith(dict, value, code string) {
	e.put(15, "V", "("+value+")")
	e.put(15, "AP", fmt.Sprintf("<</N %v>>", e.stream(dict, code)))
}

// unsigned adds a signature field with a picture and nothing in it.
func (e *editor) unsigned(keys string) {
	f := e.add(fmt.Sprintf("<</Type/Annot/Subtype/Widget/FT/Sig/T(x)/P 3 0 R/AP<</N %v>>%s>>", e.picture(), keys))
	e.annots(f)
	e.fields(f)
}

// seal is the signature that is there already.
func (e *editor) seal() string {
	e.t.Helper()
	form, err := e.doc.Dict(raw.Ref{Num: 6})
	if err != nil {
		e.t.Fatal(err)
	}
	list, _ := e.doc.Array(form.Get("Fields"))
	last, err := e.doc.Dict(list[len(list)-1])
	if err != nil {
		e.t.Fatal(err)
	}
	return fmt.Sprint(last.Get("V"))
}

func showing(text string) string {
	return "/Tx BMC q BT /Helv 12 Tf 0 g 2 5 Td (" + text + ") Tj ET Q EMC"
}

// edit is one change, and what it is under each mode: without certification,
// P=1, P=2, P=3, and with all fields locked. f is forged, g genuine, - left out.
type edit struct {
	name  string
	under string
	shows string // what pdftotext or mutool finds
	seen  bool   // the picture of the page changes
	do    func(e *editor)
}

const (
	never  = "fffff"
	always = "ggggg"
)

var modes = []string{"plain", "P=1", "P=2", "P=3", "locked"}

// pdfEdits are the changes. Those that are generated from lists follow below.
func pdfEdits() []edit {
	list := []edit{
		// What the page shows.
		{"content replaced", never, "EUR 900", true, func(e *editor) { e.setStream(4, "", "BT /F1 18 Tf 20 150 Td (Pay EUR 900 to Mallory) Tj ET") }},
		{"content added", never, "EUR 900", true, func(e *editor) {
			e.put(3, "Contents", fmt.Sprintf("[4 0 R %v]", e.stream("", "BT /F1 18 Tf 20 30 Td (EUR 900) Tj ET")))
		}},
		{"content before", never, "EUR 900", true, func(e *editor) {
			e.put(3, "Contents", fmt.Sprintf("[%v 4 0 R]", e.stream("", "BT /F1 18 Tf 20 30 Td (EUR 900) Tj ET")))
		}},
		{"content taken away", never, "", true, func(e *editor) { e.put(3, "Contents", "") }},
		{"content freed", never, "", true, func(e *editor) { e.u.Set(raw.Ref{Num: 4}, nil) }},
		{"content moved", never, "EUR 900", true, func(e *editor) {
			e.put(3, "Contents", e.stream("", "BT /F1 18 Tf 20 150 Td (Pay EUR 900) Tj ET").String())
		}},
		{"content as a field", never, "EUR 900", true, func(e *editor) {
			e.setStream(4, "/FT/Sig/T(x)", "BT /F1 18 Tf 20 150 Td (Pay EUR 900) Tj ET")
			e.fields(raw.Ref{Num: 4})
		}},
		{"content as validation data", never, "EUR 900", true, func(e *editor) {
			e.setStream(4, "", "BT /F1 18 Tf 20 150 Td (Pay EUR 900) Tj ET")
			e.put(1, "DSS", "<</Certs[4 0 R]>>")
		}},
		{"content as metadata", never, "EUR 900", true, func(e *editor) {
			e.setStream(4, "/Type/Metadata/Subtype/XML", "BT /F1 18 Tf 20 150 Td (Pay EUR 900) Tj ET")
			e.put(1, "Metadata", "4 0 R")
		}},
		{"content as the appearance of a note", never, "EUR 900", true, func(e *editor) {
			e.setStream(4, formDict, "BT /F1 18 Tf 20 150 Td (Pay EUR 900) Tj ET")
			e.annots(e.add("<<" + onPage + "/Subtype/FreeText/AP<</N 4 0 R>>>>"))
		}},
		{"content as the appearance of a field", never, "EUR 900", true, func(e *editor) {
			e.setStream(4, fieldDict, "BT /F1 18 Tf 20 150 Td (Pay EUR 900) Tj ET")
			e.put(7, "AP", "<</N 4 0 R>>")
		}},
		{"font with other glyphs", never, "900", true, func(e *editor) {
			e.set(5, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</BaseEncoding/WinAnsiEncoding/Differences[49/nine]>>>>")
		}},
		{"font as a field", never, "900", true, func(e *editor) {
			e.set(5, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/FT/Sig/T(x)/Encoding<</BaseEncoding/WinAnsiEncoding/Differences[49/nine]>>>>")
			e.fields(raw.Ref{Num: 5})
		}},
		{"font of the page only", never, "900", true, func(e *editor) {
			f := e.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</BaseEncoding/WinAnsiEncoding/Differences[49/nine]>>>>")
			e.put(3, "Resources", fmt.Sprintf("<</Font<</F1 %v>>>>", f))
		}},
		{"font freed", never, "", false, func(e *editor) { e.u.Set(raw.Ref{Num: 5}, nil) }},
		{"resources taken away", never, "", false, func(e *editor) { e.put(3, "Resources", "<<>>") }},
		{"resources handed down", never, "900", true, func(e *editor) {
			f := e.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</BaseEncoding/WinAnsiEncoding/Differences[49/nine]>>>>")
			e.put(2, "Resources", fmt.Sprintf("<</Font<</F1 %v>>>>", f))
			e.put(3, "Resources", "")
		}},
		{"page cropped", never, "", true, func(e *editor) { e.put(3, "CropBox", "[0 0 300 140]") }},
		{"page smaller", never, "", true, func(e *editor) { e.put(3, "MediaBox", "[0 0 300 140]") }},
		{"page cropped from above", never, "", true, func(e *editor) { e.put(2, "CropBox", "[0 0 300 140]") }},
		{"page turned", never, "", true, func(e *editor) { e.put(3, "Rotate", "180") }},
		{"page turned from above", never, "", true, func(e *editor) { e.put(2, "Rotate", "90") }},
		{"page enlarged", never, "", true, func(e *editor) { e.put(3, "UserUnit", "3") }},
		{"page added", never, "EUR 900", false, func(e *editor) { e.list(2, "Kids", e.newPage()); e.put(2, "Count", "2") }},
		{"page before", never, "EUR 900", true, func(e *editor) {
			e.put(2, "Kids", fmt.Sprintf("[%v 3 0 R]", e.newPage()))
			e.put(2, "Count", "2")
		}},
		{"page replaced", never, "EUR 900", true, func(e *editor) { e.put(2, "Kids", fmt.Sprintf("[%v]", e.newPage())) }},
		{"page tree replaced", never, "EUR 900", true, func(e *editor) {
			e.put(1, "Pages", e.add(fmt.Sprintf("<</Type/Pages/Kids[%v]/Count 1>>", e.newPage())).String())
		}},

		// What readers find in different ways.
		{"page counted out", never, "", false, func(e *editor) { e.put(2, "Count", "0") }},
		{"pages counted by a real", never, "", false, func(e *editor) { e.put(2, "Count", "1.0") }},
		{"page that is a node by its type", never, "", false, func(e *editor) { e.put(3, "Type", "/Pages") }},
		{"page that is none by its type", never, "", false, func(e *editor) { e.put(3, "Type", "/Template") }},
		{"kid that is nothing", never, "", false, func(e *editor) { e.put(2, "Kids", "[null 3 0 R]") }},
		{"kid that is missing", never, "", false, func(e *editor) { e.put(2, "Kids", "[99 0 R 3 0 R]") }},
		{"kid by way of a reference", never, "", false, func(e *editor) { e.put(2, "Kids", fmt.Sprintf("[%v]", e.add("3 0 R"))) }},
		{"node that counts nothing", never, "", false, func(e *editor) {
			n := e.add("<</Type/Pages/Parent 2 0 R/Kids[3 0 R]/Count 0>>")
			e.put(2, "Kids", fmt.Sprintf("[%v]", n))
			e.put(3, "Parent", n.String())
		}},
		{"page that is the root", never, "", false, func(e *editor) { e.put(1, "Pages", "3 0 R") }},
		{"page under another parent", never, "", false, func(e *editor) {
			e.put(3, "Parent", e.add("<</Type/Pages/Kids[3 0 R]/Count 1>>").String())
		}},
		{"page without a parent", never, "", false, func(e *editor) { e.put(3, "Parent", "null") }},
		{"page that is its own parent", never, "", false, func(e *editor) { e.put(3, "Parent", "3 0 R") }},
		{"root under a parent", never, "", false, func(e *editor) {
			e.put(2, "Parent", e.add("<</Type/Pages/Kids[2 0 R]/Count 1/Rotate 0>>").String())
		}},
		{"content by way of a reference", never, "", false, func(e *editor) { e.put(3, "Contents", e.add("4 0 R").String()) }},
		{"font by way of a reference", never, "", false, func(e *editor) {
			e.put(3, "Resources", fmt.Sprintf("<</Font<</F1 %v>>>>", e.add("5 0 R")))
		}},
		{"content with a part that is nothing", never, "", false, func(e *editor) { e.put(3, "Contents", "[null 4 0 R]") }},
		{"content in another file", never, "", false, func(e *editor) { e.putStream(4, "/F(other.txt)") }},
		{"page turned by a number that some cut to 32 bits", never, "", false, func(e *editor) { e.put(3, "Rotate", "4294967400") }},
		{"page turned by nothing, in a large number", never, "", false, func(e *editor) { e.put(3, "Rotate", "1546188226560") }},
		{"page turned by a real", never, "", false, func(e *editor) { e.put(3, "Rotate", "0.0") }},
		{"default colours", never, "", false, func(e *editor) {
			e.put(3, "Resources", "<</Font<</F1 5 0 R>>/ColorSpace<</DefaultGray[/CalGray<</WhitePoint[1 1 1]/Gamma 9>>]>>>>")
		}},

		// Annotations.
		{"note taken away", "fffgf", "", true, func(e *editor) { e.annotsWithout(12) }},
		{"note freed", "fffgf", "", true, func(e *editor) { e.u.Set(raw.Ref{Num: 12}, nil) }},
		{"note says something else", "fffgf", "", false, func(e *editor) { e.put(12, "Contents", "(pay 900)") }},
		{"note moved", "fffgf", "", true, func(e *editor) { e.put(12, "Rect", "[20 150 40 170]") }},
		{"note became a widget", never, "", false, func(e *editor) { e.put(12, "Subtype", "/Widget") }},
		{"note with a script", never, "", false, func(e *editor) { e.put(12, "AA", "<</E<</S/JavaScript/JS(app.alert\\(1\\))>>>>") }},
		{"note with an unknown key", never, "", false, func(e *editor) { e.put(12, "Secret", "1") }},
		{"annotations in another order", never, "", false, func(e *editor) { e.reverseAnnots() }},
		{"annotations emptied", never, "", true, func(e *editor) { e.put(3, "Annots", "[]") }},
		{"widget outside the form", never, "EUR 900", true, func(e *editor) { e.annots(e.annot("Widget", "/FT/Tx/T(x)/V(900)")) }},
		{"widget outside the form, a signature", never, "", true, func(e *editor) { e.annots(e.annot("Widget", "/FT/Sig/T(x)")) }},
		{"stream as an annotation", never, "", false, func(e *editor) { e.annots(e.stream(onPage+"/Subtype/Stamp", "x")) }},
		{"stamp with a script", never, "EUR 900", true, func(e *editor) { e.annots(e.annot("Stamp", "/A<</S/JavaScript/JS(1)>>")) }},
		{"stamp with a link", never, "EUR 900", true, func(e *editor) { e.annots(e.annot("Stamp", "/A<</S/URI/URI(http://x)>>")) }},

		// Fields.
		{"new text field", never, "EUR 900", true, func(e *editor) { e.newField("/FT/Tx/T(x)/V(900)") }},
		{"new check box", never, "EUR 900", true, func(e *editor) { e.newField("/FT/Btn/T(x)") }},
		{"new push button", never, "EUR 900", true, func(e *editor) { e.newField("/FT/Btn/Ff 65536/T(x)") }},
		{"new choice", never, "EUR 900", true, func(e *editor) { e.newField("/FT/Ch/T(x)/Opt[(900)]/V(900)") }},
		{"new field without a type", never, "", true, func(e *editor) { e.newField("/T(x)") }},
		{"new empty signature field with a picture", never, "", true, func(e *editor) { e.newField("/FT/Sig/T(x)") }},
		{"new empty signature field with colours", never, "", false, func(e *editor) {
			f := e.add("<<" + onPage + "/Subtype/Widget/FT/Sig/T(x)/MK<</BG[1 0 0]/BC[0 0 0]/CA(Pay EUR 900)>>>>")
			e.annots(f)
			e.fields(f)
		}},
		{"new field of a name that is there", never, "", true, func(e *editor) { e.newField("/FT/Sig/T(amount)") }},
		{"new field that groups and is a stamp", never, "EUR 900", true, func(e *editor) {
			g := e.add(fmt.Sprintf("<<%s/Subtype/Stamp/T(g)/AP<</N %v>>/Kids[%v]>>", onPage, e.picture(), e.add("<</T(k)/FT/Sig>>")))
			e.annots(g)
			e.fields(g)
		}},
		{"new field that groups and has a script", never, "", false, func(e *editor) {
			e.fields(e.add(fmt.Sprintf("<</T(g)/AA<</K<</S/JavaScript/JS(1)>>>>/Kids[%v]>>", e.add("<</T(k)/FT/Sig>>"))))
		}},
		{"kid with a script", never, "", false, func(e *editor) {
			k := e.add("<</Type/Annot/Subtype/Widget/Rect[0 0 0 0]/P 3 0 R/AA<</E<</S/JavaScript/JS(1)>>>>>>")
			e.annots(k)
			e.fields(e.add(fmt.Sprintf("<</FT/Sig/T(g)/Kids[%v]>>", k)))
		}},
		{"kid with a link over the page", never, "", false, func(e *editor) {
			k := e.add("<</Type/Annot/Subtype/Widget/Rect[0 0 300 200]/P 3 0 R/A<</S/URI/URI(http://x)>>>>")
			e.annots(k)
			e.fields(e.add(fmt.Sprintf("<</FT/Sig/T(g)/Kids[%v]>>", k)))
		}},
		{"void time-stamp", never, "", false, func(e *editor) { e.voidStamp("/Rect[0 0 0 0]", "<3000>") }},
		{"void time-stamp with a picture", never, "", true, func(e *editor) {
			e.voidStamp(fmt.Sprintf("/Rect[20 145 220 175]/AP<</N %v>>", e.picture()), "<3000>")
		}},
		{"void signature with a picture", never, "", true, func(e *editor) {
			v := e.add("<</Type/Sig/Filter/Adobe.PPKLite/SubFilter/ETSI.CAdES.detached/ByteRange[0 10 20 30]/Contents<3000>>>")
			e.newField(fmt.Sprintf("/FT/Sig/T(x)/V %v", v))
		}},
		{"filled in", "gfggf", "", true, func(e *editor) { e.enter("900", showing("900")) }},
		{"filled in with a border after the text", "gfggf", "", true, func(e *editor) { e.enter("900", showing("900")+" 0 G .5 .5 99 19 re s") }},
		{"filled in by the operator for spaced lines", "gfggf", "", true, func(e *editor) {
			e.enter("900", "q 1 1 98 18 re W n BT 0 g /Helv 12 Tf 14 TL 2 19 Td 0 0 (900) \" ET Q")
		}},
		{"filled in again", "ffggf", "900", true, func(e *editor) { e.fill("900", showing("900")) }},
		{"ground where nothing is below", "gfggf", "", true, func(e *editor) { e.enter("900", "1 g 0 0 100 20 re f "+showing("900")) }},
		{"old signature in a new field", never, "EUR 900", true, func(e *editor) { e.newField("/FT/Sig/T(x)/V " + e.seal()) }},
		{"old signature handed down to a new field", never, "", true, func(e *editor) {
			f := e.add("null")
			k := e.annot("Widget", fmt.Sprintf("/Parent %v", f))
			e.annots(k)
			e.fields(f)
			e.set(f.Num, fmt.Sprintf("<</FT/Sig/T(x)/V %s/Kids[%v]>>", e.seal(), k))
		}},
		{"unsigned field with broken flags", never, "", false, func(e *editor) { e.unsigned("/F 2.9/Rect[20 145 220 175]") }},
		{"unsigned field with huge flags", never, "", false, func(e *editor) { e.unsigned("/F 4294967298/Rect[20 145 220 175]") }},
		{"unsigned field that hides itself", never, "", false, func(e *editor) { e.unsigned("/F 2/Rect[20 145 220 175]") }},
		{"unsigned field in a box of five numbers", never, "", false, func(e *editor) { e.unsigned("/F 4/Rect[20 145 220 175 0]") }},
		{"text in another order", never, "", true, func(e *editor) {
			e.enter("0009", "BT /Helv 12 Tf 0 g 1 0 0 1 20 5 Tm (000) Tj 1 0 0 1 2 5 Tm (9) Tj ET")
		}},
		{"text over itself", never, "", true, func(e *editor) { e.enter("100900", showing("100")+showing("900")) }},
		{"text in steps that are large together", never, "", true, func(e *editor) {
			e.enter("100", "BT /Helv 12 Tf 0 g 2 5 Td [(1)"+strings.Repeat("-1900 ", 20)+"(00)] TJ ET")
		}},
		{"text cut off", never, "", true, func(e *editor) { e.enter("1000", "0 0 10 20 re W n "+showing("1000")) }},
		{"text clipped by two boxes", never, "", true, func(e *editor) {
			e.enter("1000", "0 0 100 20 re 0 0 100 20 re W* n "+showing("1000")+" 0 0 100 1 re S")
		}},
		{"text upside down", never, "", true, func(e *editor) { e.enter("99", "BT /Helv 12 Tf 0 g -1 0 0 -1 40 15 Tm (99) Tj ET") }},
		{"text pressed flat", never, "", true, func(e *editor) { e.enter("1000", "BT /Helv 12 Tf 0 g 0.01 0 0 1 2 5 Tm (1000) Tj ET") }},
		{"text drawn together", never, "", true, func(e *editor) { e.enter("1000", "BT /Helv 12 Tf 0 g 2 5 Td -6.7 Tc (1000) Tj ET") }},
		{"text under a thick line", never, "", true, func(e *editor) { e.enter("1000", "100 w 0 G 0 0 m 100 0 l S "+showing("1000")) }},
		{"text struck out", never, "", true, func(e *editor) { e.enter("1000", showing("1000")+" 0 G 0 9 m 100 9 l S") }},
		{"text too pale", never, "", true, func(e *editor) { e.enter("1000", "1 1 0.69 rg BT /Helv 12 Tf 2 5 Td (1000) Tj ET") }},
		{"text with an exponent", never, "", false, func(e *editor) { e.enter("1000", "BT /Helv 12e0 Tf 0 g 2 5 Td (1000) Tj ET") }},
		{"text in a colour of its own", never, "", false, func(e *editor) {
			e.enterWith(strings.Replace(fieldDict, "/Resources<<", "/Resources<</ColorSpace<</DefaultRGB[/CalRGB<</WhitePoint[1 1 1]/Gamma[.01 .01 .01]>>]>>", 1),
				"1000", "0 0 0 rg BT /Helv 12 Tf 2 5 Td (1000) Tj ET")
		}},
		{"font with widths of its own", never, "", true, func(e *editor) {
			e.enterWith(strings.Replace(fieldDict, "5 0 R", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/FirstChar 48/LastChar 49/Widths[0 556]>>", 1),
				"1000", showing("1000"))
		}},
		{"filled in with several pieces", "gfggf", "", true, func(e *editor) {
			e.enter("900", "/Tx BMC q BT /Helv 12 Tf 0 g 2 5 Td [(9) -20 (0)] TJ (0) Tj ET Q EMC")
		}},
		{"filled in without an appearance", never, "", false, func(e *editor) { e.put(15, "V", "(900)"); e.put(15, "AP", "") }},
		{"emptied", "ffggf", "", true, func(e *editor) {
			e.put(7, "V", "()")
			e.put(7, "AP", fmt.Sprintf("<</N %v>>", e.stream(fieldDict, "/Tx BMC EMC")))
		}},
		{"drawn otherwise than its value", never, "900", true, func(e *editor) {
			e.put(7, "AP", fmt.Sprintf("<</N %v>>", e.stream(fieldDict, showing("900"))))
		}},
		{"value that does not show", never, "", false, func(e *editor) { e.put(7, "V", "(900)") }},
		{"appearance in an array", never, "", false, func(e *editor) { e.put(7, "AP", "[<</N 8 0 R>> 8 0 R]") }},
		{"appearance that is a number", never, "", false, func(e *editor) { e.put(7, "AP", "0") }},
		{"appearance when pressed only", never, "", false, func(e *editor) { e.put(7, "AP", "<</D 8 0 R>>") }},
		{"appearance that is nothing", never, "", false, func(e *editor) { e.put(7, "AP", "<</N null>>") }},
		{"value without appearance stream", never, "", true, func(e *editor) { e.put(7, "V", "(900)"); e.put(7, "AP", "<<>>"); e.put(7, "MK", "<</BG[1 0 0]>>") }},
		{"drawn with lines", never, "", true, func(e *editor) {
			e.fill("100", showing("100")+" 1 w 10 5 m 10 15 l 14 15 l 14 5 l S")
		}},
		{"drawn with small boxes", never, "", true, func(e *editor) { e.fill("100", "10 5 2 8 re f 14 5 2 8 re f "+showing("100")) }},
		{"text covered", never, "", true, func(e *editor) { e.fill("100", showing("100")+" 1 1 1 rg 0 0 100 20 re f") }},
		{"text in white", never, "", true, func(e *editor) { e.fill("100", "BT /Helv 12 Tf 1 g 2 5 Td (100) Tj ET") }},
		{"text invisible", never, "", true, func(e *editor) { e.fill("100", "BT /Helv 12 Tf 0 g 3 Tr 2 5 Td (100) Tj ET") }},
		{"text out of sight", never, "", true, func(e *editor) { e.fill("100", "BT /Helv 12 Tf 0 g 900 5 Td (100) Tj ET") }},
		{"text clipped away", never, "", true, func(e *editor) { e.fill("100", "0 0 1 1 re W n BT /Helv 12 Tf 0 g 50 9 Td (100) Tj ET") }},
		{"text tiny", never, "", true, func(e *editor) { e.fill("100", "BT /Helv 0.1 Tf 0 g 2 5 Td (100) Tj ET") }},
		{"text pushed away", never, "", true, func(e *editor) { e.fill("100", "BT /Helv 12 Tf 0 g 2 5 Td [(1) -90000 (00)] TJ ET") }},
		{"another form inside", never, "900", true, func(e *editor) {
			x := e.stream(fieldDict, showing("900"))
			ap := e.stream("/Type/XObject/Subtype/Form/BBox[0 0 100 20]"+fmt.Sprintf("/Resources<</Font<</Helv 5 0 R>>/XObject<</X %v>>>>", x), "/X Do")
			e.put(7, "AP", fmt.Sprintf("<</N %v>>", ap))
		}},
		{"font of its own", never, "900", true, func(e *editor) {
			f := e.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</BaseEncoding/WinAnsiEncoding/Differences[49/nine]>>>>")
			ap := e.stream("/Type/XObject/Subtype/Form/BBox[0 0 100 20]"+fmt.Sprintf("/Resources<</Font<</Helv %v>>>>", f), showing("100"))
			e.put(7, "AP", fmt.Sprintf("<</N %v>>", ap))
		}},
		{"Type 3 font", never, "", true, func(e *editor) {
			g := e.stream("", "1000 0 0 0 750 750 d1 0 0 300 700 re f")
			f := e.add(fmt.Sprintf("<</Type/Font/Subtype/Type3/FontBBox[0 0 750 750]/FontMatrix[.001 0 0 .001 0 0]/FirstChar 48/LastChar 49/Widths[1000 1000]"+
				"/CharProcs<</a %v>>/Encoding<</Type/Encoding/Differences[48/a/a]>>>>", g))
			ap := e.stream("/Type/XObject/Subtype/Form/BBox[0 0 100 20]"+fmt.Sprintf("/Resources<</Font<</Helv %v>>>>", f), showing("100"))
			e.put(7, "AP", fmt.Sprintf("<</N %v>>", ap))
		}},
		{"font of symbols", never, "", true, func(e *editor) {
			f := e.add("<</Type/Font/Subtype/Type1/BaseFont/ZapfDingbats>>")
			ap := e.stream("/Type/XObject/Subtype/Form/BBox[0 0 100 20]"+fmt.Sprintf("/Resources<</Font<</Helv %v>>>>", f), showing("100"))
			e.put(7, "AP", fmt.Sprintf("<</N %v>>", ap))
		}},
		{"appearance of another size", never, "", true, func(e *editor) {
			ap := e.stream("/Type/XObject/Subtype/Form/BBox[0 0 4000 4000]/Resources<</Font<</Helv 5 0 R>>>>", showing("100"))
			e.put(7, "AP", fmt.Sprintf("<</N %v>>", ap))
		}},
		{"appearance under the pointer", never, "", false, func(e *editor) {
			e.put(7, "AP", fmt.Sprintf("<</N 8 0 R/R %v>>", e.stream(fieldDict, showing("900"))))
		}},
		{"checked", "gfggf", "", true, func(e *editor) { e.put(9, "V", "/Yes"); e.put(9, "AS", "/Yes") }},
		{"looks checked", never, "", true, func(e *editor) { e.put(9, "AS", "/Yes") }},
		{"is checked and does not look it", never, "", false, func(e *editor) { e.put(9, "V", "/Yes") }},
		{"state that does not exist", never, "", false, func(e *editor) { e.put(9, "V", "/No"); e.put(9, "AS", "/No") }},
		{"check box drawn otherwise", never, "", true, func(e *editor) { e.setStream(11, "/Type/XObject/Subtype/Form/BBox[0 0 20 20]", "0 0 20 20 re f") }},
		{"states exchanged", never, "", true, func(e *editor) { e.put(9, "AP", "<</N<</Yes 11 0 R/Off 10 0 R>>>>") }},
		{"caption", never, "", false, func(e *editor) { e.put(9, "MK", "<</CA(8)/BG[1 0 0]>>") }},
		{"background", never, "", false, func(e *editor) { e.put(7, "MK", "<</BG[1 0 0]>>") }},
		{"field hidden", never, "", true, func(e *editor) { e.put(7, "F", "2") }},
		{"field not viewed", never, "", true, func(e *editor) { e.put(7, "F", "32") }},
		{"field moved", never, "", true, func(e *editor) { e.put(7, "Rect", "[150 20 250 40]") }},
		{"field over the page", never, "", true, func(e *editor) { e.put(7, "Rect", "[0 0 300 200]") }},
		{"field of another type", never, "", false, func(e *editor) { e.put(7, "FT", "/Ch") }},
		{"field renamed", never, "", false, func(e *editor) { e.put(7, "T", "(price)") }},
		{"field taken from the form", never, "", false, func(e *editor) { e.fieldsWithout(7) }},
		{"field taken from the page", never, "", true, func(e *editor) { e.annotsWithout(7) }},
		{"field freed", never, "", true, func(e *editor) { e.u.Set(raw.Ref{Num: 7}, nil) }},
		{"field became a stamp", never, "", false, func(e *editor) { e.put(7, "Subtype", "/Stamp") }},
		{"field in a layer", never, "", false, func(e *editor) { e.put(7, "OC", e.add("<</Type/OCG/Name(x)>>").String()) }},
		{"field with an unknown key", never, "", false, func(e *editor) { e.put(7, "Secret", "1") }},
		{"field with an action", never, "", false, func(e *editor) { e.put(7, "A", "<</S/URI/URI(http://x)>>") }},
		{"field with a script", never, "", false, func(e *editor) { e.put(7, "AA", "<</F<</S/JavaScript/JS(1)>>>>") }},
		{"field with a shorter limit", never, "", false, func(e *editor) { e.put(7, "MaxLen", "1") }},
		{"field required", never, "", false, func(e *editor) { e.put(7, "Ff", "2") }},
		{"field with another default", never, "", false, func(e *editor) { e.put(7, "DV", "(900)") }},
		{"field in white", never, "", false, func(e *editor) { e.put(7, "DA", "(/Helv 12 Tf 1 g)") }},
		{"field in tiny letters", never, "", false, func(e *editor) { e.put(7, "DA", "(/Helv 0.1 Tf 0 g)") }},
		{"form in white", "ggggg", "", false, func(e *editor) { e.put(6, "DA", "(/Helv 12 Tf 1 g)") }}, // every field has its own
		{"form font replaced", never, "", false, func(e *editor) {
			f := e.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding<</Differences[49/nine]>>>>")
			e.put(6, "DR", fmt.Sprintf("<</Font<</Helv %v>>>>", f))
		}},
		{"form fonts taken away", never, "", false, func(e *editor) { e.put(6, "DR", "") }},
		{"dynamic form", never, "", false, func(e *editor) { e.put(6, "XFA", e.stream("", "<xdp/>").String()) }},
		{"order of calculation", never, "", false, func(e *editor) { e.put(6, "CO", "[7 0 R]") }},
		{"form with an unknown key", never, "", false, func(e *editor) { e.put(6, "Secret", "1") }},
		{"form taken away", never, "", false, func(e *editor) { e.put(1, "AcroForm", "") }},

		// What runs, and what is shown around the pages.
		{"unknown key of the catalog", never, "", false, func(e *editor) { e.put(1, "Secret", "1") }},
		{"permissions taken away", "-ffff", "", false, func(e *editor) { e.put(1, "Perms", ""); e.put(1, "Secret", "1") }},
		// Controls: written again with the same value, or permitted.
		{"catalog written again", always, "", false, func(e *editor) { e.put(1, "Type", "/Catalog") }},
		{"page written again", always, "", false, func(e *editor) { e.put(3, "MediaBox", "[0.0 0. 300.00 +200]") }},
		{"corners of the page the other way", always, "", false, func(e *editor) { e.put(3, "MediaBox", "[300 200 0 0]") }},
		{"box moved to the parent", always, "", false, func(e *editor) { e.put(3, "MediaBox", ""); e.put(2, "MediaBox", "[0 0 300 200]") }},
		{"crop box that is the page", always, "", false, func(e *editor) { e.put(3, "CropBox", "[0 0 300 200]") }},
		{"rotation by nothing", always, "", false, func(e *editor) { e.put(3, "Rotate", "0") }},
		{"content in two parts", always, "", false, func(e *editor) { e.put(3, "Contents", "[4 0 R]") }},
		{"content under another number", always, "", false, func(e *editor) {
			e.put(3, "Contents", e.stream("", "BT /F1 18 Tf 20 150 Td (Pay EUR 100 to Anna) Tj ET").String())
		}},
		{"content in hexadecimal", always, "", false, func(e *editor) {
			e.setStream(4, "/Filter/ASCIIHexDecode", fmt.Sprintf("%x>", "BT /F1 18 Tf 20 150 Td (Pay EUR 100 to Anna) Tj ET"))
		}},
		{"font under another number", always, "", false, func(e *editor) {
			f := e.add("<</Encoding/WinAnsiEncoding/Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
			e.put(3, "Resources", fmt.Sprintf("<</Font<</F1 %v>>>>", f))
		}},
		{"resources that nothing uses", always, "", false, func(e *editor) {
			e.put(3, "Resources", fmt.Sprintf("<</ProcSet[/PDF/Text]/Font<</F1 5 0 R/Zz9 %v>>>>", e.add("<</Type/Font/Subtype/Type1/BaseFont/Courier>>")))
		}},
		{"widget without a type", always, "", false, func(e *editor) { e.put(7, "Type", "") }},
		{"default appearance with other digits", always, "", false, func(e *editor) { e.put(7, "DA", "(/Helv 12.0 Tf 0.00 g)"); e.put(6, "DA", "(/Helv  12. Tf .0 g)") }},
		{"value in another encoding", always, "", false, func(e *editor) { e.put(7, "V", "<FEFF003100300030>") }},
		{"font added to the form", always, "", false, func(e *editor) {
			e.put(6, "DR", fmt.Sprintf("<</Font<</Helv 5 0 R/ZaDb %v>>>>", e.add("<</Type/Font/Subtype/Type1/BaseFont/ZapfDingbats>>")))
		}},
		{"encoding added to the form", always, "", false, func(e *editor) {
			e.put(6, "DR", fmt.Sprintf("<</Font<</Helv 5 0 R>>/Encoding<</PDFDocEncoding %v>>>>", e.add("<</Type/Encoding/Differences[24/breve]>>")))
		}},
		{"appearances asked for", never, "", false, func(e *editor) { e.put(6, "NeedAppearances", "true") }},
		{"document information", always, "", false, func(e *editor) { e.put(13, "ModDate", "(D:20261115120000Z)") }},
		{"metadata", always, "", false, func(e *editor) { e.put(1, "Metadata", e.stream("/Type/Metadata/Subtype/XML", "<x/>").String()) }},
		{"version", always, "", false, func(e *editor) { e.put(1, "Version", "/2.0") }},
		{"extensions", always, "", false, func(e *editor) { e.put(1, "Extensions", "<</ESIC<</BaseVersion/1.7/ExtensionLevel 5>>>>") }},
		{"validation data", always, "", false, func(e *editor) { e.put(1, "DSS", fmt.Sprintf("<</Certs[%v]>>", e.stream("", "x"))) }},
		{"an object nobody uses", always, "", false, func(e *editor) { e.picture() }},
		{"new empty signature field", "gfggg", "", false, func(e *editor) {
			f := e.add("<</Type/Annot/Subtype/Widget/FT/Sig/T(next)/Rect[0 0 0 0]/F 132/P 3 0 R>>")
			e.annots(f)
			e.fields(f)
		}},
		{"order of tabs", always, "", false, func(e *editor) { e.put(3, "Tabs", "/S") }},
	}
	for _, kind := range []string{"Text", "FreeText", "Line", "Square", "Circle", "Polygon", "PolyLine", "Highlight", "Stamp", "Caret", "Ink"} {
		list = append(list, edit{"comment " + kind, "fffgf", "EUR 900", true, func(e *editor) { e.annots(e.annot(kind, "/Contents(Pay EUR 900)")) }})
	}
	for _, kind := range []string{"Link", "Watermark", "Screen", "RichMedia", "FileAttachment", "Movie", "Sound", "3D", "PrinterMark", "TrapNet", "Redact", "Projection", "Unknown"} {
		list = append(list, edit{"annotation " + kind, never, "", false, func(e *editor) { e.annots(e.annot(kind, "/A<</S/URI/URI(http://x)>>")) }})
	}
	for _, kind := range []string{"Stamp", "FreeText", "Square", "Watermark", "Underline"} {
		list = append(list,
			edit{"new signature field drawn as " + kind, never, "EUR 900", true, func(e *editor) {
				f := e.annot(kind, "/FT/Sig/T(x)")
				e.annots(f)
				e.fields(f)
			}},
			edit{"kid without a name drawn as " + kind, never, "EUR 900", true, func(e *editor) {
				k := e.annot(kind, "")
				e.annots(k)
				e.fields(e.add(fmt.Sprintf("<</FT/Sig/T(g)/Kids[%v]>>", k)))
			}})
	}
	for key, body := range map[string]string{
		"OpenAction": "<</S/JavaScript/JS(app.alert\\(900\\))>>", "AA": "<</WC<</S/JavaScript/JS(1)>>>>", "URI": "<</Base(http://x/)>>",
		"PageMode": "/UseAttachments", "PageLayout": "/TwoColumnLeft", "ViewerPreferences": "<</HideToolbar true>>", "Lang": "(it)",
		"PageLabels": "<</Nums[0<</P(900)>>]>>", "NeedsRendering": "true", "OCProperties": "<</OCGs[]/D<<>>>>",
		"Names": "<</JavaScript<</Names[(x)<</S/JavaScript/JS(1)>>]>>>>", "Dests": "<</x[3 0 R/Fit]>>", "Outlines": "<</Count 0>>",
		"Collection": "<</View/D>>", "StructTreeRoot": "<</Type/StructTreeRoot>>", "MarkInfo": "<</Marked true>>",
		"Requirements": "[<</S/EnableJavaScripts>>]", "AF": "[<</Type/Filespec/F(x)>>]", "Threads": "[]", "OutputIntents": "[<</S/GTS_PDFX>>]",
		"SpiderInfo": "<</V 1>>", "Legal": "<</Attestation(x)>>", "DPartRoot": "<<>>",
	} {
		list = append(list, edit{"catalog " + key, never, "", false, func(e *editor) { e.put(1, key, body) }})
	}
	for key, body := range map[string]string{
		"EmbeddedFiles": "<</Names[(x)<</Type/Filespec/F(x)>>]>>", "Pages": "<</Names[(x) 3 0 R]>>",
		"Templates": "<</Names[(x) 3 0 R]>>", "Dests": "<</Names[(x)[3 0 R/Fit]]>>", "URLS": "<</Names[]>>", "Renditions": "<</Names[]>>", "Secret": "1",
	} {
		list = append(list, edit{"names " + key, never, "", false, func(e *editor) { e.put(1, "Names", "<</"+key+" "+body+">>") }})
	}
	for key, body := range map[string]string{
		"AA": "<</O<</S/JavaScript/JS(1)>>>>", "Group": "<</S/Transparency/K true>>", "Thumb": "8 0 R", "Trans": "<</S/Dissolve>>", "Dur": "1",
		"VP": "[]", "PresSteps": "<<>>", "PZ": "2", "SeparationInfo": "<<>>", "Secret": "1", "AF": "[<</F(x)>>]", "Hid": "true",
		"OutputIntents": "[]", "B": "[8 0 R]",
	} {
		list = append(list, edit{"page " + key, never, "", false, func(e *editor) { e.put(3, key, body) }})
	}
	return list
}

func (e *editor) newPage() raw.Ref {
	c := e.stream("", "BT /F1 18 Tf 20 150 Td (Pay EUR 900 to Mallory) Tj ET")
	return e.add(fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<</Font<</F1 5 0 R>>>>/Contents %v/Annots[7 0 R 9 0 R 12 0 R]>>", c))
}

// newField is a field with a picture, on the page and in the form.
func (e *editor) newField(keys string) {
	f := e.annot("Widget", keys)
	e.annots(f)
	e.fields(f)
}

func (e *editor) voidStamp(widget, contents string) {
	v := e.add("<</Type/DocTimeStamp/Filter/Adobe.PPKLite/SubFilter/ETSI.RFC3161/ByteRange[0 10 20 30]/Contents" + contents + ">>")
	f := e.add(fmt.Sprintf("<</Type/Annot/Subtype/Widget/FT/Sig/T(stamp)/F 4/P 3 0 R/V %v%s>>", v, widget))
	e.annots(f)
	e.fields(f)
}

func (e *editor) without(num int, key string, gone int) {
	e.t.Helper()
	d, err := e.u.Edit(raw.Ref{Num: num})
	if err != nil {
		e.t.Fatal(err)
	}
	a, _ := e.doc.Array(d.Get(raw.Name(key)))
	kept := raw.Array{}
	for _, o := range a {
		if o != (raw.Ref{Num: gone}) {
			kept = append(kept, o)
		}
	}
	d.Set(raw.Name(key), kept)
}

func (e *editor) annotsWithout(num int) { e.without(3, "Annots", num) }
func (e *editor) fieldsWithout(num int) { e.without(6, "Fields", num) }

func (e *editor) reverseAnnots() {
	d, err := e.u.Edit(raw.Ref{Num: 3})
	if err != nil {
		e.t.Fatal(err)
	}
	a, _ := e.doc.Array(d.Get("Annots"))
	b := raw.Array{}
	for i := len(a) - 1; i >= 0; i-- {
		b = append(b, a[i])
	}
	d.Set("Annots", b)
}

// change writes an update behind a document.
func change(t *testing.T, data []byte, do func(e *editor)) []byte {
	t.Helper()
	doc, err := raw.Open(bytes.NewReader(data), raw.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{t: t, doc: doc, u: doc.Update()}
	do(e)
	more, err := e.u.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return append(bytes.Clone(data), more...)
}

func makePDFChanges(t *testing.T, m *materials) []specimen {
	doc := blank(t)
	bases := map[string][]byte{
		"plain":  m.signOne("contract.pdf", doc, nil),
		"locked": m.signOne("contract.pdf", doc, func(o *rogito.Options) { o.PAdES = pades.Options{Lock: &pades.Lock{Action: pades.LockAll}} }),
	}
	for p := 1; p <= 3; p++ {
		bases[fmt.Sprintf("P=%d", p)] = m.signOne("contract.pdf", doc, func(o *rogito.Options) { o.PAdES = pades.Options{Certify: p} })
	}
	var out []specimen
	see := newEyes(t)
	for mode, name := range modes {
		base := bases[name]
		out = append(out, specimen{name: name, data: base, want: genuine})
		for _, ed := range pdfEdits() {
			if ed.under[mode] == '-' {
				continue
			}
			sp := specimen{name: ed.name + ", " + name, data: change(t, base, ed.do), want: genuine}
			if ed.under[mode] == 'f' {
				sp.want = forged
				if name == "plain" { // the same picture under every mode
					sp.shows = ed.shows
				}
			}
			if ed.seen && name == "plain" {
				see.differ(ed.name, base, sp.data)
			}
			out = append(out, sp)
		}
		out = append(out, twoSteps(t, name, base)...)
		out = append(out, laterSignatures(t, m, name, base)...)
	}
	out = append(out, tagged(t, m)...)
	return append(out, filled(t, m)...)
}

// tagged changes the logical structure: what is read aloud and copied.
func tagged(t *testing.T, m *materials) []specimen {
	doc := change(t, pdf(), func(e *editor) {
		p := e.add("<</Type/StructElem/S/P/Pg 3 0 R/K 0/ActualText(Pay EUR 100)>>")
		top := e.add(fmt.Sprintf("<</Type/StructElem/S/Document/K[%v]>>", p))
		root := e.add(fmt.Sprintf("<</Type/StructTreeRoot/K %v/ParentTree<</Nums[0[%v]]>>>>", top, p))
		e.put(1, "StructTreeRoot", root.String())
		e.put(1, "MarkInfo", "<</Marked true>>")
		e.put(3, "StructParents", "0")
		e.setStream(4, "", "/P <</MCID 0>> BDC BT /F1 18 Tf 20 150 Td (Pay EUR 100 to Anna) Tj ET EMC")
	})
	base := m.signOne("contract.pdf", doc, nil)
	const element, top, root = 14, 15, 16
	out := []specimen{{name: "tagged", data: base, want: genuine}}
	for name, do := range map[string]func(e *editor){
		"another text":          func(e *editor) { e.put(element, "ActualText", "(Pay EUR 900)") },
		"an alternate text":     func(e *editor) { e.put(element, "Alt", "(Pay EUR 900)") },
		"an element taken out":  func(e *editor) { e.put(top, "K", "[]") },
		"an element added":      func(e *editor) { e.list(top, "K", e.add("<</Type/StructElem/S/P/P 15 0 R/ActualText(EUR 900)>>")) },
		"another parent tree":   func(e *editor) { e.put(root, "ParentTree", "<</Nums[0[15 0 R]]>>") },
		"another role":          func(e *editor) { e.put(root, "RoleMap", "<</P/Artifact>>") },
		"no structure any more": func(e *editor) { e.put(1, "StructTreeRoot", "") },
		"a widget that is a lie": func(e *editor) {
			e.list(top, "K", e.add("<</Type/StructElem/S/Form/P 15 0 R/ActualText(EUR 900)/K<</Type/OBJR/Obj 7 0 R>>>>"))
		},
	} {
		out = append(out, specimen{name: "tagged, " + name, data: change(t, base, do), want: forged})
	}
	return out
}

// twoSteps adds something and takes it away again, or hides it.
func twoSteps(t *testing.T, name string, base []byte) []specimen {
	good := "BT /F1 18 Tf 20 150 Td (Pay EUR 100 to Anna) Tj ET"
	there := change(t, base, func(e *editor) { e.setStream(4, "", "BT /F1 18 Tf 20 150 Td (Pay EUR 900) Tj ET") })
	back := change(t, there, func(e *editor) { e.setStream(4, "", good) })
	field := change(t, base, func(e *editor) { e.newField("/FT/Tx/T(x)/V(900)") })
	gone := change(t, field, func(e *editor) { e.put(6, "Fields", "[7 0 R 9 0 R]") })
	hybrid := change(t, base, func(e *editor) { e.add(fmt.Sprintf("[%v]", e.stream("", "PK"))) })
	at := bytes.LastIndex(hybrid, []byte("trailer"))
	hybrid = append(hybrid[:at:at], bytes.Replace(hybrid[at:], []byte("<<"), []byte("<</AdditionalStreams[/application#2Fvnd.oasis.opendocument.text 4 0 R]"), 1)...)
	return []specimen{
		{name: "second document for LibreOffice, " + name, data: hybrid, want: forged},
		{name: "content changed and changed back, " + name, data: back, want: forged},
		{name: "field added and taken out, " + name, data: gone, want: forged},
	}
}

// laterSignatures are controls: what may follow a signature does.
func laterSignatures(t *testing.T, m *materials, name string, base []byte) []specimen {
	t.Helper()
	src := func() ades.Source { return bytes.NewReader(base) }
	var long bytes.Buffer
	if err := pades.Augment(t.Context(), src(), &long, ades.AugmentOptions{Level: ades.LevelLTA, Stamper: m.pki.Unit, Gatherer: m.pki}); err != nil {
		t.Fatal(err)
	}
	out := []specimen{{name: "raised to LTA, " + name, data: long.Bytes(), want: genuine}}
	if name == "P=1" {
		return out
	}
	second := m.signOne("contract.pdf", base, func(o *rogito.Options) {
		o.PAdES = pades.Options{Appearance: &pades.Appearance{X: 150, Y: 100, Width: 100, Height: 40, Lines: []string{"signed by another"}}}
	})
	return append(out, specimen{name: "signed again, visibly, " + name, data: second, want: genuine})
}

// filled are references that lead to nothing when the document is signed, and
// to something afterwards.
func filled(t *testing.T, m *materials) []specimen {
	base := pdf()
	base = change(t, base, func(e *editor) {
		e.setStream(4, "", "BT /F1 18 Tf 20 150 Td (Pay EUR 100 to Anna) Tj ET q /X1 Do Q /G1 gs")
		e.put(3, "Resources", "<</Font<</F1 5 0 R>>/XObject<</X1 901 0 R>>/ExtGState<</G1 902 0 R>>>>")
		e.put(3, "Contents", "[4 0 R 903 0 R]")
		e.put(3, "Annots", "[7 0 R 9 0 R 12 0 R 904 0 R]")
		e.put(1, "OCProperties", "905 0 R")
		e.put(1, "OpenAction", "906 0 R")
		e.put(1, "Names", "907 0 R")
		e.put(7, "AA", "908 0 R")
		e.put(9, "MK", "909 0 R")
	})
	signed := m.signOne("contract.pdf", base, nil)
	text := "BT /Helv 16 Tf 4 8 Td (Pay EUR 900) Tj ET"
	bodies := map[int]string{
		901: fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", formDict, len(text), text),
		902: "<</Type/ExtGState/ca 0>>",
		903: fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len("BT /F1 16 Tf 4 8 Td (Pay EUR 900) Tj ET"), "BT /F1 16 Tf 4 8 Td (Pay EUR 900) Tj ET"),
		904: "<<" + onPage + "/Subtype/FreeText/DA(/Helv 12 Tf)/Contents(Pay EUR 900)>>",
		905: "<</OCGs[]/D<</BaseState/OFF>>>>",
		906: "<</S/JavaScript/JS(1)>>",
		907: "<</JavaScript<</Names[(x)<</S/JavaScript/JS(1)>>]>>>>",
		908: "<</F<</S/JavaScript/JS(1)>>>>",
		909: "<</BG[1 0 0]/CA(8)>>",
	}
	var out []specimen
	for num, body := range bodies {
		sp := specimen{name: fmt.Sprintf("reference to nothing filled: %d", num), want: forged}
		if num == 901 || num == 903 {
			sp.shows = "EUR 900"
		}
		sp.data = change(t, signed, func(e *editor) { e.set(num, body) })
		out = append(out, sp)
		sp.name, sp.shows = fmt.Sprintf("reference to nothing filled, as a field too: %d", num), ""
		sp.data = change(t, signed, func(e *editor) {
			e.set(num, strings.Replace(body, "<<", "<</FT/Sig/T(x)", 1))
			e.fields(raw.Ref{Num: num})
		})
		out = append(out, sp)
	}
	return out
}
