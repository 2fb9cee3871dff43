package slips

import (
	"fmt"
	"strings"
)

// all are the slips that are tried.
func all() []slip {
	var out []slip
	add := func(name string, doc *draft) { out = append(out, slip{name: name, doc: doc}) }
	two := func(name string, doc, one, two *draft) { out = append(out, slip{name, doc, one, two}) }
	add("none", contract())

	// Tables.
	for _, n := range []int{1, 4, 6, 9, 11} {
		d := contract()
		d.size = n
		add(fmt.Sprintf("Size %d of 12", n), d)
	}
	for _, n := range []int{1, 4, 6, 9, 11} {
		add(fmt.Sprintf("Size %d of 13 in a stream", n), with(func(d *draft) { d.size, d.streamed = n, true }))
		add(fmt.Sprintf("Size %d of 13 in a stream with Index", n), with(func(d *draft) { d.size, d.streamed, d.trailer = n, true, "/Index[0 13]" }))
	}
	for _, n := range []int{1, 4, 6, 9, 12} {
		add(fmt.Sprintf("a second section of Size %d", n), with(func(d *draft) { d.second = n }))
		add(fmt.Sprintf("a second stream of Size %d", n), with(func(d *draft) { d.second, d.streamed = n, true }))
	}
	add("a cross-reference stream", with(func(d *draft) { d.streamed = true }))
	add("lines of 19 bytes", with(func(d *draft) { d.lineEnd = "\n" }))
	add("lines of 21 bytes", with(func(d *draft) { d.lineEnd = "  \n" }))
	add("a table from 1", with(func(d *draft) { d.first = 1 }))
	add("startxref a little before", with(func(d *draft) { d.start = -3 }))
	add("startxref a little behind", with(func(d *draft) { d.start = 2 }))
	add("no end of file marker", with(func(d *draft) { d.end = "" }))
	elsewhere := contract().replace(3, "5 0 R", "11 0 R")
	two("a row twice, the content elsewhere last", with(func(d *draft) { d.rows = "5 1\n@11@ 00000 n \n" }), contract(), elsewhere)
	two("a row twice, the page elsewhere last", with(func(d *draft) {
		d.add(12, strings.Replace(d.at(3).body, "5 0 R", "11 0 R", 1))
		d.rows = "3 1\n@12@ 00000 n \n"
	}), contract(), elsewhere)
	add("a row twice, the same", with(func(d *draft) { d.rows = "5 1\n@5@ 00000 n \n" }))
	for _, n := range []int{-3, 3, 30, 40000} {
		add(fmt.Sprintf("the content's offset off by %d", n), with(func(d *draft) { d.offsets = map[int]int{5: n} }))
		add(fmt.Sprintf("the page's offset off by %d", n), with(func(d *draft) { d.offsets = map[int]int{3: n} }))
		add(fmt.Sprintf("an unused offset off by %d", n), with(func(d *draft) { d.offsets = map[int]int{11: n} }))
	}
	add("a row for another generation", with(func(d *draft) { d.table = map[int]string{5: strings.Replace(rowOf(d, 5), "00000 n", "00001 n", 1)} }))
	add("a row that says free", with(func(d *draft) { d.table = map[int]string{5: strings.Replace(rowOf(d, 5), "n", "f", 1)} }))
	add("another generation referred to", contract().replace(3, "5 0 R", "5 1 R"))

	// Bytes that belong to nothing.
	hidden := "5 0 obj\n" + stream("", other) + "\nendobj\n"
	two("a later definition in no table", contract().hide(hidden), contract(), elsewhere)
	two("a later definition, and a missing object", contract().replace(3, "[9 0 R]", "[9 0 R 99 0 R]").hide(hidden), contract(), elsewhere)
	two("a later definition, and a missing number", contract().replace(3, "[9 0 R]", "[9 0 R 12 0 R]").add(13, "null").hide(hidden), contract(), elsewhere)
	two("a later definition in a comment", contract().hide("% "+strings.ReplaceAll(hidden, "\n", " ")+"\n"), contract(), elsewhere)
	two("a later page in no table", with(func(d *draft) {
		d.hide("3 0 obj\n" + strings.Replace(d.at(3).body, "5 0 R", "11 0 R", 1) + "\nendobj\n")
	}), contract(), elsewhere)
	add("an object of its own in no table", contract().hide("40 0 obj\n"+stream("", other)+"\nendobj\n"))
	add("words between objects", contract().hide("hello\n"))
	add("a trailer in no place", contract().hide("trailer\n<</Root 1 0 R/Size 12>>\n"))

	// Streams and syntax.
	length := fmt.Sprintf("/Length %d", len(said))
	for _, l := range [][2]string{
		{"too short", "/Length 10"},
		{"too long", "/Length 5000"},
		{"a little too long", fmt.Sprintf("/Length %d", len(said)+5)},
		{"missing", ""},
		{"a name", "/Length/X"},
		{"negative", "/Length -5"},
		{"of a missing object", "/Length 99 0 R"},
		{"twice, the last short", length + "/Length 10"},
		{"twice, the first short", "/Length 10" + length},
	} {
		add("Length "+l[0], contract().replace(5, length, l[1]))
	}
	add("stream and a return", contract().replace(5, "stream\n", "stream\r"))
	add("stream and words", contract().replace(5, "stream\n", "stream % x\n"))
	add("no endobj", with(func(d *draft) { d.at(6).before = ""; d.at(5).body += "\n%endobj\n" }))
	add("no endstream", with(func(d *draft) { d.at(5).body = strings.Replace(d.at(5).body, "endstream", "", 1) }))
	for _, k := range [][3]string{
		{"Contents", "/Contents 5 0 R", "/Contents 11 0 R"},
		{"MediaBox", "/MediaBox[0 0 300 200]", "/MediaBox[0 0 200 100]"},
		{"Resources", "/Resources<</Font<</F1 7 0 R>>>>", "/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Courier>>>>>>"},
	} {
		one, other := contract(), contract().replace(3, k[1], k[2])
		two(k[0]+" twice", contract().replace(3, k[1], k[2]+k[1]), one, other)
		two(k[0]+" twice, turned", contract().replace(3, k[1], k[1]+k[2]), one, other)
	}
	var many string
	for n := range 40 {
		many += fmt.Sprintf("/F%d 7 0 R", n+2)
	}
	font := "<</Type/Font/Subtype/Type1/BaseFont/Courier>>"
	two("a font twice among many", contract().replace(3, "/F1 7 0 R", "/F1 7 0 R"+many+"/F1 12 0 R").add(12, font), contract().replace(3, "/F1 7", "/F1 12").add(12, font), contract())
	two("a font twice among many, turned", contract().replace(3, "/F1 7 0 R", "/F1 12 0 R"+many+"/F1 7 0 R").add(12, font), contract(), contract().replace(3, "/F1 7", "/F1 12").add(12, font))
	few := contract().replace(3, "/F1 7 0 R", "/F1 7 0 R/F1 12 0 R").add(12, font)
	two("a font twice", few, contract(), contract().replace(3, "/F1 7", "/F1 12").add(12, font))
	// A slip that readers take alike hides none that they do not.
	two("a font twice, behind another slip", contract().replace(3, "/Contents", "/X 1/X 2/Y --3/Contents").replace(3, "/F1 7 0 R", "/F1 7 0 R/F1 12 0 R").add(12, font), contract(), contract().replace(3, "/F1 7", "/F1 12").add(12, font))
	two("Length negative, behind another slip", contract().replace(5, length, "/X 1/X 2/Length -5"), contract(), contract().replace(5, said, ""))
	two("a filter of no name, behind another slip", contract().replace(5, length, "/X 1/X 2/Filter[null]"+length), contract(), contract().replace(5, said, ""))
	two("a filter of no name, and Length too short", contract().replace(5, length, "/Filter[null]/Length 10"), contract(), contract().replace(5, said, ""))
	two("Kids twice", contract().replace(2, "/Kids", "/Kids[3 0 R]/Kids"), contract(), contract().replace(2, " 4 0 R]/Count 2", "]/Count 1"))
	two("Pages twice", contract().replace(1, "/Pages", "/Pages 12 0 R/Pages").add(12, "<</Type/Pages/Kids[4 0 R]/Count 1>>"), contract(), nil)
	add("content: a number with a sign", contract().replace(3, "[0 0 300 200]", "[0 0 3-00 200]"))
	add("content: a number of two dots", contract().replace(3, "[0 0 300 200]", "[0 0 300.0.0 200]"))
	add("a number of 40 bits", contract().replace(7, "/Encoding", "/X 1099511627776/Encoding"))
	out = append(out, slip{"a key without value", contract().replace(4, ">>>>/Contents", ">>>>/X/Contents"), contract().replace(4, "/Contents 6 0 R", ""), nil})
	add("an object that is a reference", contract().replace(3, "5 0 R", "12 0 R").add(12, "5 0 R"))
	copied := func(d *draft) string {
		page := strings.Replace(d.at(3).body, "5 0 R", "11 0 R", 1)
		return stream("/Type/ObjStm/N 1/First 4", "3 0 "+page)
	}
	two("an object stream with a copy", with(func(d *draft) { d.add(12, copied(d)) }), contract(), elsewhere)
	two("encrypted, one key for both passwords", sealed("key", "key"), contract(), elsewhere)
	two("encrypted, a key for each password", sealed("key", "another key"), contract(), elsewhere)
	// Streams that are not encrypted as the document is.
	second := "BT /F1 18 Tf 20 150 Td (Pay EUR 7 to Bruno) Tj ET"
	clear := func(name, dict string, change ...string) {
		d := sealed("key", "key")
		d.at(5).body = stream(dict, said)
		for i := 0; i+1 < len(change); i += 2 {
			d.replace(14, change[i], change[i+1])
		}
		none := contract().replace(5, said, "")
		if dict == "" {
			d.at(6).body = stream("", second)
			none.at(6).body = stream("", "")
		}
		two("encrypted, "+name, d, contract(), none)
	}
	clear("streams under Identity", "", "/StmF/StdCF", "/StmF/Identity")
	clear("streams under no filter", "", "/StmF/StdCF", "")
	clear("one stream under Identity", "/Filter[/Crypt]/DecodeParms[<</Name/Identity>>]")
	clear("one stream under Identity, by a name", "/Filter/Crypt/DecodeParms<</Name/Identity>>")
	clear("one stream under no name", "/Filter[/Crypt]")
	clear("one stream under another filter", "/Filter[/Crypt]/DecodeParms[<</Name/Not>>]", "/CF<<", "/CF<</Not<</CFM/None>>")
	clear("one stream under a filter that is nowhere", "/Filter[/Crypt]/DecodeParms[<</Name/Gone>>]")
	clear("content that says it is a table", "/Type/XRef")
	clear("content that says it is a file", "/Type/EmbeddedFile", "/P -4", "/P -4/EFF/Identity")
	clear("content that is clear", "/X 1")
	two("encrypted, strings under Identity", sealed("key", "key").replace(14, "/StrF/StdCF", "/StrF/Identity"), contract(), nil)
	return append(out, trees()...)
}

// trees are page trees that readers walk in different ways.
func trees() []slip {
	var out []slip
	first := contract().replace(2, " 4 0 R]/Count 2", "]/Count 1")
	add := func(name string, doc, other *draft) {
		out = append(out, slip{name: "pages: " + name, doc: doc, two: other})
	}
	for _, n := range []string{"1", "3", "0", "-1", "2.0", "(2)"} {
		add("Count "+n, contract().replace(2, "/Count 2", "/Count "+n), first)
	}
	add("no Count", contract().replace(2, "/Count 2", ""), first)
	inner := func(count string) *draft {
		return contract().replace(2, "[3 0 R 4 0 R]", "[12 0 R 4 0 R]").add(12, "<</Type/Pages/Parent 2 0 R/Kids[3 0 R]/Count "+count+">>")
	}
	add("a node between", inner("1"), nil)
	for _, n := range []string{"2", "0", "5", "-1"} {
		add("a node between of Count "+n, inner(n), nil)
	}
	out = append(out, slip{
		name: "pages: a page twice", doc: contract().replace(2, "[3 0 R 4 0 R]/Count 2", "[3 0 R 4 0 R 4 0 R]/Count 3"),
		one: with(func(d *draft) {
			d.replace(2, "[3 0 R 4 0 R]/Count 2", "[3 0 R 4 0 R 12 0 R]/Count 3").add(12, d.at(4).body)
		}),
	})
	add("a node that comes back", contract().replace(2, "[3 0 R 4 0 R]", "[3 0 R 4 0 R 2 0 R]"), nil)
	add("a kid that is null", contract().replace(2, "[3 0 R 4 0 R]", "[3 0 R null 4 0 R]"), nil)
	add("a kid that is missing", contract().replace(2, "[3 0 R 4 0 R]/Count 2", "[3 0 R 99 0 R 4 0 R]/Count 3"), nil)
	add("a kid that stands in the node", with(func(d *draft) { d.replace(2, "4 0 R]", d.at(4).body+"]") }), nil)
	add("no Type on a page", contract().replace(3, "/Type/Page", ""), nil)
	add("no Type on the node", contract().replace(2, "/Type/Pages", ""), nil)
	add("a page of Type Pages", contract().replace(3, "/Type/Page", "/Type/Pages"), nil)
	add("a node of Type Page", contract().replace(2, "/Type/Pages", "/Type/Page"), nil)
	add("a page of Type Template", contract().replace(3, "/Type/Page", "/Type/Template"), nil)
	add("a page with Kids", contract().replace(3, "/Type/Page", "/Type/Page/Kids[4 0 R]"), nil)
	add("a page with Kids and no Type", contract().replace(3, "/Type/Page", "/Kids[4 0 R]"), nil)
	box := "/MediaBox[0 0 300 200]"
	add("a box handed down", contract().replace(3, box, "").replace(2, "/Count", box+"/Count"), nil)
	small := "/MediaBox[0 0 100 100]"
	add("a Parent with another box", contract().replace(3, box, "").replace(3, "/Parent 2", "/Parent 12").replace(2, "/Count", box+"/Count").add(12, "<</Type/Pages/Kids[]/Count 0"+small+">>"), contract().replace(3, box, small))
	add("no Parent, and a box handed down", contract().replace(3, box, "").replace(3, "/Parent 2 0 R", "").replace(2, "/Count", box+"/Count"), nil)
	res := "/Resources<</Font<</F1 7 0 R>>>>"
	add("a Parent with resources", contract().replace(3, res, "").replace(3, "/Parent 2", "/Parent 12").add(12, "<</Type/Pages/Kids[]/Count 0"+res+">>"), contract().replace(3, res, ""))
	add("a Parent with a rotation", contract().replace(3, "/Parent 2", "/Parent 12").add(12, "<</Type/Pages/Kids[]/Count 0/Rotate 90>>"), contract().replace(3, box, box+"/Rotate 90"))
	add("a node between with another Parent", inner("1").replace(3, "/Parent 2", "/Parent 12").replace(12, "/Parent 2", "/Parent 13").add(13, "<</Type/Pages/Kids[]/Count 0/Rotate 90>>"), contract().replace(3, box, box+"/Rotate 90"))
	add("a page in two nodes", contract().replace(2, "[3 0 R 4 0 R]/Count 2", "[12 0 R 13 0 R]/Count 3").replace(4, "/Parent 2", "/Parent 12").
		add(12, "<</Type/Pages/Parent 2 0 R/Kids[3 0 R 4 0 R]/Count 2>>").add(13, "<</Type/Pages/Parent 2 0 R/Kids[4 0 R]/Count 1/Rotate 90>>").replace(3, "/Parent 2", "/Parent 12"), nil)
	add("a Parent that is missing", contract().replace(3, "/Parent 2", "/Parent 99"), nil)
	turned := contract().replace(3, box, box+"/Rotate 90")
	both := contract().replace(3, box, box+"/Rotate 90").replace(4, box, box+"/Rotate 90")
	cropped := contract().replace(3, box, box+"/CropBox[0 0 100 100]").replace(4, box, box+"/CropBox[0 0 100 100]")
	either := func(name string, doc, one, two *draft) {
		out = append(out, slip{name: "pages: " + name, doc: doc, one: one, two: two})
	}
	add("a root with a Parent that turns", contract().replace(2, "/Type/Pages", "/Type/Pages/Parent 12 0 R").add(12, "<</Type/Pages/Kids[2 0 R]/Count 2/Rotate 90>>"), turned)
	add("a root with a Parent that says nothing", contract().replace(2, "/Type/Pages", "/Type/Pages/Parent 12 0 R").add(12, "<</Type/Pages/Kids[2 0 R]/Count 2>>"), nil)
	add("a root that is its own Parent", contract().replace(2, "/Type/Pages", "/Type/Pages/Parent 2 0 R"), nil)
	add("Kids behind a reference", contract().replace(2, "[3 0 R 4 0 R]", " 12 0 R").add(12, "[3 0 R 4 0 R]"), nil)
	add("Count behind a reference", contract().replace(2, "/Count 2", "/Count 12 0 R").add(12, "2"), nil)
	add("Type behind a reference", contract().replace(3, "/Type/Page", "/Type 12 0 R").add(12, "/Page"), nil)
	add("Type of the node behind a reference", contract().replace(2, "/Type/Pages", "/Type 12 0 R").add(12, "/Pages"), nil)
	add("Type of a node between behind a reference", inner("1").replace(12, "/Type/Pages", "/Type 13 0 R").add(13, "/Pages"), nil)
	add("a node between without Type", inner("1").replace(12, "/Type/Pages", ""), nil)
	add("a node between of Type Page", inner("1").replace(12, "/Type/Pages", "/Type/Page"), nil)
	add("a node between without Kids", contract().replace(2, "[3 0 R 4 0 R]/Count 2", "[12 0 R 3 0 R 4 0 R]/Count 2").add(12, "<</Type/Pages/Parent 2 0 R/Count 0>>"), nil)
	add("a node between with no kids", contract().replace(2, "[3 0 R 4 0 R]/Count 2", "[12 0 R 3 0 R 4 0 R]/Count 2").add(12, "<</Type/Pages/Parent 2 0 R/Kids[]/Count 0>>"), nil)
	add("a page with no kids", contract().replace(3, "/Type/Page", "/Type/Page/Kids[]"), nil)
	add("a page with Kids that are null", contract().replace(3, "/Type/Page", "/Type/Page/Kids null"), nil)
	add("a page with a Count", contract().replace(3, "/Type/Page", "/Type/Page/Count 1"), nil)
	add("a page with a Count of many", contract().replace(3, "/Type/Page", "/Type/Page/Count 7"), nil)
	add("the node in the catalog", with(func(d *draft) { d.replace(1, "/Pages 2 0 R", "/Pages"+d.at(2).body) }), nil)
	add("a page for a node", contract().replace(1, "/Pages 2 0 R", "/Pages 3 0 R"), first)
	second := contract().replace(4, box, box+"/Rotate 90")
	either("a rotation handed down, null below", contract().replace(2, "/Count", "/Rotate 90/Count").replace(3, box, box+"/Rotate null"), both, second)
	either("a rotation handed down, missing below", contract().replace(2, "/Count", "/Rotate 90/Count").replace(3, box, box+"/Rotate 99 0 R"), both, second)
	add("no rotation handed down, null below", contract().replace(2, "/Count", "/Rotate 0/Count").replace(3, box, box+"/Rotate null"), nil)
	add("a rotation that is null, none handed down", contract().replace(3, box, box+"/Rotate null"), nil)
	add("a box handed down, null below", contract().replace(2, "/Count", box+"/Count").replace(3, box, "/MediaBox null"), nil)
	add("a box handed down, missing below", contract().replace(2, "/Count", box+"/Count").replace(3, box, "/MediaBox 99 0 R"), nil)
	either("a crop handed down, null below", contract().replace(2, "/Count", "/CropBox[0 0 100 100]/Count").replace(3, box, box+"/CropBox null"), cropped, contract().replace(4, box, box+"/CropBox[0 0 100 100]"))
	add("resources handed down, null below", contract().replace(2, "/Count", res+"/Count").replace(3, res, "/Resources null"), contract().replace(3, res, ""))
	out = append(out, slip{name: "content: resources handed down, empty below", doc: contract().replace(2, "/Count", res+"/Count").replace(3, res, "/Resources<<>>"), two: contract().replace(3, res, "")})
	add("a box of two levels", inner("1").replace(3, box, "").replace(3, "/Parent 2", "/Parent 12").replace(2, "/Count", small+"/Count").replace(12, "/Count", box+"/Count"), nil)
	add("a box of two levels, the Parent above", inner("1").replace(3, box, "").replace(2, "/Count", small+"/Count").replace(12, "/Count", box+"/Count"), contract().replace(3, box, small))
	add("a crop by the way up", contract().replace(3, "/Parent 2", "/Parent 12").add(12, "<</Type/Pages/Kids[3 0 R]/Count 1/Parent 2 0 R/CropBox[0 0 100 100]>>"), contract().replace(3, box, box+"/CropBox[0 0 100 100]"))
	return out
}

// with is the contract, changed.
func with(change func(*draft)) *draft {
	d := contract()
	change(d)
	return d
}

// rowOf is the right row of the table for an object.
func rowOf(d *draft, num int) string {
	b := string(d.bytes())
	return fmt.Sprintf("%010d 00000 n \n", strings.Index(b, fmt.Sprintf("\n%d 0 obj", num))+1)
}
